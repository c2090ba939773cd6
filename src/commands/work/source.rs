//! Where the facts come from.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::PathBuf;

use futures::channel::oneshot;
use jiff::Timestamp;
use serde_json::Value;

use crate::cluster::{self, FileSource, InputError, Limits, Manifests};
use crate::commands::context::Context;
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Minor};
use crate::naming::phrase::few;

/// Where the cluster's state comes from, and how it is understood.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Files, folders or `-`; the cluster itself where there are none.
    pub(crate) from: Vec<PathBuf>,
    /// The version whose behavior applies, whatever the source shows.
    pub(crate) kubernetes: Option<Minor>,
    /// The time of the question, where files are read.
    pub(crate) now: Option<Timestamp>,
}

/// Reads manifests of rules, each with the object as it is written, and notes which other objects are skipped.
pub(crate) async fn manifests(
    files: &[PathBuf],
    context: &Context,
) -> Result<Vec<(DeviceTaintRule, Value)>, Failure> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let Manifests { rules, skipped } = read_files(files, cluster::read_manifests).await?;
    let kinds: BTreeSet<String> = skipped.into_iter().map(|(_, kind)| kind).collect();
    if !kinds.is_empty() {
        let kinds = few(&Vec::from_iter(kinds));
        context
            .printer
            .note(&format!("other kinds are skipped: {kinds}"));
    }
    Ok(rules)
}

/// As [`read_files`], instead of a cluster. Warns if a cluster was named as well: the user may take the
/// answer for that cluster's.
pub(crate) async fn read_instead<T: Send + 'static>(
    files: &[PathBuf],
    context: &Context,
    read: impl FnOnce(&[FileSource], &mut dyn Read, &Limits) -> Result<T, InputError> + Send + 'static,
) -> Result<T, Failure> {
    let named = &context.connection;
    let flags = [
        ("--context", &named.context),
        ("--cluster", &named.cluster),
        ("--server", &named.server),
    ];
    for (flag, name) in flags {
        if let Some(name) = name {
            let message = format!("{flag} {name} is ignored: --from reads saved files");
            context.printer.warn(&message);
        }
    }
    read_files(files, read).await
}

/// Reads files, folders or stdin by `read`, on a thread of its own, so that its caller can be stopped: a pipe
/// may stay silent, and nothing interrupts a read from it. The end of the program does not wait for that
/// thread, as a runtime would for one of its own.
pub(crate) async fn read_files<T: Send + 'static>(
    files: &[PathBuf],
    read: impl FnOnce(&[FileSource], &mut dyn Read, &Limits) -> Result<T, InputError> + Send + 'static,
) -> Result<T, Failure> {
    let sources: Vec<FileSource> = files
        .iter()
        .map(|path| FileSource::from(path.as_path()))
        .collect();
    let (sender, result) = oneshot::channel();
    let reader = std::thread::Builder::new().name("files".to_owned());
    reader.spawn(move || {
        let result = read(&sources, &mut io::stdin().lock(), &Limits::default());
        // A caller that has gone meanwhile needs no answer.
        let _ = sender.send(result);
    })?;
    result.await?.map_err(unreadable)
}

/// A file that cannot be read, with the way out.
fn unreadable(error: InputError) -> Failure {
    let hint = error.hint();
    hint.into_iter().fold(Failure::from(error), Failure::hint)
}
