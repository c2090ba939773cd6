//! Completion request of a shell, and the answer in its form.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use clap_complete::env::Shells;

use super::names::{Candidate, Known, Values};

/// The command through which kubectl asks.
pub const COMMAND: &str = "__complete";
/// Name under which kubectl calls a program that completes for this plugin.
pub const KUBECTL_NAME: &str = "kubectl_complete-devicetaint";
/// The shell that takes words apart by itself.
const BASH: &str = "bash";

/// A question of a shell.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    asker: Asker,
    /// The command line, beginning with the program.
    words: Vec<OsString>,
    /// Index of the word that is completed.
    index: usize,
}

/// Caller, which decides the form of the output.
#[derive(Debug, PartialEq, Eq)]
enum Asker {
    Kubectl,
    Bash,
    Shell(String),
}

/// Data from a shell's script beside the command line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'a> {
    /// Shell; absent where none asks.
    pub shell: Option<&'a OsStr>,
    /// Index of the word that is completed, in the shells that give it.
    pub word: Option<&'a OsStr>,
}

impl Request {
    /// The question that `arguments` are, if they are one; they begin with the program's name.
    pub fn new(arguments: &[OsString], said: Said<'_>) -> Option<Self> {
        let (program, rest) = arguments.split_first()?;
        let is_kubectls = Path::new(program)
            .file_stem()
            .is_some_and(|stem| stem == KUBECTL_NAME);
        let typed = match rest {
            rest if is_kubectls => Some(rest),
            [first, typed @ ..] if first == COMMAND => Some(typed),
            _ => None,
        };
        if let Some(typed) = typed {
            let mut words = vec![program.clone()];
            words.extend_from_slice(typed);
            if words.len() == 1 {
                words.push(OsString::new());
            }
            return Some(Self {
                asker: Asker::Kubectl,
                index: words.len().saturating_sub(1),
                words,
            });
        }
        let shell = said.shell?.to_str()?;
        let position = rest.iter().position(|word| word == "--")?;
        let mut words = rest.get(position.saturating_add(1)..)?.to_vec();
        let last = words.len().saturating_sub(1);
        let index = said
            .word
            .and_then(|index| index.to_str()?.parse().ok())
            .unwrap_or(last);
        // Shells may leave out the word under the cursor while it is empty.
        if index == words.len() {
            words.push(OsString::new());
        }
        // Word 0 is the program itself, which the shell completes.
        let is_inside = index > 0 && index < words.len();
        is_inside.then(|| match shell {
            BASH => {
                let (words, index) = joined(&words, index);
                Self {
                    asker: Asker::Bash,
                    words,
                    index,
                }
            }
            shell => Self {
                asker: Asker::Shell(shell.to_owned()),
                words,
                index,
            },
        })
    }

    /// Words before the one that is completed, beginning with the program.
    pub fn before(&self) -> &[OsString] {
        self.words.get(..self.index).unwrap_or_default()
    }

    /// The word that is completed, as far as it is typed.
    fn typed(&self) -> &OsStr {
        self.words
            .get(self.index)
            .map_or(OsStr::new(""), |word| word)
    }
}

/// The words as they were typed, and which of them is completed: bash takes them apart at each `:` and
/// `=`, which are words of their own then.
fn joined(words: &[OsString], index: usize) -> (Vec<OsString>, usize) {
    let is_divider = |word: &OsString| word == ":" || word == "=";
    let mut whole: Vec<OsString> = Vec::new();
    let mut at = 0;
    let mut goes_on = false;
    for (number, word) in words.iter().enumerate() {
        match whole.last_mut() {
            Some(last) if number > 1 && (goes_on || is_divider(word)) => last.push(word),
            Some(_) | None => whole.push(word.clone()),
        }
        goes_on = is_divider(word);
        if number == index {
            at = whole.len().saturating_sub(1);
        }
    }
    (whole, at)
}

/// cobra's `ShellCompDirectiveNoSpace`: the word goes on.
const NO_SPACE: u8 = 2;
/// cobra's `ShellCompDirectiveNoFileComp`: files are none of it.
const NO_FILES: u8 = 4;

