//! Every format of every report, and its promises to scripts.

use serde_json::Value;

use super::harness::{EXAMPLE, Folder, Run, devicetaint};

/// One pod, one device.
fn preview(flags: &str) -> Run {
    devicetaint(&format!(
        "preview gpu.example.com/node-9/gpu-1 example.com/xid:NoExecute --from {EXAMPLE} {flags}"
    ))
}

/// Two devices, one of them in use.
fn devices(flags: &str) -> Run {
    devicetaint(&format!(
        "devices gpu.example.com/node-9/gpu-1 gpu.example.com/node-9/gpu-3 --from {EXAMPLE} {flags}"
    ))
}

#[test]
fn devices_as_names_that_preview_takes() {
    let names = devices("-o name");
    assert_eq!(names.code, 0);
    for name in names.stdout.lines() {
        let run = devicetaint(&format!("preview {name} a:NoExecute --from {EXAMPLE}"));
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
    }
}

#[test]
fn format_can_be_given_in_every_way_kubectl_takes_it() {
    let expected = preview("-o json").shown();
    for flags in ["-ojson", "-o=json", "--output json", "--output=json"] {
        assert_eq!(preview(flags).shown(), expected, "{flags}");
    }
}

#[test]
fn a_page_says_what_is_odd_and_what_is_not_known_and_ends_as_every_format_does() {
    let preview = preview("-o html --abort-if pods.evicted>0");
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
