//! A program that gets its commands line by line, reports events in JSON, and ends with its stdin.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Duration,
};

use serde::de::DeserializeOwned;

use super::go_program::say;

/// The programs themselves give up earlier: 90 s per component.
const DEADLINE: Duration = Duration::from_secs(200);

/// A running program whose lines are `E`.
pub(super) struct Machine<E> {
    child: Child,
    input: Option<ChildStdin>,
    events: Receiver<Result<E, String>>,
}

impl<E: DeserializeOwned + Send + 'static> Machine<E> {
    pub(super) fn open(mut command: Command) -> Result<Self, String> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| format!("cannot run {command:?}: {error}"))?;
        let output = child.stdout.take().expect("stdout is a pipe");
        let (sender, events) = mpsc::channel();
        thread::spawn(move || read(output, &sender));
        Ok(Self {
            input: child.stdin.take(),
            child,
            events,
        })
    }

    pub(super) fn command(&mut self, line: &str) -> Result<E, String> {
        let input = self.input.as_mut();
        let input = input.expect("stdin is open as long as the program is in use");
        writeln!(input, "{line}").map_err(|error| format!("the program has ended: {error}"))?;
        self.event()
    }

    pub(super) fn event(&mut self) -> Result<E, String> {
        let event = self.events.recv_timeout(DEADLINE);
        event.map_err(|error| format!("no response from the program: {error}"))?
    }
}

impl<E> Drop for Machine<E> {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Passes on the events, and reports failures at once: the test itself would only see refused connections.
fn read<E: DeserializeOwned>(output: ChildStdout, events: &Sender<Result<E, String>>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if line.contains(r#""event":"failed""#) {
            say(&line.replace("\\n", "\n"));
        }
        let event = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"));
        if events.send(event).is_err() {
            return;
        }
    }
}
