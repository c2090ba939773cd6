//! What a shell asks when somebody presses TAB.
//!
//! kubectl asks through `kubectl_complete-devicetaint`, which calls the hidden command `__complete`;
//! shells ask through the scripts of `completion`, which set [`COMPLETED_SHELL`]. Both get what clap knows of
//! the command line, and names from the cluster for arguments that take such. A word is completed
//! twice: the first time tells which names are wanted, and only these are read.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::{ArgMatches, FromArgMatches};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use clap_complete::env::Shells;

use super::context::{COMPLETED_SHELL, COMPLETED_WORD, Surroundings, options};
use super::flags::connection::ConnectionArgs;
use super::flags::values::Values;
use super::help;
use super::work::candidates::{Known, Sources, words};
use crate::cluster;
use crate::model::Kind;
use crate::naming::completion::{self, Candidate, beginning};
use crate::report::guard::Signal;

/// The command through which kubectl asks.
const COMMAND: &str = "__complete";
/// What kubectl calls a program that completes for this plugin.
pub(super) const KUBECTL_NAME: &str = "kubectl_complete-devicetaint";

/// The shell that takes words apart by itself.
const BASH: &str = "bash";

/// How long somebody waits for names; without them the word is completed from what clap knows.
const PATIENCE: Duration = Duration::from_millis(1500);

/// cobra's `ShellCompDirectiveNoSpace`: the word goes on.
const NO_SPACE: u8 = 2;
/// cobra's `ShellCompDirectiveNoFileComp`: files are none of it.
const NO_FILES: u8 = 4;

/// A question of a shell.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    asker: Asker,
    /// The command line, beginning with the program.
    words: Vec<OsString>,
    /// Which of the words is completed.
    index: usize,
}

/// Who asks, and so in which form.
#[derive(Debug, PartialEq, Eq)]
enum Asker {
    Kubectl,
    Shell(String),
}

impl Request {
    /// The question that `arguments` are, if they are one; they begin with the program's name.
    pub(super) fn new(arguments: &[OsString], surroundings: &Surroundings) -> Option<Self> {
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
        let shell = surroundings.variable(COMPLETED_SHELL)?.to_str()?.to_owned();
        let position = rest.iter().position(|word| word == "--")?;
        let mut words = rest.get(position.saturating_add(1)..)?.to_vec();
        let last = words.len().saturating_sub(1);
        let said = surroundings.variable(COMPLETED_WORD);
        let index = said.and_then(|index| index.to_str()?.parse().ok());
        let index = index.unwrap_or(last);
        if index == words.len() {
            words.push(OsString::new());
        }
        let is_inside = index > 0 && index < words.len();
        is_inside.then(|| {
            let (words, index) = if shell == BASH {
                joined(&words, index)
            } else {
                (words, index)
            };
            Self {
                asker: Asker::Shell(shell),
                words,
                index,
            }
        })
    }

    /// What is printed; nothing where nothing is known. Never an error: nobody asked for one.
    pub(super) async fn answer(
        &self,
        definition: clap::Command,
        surroundings: &Surroundings,
    ) -> String {
        let store = Arc::new(Store::default());
        let sources = sources(&self.words[..self.index], definition.clone(), surroundings);
        let command = completing(definition, &store, self.is_empty());
        // What is found now lacks the names, which are not read yet.
        drop(self.found(command.clone()));
        if let Some(values) = store.wanted() {
            store.know(look(values, &sources).await);
        }
        match &self.asker {
            Asker::Kubectl => for_kubectl(&self.found(command)),
            Asker::Shell(name) if name == BASH => self.for_bash(&self.found(command)),
            Asker::Shell(name) => self.for_shell(name, command),
        }
    }

