//! The names that a word can become on TAB, from the cluster or saved files.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgMatches, FromArgMatches};

use super::context::Surroundings;
use super::work::connect::read_files;
use crate::cluster::{
    self, ApiClient, ClusterError, Connection, ConnectionOptions, Environment, Silent, discover,
    read_names,
};
use crate::completion::{Known, Request, Values};
use crate::error::Failure;
use crate::model::Kind;

/// Time limit for reading names; without them the word is completed from what clap knows.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Text with the words that the word being typed can become; absent if the arguments complete none.
pub(super) async fn complete(
    arguments: &[OsString],
    definition: &clap::Command,
    surroundings: &Surroundings,
) -> Option<String> {
    let request = Request::new(arguments, surroundings.said_by_a_shell())?;
    let answer = request.begin(definition.clone());
    let known = match answer.wanted() {
        Some(values) => view(values, request.before(), definition.clone(), surroundings).await,
        None => Known::default(),
    };
    Some(answer.finish(known))
}

/// Known values for a word of that sort behind the words `before`, after at most [`PATIENCE`].
async fn view(
    values: Values,
    before: &[OsString],
    definition: clap::Command,
    surroundings: &Surroundings,
) -> Known {
    // A flag whose value is being typed is a mistake so far.
    let is_flag = |word: &OsString| word.to_string_lossy().starts_with('-');
    let complete = match before {
        [before @ .., last] if is_flag(last) => before,
        before => before,
    };
    let matches = definition.ignore_errors(true);
    let matches = matches.try_get_matches_from(complete).unwrap_or_default();
    let names = names(values, &matches, surroundings);
    let read = tokio::time::timeout(PATIENCE, names).await;
    // On TAB, no names are better than an error in the middle of what is being typed.
    read.ok().and_then(Result::ok).unwrap_or_default()
}

/// The objects in which such words are, read side by side.
async fn names(
    values: Values,
    matches: &ArgMatches,
    surroundings: &Surroundings,
) -> Result<Known, Failure> {
    let from = matches.subcommand().and_then(|(_, sub)| files(sub));
    if let Some(files) = from.filter(|files| !files.is_empty()) {
        let reading = read_files(&files, cluster::read).await?;
        return Ok(Known::from(reading.snapshot));
    }
    let options = ConnectionOptions::from_arg_matches(matches);
    let options = ConnectionOptions {
        request_timeout: Some(PATIENCE),
        ..options.unwrap_or_default()
    };
    let environment = Environment {
        // A credential plugin cannot ask while a word is being typed.
        stdin_is_terminal: false,
        is_silent: true,
        ..surroundings.environment()
    };
    let connection = Connection::load(&options, &environment, &Silent).await?;
    let client = &ApiClient::new(connection, Arc::new(Silent))?;
    let served = &discover(client).await?;
    let wants = |kind| values.kinds().contains(&kind);
    let (rules, slices, claims) = futures::join!(
        optional(wants(Kind::DeviceTaintRule), read_names(client, served)),
        optional(wants(Kind::ResourceSlice), read_names(client, served)),
        optional(wants(Kind::ResourceClaim), read_names(client, served)),
    );
    Ok(Known {
        rules,
        slices,
        claims,
    })
}

/// Reads if wanted; nothing of what cannot be read.
async fn optional<T>(
    is_wanted: bool,
    read: impl Future<Output = Result<Vec<T>, ClusterError>>,
) -> Vec<T> {
    match is_wanted {
        true => read.await.unwrap_or_default(),
        false => Vec::new(),
    }
}

/// The files of `--from`, if the command has that.
fn files(matches: &ArgMatches) -> Option<Vec<PathBuf>> {
    let files = matches.try_get_many::<PathBuf>("from").ok()??;
    // Standard input is the terminal on which the word is typed.
    let named = files.filter(|path| path.as_os_str() != "-");
    Some(named.cloned().collect())
}
