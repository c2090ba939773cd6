//! `--policy`: what a team has agreed on.

use insta::assert_snapshot;

use super::harness::{Folder, devicetaint};

const HEAD: &str = "apiVersion: kubectl-devicetaint/v1alpha1\nkind: DeviceTaintPolicy\n";

fn in_folder(policy: &str, line: &str) -> String {
    let folder = Folder::new().with_example();
    let folder = folder.with("team.yaml", format!("{HEAD}{policy}"));
    folder.devicetaint(line).answer()
}

#[test]
fn every_guard_of_a_policy_is_listed_with_its_value_and_its_file() {
    let line = "preview gpu.example.com/node-7/gpu-0 a.example.com/k:NoExecute --abort-if pods.evicted>20 --policy examples/policy.yaml --from examples/cluster.yaml -o json";
    let report = devicetaint(line).json();
    let guards = report["guards"].as_array().unwrap().iter();
    let told: Vec<String> = guards
        .map(|guard| {
            let of = guard["policy"].as_str().unwrap_or("the command line");
            format!("{} {} {of}", guard["expression"], guard["value"])
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
    assert_snapshot!(told, @"
    4 pods in 2 namespaces would be evicted: 3 now, 1 later (last in 5m at 2026-11-20T10:20:00Z).
    1 PodDisruptionBudget would block this; taint evictions ignore PodDisruptionBudgets.
    3 claims cannot be reallocated: no other devices are available.
    3 more pods use these devices: 1 tolerating the taint, 1 already terminating, 1 not evicted.
    Policy team.yaml forbids this taint: a rule about gpu.example.com/node-7/* selects gpu.example.com/node-7/gpu-0, which must not be tainted: it drives the wall.
    The last pod is gone after about 5m30s, at full grace period; 3 of the 4 devices are free then; not free: 1 (a pod stays).
    All on node-7.
    [stderr]
    error: policy team.yaml: a rule about gpu.example.com/node-7/* selects gpu.example.com/node-7/gpu-0, which must not be tainted: it drives the wall
    [exit status: 4]
    ");
}

#[test]
fn a_rule_without_what_a_policy_requires_is_refused() {
    let told = in_folder(
        "require: [ticket]\n",
        "preview --rule node-6-firmware --policy team.yaml --from cluster.yaml",
    );
    assert_snapshot!(told, @"
    1 pod in 1 namespace would be evicted now.
    1 more pod uses these devices: 1 tolerating the taint.
    Policy team.yaml forbids this taint: rule node-6-firmware needs a ticket.
    The last pod is gone after about 60s, at full grace period; 1 of the 4 devices is free then; not free: 2 (a pod stays), 1 (a pod returns).
    On node-6, using gpu.example.com/node-6/gpu-0.
    [stderr]
    error: policy team.yaml: rule node-6-firmware needs a ticket
    [exit status: 4]
    ");
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
    error: error parsing nowhere.yaml: No such file or directory (os error 2)
    [exit status: 2]
    ");
}