    /// Whether nothing of the word is typed yet.
    fn is_empty(&self) -> bool {
        self.words
            .get(self.index)
            .is_none_or(|word| word.is_empty())
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
        let typed = self
            .words
            .get(self.index)
            .map(|word| word.to_string_lossy());
        let typed = typed.unwrap_or_default();
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

/// The folder in which files are looked for.
fn here() -> Option<PathBuf> {
    std::env::current_dir().ok()
}

/// The candidates as kubectl takes them from a plugin: a word with its help on a line, and what the
/// shell is to do with them.
///
/// Upstream: kubectl `pkg/cmd/plugin/plugin_completion.go`.
fn for_kubectl(found: &[CompletionCandidate]) -> String {
    let mut text = String::new();
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

/// What is known, as far as somebody has asked for it.
#[derive(Default)]
struct Store {
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    wanted: Option<Values>,
    known: Option<Known>,
}

impl Store {
    fn wanted(&self) -> Option<Values> {
        self.lock().wanted
    }

    fn know(&self, known: Known) {
        self.lock().known = Some(known);
    }

    /// The words that `typed` can become; none before anything is known.
    fn propose(&self, values: Values, typed: &OsStr) -> Vec<CompletionCandidate> {
        let mut inside = self.lock();
        inside.wanted = Some(values);
        let (Some(known), Some(typed)) = (&inside.known, typed.to_str()) else {
            return Vec::new();
        };
        let proposed = proposals(values, known, typed).into_iter();
        let shown = proposed.map(|Candidate { word, help }| {
            CompletionCandidate::new(word).help(help.map(Into::into))
        });
        shown.collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The definition with what completes the arguments that take names. Flags are proposed where one is
/// begun: there are forty of them.
fn completing(command: clap::Command, store: &Arc<Store>, is_empty: bool) -> clap::Command {
    let name = command.get_name().to_owned();
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
        match Values::of(&name, argument.get_id().as_str()) {
            Some(values) => {
                let store = Arc::clone(store);
                let completer = move |typed: &OsStr| store.propose(values, typed);
                argument.add(ArgValueCompleter::new(completer))
            }
            None => argument,
        }
    })
}

/// Where the names are, as far as what stands before the word says so.
fn sources(before: &[OsString], definition: clap::Command, surroundings: &Surroundings) -> Sources {
    // A flag whose value is being typed is a mistake so far.
    let flag = |word: &OsString| word.to_string_lossy().starts_with('-');
    let complete = match before {
        [before @ .., last] if flag(last) => before,
        before => before,
    };
    let matches = definition
        .ignore_errors(true)
        .try_get_matches_from(complete);
    let matches = matches.unwrap_or_default();
    let from = matches.subcommand().and_then(|(_, sub)| files(sub));
    let connection = match ConnectionArgs::from_arg_matches(&matches) {
        Ok(args) => options(args),
        Err(_) => cluster::ConnectionOptions::default(),
    };
    Sources {
        from: from.unwrap_or_default(),
        connection: cluster::ConnectionOptions {
            request_timeout: Some(PATIENCE),
            ..connection
        },
        environment: cluster::Environment {
            stdin_is_terminal: false,
            is_silent: true,
            ..surroundings.environment()
        },
    }
}

/// The files of `--from`, if the command has that.
fn files(matches: &ArgMatches) -> Option<Vec<PathBuf>> {
    let files = matches.try_get_many::<PathBuf>("from").ok()??;
    let named = files.filter(|path| path.as_os_str() != "-");
    Some(named.cloned().collect())
}

/// What is known for a word of that kind, after at most [`PATIENCE`].
async fn look(values: Values, sources: &Sources) -> Known {
    let kinds: &[Kind] = match values {
        Values::Clusters | Values::Contexts | Values::Users => return sources.kubeconfig(),
        Values::Guards | Values::Topics => return Known::default(),
        Values::Labels | Values::Rules => &[Kind::DeviceTaintRule],
        Values::Devices | Values::DeviceNames | Values::Drivers | Values::Nodes | Values::Pools => {
            &[Kind::ResourceSlice]
        }
        Values::DevicesThenTaint | Values::RulesOrDevices | Values::RulesOrDevicesToRemove => {
            &[Kind::DeviceTaintRule, Kind::ResourceSlice]
        }
        Values::Namespaces => &[Kind::ResourceClaim],
    };
    let looked = tokio::time::timeout(PATIENCE, sources.objects(kinds)).await;
    looked.ok().and_then(Result::ok).unwrap_or_default()
}

fn proposals(values: Values, known: &Known, typed: &str) -> Vec<Candidate> {
    let names = |names: &[String]| words(names.iter().map(String::as_str), typed);
    let devices = || completion::devices(&known.devices(), typed);
    let rules = || completion::rules(&known.rules, typed);
    let keys = |ending| completion::keys(&known.rules, ending, typed);
    match values {
        Values::Clusters => names(&known.kubeconfig.clusters),
        Values::Contexts => names(&known.kubeconfig.contexts),
        Values::Users => names(&known.kubeconfig.users),
        Values::Devices => devices(),
        Values::DevicesThenTaint => [devices(), completion::taints(&known.rules, typed)].concat(),
        Values::RulesOrDevices => [rules(), devices(), keys("")].concat(),
        Values::RulesOrDevicesToRemove => [rules(), devices(), keys("-")].concat(),
        Values::DeviceNames => known.device_names(typed),
        Values::Drivers => known.drivers(typed),
        Values::Pools => known.pools(typed),
        Values::Nodes => known.nodes(typed),
        Values::Namespaces => known.namespaces(typed),
        Values::Labels => completion::labels(&known.rules, typed),
        Values::Rules => rules(),
        Values::Guards => beginning(
            Signal::ALL.map(|signal| Candidate {
                word: signal.name().to_owned(),
                help: Some(signal.meaning().to_owned()),
            }),
            typed,
        ),
        Values::Topics => words(help::TOPICS.iter().copied(), typed),
    }
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
