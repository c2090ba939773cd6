//! Runs the program with an empty environment and shows all that came back.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The example cluster of the README.
pub const EXAMPLE: &str = "examples/cluster.yaml";

/// What the program printed, and how it ended.
pub struct Run {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

/// Runs the program with the words of `line`, which are split at spaces; quotes keep a word together.
pub fn devicetaint(line: &str) -> Run {
    run(&words(line), b"")
}

/// The same with something on standard input.
pub fn devicetaint_reading(line: &str, input: &[u8]) -> Run {
    run(&words(line), input)
}

/// The same with words that no line can hold.
pub fn devicetaint_words(words: &[&str]) -> Run {
    run(
        &words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>(),
        b"",
    )
}

fn run(words: &[String], input: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubectl-devicetaint"))
        .args(words)
        .env_clear()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    // A program that does not read its input closes it, which is no failure.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().expect("the program ends");
    let _ = writer.join();
    Run {
        stdout: String::from_utf8(stdout).expect("UTF-8"),
        stderr: String::from_utf8(stderr).expect("UTF-8"),
        code: status.code().expect("no signal"),
    }
}

impl Run {
    /// Everything in one text, for a snapshot.
    pub fn shown(&self) -> String {
        let mut text = self.stdout.clone();
        if !self.stderr.is_empty() {
            text.push_str("[stderr]\n");
            text.push_str(&self.stderr);
        }
        text.push_str(&format!("[exit status: {}]", self.code));
        text
    }
}

fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().expect("never empty").push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A file of the test's own, with this content.
pub fn file(name: &str, content: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("a file");
    (folder, path)
}

/// The text without the folder of the test's own files, which is another one each time.
pub fn without_folder(text: &str, path: &Path) -> String {
    let folder = path.parent().expect("a folder").display().to_string();
    text.replace(&folder, "FOLDER")
}
