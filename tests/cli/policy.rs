//! `--policy`: what a team has agreed on.

use insta::assert_snapshot;

use super::harness::{Folder, devicetaint};

const HEAD: &str = "apiVersion: devicetaint.dev/v1alpha1\nkind: DeviceTaintPolicy\n";

fn in_folder(policy: &str, line: &str) -> String {
    let folder = Folder::new().with_example();
    let folder = folder.with("team.yaml", format!("{HEAD}{policy}"));
    folder.devicetaint(line).answer()
}

#[test]
fn every_guard_of_a_policy_is_listed_with_its_value_and_its_file() {
    let line = "preview gpu.example.com/node-7/gpu-0 a.example.com/k:NoExecute --abort-if pods.evicted>20 --policy examples/policy.yaml --from examples/cluster.yaml -o json";
    let report = devicetaint(line).json();
    let guards = report["guardResults"].as_array().unwrap().iter();
    let told: Vec<String> = guards
        .map(|guard| {
            let of = guard["policy"].as_str().unwrap_or("the command line");
            format!("{} {} {of}", guard["expression"], guard["count"])
        })
        .collect();
    assert_snapshot!(told.join("\n"), @r#"
    "pods.evicted>20" 3 the command line
    "pods.evicted>20" 3 examples/policy.yaml
    "pods.evicted>=50%" 3 examples/policy.yaml
    "pods.critical>0" 0 examples/policy.yaml
    "namespaces.affected>3" 2 examples/policy.yaml
    "#);
}

#[test]
fn what_a_policy_forbids_is_told_and_refused() {
    let told = in_folder(
        "neverTaint:\n- device: gpu.example.com/node-7/gpu-0\n  because: it drives the wall\n",
        "preview gpu.example.com/node-7/* a.example.com/k:NoExecute --policy team.yaml --from cluster.yaml",
    );
    assert_snapshot!(told, @r#"
    [stderr]
    error: error parsing team.yaml: line 5: unknown field "because"
    hint: known: device, message
    [exit status: 2]
    "#);
}

#[test]
fn a_rule_without_what_a_policy_requires_is_refused() {
    let told = in_folder(
        "require: [ticket]\n",
        "preview --rule node-6-firmware --policy team.yaml --from cluster.yaml",
    );
    assert_snapshot!(told, @r#"
    [stderr]
    error: error parsing team.yaml: line 3: "ticket" cannot be required
    hint: did you mean Ticket? known: Reason, Ticket, ReasonOrTicket
    [exit status: 2]
    "#);
}

#[test]
fn a_file_that_is_no_policy_is_told_by_name_and_line() {
    let told = |policy: &str| {
        let line = "preview gpu.example.com --policy team.yaml --from cluster.yaml";
        in_folder(policy, line)
    };
    assert_snapshot!(told("gaurds:\n- pods.evicted>1\n"), @r#"
    [stderr]
    error: error parsing team.yaml: line 3: unknown field "gaurds"
    hint: did you mean guards? known: apiVersion, kind, guards, require, neverTaint
    [exit status: 2]
    "#);
    assert_snapshot!(told("guards: [\n"), @r"
    [stderr]
    error: error parsing team.yaml: unclosed bracket '[' at line 3, column 9
    [exit status: 2]
    ");
    let line = "preview gpu.example.com --policy nowhere.yaml --from examples/cluster.yaml";
    assert_snapshot!(devicetaint(line).shown(), @r"
    [stderr]
    error: cannot read nowhere.yaml: No such file or directory (os error 2)
    [exit status: 2]
    ");
}
