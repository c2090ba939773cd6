//! Where the facts come from.

use std::io;
use std::path::PathBuf;

use super::arguments::SourceArgs;
use crate::cluster::{self, FileSource, InputError, Limits};
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Reading};

/// Reads the files that were named.
pub(super) fn read(args: &SourceArgs) -> Result<Reading, Failure> {
    if args.from.is_empty() {
        return Err(Failure::usage("no cluster: give saved objects with --from"));
    }
    let sources = sources(&args.from);
    cluster::read(&sources, &mut io::stdin().lock(), &Limits::default()).map_err(unreadable)
}

/// Reads manifests of rules.
pub(super) fn rules(files: &[PathBuf]) -> Result<Vec<DeviceTaintRule>, Failure> {
    let sources = sources(files);
    cluster::read_rules(&sources, &mut io::stdin().lock(), &Limits::default()).map_err(unreadable)
}

fn sources(files: &[PathBuf]) -> Vec<FileSource> {
    files
        .iter()
        .map(|path| FileSource::from(path.as_path()))
        .collect()
}

fn unreadable(error: InputError) -> Failure {
    let hint = error.hint();
    let failure = Failure::from(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
