//! The names that a word can become on TAB, wherever they are.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, FromArgMatches};

use super::context::Surroundings;
use super::flags::connection::ConnectionArgs;
use super::settings::options;
use super::work::candidates::Sources;
use crate::cluster;
use crate::completion::{Known, Values};

/// Time limit for reading names; without them the word is completed from what clap knows.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Known values for a word of that sort behind the words `before`, after at most [`PATIENCE`].
pub(super) async fn view(
    values: Values,
    before: &[OsString],
    definition: clap::Command,
    surroundings: &Surroundings,
) -> Known {
    let sources = sources(before, definition, surroundings);
    let looked = tokio::time::timeout(PATIENCE, sources.objects(values)).await;
    // On TAB, no names are better than an error in the middle of what is being typed.
    looked.ok().and_then(Result::ok).unwrap_or_default()
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
        .try_get_matches_from(complete)
        .unwrap_or_default();
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
            // A credential plugin cannot ask while a word is being typed.
            stdin_is_terminal: false,
            is_silent: true,
            ..surroundings.environment()
        },
    }
}

/// The files of `--from`, if the command has that.
fn files(matches: &ArgMatches) -> Option<Vec<PathBuf>> {
    let files = matches.try_get_many::<PathBuf>("from").ok()??;
    // Standard input is the terminal on which the word is typed.
    let named = files.filter(|path| path.as_os_str() != "-");
    Some(named.cloned().collect())
}
