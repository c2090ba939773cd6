//! Completions in the form of each shell.

use std::path::PathBuf;
use std::sync::Arc;

use clap_complete::engine::{CompletionCandidate, complete};
use clap_complete::env::Shells;

use super::definition::{Store, completing};
use super::known::Known;
use super::request::{Asker, Request};
use super::values::Values;

/// cobra's `ShellCompDirectiveNoSpace`: the word goes on.
const NO_SPACE: u8 = 2;
/// cobra's `ShellCompDirectiveNoFileComp`: files are none of it.
const NO_FILES: u8 = 4;

/// A question that is being answered: first it is known which names it takes, then these are.
pub struct Answer<'a> {
    request: &'a Request,
    command: clap::Command,
    store: Arc<Store>,
}

impl Request {
    /// Begins to answer, with the definition of the command line. The word is completed twice: the
    /// first time finds the requested names, so that no others are read.
    pub fn begin(&self, definition: clap::Command) -> Answer<'_> {
        let store = Arc::new(Store::default());
        let command = completing(definition, &store, self.typed().is_empty());
        // The candidates found now lack the names, which are not read yet.
        drop(self.found(command.clone()));
        Answer {
            request: self,
            command,
            store,
        }
    }

    fn found(&self, mut command: clap::Command) -> Vec<CompletionCandidate> {
        let found = complete(
            &mut command,
            self.words.clone(),
            self.index,
            here().as_deref(),
        );
        found.unwrap_or_default()
    }

    /// The candidates from where bash begins the word, a line each.
    fn for_bash(&self, found: &[CompletionCandidate]) -> String {
        let typed = self.typed().to_string_lossy();
        // bash takes `:` and `=` for ends of words, and replaces only what stands behind the last.
        let kept = typed.rfind([':', '=']).map_or(0, |at| at.saturating_add(1));
        let words = found.iter().map(|candidate| {
            let word = candidate.get_value().to_string_lossy();
            word.get(kept..).unwrap_or_default().to_owned()
        });
        words.collect::<Vec<_>>().join("\n")
    }

    fn for_shell(&self, name: &str, mut command: clap::Command) -> String {
        let shells = Shells::builtins();
        let Some(shell) = shells.completer(name) else {
            return String::new();
        };
        let mut text = Vec::new();
        let words = self.words.clone();
        match shell.write_complete(&mut command, words, here().as_deref(), &mut text) {
            Ok(()) => String::from_utf8_lossy(&text).into_owned(),
            Err(_) => String::new(),
        }
    }
}

impl Answer<'_> {
    /// Kind of names that the word can be; nothing where it is none of the cluster's.
    pub fn wanted(&self) -> Option<Values> {
        self.store.wanted()
    }

    /// Text to print; nothing where nothing is known. Never an error: the user did not run a command.
    pub fn finish(self, known: Known) -> String {
        self.store.know(known);
        match &self.request.asker {
            Asker::Kubectl => for_kubectl(&self.request.found(self.command)),
            Asker::Bash => self.request.for_bash(&self.request.found(self.command)),
            Asker::Shell(name) => self.request.for_shell(name, self.command),
        }
    }
}

/// The folder in which files are searched.
fn here() -> Option<PathBuf> {
    std::env::current_dir().ok()
}

/// The candidates as kubectl takes them from a plugin: a word with its help on a line, and what the
/// shell is to do with them.
///
/// Upstream: kubectl `pkg/cmd/plugin/plugin_completion.go`.
fn for_kubectl(found: &[CompletionCandidate]) -> String {
    let mut text = String::new();
    // The directive is for all candidates at once, so that all of them have to go on.
    let mut goes_on = !found.is_empty();
    for candidate in found {
        let word = candidate.get_value().to_string_lossy();
        goes_on &= word.ends_with(['/', '=', ':']);
        text.push_str(&word);
        let help = candidate.get_help().map(ToString::to_string);
        if let Some(line) = help.as_deref().and_then(|help| help.lines().next()) {
            text.push('\t');
            text.push_str(line);
        }
        text.push('\n');
    }
    let directive = if goes_on {
        NO_SPACE | NO_FILES
    } else {
        NO_FILES
    };
    text.push_str(&format!(":{directive}\n"));
    text
}
