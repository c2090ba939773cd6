//! What stands on terminals of different widths.

use std::collections::BTreeSet;
use std::process::Command;

use rexpect::session::spawn_command;

use super::harness::{EXAMPLE, PROGRAM};

/// The lines on a terminal of so many columns, and of fifty lines.
fn lines(line: &str, columns: usize) -> Vec<String> {
    lines_of(line, columns, 50)
}

fn lines_of(line: &str, columns: usize, rows: usize) -> Vec<String> {
    let script = format!("stty rows {rows} cols {columns}; exec \"$0\" {line} --from {EXAMPLE}");
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &script, PROGRAM])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm")
        .env("NO_COLOR", "1");
    let mut session = spawn_command(command, Some(30_000)).expect("a terminal can be had");
    let shown = session.exp_eof().expect("it ends");
    // It is given a character for each byte.
    let bytes: Vec<u8> = shown
        .chars()
        .filter_map(|byte| u8::try_from(byte).ok())
        .collect();
    let shown = String::from_utf8(bytes).expect("UTF-8");
    shown.lines().map(str::to_owned).collect()
}

/// All that is said, whatever lines it stands in.
fn words(lines: &[String]) -> Vec<&str> {
    let mut words: Vec<&str> = lines
        .iter()
        .flat_map(|line| line.split_whitespace())
        .collect();
    words.sort_unstable();
    words
}

#[test]
fn devices_are_summed_up_where_a_terminal_has_too_few_lines() {
    let shown = lines("devices", 200);
    assert!(shown.len() < 50, "{shown:#?}");
    assert!(shown[0].starts_with("NODE "), "{shown:#?}");
    let node = shown.iter().find(|line| line.starts_with("node-9 "));
    let cells: Vec<&str> = node.expect("a line").split_whitespace().collect();
    assert_eq!(cells, ["node-9", "4", "3", "1", "1"]);
    assert!(shown.join("\n").contains("-o wide"), "{shown:#?}");
    let few = lines("devices --node node-9", 200);
    assert!(few[0].starts_with("  DEVICE "), "{few:#?}");
    let all = lines("devices -o wide", 400);
    assert!(all.len() > 46, "{all:#?}");
    let columns = lines("devices --columns model", 400);
    assert!(columns.len() > 46, "asked for: {columns:#?}");
}

/// Reports and errors as text, without `-o wide`, whose rows are as long as they have to be.
const TEXTS: [&str; 17] = [
    "preview gpu.example.com a:NoExecute",
    "preview 'gpu.example.com/node-7/*' example.com/maintenance:NoExecute",
    "preview --all-devices a:NoExecute --by-workload",
    "preview --rule node-6-firmware",
    "preview gpu.example.com a:NoExecute --abort-if 'pods.evicted>3'",
    "preview gpu.example.com/node-7/gpu-9",
    "list",
    "describe node-6-firmware",
    "devices",
    "devices --where 'device.attributes[\"gpu.example.com\"].nope == 1'",
    "explain pod/llm-2 -n training",
    "explain pod/fold-jsg5p -n research -o wide",
    "explain device/gpu.example.com/node-7/gpu-0",
    "explain rule/node-10-decommission",
    "plan gpu.example.com --count 2",
    "tolerations node-10-decommission",
    "tolerations node-10-decommission --who",
];

/// Whether a line is a command to be pasted, which is never broken.
fn is_command(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['`', '(']);
    let line = line.strip_prefix("next: ").unwrap_or(line);
    line.starts_with("kubectl ")
}

#[test]
fn no_line_is_wider_than_the_terminal_and_none_is_broken_inside_a_word() {
    for command in TEXTS {
        let whole: BTreeSet<String> = words(&lines_of(command, 1_000, 500))
            .into_iter()
            .map(str::to_lowercase)
            .collect();
        for columns in [80, 100, 120, 200] {
            let shown = lines_of(command, columns, 500);
            assert!(shown.len() > 1, "{command} at {columns}: {shown:#?}");
            for line in &shown {
                let fits = line.chars().count() <= columns;
                assert!(fits || is_command(line), "{command} at {columns}: {line}");
            }
            // A name that is cut has an ellipsis, and headers of columns become labels of cells.
            let broken = words(&shown)
                .into_iter()
                .find(|word| !word.contains('…') && !whole.contains(&word.to_lowercase()));
            assert_eq!(broken, None, "{command} at {columns}: {shown:#?}");
        }
    }
}
