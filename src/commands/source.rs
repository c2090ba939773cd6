//! Where the facts come from.

use super::arguments::SourceArgs;
use crate::cluster::files;
use crate::error::Failure;
use crate::model::Reading;

/// Reads the files that were named.
pub(super) fn read(args: &SourceArgs) -> Result<Reading, Failure> {
    Ok(files::read(&args.from)?)
}
