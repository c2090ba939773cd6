//! Completion of half a word at a TAB.

use std::time::Duration;

use rexpect::session::{PtySession, spawn_command};

use super::support::{Home, example, shell};

/// Time limit for a shell on a busy machine.
const PATIENCE: u64 = 60_000;

/// Typed words, and what they become with a TAB.
fn cases() -> Vec<(String, &'static str)> {
    let from = format!("--from {}", example().display());
    vec![
        ("kubectl-devicetaint prev".to_owned(), "preview "),
        ("kubectl-devicetaint list --exp".to_owned(), "--expired "),
        (
            format!("kubectl-devicetaint describe {from} node-6-f"),
            "node-6-firmware ",
        ),
        (
            format!("kubectl-devicetaint devices {from} --node node-1"),
            "node-10",
        ),
        (
            format!("kubectl-devicetaint preview {from} gpu.example.com/node-10/gpu-3"),
            "gpu.example.com/node-10/gpu-3 ",
        ),
    ]
}

/// Has the shell run its first line, after which it asks for the next one with `ready-`; the line itself does
/// not contain that word, since the terminal may repeat it. Where the terminal repeats nothing, bash does not
/// show completions either.
fn begin(session: &mut PtySession, line: &str) {
    session.send_line(&format!("stty echo; {line}")).unwrap();
    session.exp_string("ready-").unwrap();
}

/// Types, presses TAB twice, since a choice is shown at the second, and returns the line or the choice.
fn typed(session: &mut PtySession, typed: &str, becomes: &str) {
    session.send(typed).unwrap();
    session.send("\t").unwrap();
    session.flush().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    session.send("\t").unwrap();
    session.flush().unwrap();
    let seen = session.exp_string(becomes);
    assert!(seen.is_ok(), "{typed} TAB: {seen:?}");
    // Ctrl-U: an empty line for the next one.
    session.send("\u{15}").unwrap();
    session.flush().unwrap();
}

/// Ends the shell, which a signal would not.
fn end(mut session: PtySession) {
    session.send_line("exit").unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn bash_completes_what_is_typed() {
    let home = Home::new();
    let script = home.script("bash");
    let mut command = home.command(&shell("bash"));
    command.args(["--norc", "--noprofile", "-i"]);
    let mut session = spawn_command(command, Some(PATIENCE)).unwrap();
    begin(
        &mut session,
        &format!("source {}; PS1='rea''dy-'", script.display()),
    );
    for (line, becomes) in cases() {
        typed(&mut session, &line, becomes);
    }
    end(session);
}

#[test]
fn zsh_completes_what_is_typed() {
    let home = Home::new();
    let script = home.script("zsh");
    let mut command = home.command(&shell("zsh"));
    command.args(["-f", "-i"]);
    let mut session = spawn_command(command, Some(PATIENCE)).unwrap();
    let first = format!(
        "autoload -U compinit; compinit -u -D; source {}; PROMPT='rea''dy-'",
        script.display()
    );
    begin(&mut session, &first);
    for (line, becomes) in cases() {
        typed(&mut session, &line, becomes);
    }
    end(session);
}

/// Packages put the script where zsh looks for functions, and zsh reads it at the first TAB.
#[test]
fn zsh_completes_at_the_first_tab_where_the_script_is_found_by_fpath() {
    let home = Home::new();
    let script = home.script("zsh");
    let functions = home.path().join("functions");
    std::fs::create_dir(&functions).unwrap();
    std::fs::copy(script, functions.join("_kubectl-devicetaint")).unwrap();
    let mut command = home.command(&shell("zsh"));
    command.args(["-f", "-i"]);
    let mut session = spawn_command(command, Some(PATIENCE)).unwrap();
    let first = format!(
        "fpath=({} $fpath); autoload -U compinit; compinit -u -D; PROMPT='rea''dy-'",
        functions.display()
    );
    begin(&mut session, &first);
    for (line, becomes) in cases() {
        typed(&mut session, &line, becomes);
    }
    end(session);
}

#[test]
fn fish_completes_what_is_typed() {
    let home = Home::new();
    let script = home.script("fish");
    let fish = shell("fish");
    for (line, becomes) in cases() {
        let asked = format!("source {}; complete -C '{line}'", script.display());
        let output = home
            .command(&fish)
            .args(["--no-config", "-c", &asked])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let words: Vec<&str> = said
            .lines()
            .filter_map(|line| line.split('\t').next())
            .collect();
        assert!(
            words.iter().any(|word| word.ends_with(becomes.trim_end())),
            "{line}: {said} {:?}",
            output.stderr
        );
    }
}
