//! The real controller as a process that answers questions, one JSON line each.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::harness::go_program::GoProgram;

/// A running oracle; it ends when this is dropped.
pub struct Oracle {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Oracle {
    /// Starts the oracle: the program that `DEVICETAINT_ORACLE` names (one for another Kubernetes
    /// version, say), else the one for 1.37.2, which is built if need be.
    pub fn start() -> Self {
        let program = env::var_os("DEVICETAINT_ORACLE").map_or_else(build, Into::into);
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("cannot start the oracle {}: {error}", program.display())
            });
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self {
            child,
            input,
            output,
        }
    }

    /// The answers to `requests`, in order. An answer with an `error` is a bug of the test.
    pub fn ask(&mut self, requests: &[Value]) -> Vec<Value> {
        let input = self.input.as_mut().expect("open until dropped");
        let mut lines = Vec::new();
        for request in requests {
            serde_json::to_writer(&mut lines, request).expect("JSON");
            lines.push(b'\n');
        }
        let mut answers = Vec::with_capacity(requests.len());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                input.write_all(&lines).expect("the oracle reads");
                input.flush().expect("the oracle reads");
            });
            for request in requests {
                let mut line = String::new();
                self.output
                    .read_line(&mut line)
                    .expect("the oracle answers");
                let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| {
                    panic!("the oracle's answer is no JSON ({error}): {line:?}\nto {request}")
                });
                answers.push(answer);
            }
        });
        answers
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

fn build() -> std::path::PathBuf {
    GoProgram {
        name: "oracle",
        module: "tests/oracle/controller",
        package: ".",
        arguments: ["test", "-c", "-trimpath", "-buildvcs=false"].map(str::to_owned).to_vec(),
        purpose: "the real device-taint-eviction controller of Kubernetes 1.37.2 for the tests (needs Go; about a minute, once)",
    }
    .built()
    .unwrap_or_else(|error| panic!("{error}"))
}
