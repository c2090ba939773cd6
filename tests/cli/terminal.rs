//! Output on terminals of different widths.

use std::process::Command;

use rexpect::session::spawn_command;

use super::harness::{EXAMPLE, PROGRAM};

/// The lines on a terminal of so many columns.
fn lines(line: &str, columns: usize) -> Vec<String> {
    let script = format!("stty rows 50 cols {columns}; exec \"$0\" {line} --from {EXAMPLE}");
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
fn rows_fit_a_terminal_and_names_are_whole() {
    let shown = lines("devices --node node-9", 80);
    assert!(
        shown.iter().all(|line| line.chars().count() <= 80),
        "{shown:#?}"
    );
    let row = shown.iter().find(|line| line.starts_with("  gpu-0 "));
    assert!(
        row.is_some_and(|row| row.contains("serving/")),
        "{shown:#?}"
    );
}
