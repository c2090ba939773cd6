//! Commands that change something, where there is no cluster: manifests, and rehearsals on saved objects.

use super::harness::{Folder, assert_refused, devicetaint};

const DEVICE: &str = "gpu.example.com/node-7/gpu-0";

#[test]
fn manifests_need_no_cluster() {
    for (line, kinds) in [
        ("add {} a.io/k:NoExecute", &["DeviceTaintRule"][..]),
        ("add {} a.io/k --expires 4h", &["DeviceTaintRule"]),
        (
            "dedicate {} --to research",
            &[
                "MutatingAdmissionPolicy",
                "MutatingAdmissionPolicyBinding",
                "ValidatingAdmissionPolicy",
                "ValidatingAdmissionPolicyBinding",
                "DeviceTaintRule",
            ],
        ),
    ] {
        let line = line.replace("{}", DEVICE);
        let run = devicetaint(&format!("{line} --dry-run=client -o json"));
        assert_eq!(run.code, 0, "{line}: {}", run.shown());
        let list = run.json();
        let items = list["items"].as_array();
        let made: Vec<&str> = match items {
            Some(items) => items
                .iter()
                .filter_map(|item| item["kind"].as_str())
                .collect(),
            None => list["kind"].as_str().into_iter().collect(),
        };
        assert_eq!(made, kinds, "{line}");
    }
    let run = devicetaint(&format!("add {DEVICE} a.io/k:NoExecute --dry-run=client"));
    assert!(run.stdout.ends_with(" created (dry run)\n"), "{run:?}");
}

#[test]
fn saved_objects_are_rehearsed_on_and_never_changed() {
    let from = "--from examples/cluster.yaml --yes";
    for (line, code) in [
        ("add {} a.io/k:NoExecute --abort-if pods.evicted>9", 0),
        ("add {} a.io/k:NoExecute --abort-if pods.evicted>1", 4),
        ("escalate node-6-firmware --to NoSchedule", 0),
        (
            "drain {} --accept-unplaceable --include jobs,unmanaged,singletons",
            0,
        ),
        (
            "dedicate 'gpu.example.com/node-2/*' --to research -o yaml",
            0,
        ),
        ("dedicate gpu.example.com/node-77/gpu-0 --to research", 1),
        ("make-room pod/none-such -n research", 1),
    ] {
        let line = line.replace("{}", DEVICE);
        let run = devicetaint(&format!("{line} {from} --dry-run=client"));
        assert_eq!(run.code, code, "{line}: {}", run.shown());
        let refused = [(
            &*format!("{line} {from}"),
            2,
            "--from needs --dry-run=client",
        )];
        assert_refused(devicetaint, &refused);
    }
}

#[test]
fn question_names_evicted_pods_with_admin_access() {
    let line = "add gpu.example.com/node-3/gpu-6 a.io/k:NoExecute --dry-run=client";
    let run = devicetaint(&format!("{line} --from examples/cluster.yaml"));
    assert!(run.stderr.contains("gpu-monitor-ztccc"), "{}", run.shown());
}

#[test]
fn monitors_with_admin_access_keep_no_room_from_a_pod() {
    let from = "--from tests/data/reports/room-beside-monitor.yaml.gz --dry-run=client";
    let run = devicetaint(&format!(
        "make-room pod/critical -n research {from} -o json"
    ));
    assert_eq!(run.code, 0, "{}", run.shown());
    assert_eq!(
        run.json()["room"]["evictedPods"],
        serde_json::json!(["research/filler-1"])
    );
}

#[test]
fn manifest_that_a_server_would_refuse_is_an_error_with_its_place() {
    let rule = |selector: &str, effect: &str| {
        format!(
            "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {{name: t1}}\nspec:\n  \
             deviceSelector: {{driver: gpu.example.com, {selector}}}\n  taint: {{key: a.io/m, effect: {effect}}}\n"
        )
    };
    let good = rule("pool: node-3", "NoExecute");
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n";
    let folder = Folder::new()
        .with_example()
        .with("effect.yaml", rule("pool: node-3", "noexecute"))
        .with("field.yaml", rule("poool: node-3", "NoExecute"))
        .with("top.yaml", format!("{good}specs: {{}}\n"))
        .with(
            "spec.yaml",
            good.replace("  taint:", "  tains: {}\n  taint:"),
        )
        .with("others.yaml", format!("{other}---\n{good}"))
        .with("other.yaml", other)
        .with("empty.yaml", "")
        .with("dir/README.txt", "none")
        .with("rules/kustomization.yaml", "resources: [rule.yaml]\n")
        .with("rules/rule.yaml", &good);
    let preview =
        |file: &str| format!("preview -f {file} --abort-if pods.evicted>50 --from cluster.yaml");
    for (file, named) in [
        ("effect.yaml", "spec.taint.effect: \"noexecute\" is not"),
        ("field.yaml", "spec.deviceSelector.poool: unknown field"),
        ("top.yaml", "specs: unknown field"),
        ("spec.yaml", "spec.tains: unknown field"),
        ("other.yaml", "no DeviceTaintRule in other.yaml"),
        ("empty.yaml", "empty.yaml"),
        ("dir", "no DeviceTaintRule in dir"),
    ] {
        let line = preview(file);
        let refused = [(&*line, 1, named)];
        assert_refused(|line| folder.devicetaint(line), &refused);
    }
    for file in ["others.yaml", "rules"] {
        let run = folder.devicetaint(&preview(file));
        assert_eq!(run.code, 0, "{file}: {}", run.shown());
    }
}