/// A question that is being answered: first it is known which names it takes, then these are.
pub struct Answer<'a> {
    request: &'a Request,
    command: clap::Command,
    store: SharedStore,
}

impl Request {
    /// Begins to answer, with the definition of the command line. The word is completed twice: the
    /// first time finds the requested names, so that no others are read.
    pub fn begin(&self, definition: clap::Command) -> Answer<'_> {
        let store = SharedStore::default();
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
        let (words, here) = (self.words.clone(), std::env::current_dir().ok());
        complete(&mut command, words, self.index, here.as_deref()).unwrap_or_default()
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
        let (words, here) = (self.words.clone(), std::env::current_dir().ok());
        match shell.write_complete(&mut command, words, here.as_deref(), &mut text) {
            Ok(()) => String::from_utf8_lossy(&text).into_owned(),
            Err(_) => String::new(),
        }
    }
}

impl Answer<'_> {
    /// Kind of names that the word can be; nothing where it is none of the cluster's.
    pub fn wanted(&self) -> Option<Values> {
        lock(&self.store).wanted
    }

    /// Text to print; nothing where nothing is known. Never an error: the user did not run a command.
    pub fn finish(self, known: Known) -> String {
        lock(&self.store).known = Some(known);
        match &self.request.asker {
            Asker::Kubectl => for_kubectl(&self.request.found(self.command)),
            Asker::Bash => self.request.for_bash(&self.request.found(self.command)),
            Asker::Shell(name) => self.request.for_shell(name, self.command),
        }
    }
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

/// Known names, and those that were requested.
#[derive(Default)]
struct Store {
    wanted: Option<Values>,
    known: Option<Known>,
}

type SharedStore = Arc<Mutex<Store>>;

fn lock(store: &SharedStore) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// The words that `typed` can become; none before anything is known.
    fn propose(&mut self, values: Values, typed: &OsStr) -> Vec<CompletionCandidate> {
        self.wanted = Some(values);
        let (Some(known), Some(typed)) = (&self.known, typed.to_str()) else {
            return Vec::new();
        };
        let proposed = known.proposals(values, typed).into_iter();
        let shown = proposed.map(|Candidate { word, help }| {
            CompletionCandidate::new(word).help(help.map(Into::into))
        });
        shown.collect()
    }
}

/// The definition with what completes the arguments that take names. Flags are proposed where one is
/// begun: there are forty of them.
fn completing(command: clap::Command, store: &SharedStore, is_empty: bool) -> clap::Command {
    let subcommands: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    let command = subcommands.iter().fold(command, |command, sub| {
        command.mut_subcommand(sub, |sub| completing(sub, store, is_empty))
    });
    // Those two clap adds itself.
    let command = command
        .disable_help_flag(is_empty)
        .disable_version_flag(is_empty);
    command.mut_args(|argument| {
        let hidden = is_empty && !argument.is_positional() || argument.is_hide_set();
        let argument = argument.hide(hidden);
        match argument.get::<Values>().copied() {
            Some(values) => {
                let store = Arc::clone(store);
                let completer = move |typed: &OsStr| lock(&store).propose(values, typed);
                argument.add(ArgValueCompleter::new(completer))
            }
            None => argument,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_bash_takes_apart_are_put_together_again() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        for (taken_apart, index, whole, at) in [
            (
                &["k", "add", "a", ":", "No"][..],
                4,
                &["k", "add", "a:No"][..],
                2,
            ),
            (&["k", "add", "a", ":"], 3, &["k", "add", "a:"], 2),
            (
                &["k", "add", "a", "=", "x", ":", "No", "b"],
                6,
                &["k", "add", "a=x:No", "b"],
                2,
            ),
            (&["k", "--driver", "=", "g"], 3, &["k", "--driver=g"], 1),
            (&["k", "add", ""], 2, &["k", "add", ""], 2),
        ] {
            let found = joined(&words(taken_apart), index);
            assert_eq!(found, (words(whole), at), "{taken_apart:?}");
        }
    }
}
