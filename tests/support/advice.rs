//! Advice of the program that it understands itself.
//!
//! Every message in a test is checked. A command that ends its line is there to be pasted: it has to be
//! understood as it is. One in backticks is a mention, and has to exist with its flags. Any other flag has to
//! be one of the command that was run.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Beginning of the program's own commands in its messages.
const OWN: &str = "kubectl devicetaint ";

/// Panics when `messages`, which `program` has written when it was run with `words`, advise a command that it
/// does not understand.
pub fn check(program: &Path, words: &[String], messages: &str) {
    // Usage and examples are the help's, which is checked elsewhere.
    let is_help = |line: &&str| line.starts_with("Usage: ") || line.starts_with("  kubectl ");
    for line in messages.lines().filter(|line| !is_help(line)) {
        for command in pasted(line) {
            assert!(
                !command.contains(", ") && !command.contains("; "),
                "a shell cannot run {command:?} of {line:?}"
            );
            let code = tried(program, &command, &["--server", "https://127.0.0.1:1"]);
            assert_ne!(code, Some(2), "{words:?} advises {command:?}: {line:?}");
        }
        for command in mentioned(line) {
            let code = tried(program, &command, &["--help"]);
            assert_eq!(code, Some(0), "{words:?} mentions {command:?}: {line:?}");
        }
        // A flag of a server is none of the program's.
        if line.starts_with("hint: ") && !line.contains(" of kube-") {
            for flag in flags(&without_commands(line)) {
                assert!(
                    help_of(program, words).contains(&flag),
                    "{words:?} has no {flag}: {line:?}"
                );
            }
        }
    }
}

/// The program's own commands outside of backticks: they end where the line does.
fn pasted(line: &str) -> Vec<String> {
    let outside = line.split('`').step_by(2);
    let commands = outside.filter_map(|part| Some(part.split_once(OWN)?.1.to_owned()));
    commands.collect()
}

/// The program's own commands in backticks.
fn mentioned(line: &str) -> Vec<String> {
    let inside = line.split('`').skip(1).step_by(2);
    let commands = inside.filter_map(|part| Some(part.strip_prefix(OWN)?.to_owned()));
    commands.collect()
}

/// The line without its commands, whosever they are.
fn without_commands(line: &str) -> String {
    let outside: String = line.split('`').step_by(2).collect();
    outside
        .split("kubectl ")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The long flags that a text names.
fn flags(text: &str) -> Vec<String> {
    let is_inner = |character: char| character.is_ascii_lowercase() || character == '-';
    let words = text.split(|character: char| !is_inner(character));
    let flags = words.filter(|word| word.strip_prefix("--").is_some_and(|name| name.len() > 1));
    flags.map(str::to_owned).collect()
}

/// Exit status of the program with these words of a shell and `more`, which keep it from doing anything.
fn tried(program: &Path, command: &str, more: &[&str]) -> Option<i32> {
    let told = ["--server", "--help"].map(|flag| command.contains(flag));
    let more = if told.contains(&true) { &[][..] } else { more };
    let script = format!("exec \"$0\" {command} \"$@\"");
    let status = Command::new("/bin/sh")
        .args(["-c", &script])
        .arg(program)
        .args(more)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.expect("a shell").code()
}

/// The help of the command that `words` run.
fn help_of(program: &Path, words: &[String]) -> String {
    static KNOWN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
    let is_command = |word: &&String| !word.starts_with('-') && word.bytes().all(is_letter);
    let mut names = words.iter().filter(is_command).cloned();
    names
        .find_map(|name| {
            let mut known = KNOWN
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            if let Some(help) = known.get(&name) {
                return Some(help.clone());
            }
            let said = |arguments: &[&str]| {
                let mut command = Command::new(program);
                let output = command.args(arguments).env_clear().output().ok()?;
                let help = output
                    .status
                    .success()
                    .then(|| String::from_utf8(output.stdout));
                help?.ok()
            };
            let help = said(&[&name, "--help"])? + &said(&["options"])?;
            known.insert(name, help.clone());
            Some(help)
        })
        .unwrap_or_default()
}
