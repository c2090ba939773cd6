//! Mode of sending changes.

use crate::cluster::WriteMode;
use crate::report::change::DryRun;

/// Request of a command to change rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteRequest {
    /// Side that evaluates a dry run.
    pub(crate) dry_run: DryRun,
}

impl WriteRequest {
    /// Mode of sending a change, if it is sent.
    pub(crate) fn mode(self) -> Option<WriteMode> {
        match self.dry_run {
            DryRun::None => Some(WriteMode::Store),
            DryRun::Server => Some(WriteMode::DryRun),
            DryRun::Client => None,
        }
    }
}
