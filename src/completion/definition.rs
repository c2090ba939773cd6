//! The definition of the command line, with what completes its names.

use std::ffi::OsStr;
use std::sync::{Arc, Mutex, PoisonError};

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use super::known::Known;
use super::values::Values;
use crate::naming::completion::Candidate;

/// Known names, and those that were requested.
#[derive(Default)]
pub(super) struct Store {
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    wanted: Option<Values>,
    known: Option<Known>,
}

impl Store {
    pub(super) fn wanted(&self) -> Option<Values> {
        self.lock().wanted
    }

    pub(super) fn know(&self, known: Known) {
        self.lock().known = Some(known);
    }

    /// The words that `typed` can become; none before anything is known.
    fn propose(&self, values: Values, typed: &OsStr) -> Vec<CompletionCandidate> {
        let mut inside = self.lock();
        inside.wanted = Some(values);
        let (Some(known), Some(typed)) = (&inside.known, typed.to_str()) else {
            return Vec::new();
        };
        let proposed = known.proposals(values, typed).into_iter();
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
pub(super) fn completing(
    command: clap::Command,
    store: &Arc<Store>,
    is_empty: bool,
) -> clap::Command {
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
                let completer = move |typed: &OsStr| store.propose(values, typed);
                argument.add(ArgValueCompleter::new(completer))
            }
            None => argument,
        }
    })
}
