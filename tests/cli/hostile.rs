//! Random hostile text in every text of a cluster, in every format.
//!
//! `OUTPUTS=100000 SEED=7 cargo test --test all cli::hostile` is longer, on as many lanes as there are processors.

use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::bad_input::{assert_harmless, hostile_cluster};
use super::harness::Folder;

/// Outputs of an ordinary run.
const OUTPUTS: u64 = 60;

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

/// A number that follows from another (splitmix64).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn number_in(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.parse().ok()
}

/// One output: the command line and its output have to be harmless.
fn output(number: u64) {
    let chance = mixed(number);
    let pick = |shift: usize, among: usize| {
        let some = usize::try_from((chance >> shift) & 0xff).expect("a byte");
        some % among
    };
    let parts: String = (0..=pick(0, 3))
        .map(|place| PARTS[pick(8 + 8 * place, PARTS.len())])
        .collect();
    let (command, format) = (COMMANDS[pick(40, 3)], FORMATS[pick(48, FORMATS.len())]);
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
    let outputs = number_in("OUTPUTS").unwrap_or(OUTPUTS);
    let next = AtomicU64::new(0);
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
                    let tried =
                        std::panic::catch_unwind(|| output(mixed(seed).wrapping_add(number)));
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
