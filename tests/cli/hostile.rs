//! Hostile text in arguments, and at random in every text of a cluster, in every format.
//!
//! `OUTPUTS=100000 SEED=7 cargo test --test all cli::hostile` is longer, on as many lanes as there are processors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use kubectl_devicetaint::output::escape::is_hostile;
use serde_json::json;

use super::harness::{EXAMPLE, Folder, Run, devicetaint_words};
use crate::harness::{Random, number_in};

/// Outputs of an ordinary run.
const OUTPUTS: usize = 60;

/// Text that terminals, browsers and Markdown act upon, and text that is only odd.
const PARTS: [&str; 24] = [
    "\u{1b}[2J",
    "\u{1b}]8;;http://x\u{7}",
    "\u{1b}P",
    "\u{9b}31m",
    "\u{9d}0;x\u{9c}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{feff}",
    "\u{ad}",
    "\u{7}",
    "\u{8}\u{8}",
    "\r",
    "\n",
    "\t",
    "\u{7f}",
    "\u{2028}",
    "\u{e0041}",
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\"><b>",
    "| a | `b` | [c](javascript:d)",
    "': {a: b}",
    "é漢\u{301}",
];

const COMMANDS: [&str; 3] = ["preview --all-devices", "devices", "list"];
const FORMATS: [&str; 7] = ["table", "wide", "json", "yaml", "markdown", "html", "name"];

fn assert_harmless(name: &str, run: &Run) {
    for text in [&run.stdout, &run.stderr] {
        let raw = text
            .chars()
            .find(|character| *character != '\n' && is_hostile(*character));
        assert_eq!(raw, None, "{name}: {text:?}");
    }
}

/// A cluster whose every text holds characters that must not be printed.
fn hostile_cluster(hostile: &str) -> String {
    let odd = |text: &str| format!("{text}{hostile}{text}");
    let taint = json!({"key": odd("k"), "value": odd("v"), "effect": odd("Melt")});
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": odd("s"), "creationTimestamp": "2026-11-20T00:00:00Z"},
         "spec": {"driver": odd("d"), "pool": {"name": odd("p"), "generation": 1, "resourceSliceCount": 1}, "nodeName": odd("n"),
                  "devices": [{"name": odd("x"), "taints": [taint]}]}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": odd("c"), "namespace": odd("n"), "uid": "c"},
         "status": {"reservedFor": [{"resource": "pods", "name": odd("p"), "uid": odd("p")}],
                    "allocation": {"devices": {"results": [{"request": odd("r"), "driver": odd("d"), "pool": odd("p"), "device": odd("x"),
                        "tolerations": [{"operator": odd("M"), "key": odd("a"), "effect": odd("E")}]}]}}}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": odd("rule")},
         "spec": {"deviceSelector": {"driver": odd("d"), odd("rack"): "7"}, "taint": taint}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": odd("p"), "namespace": odd("n"), "uid": odd("p"),
            "ownerReferences": [{"apiVersion": "v1", "kind": odd("Kind"), "name": odd("o"), "uid": "o", "controller": true}]},
         "spec": {"nodeName": odd("n"), "priorityClassName": odd("c"), "resourceClaims": [{"name": "c", "resourceClaimName": odd("c")}], "containers": []},
         "status": {"phase": odd("Dreaming"), "qosClass": odd("Q")}},
    ]})
    .to_string()
}

/// One output: the command line and its output have to be harmless.
fn output(seed: u64, number: usize) {
    let random = &mut Random::new(seed, number);
    let parts: String = (0..=random.below(3)).map(|_| random.pick(&PARTS)).collect();
    let (command, format) = (random.pick(&COMMANDS), random.pick(&FORMATS));
    // Pages are made of previews alone.
    let command = if format == "html" {
        COMMANDS[0]
    } else {
        command
    };
    let folder = Folder::new().with("cluster.json", hostile_cluster(&parts));
    let line = format!("{command} --from cluster.json -o {format}");
    let run = folder.devicetaint(&line);
    let name = format!("{number}: {line}");
    assert!((0..=6).contains(&run.code), "{name}: {}", run.stderr);
    assert_harmless(&name, &run);
    if format == "html" || format == "markdown" {
        // Text behind a backslash is literal in Markdown.
        let shown = run.stdout.replace("\\<", "");
        for live in ["<img", "<script>alert", "\"><b>"] {
            assert!(!shown.contains(live), "{name}: {live} is live");
        }
    }
    if format == "json" && run.code == 0 {
        let report: Result<serde_json::Value, _> = serde_json::from_str(&run.stdout);
        assert!(report.is_ok(), "{name}");
    }
}

#[test]
fn random_hostile_text_is_dead_wherever_it_is_printed() {
    let seed = number_in("SEED").unwrap_or(1);
    let outputs = number_in("OUTPUTS").map_or(OUTPUTS, |it| usize::try_from(it).expect("small"));
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    let lanes = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= outputs {
                        return;
                    }
                    let tried = std::panic::catch_unwind(|| output(seed, number));
                    if tried.is_err() {
                        wrong.lock().expect("no panic").push(number);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(
        wrong.is_empty(),
        "of {outputs} outputs with seed {seed}, live: {wrong:?}"
    );
}

#[test]
fn hostile_arguments_never_reach_the_terminal_raw() {
    for hostile in PARTS.into_iter().take(13) {
        for argument in [
            format!("gpu{hostile}"),
            format!("gpu.example.com/node-7/{hostile}"),
            format!("a{hostile}:NoExecute"),
            format!("a={hostile}:NoExecute"),
            format!("a:{hostile}"),
            format!("--node={hostile}"),
            format!("--rule={hostile}"),
            format!("--filename={hostile}"),
            format!("--from={hostile}"),
            format!("--abort-if={hostile}>1"),
            format!("--abort-if=pods.evicted>{hostile}"),
            format!("--now={hostile}"),
            format!("--kubernetes=1.{hostile}"),
            format!("--output={hostile}"),
            format!("--{hostile}"),
            format!("-{hostile}"),
        ] {
            let run = devicetaint_words(&["preview", "--from", EXAMPLE, &argument]);
            assert!([1, 2].contains(&run.code), "{argument:?}: {}", run.stderr);
            assert_harmless(&argument, &run);
        }
        for words in [["help", hostile], [hostile, "--help"], ["devices", hostile]] {
            assert_harmless(hostile, &devicetaint_words(&words));
        }
    }
}
