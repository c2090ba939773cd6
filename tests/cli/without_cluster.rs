//! Commands that change something, where there is no cluster: manifests, and rehearsals on saved objects.

use super::harness::{Folder, assert_refused};

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
