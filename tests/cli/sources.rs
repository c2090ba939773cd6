//! `--from`: files, folders, streams, and missing parts.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::harness::{EXAMPLE, Folder, devicetaint, example};
use crate::screen::assert_screen;

const QUESTION: &str = "preview gpu.example.com/node-7/gpu-0 a:NoExecute -o json";

/// Output expected of every way to hand over the example.
fn expected() -> String {
    devicetaint(&format!("{QUESTION} --from {EXAMPLE}")).shown()
}

/// The objects of the example of the kinds that `wants` takes.
fn objects(wants: impl Fn(&str) -> bool) -> Vec<Value> {
    let list: Value = serde_yaml::from_str(&example()).expect("YAML");
    let items = list["items"].as_array().expect("a list");
    let wanted = items
        .iter()
        .filter(|item| wants(item["kind"].as_str().expect("a kind")));
    wanted.cloned().collect()
}

fn list(items: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).expect("gzip");
    encoder.finish().expect("gzip")
}

#[test]
fn gzip_and_standard_input_are_read_whatever_their_name() {
    let packed = gzip(&example());
    let folder = Folder::new().with("cluster", &packed);
    for (line, input) in [
        ("--from cluster", b"".as_slice()),
        ("--from -", example().as_bytes()),
        ("--from=-", packed.as_slice()),
    ] {
        let run = folder.devicetaint_reading(&format!("{QUESTION} {line}"), input);
        assert_eq!(run.shown(), expected(), "{line}");
    }
}

#[test]
fn files_of_both_formats_are_one_cluster() {
    let yaml = |items: Vec<Value>| {
        let documents: Vec<String> = items
            .iter()
            .map(|item| serde_yaml::to_string(item).expect("YAML"))
            .collect();
        documents.join("---\n")
    };
    let of = |kind: &'static str| objects(move |found| found == kind);
    let rest = objects(|kind| !["Pod", "ResourceClaim", "ResourceSlice"].contains(&kind));
    let folder = Folder::new()
        .with("dump/pods.json", list(&of("Pod")))
        .with("dump/claims.yaml", yaml(of("ResourceClaim")))
        .with("dump/slices.json.gz", gzip(&list(&of("ResourceSlice"))))
        .with("dump/notes.txt", "not read")
        .with("rest.yml", yaml(rest));
    let run = folder.devicetaint(&format!("{QUESTION} --from dump --from rest.yml"));
    assert_eq!(run.shown(), expected());
    let run = folder.devicetaint(&format!(
        "{QUESTION} --from rest.yml --from dump/slices.json.gz --from dump/pods.json --from dump/claims.yaml"
    ));
    assert_eq!(run.shown(), expected());
}

#[test]
fn same_object_twice_is_a_warning_and_the_newer_counts() {
    let mut older = objects(|kind| kind == "Pod");
    older.retain(|pod| pod["metadata"]["name"] == "notebook-anna");
    older[0]["metadata"]["resourceVersion"] = json!("1");
    older[0]["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:00:00Z");
    let folder = Folder::new()
        .with("older.json", list(&older))
        .with_example();
    let line = "preview gpu.example.com/node-7/gpu-0 a:NoExecute -o name --from older.json";
    let run = folder.devicetaint(&format!("{line} --from cluster.yaml"));
    assert_eq!(run.stdout.lines().count(), 3, "{}", run.shown());
    assert!(run.stdout.contains("pod/notebook-anna "), "{}", run.shown());
    assert!(
        run.stderr.contains("research/notebook-anna"),
        "{}",
        run.shown()
    );
}

#[test]
fn kinds_that_are_missing_make_the_answer_incomplete() {
    let folder = Folder::new()
        .with(
            "claims.json",
            list(&objects(|kind| kind == "ResourceClaim")),
        )
        .with("pods.json", list(&objects(|kind| kind == "Pod")));
    let line = "preview gpu.example.com/node-9/gpu-1 a:NoExecute --from claims.json";
    assert_screen("preview-incomplete", &folder.devicetaint(line).shown());
    let missing = |line: &str| {
        let report = folder.devicetaint(&format!("{line} -o json")).json();
        let gaps = report["incomplete"].as_array().cloned();
        let gaps: Vec<Value> = gaps.into_iter().flatten().collect();
        let names = gaps.iter().filter_map(|gap| gap["missing"].as_str());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        missing(line),
        ["resourceslices", "devicetaintrules", "pods"]
    );
    assert_eq!(
        missing(&format!("{line} --from pods.json")),
        [
            "resourceslices",
            "devicetaintrules",
            "poddisruptionbudgets",
            "nodes"
        ]
    );
    let strict = folder.devicetaint(&format!("{line} --strict -o json"));
    assert_eq!(strict.code, 6);
}

