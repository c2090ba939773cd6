//! The life of a rule, and errors of the command line alone.

use serde_json::json;

use super::harness::{EXAMPLE, Folder, devicetaint, example};
use crate::screen::assert_screen;

/// Rules as users save them: in a list of any kinds, in a typed list whose items have no kind, alone, and twice.
const SAVED: [(&str, &str); 3] = [
    (
        "a.json",
        r#"{"kind":"List","apiVersion":"v1","items":[
            {"apiVersion":"v1","kind":"Node","metadata":{"name":"node-7"}},
            {"apiVersion":"resource.k8s.io/v1alpha3","kind":"DeviceTaintRule",
             "metadata":{"name":"twice","resourceVersion":"9","managedFields":[{"manager":"new"}],
                         "labels":{"team":"ml"}},
             "spec":{"deviceSelector":{"driver":"gpu.example.com"},
                     "taint":{"key":"example.com/a","effect":"NoSchedule","severity":7}},
             "future":{"field":[1,null,"x"]}}]}"#,
    ),
    (
        "b.json",
        r#"{"items":[{"metadata":{"name":"late","creationTimestamp":"2026-01-01T00:00:00Z"},
              "spec":{"taint":{"key":"example.com/b","effect":"None"}}}],
            "kind":"DeviceTaintRuleList","apiVersion":"resource.k8s.io/v1"}"#,
    ),
    (
        "c.yaml",
        "---\napiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata:\n  name: twice\n  resourceVersion: \"8\"\nspec:\n  taint:\n    key: example.com/old\n    effect: NoExecute\n---\napiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata:\n  name: alone\n  annotations: {note: \"yes\"}\nspec:\n  taint:\n    key: example.com/c\n    effect: Newest\n  more: [1.5, true]\n",
    ),
];

#[test]
fn rules_of_files_are_printed_as_they_stand_in_them() {
    let folder = SAVED.iter().fold(Folder::new(), |folder, (name, text)| {
        folder.with(name, text)
    });
    let list = |more: &str| folder.devicetaint(&format!("list --from . {more}"));
    let mut printed = list("-o json").json();
    let counts = printed
        .as_object_mut()
        .and_then(|all| all.remove("ruleSummaries"));
    let counted = counts.map(|counts| counts[0].clone()).unwrap_or_default();
    assert_eq!(counted["rule"], "alone");
    assert_eq!(
        printed,
        json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": [
            {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule",
             "metadata": {"name": "alone", "annotations": {"note": "yes"}},
             "spec": {"taint": {"key": "example.com/c", "effect": "Newest"}, "more": [1.5, true]}},
            {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": "late", "creationTimestamp": "2026-01-01T00:00:00Z"},
             "spec": {"taint": {"key": "example.com/b", "effect": "None"}}},
            {"apiVersion": "resource.k8s.io/v1alpha3", "kind": "DeviceTaintRule",
             "metadata": {"name": "twice", "resourceVersion": "9", "managedFields": [{"manager": "new"}],
                          "labels": {"team": "ml"}},
             "spec": {"deviceSelector": {"driver": "gpu.example.com"},
                      "taint": {"key": "example.com/a", "effect": "NoSchedule", "severity": 7}},
             "future": {"field": [1, null, "x"]}},
        ]})
    );
    let yaml = list("twice -o yaml").stdout;
    assert!(
        yaml.contains("\n  future:\n    field:\n    - 1\n"),
        "{yaml}"
    );
    assert!(!yaml.contains("alone"), "{yaml}");
    let labelled = list("-l team=ml -o json").stdout;
    assert!(
        labelled.contains("twice") && !labelled.contains("late"),
        "{labelled}"
    );
    assert_eq!(list("nobody -o json").code, 1);
}

#[test]
fn a_rule_of_a_dump_is_described_as_it_was() {
    let run = devicetaint(&format!("describe node-10-decommission --from {EXAMPLE}"));
    assert_screen("describe", &run.shown());
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

#[test]
fn events_of_a_dump_are_shown_for_the_pods_that_they_name() {
    let event = |name: &str, namespace: &str, pod: &str, uid: &str| {
        json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {"kind": "Pod", "namespace": namespace, "name": pod, "uid": uid},
            "type": "Normal", "reason": "DeviceTaintManagerEviction",
            "message": format!("about {name}"), "lastTimestamp": "2026-11-20T10:06:00Z",
        })
    };
    let uid = uid_of("fold-jsg5p");
    let list = json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [
        event("true", "research", "fold-jsg5p", &uid),
        event("forged-namespace", "elsewhere", "fold-jsg5p", &uid),
        event("forged-name", "research", "another", &uid),
        event("earlier", "research", "fold-jsg5p", "of-an-earlier-pod"),
    ]});
    let folder = Folder::new()
        .with("cluster.yaml", example())
        .with("events.json", list.to_string());
    let run =
        folder.devicetaint("describe node-10-decommission --from cluster.yaml --from events.json");
    assert_eq!(run.code, 0, "{}", run.shown());
    assert!(run.stdout.contains("about true"), "{}", run.shown());
    for other in ["about forged", "about earlier", "Incomplete"] {
        assert!(!run.stdout.contains(other), "{}", run.shown());
    }
}

/// The UID of a pod of the example.
fn uid_of(pod: &str) -> String {
    let text = example();
    let (_, after) = text.split_once(&format!("name: {pod}\n")).expect("the pod");
    let (_, uid) = after.split_once("uid: ").expect("its UID");
    uid.lines().next().expect("a line").trim().to_owned()
}

#[test]
fn who_tolerates_a_taint_is_listed_with_blanket_tolerations_apart() {
    let run = devicetaint(&format!(
        "tolerations example.com/maintenance:NoExecute --who --from {EXAMPLE} -o json"
    ));
    let report = run.json();
    let found = report["items"].as_array().expect("a list");
    let tolerances: Vec<&str> = found
        .iter()
        .filter_map(|one| one["tolerance"].as_str())
        .collect();
    assert!(
        tolerances.contains(&"Key") && tolerances.contains(&"Wildcard"),
        "{report}"
    );
    assert!(tolerances.is_sorted(), "those by key first: {report}");
    let scheduler_only = found.iter().any(|one| one["schedulingOnly"] == true);
    assert!(
        scheduler_only,
        "a toleration without effect is good for the scheduler alone: {report}"
    );
}
