//! What stands on terminals of different widths.

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
