//! The life of a rule, and errors of the command line alone.

use serde_json::json;

use super::harness::{EXAMPLE, Folder, devicetaint};

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
