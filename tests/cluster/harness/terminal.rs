//! A terminal with a shell in it, as people sit at it.

use rexpect::session::{PtySession, spawn_command};

use super::{ControlPlane, DEADLINE};

const PROMPT: &str = "ready$ ";
/// Prints the exit status of a typed command, and the terminal's settings.
const EPILOGUE: &str = "; echo \"[exit $?]\"; stty -a";

/// Ctrl-C, as the keyboard sends it.
pub const CTRL_C: &str = "\u{3}";
/// Ctrl-D, as the keyboard sends it.
pub const CTRL_D: &str = "\u{4}";
/// Ctrl-Z, as the keyboard sends it.
pub const CTRL_Z: &str = "\u{1a}";
/// Enter.
pub const ENTER: &str = "\r";

/// A pseudo-terminal in which a shell runs.
pub struct Terminal {
    session: PtySession,
    /// Output since the last command was typed.
    shown: String,
}

impl Terminal {
    /// Opens one with the administrator's kubeconfig.
    pub fn open(plane: &ControlPlane) -> Self {
        let mut command = plane.command("bash");
        command
            .args(["--norc", "--noprofile", "--noediting", "-i"])
            .env("PS1", PROMPT)
            .env("TERM", "xterm")
            .env("NO_COLOR", "1");
        let milliseconds = DEADLINE.as_millis().try_into().expect("it is short");
        let session = spawn_command(command, Some(milliseconds)).expect("a terminal can be had");
        let mut terminal = Self {
            session,
            shown: String::new(),
        };
        terminal.until(PROMPT);
        terminal.press("stty sane cols 200\r");
        terminal.until(PROMPT);
        terminal
    }

    /// Types a command.
    pub fn command(&mut self, words: &[String]) {
        self.shown.clear();
        let line = words.join(" ");
        self.press(&format!("{line}{EPILOGUE}{ENTER}"));
        // Typed text is shown once; output from now on comes from the command.
        self.until("stty -a");
    }

    /// Presses keys, no faster one after the other than a person: between two keys of a question the terminal
    /// is unowned for a moment, and takes them itself.
    pub fn press(&mut self, keys: &str) {
        std::thread::sleep(std::time::Duration::from_millis(300));
        self.session.send(keys).expect("it takes keys");
        self.session.flush().expect("it takes keys");
    }

    /// Waits until `text` is shown; returns the output before it.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> String {
        match self.session.exp_string(text) {
            Ok(before) => {
                self.shown.push_str(&before);
                self.shown.push_str(text);
                before
            }
            Err(error) => panic!("{error}\nafter {:?}", self.shown),
        }
    }

    /// Waits until the command has ended: its output, without escape sequences, if it ended with `code` and
    /// left the terminal as it was.
    #[track_caller]
    pub fn ended(&mut self, code: i32) -> String {
        self.until("[exit ");
        self.until("]");
        let shown = self.shown.clone();
        assert!(shown.ends_with(&format!("[exit {code}]")), "{shown}");
        self.until(PROMPT);
        self.assert_usable(&shown);
        without_escapes(&shown)
    }

    /// Asserts that typed text can be seen, line by line, and so can the cursor.
    #[track_caller]
    fn assert_usable(&mut self, shown: &str) {
        let settings = &self.shown[shown.len()..];
        let words: Vec<&str> = settings.split([' ', ';', '\r', '\n']).collect();
        for word in ["echo", "icanon", "isig", "opost"] {
            assert!(words.contains(&word), "{word}: {settings}");
        }
        let hidden = shown.rfind("\u{1b}[?25l");
        assert!(hidden <= shown.rfind("\u{1b}[?25h"), "{shown:?}");
        self.press("echo seen-$((40 + 2))\r");
        self.until("echo seen-$((40 + 2))");
        self.until("seen-42");
        self.until(PROMPT);
    }
}

/// The text between the escape sequences, which end with a letter.
fn without_escapes(shown: &str) -> String {
    let mut parts = shown.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part
            .trim_start_matches(|c: char| !c.is_ascii_alphabetic())
            .get(1..)
            .unwrap_or_default()
    })
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A shell ignores signals that ask it to end; a busy one is not waited for.
        let _ = self.session.send_line("exit");
        self.session.process_mut().set_kill_timeout(Some(1000));
    }
}
