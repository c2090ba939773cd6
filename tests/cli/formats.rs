//! Every format of every report, and its promises to scripts.

use serde_json::Value;

use super::harness::{EXAMPLE, Folder, devicetaint};

#[test]
fn devices_as_names_that_preview_takes() {
    let devices = "devices gpu.example.com/node-9/gpu-1 gpu.example.com/node-9/gpu-3";
    let names = devicetaint(&format!("{devices} --from {EXAMPLE} -o name"));
    assert_eq!(names.code, 0);
    for name in names.stdout.lines() {
        let run = devicetaint(&format!("preview {name} a:NoExecute --from {EXAMPLE}"));
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
    }
}

#[test]
fn a_page_says_what_is_odd_and_what_is_not_known_and_ends_as_every_format_does() {
    let line = format!("preview gpu.example.com/node-9/gpu-1 a:NoExecute --from {EXAMPLE}");
    let preview = devicetaint(&format!("{line} -o html --abort-if pods.evicted>0"));
    assert_eq!(preview.code, 4, "{}", preview.stderr);
    assert!(preview.stdout.starts_with("<!doctype html>"));
    assert!(preview.stdout.ends_with("</html>\n"));
    let rules = devicetaint(&format!("list -o json --from {EXAMPLE}")).stdout;
    let folder = Folder::new().with("rules.json", rules);
    let flags = "--now 2026-11-20T10:30:00Z --from rules.json -o html";
    let run = folder.devicetaint(&format!("preview --rule node-6-firmware {flags}"));
    assert_eq!(run.code, 0, "{}", run.shown());
    let unknown = run.stdout.find("unknown: pods: ").expect("a gap");
    let table = run.stdout.find("</table>").unwrap_or(run.stdout.len());
    assert!(unknown < table, "it stands above all tables");
    let list = folder.devicetaint(&format!("list {flags}"));
    assert_eq!(
        (list.code, list.stdout.as_str()),
        (2, ""),
        "only previews are pages"
    );
}

#[test]
fn yaml_says_the_same_as_json() {
    for command in ["preview gpu.example.com a:NoExecute", "devices"] {
        let run = |format: &str| devicetaint(&format!("{command} --from {EXAMPLE} -o {format}"));
        let yaml: Value = serde_yaml::from_str(&run("yaml").stdout).expect("YAML");
        assert_eq!(yaml, run("json").json(), "{command}");
    }
}

#[test]
fn a_rule_that_is_missing_leaves_the_description_of_others() {
    let partly = devicetaint(&format!("describe node-8-power nobody --from {EXAMPLE}"));
    assert!(partly.stdout.contains("Name: "), "{}", partly.shown());
    assert!(
        partly.stderr.contains("no rule nobody"),
        "{}",
        partly.shown()
    );
    assert_eq!(partly.code, 1);
}
