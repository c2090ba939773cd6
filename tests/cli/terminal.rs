//! What stands on terminals of different widths.

use std::process::Command;

use rexpect::session::spawn_command;

use crate::harness::{EXAMPLE, PROGRAM};

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

const COMMANDS: [&str; 7] = [
    "preview 'gpu.example.com/node-7/*' example.com/maintenance:NoExecute",
    "preview --rule node-6-firmware",
    "preview --rule node-6-firmware -o wide",
    "list",
    "list -o wide",
    "describe node-6-firmware",
    "devices -o wide",
];

#[test]
fn the_same_is_said_on_terminals_of_every_width() {
    for command in COMMANDS {
        let wide = lines(command, 400);
        assert!(wide.len() > 2, "{command}: {wide:#?}");
        for columns in [60, 80, 120, 200] {
            let narrow = lines(command, columns);
            assert_eq!(words(&narrow), words(&wide), "{command} at {columns}");
        }
    }
}

#[test]
fn only_rows_of_names_are_wider_than_the_terminal() {
    for command in COMMANDS {
        for columns in [80, 120, 200] {
            for line in lines(command, columns) {
                // Cells stand three columns apart; a message is the terminal's to break.
                let is_row = line.trim().contains("   ");
                let is_message = line.starts_with("warning: ") || line.starts_with("next: ");
                let fits = line.chars().count() <= columns;
                assert!(
                    fits || is_row || is_message,
                    "{command} at {columns}: {line}"
                );
            }
        }
    }
}
