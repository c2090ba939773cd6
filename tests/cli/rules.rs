//! The life of a rule, and errors of the command line alone.

use serde_json::json;

use super::harness::{EXAMPLE, Folder, devicetaint, example};
use crate::screen::assert_screen;

#[test]
fn rules_of_a_dump_are_listed_with_what_they_hit() {
    let run = devicetaint(&format!("list --from {EXAMPLE} -o wide"));
    assert_eq!(run.code, 0, "{}", run.shown());
    let header: Vec<&str> = run
        .stdout
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    assert_eq!(
        header,
        [
            "NAME",
            "DEVICES",
            "EFFECT",
            "PODS",
            "AGE",
            "TAINT",
            "SELECTED",
            "TERMINATING",
            "STAYING",
            "REASON",
            "BY",
            "EXPIRES",
            "NOTE"
        ]
    );
    let power = run
        .stdout
        .lines()
        .find(|line| line.starts_with("node-8-power"));
    let power = power.expect("the example has it");
    for text in ["power work in row B", "dana", " expired"] {
        assert!(power.contains(text), "{text}: {power}");
    }
    let expired = devicetaint(&format!("list --from {EXAMPLE} --expired -o name"));
    assert_eq!(
        expired.stdout,
        "devicetaintrule.resource.k8s.io/node-8-power\n"
    );
    let labelled = devicetaint(&format!(
        "list --from {EXAMPLE} -l devicetaint.dev/batch=9c41d7e02b --no-headers"
    ));
    assert_eq!(labelled.stdout.lines().count(), 1, "{}", labelled.shown());
    let none = devicetaint(&format!("list --from {EXAMPLE} -l a=b"));
    assert_eq!((none.code, none.stdout.as_str()), (0, ""));
    assert!(none.stderr.contains("No resources found"));
}

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
    let later =
        format!("describe node-10-decommission --from {EXAMPLE} --now 2026-11-20T10:40:00Z");
    let later = devicetaint(&later).stdout;
    assert!(
        later.contains("waits for eviction by the controller, overdue by 5m"),
        "{later}"
    );
    let unknown = devicetaint(&format!("describe node-8-powr --from {EXAMPLE}"));
    assert_eq!(unknown.code, 1);
    assert!(
        unknown.stderr.contains("did you mean node-8-power?"),
        "{}",
        unknown.shown()
    );
}

#[test]
fn rules_are_taken_as_they_are_printed_and_several_at_a_time() {
    let printed = devicetaint(&format!("list -o name --from {EXAMPLE}")).stdout;
    let names: Vec<&str> = printed.lines().take(2).collect();
    let line = |command: &str| format!("{command} {} {} --from {EXAMPLE}", names[0], names[1]);
    assert_eq!(
        devicetaint(&line("list -o name"))
            .stdout
            .lines()
            .collect::<Vec<_>>(),
        names
    );
    assert_eq!(
        devicetaint(&line("describe -o name"))
            .stdout
            .lines()
            .collect::<Vec<_>>(),
        names
    );
    let run = devicetaint(&format!("preview --rule {} --from {EXAMPLE}", names[0]));
    assert_eq!(run.code, 0, "{}", run.shown());
    let several = devicetaint(&line("describe -o json")).json();
    assert_eq!(several["kind"], "RuleDescriptionList");
    assert_eq!(several["items"].as_array().map(Vec::len), Some(2));
    let partly = devicetaint(&format!("describe {} nobody --from {EXAMPLE}", names[0]));
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
fn in_1_34_commands_that_predict_no_evictions_warn_and_others_are_refused() {
    let read = |line: &str| devicetaint(&format!("{line} --from {EXAMPLE} --kubernetes 1.34"));
    let warning = "warning: Kubernetes 1.34 is older than the versions that this plugin supports";
    for line in [
        "devices",
        "explain device/gpu.example.com/node-7/gpu-0",
        "plan gpu.example.com --count 2",
    ] {
        let run = read(line);
        assert_eq!(run.code, 0, "{line}: {}", run.shown());
        assert!(run.stderr.contains(warning), "{line}: {}", run.stderr);
    }
    let pod = read("explain pod/notebook-anna -n research");
    assert!(
        pod.stdout
            .contains("outcome unknown: evictions by Kubernetes 1.34 are not predicted"),
        "{}",
        pod.shown()
    );
    for line in [
        "preview gpu.example.com",
        "list",
        "describe node-6-firmware",
        "explain pod/notebook-anna -n research gpu.example.com",
    ] {
        let run = read(line);
        assert_eq!(run.code, 2, "{line}: {}", run.shown());
        let refused =
            "Kubernetes 1.34 is not supported by this command: it needs Kubernetes 1.35 or later";
        assert!(run.stderr.contains(refused), "{line}: {}", run.stderr);
    }
}
