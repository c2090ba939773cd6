//! Input that cannot be used: one clear line, soon, in little memory, and nothing that acts on a
//! terminal.

use kubectl_devicetaint::output::escape::is_hostile;
use serde_json::json;

use super::harness::{EXAMPLE, Folder, Run, devicetaint_words};

/// Asks about a device of the example, with everything that is in `content`.
fn preview_of(name: &str, content: impl AsRef<[u8]>) -> Run {
    let folder = Folder::new().with(name, content);
    folder.devicetaint_limited(&format!(
        "preview gpu.example.com/node-7/gpu-0 a:NoExecute --from {name}"
    ))
}

/// Checks that a file which cannot be used is one error with its name.
fn assert_named(name: &str, content: impl AsRef<[u8]>) {
    let run = preview_of(name, content);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.shown());
    assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
    assert!(run.stderr.contains(name), "{name}: {}", run.stderr);
}

#[test]
fn aliases_that_multiply() {
    let mut bomb =
        String::from("apiVersion: v1\nkind: List\nx0: &x0 [a, a, a, a, a, a, a, a, a]\n");
    for level in 1..12 {
        let inner = vec![format!("*x{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("x{level}: &x{level} [{inner}]\n"));
    }
    assert_named("bomb.yaml", bomb + "items: *x11\n");
}

#[test]
fn towers_of_brackets() {
    let (open, close) = ("[".repeat(200_000), "]".repeat(200_000));
    let json = format!(r#"{{"apiVersion":"v1","kind":"List","items":{open}{close}}}"#);
    assert_named("deep.json", json);
    let json = format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":{open}{close}}}}}"#);
    assert_named("name.json", json);
    let json = format!(r#"{{"metadata":{open}{close},"apiVersion":"v1","kind":"Pod"}}"#);
    assert_named("late.json", json);
    let yaml = format!("apiVersion: v1\nkind: List\nitems: {open}{close}\n");
    assert_named("flow.yaml", yaml);
    let yaml = format!(
        "apiVersion: v1\nkind: List\nitems:\n- kind: {}a\n",
        "- ".repeat(200_000)
    );
    assert_named("block.yaml", yaml);
    let yaml = format!("apiVersion: v1\nkind: Pod\nx: {}", "{a: ".repeat(200_000));
    assert_named("maps.yaml", yaml);
}

#[test]
fn files_that_are_not_there() {
    let folder = Folder::new().with("empty/notes.txt", "nothing");
    let preview =
        |from: &str| folder.devicetaint_limited(&format!("preview gpu.example.com --from {from}"));
    assert_eq!(preview("missing.yaml").code, 1);
    assert_eq!(preview("empty").code, 1);
}

/// Noise that is the same in every run.
fn noise(length: usize, map: impl Fn(u8) -> u8) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| map(next())).collect()
}

#[test]
fn noise_of_every_sort_is_one_short_line() {
    let printable = |byte: u8| {
        if byte.is_multiple_of(9) {
            b'\n'
        } else {
            33 + byte % 90
        }
    };
    let mut gzip = vec![0x1f, 0x8b, 8, 0];
    gzip.extend(noise(1_000_000, |byte| byte));
    for (name, content) in [
        ("bytes", noise(1_000_000, |byte| byte)),
        ("text.yaml", noise(1_000_000, printable)),
        ("word.yaml", noise(1_000_000, |byte| b'a' + byte % 26)),
        (
            "brackets.json",
            noise(1_000_000, |byte| b"{}[]:,\"1"[usize::from(byte % 8)]),
        ),
        ("packed.gz", gzip),
        ("zeros", vec![0; 1_000_000]),
    ] {
        let run = preview_of(name, content);
        assert_eq!(run.code, 1, "{name}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{name}");
        let first = run.stderr.lines().next().expect("a line");
        assert!(
            first.starts_with(&format!("error: cannot read {name}: ")),
            "{first}"
        );
        assert!(first.chars().count() < 320, "{name}: {first}");
        assert!(run.stderr.lines().count() <= 2, "{name}: {}", run.stderr);
    }
}

/// Characters that clear a screen, reorder a line, or cannot be seen.
const HOSTILE: [&str; 6] = [
    "\u{1b}[2J",
    "\u{202e}",
    "\u{200b}",
    "\u{9b}31m",
    "\r",
    "\u{7}",
];

pub(crate) fn assert_harmless(name: &str, run: &Run) {
    for text in [&run.stdout, &run.stderr] {
        let raw = text
            .chars()
            .find(|character| *character != '\n' && is_hostile(*character));
        assert_eq!(raw, None, "{name}: {text:?}");
    }
}

#[test]
fn hostile_arguments_never_reach_the_terminal_raw() {
    for hostile in HOSTILE {
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

/// A cluster whose every text holds characters that must not be printed.
pub(crate) fn hostile_cluster(hostile: &str) -> String {
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
