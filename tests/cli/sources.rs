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
fn manifest_may_come_from_standard_input() {
    let path = format!("{}/examples/rule.yaml", env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read(&path).expect("a manifest");
    let folder = Folder::new().with_example();
    let preview = |file: &str| {
        let line = format!("preview --from cluster.yaml -f {file}");
        folder.devicetaint_reading(&line, &manifest)
    };
    assert_eq!(preview("-").shown(), preview(&path).shown());
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
