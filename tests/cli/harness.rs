//! Runs the program with an empty environment and shows all that came back.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The example cluster of the README.
pub const EXAMPLE: &str = "examples/cluster.yaml";

/// Output and exit status of the program.
#[derive(Debug)]
pub struct Run {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

/// Runs the program with the words of `line`, which are split at spaces; quotes keep a word together.
pub fn devicetaint(line: &str) -> Run {
    run(&mut program(), &words(line), b"")
}

/// Runs the program with words that no line can hold.
pub fn devicetaint_words(words: &[&str]) -> Run {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    run(&mut program(), &words, b"")
}

/// The program, as it is built for the tests.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-devicetaint");

/// The program in the folder of the project.
fn program() -> Command {
    let mut command = Command::new(PROGRAM);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn run(command: &mut Command, words: &[String], input: &[u8]) -> Run {
    let mut child = command
        .args(words)
        .env_clear()
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
    let stderr = String::from_utf8(stderr).expect("UTF-8");
    let stdout = String::from_utf8(stdout).expect("UTF-8");
    crate::advice::check(Path::new(PROGRAM), words, &stderr);
    crate::validated::check(words, &stdout);
    Run {
        stdout,
        stderr,
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

    /// The one JSON document on standard output.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).expect("one JSON document")
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

/// A folder of the test's own, in which the program is run.
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// An empty folder.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// With one more file.
    pub fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.0.path().join(name);
        let parent = path.parent().expect("a folder");
        std::fs::create_dir_all(parent).expect("a folder");
        std::fs::write(&path, content).expect("a file");
        self
    }

    /// With the example cluster as `cluster.yaml`.
    pub fn with_example(self) -> Self {
        self.with("cluster.yaml", example())
    }

    /// The path of a file here.
    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// The program, to be run here.
    pub fn program(&self) -> Command {
        let mut command = program();
        command.current_dir(self.0.path());
        command
    }

    /// Runs the program here.
    pub fn devicetaint(&self, line: &str) -> Run {
        self.command(program(), &words(line), b"")
    }

    /// Runs the program here with something on standard input.
    pub fn devicetaint_reading(&self, line: &str, input: &[u8]) -> Run {
        self.command(program(), &words(line), input)
    }

    fn command(&self, mut command: Command, words: &[String], input: &[u8]) -> Run {
        run(command.current_dir(self.0.path()), words, input)
    }
}

/// The text of the example cluster.
pub fn example() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(EXAMPLE);
    std::fs::read_to_string(path).expect("the example")
}