#[test]
fn newer_api_is_kept_shown_and_warned_about() {
    let objects = json!([
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s", "creationTimestamp": "2026-11-20T00:00:00Z", "brandNew": 1},
         "spec": {"driver": "d", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n", "future": {"a": []},
                  "devices": [{"name": "x", "shiny": true, "taints": [{"key": "k", "effect": "Melt", "timeAdded": "2026-11-20T00:00:00Z"}]}]}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "n", "uid": "c"},
         "status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "p"}],
                    "allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x",
                        "tolerations": [{"operator": "Matches", "key": "a"}]}]}}}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": "rule"},
         "spec": {"deviceSelector": {"driver": "d", "rack": "7"}, "taint": {"key": "k", "effect": "Melt"}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "uid": "p"},
         "spec": {"nodeName": "n", "resourceClaims": [{"name": "c", "resourceClaimName": "c"}], "containers": []}, "status": {"phase": "Dreaming"}},
    ]);
    let folder = Folder::new().with("cluster.json", list(objects.as_array().expect("a list")));
    for (line, evicted) in [("preview d/p/x a:NoExecute", 1), ("preview --rule rule", 0)] {
        let run = folder.devicetaint(&format!("{line} --from cluster.json -o json"));
        assert_eq!(run.code, 0, "{}", run.shown());
        assert_eq!(run.json()["summary"]["evictedPodCount"], evicted, "{line}");
        for unknown in [
            "`Melt`",
            "`Matches`",
            "`Dreaming`",
            "`spec.deviceSelector.rack`",
        ] {
            assert!(run.stderr.contains(unknown), "{unknown}: {}", run.stderr);
        }
    }
    let devices = folder
        .devicetaint("devices --from cluster.json -o json")
        .json();
    let taints = devices["items"][0]["taints"]
        .as_array()
        .expect("taints")
        .iter();
    let effects: Vec<&Value> = taints.map(|taint| &taint["effect"]).collect();
    assert_eq!(effects, ["Melt", "Melt"]);
}

#[test]
fn an_empty_list_states_that_there_are_no_rules() {
    let none = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","metadata":{},"items":[]}"#;
    let file = "tests/data/reports/no-rules.yaml";
    let text = std::fs::read_to_string(file).expect("a file");
    let folder = Folder::new().with("a.json", text).with("none.json", none);
    let rules = folder.devicetaint("list --from . --now 2026-01-02T00:00:00Z");
    assert_eq!(
        rules.shown(),
        "[stderr]\nNo resources found\n[exit status: 0]"
    );
    let devices = folder.devicetaint("devices --from . -o json").json();
    assert_eq!(devices["nodes"][0]["freeDeviceCount"], 1);
}

const SLICE: &str = r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},
    "spec":{"driver":"d","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"x"}]}}"#;

#[test]
fn input_that_is_no_dump_is_named() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {resourceClaims: [{name: g, resourceClaimName: c}]}\n";
    let claims = SLICE.replace("ResourceSlice", "ResourceClaim");
    let folder = Folder::new()
        .with("pod.yaml", pod)
        .with(
            "claims.yaml",
            claims.replace("k8s.io/v1", "k8s.io/v1alpha3"),
        )
        .with("slice.json", SLICE)
        .with("notes/a.txt", "");
    for (line, code, words) in [
        (
            "devices --from pod.yaml",
            1,
            "is a manifest, not a dump: Pod a",
        ),
        (
            "devices --from claims.yaml",
            1,
            "ResourceClaim at document 1: apiVersion resource.k8s.io/v1alpha3",
        ),
        (
            "preview -f notes --from slice.json",
            1,
            "no DeviceTaintRule in notes",
        ),
        ("preview d a:NoExecute --from slice.json", 2, "--now"),
        ("devices --from slice.json", 0, "x"),
    ] {
        let run = folder.devicetaint(line);
        assert_eq!(run.code, code, "{line}: {}", run.shown());
        assert!(run.shown().contains(words), "{line}: {}", run.shown());
    }
    let document = folder
        .devicetaint("devices --from slice.json -o json")
        .json();
    assert_eq!(document["metadata"].get("observedTime"), None);
}

/// Signals while the program reads a pipe from which nothing comes, and that no writer closes.
#[cfg(unix)]
mod silent_pipe {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::super::harness::Folder;

    /// The exit code of the program, which is sent `signal` while it waits for the pipe.
    fn stopped(folder: &Folder, words: &[&str], signal: &str) -> Option<i32> {
        let mut child = folder
            .program()
            .args(words)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        // Until the program listens, a signal ends it.
        let listening = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
            let status = status.expect("a process");
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = u64::from_str_radix(caught.expect("a line").trim(), 16);
            caught.expect("a number") & (1 << 1 | 1 << 14) == (1 << 1 | 1 << 14)
        };
        let begun = Instant::now();
        while cfg!(target_os = "linux") && !listening() {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "it never listens"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.expect("kill").success());
        let begun = Instant::now();
        loop {
            if let Some(status) = child.try_wait().expect("a child") {
                return status.code();
            }
            if begun.elapsed() > Duration::from_secs(20) {
                child.kill().expect("a child");
                panic!("{words:?} does not end on {signal}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn signals_end_the_program_while_it_waits_for_a_pipe() {
        let folder = Folder::new();
        let pipe = folder.path("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        for words in [
            &["devices", "--from", "-"][..],
            &["list", "-o", "json", "--from", "-"],
            &["devices", "--from", "pipe"],
            &["preview", "-f", "-", "--from", "cluster.yaml"],
            &["preview", "-f", "pipe"],
            &["add", "-f", "-"],
        ] {
            assert_eq!(stopped(&folder, words, "-INT"), Some(130), "{words:?}");
            assert_eq!(stopped(&folder, words, "-TERM"), Some(143), "{words:?}");
        }
    }
}

#[test]
fn other_kinds_in_manifests_are_skipped_in_one_line_although_no_server_has_stored_them() {
    let rule = "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {name: r}\nspec:\n  deviceSelector: {driver: gpu.example.com}\n  taint: {key: a.io/b, effect: NoExecute}\n";
    let other = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n";
    let folder = Folder::new()
        .with("all/rule.yaml", format!("{rule}{other}"))
        .with("cluster.yaml", example());
    let run = folder.devicetaint("preview -f all --from cluster.yaml -o name");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let skipped = run.stderr.lines().filter(|line| line.contains("skipped"));
    let skipped: Vec<&str> = skipped.collect();
    assert_eq!(
        skipped,
        ["other kinds are skipped: Deployment, ResourceClaim"]
    );
}
