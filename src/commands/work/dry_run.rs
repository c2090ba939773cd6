//! How a command sends changes.

use crate::cluster::WriteMode;
use crate::report::change::DryRun;

/// How a command changes rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteRequest {
    /// Who pretends.
    pub(crate) dry_run: DryRun,
}

impl WriteRequest {
    /// How a change is sent, if it is.
    pub(crate) fn mode(self) -> Option<WriteMode> {
        match self.dry_run {
            DryRun::None => Some(WriteMode::Store),
            DryRun::Server => Some(WriteMode::DryRun),
            DryRun::Client => None,
        }
    }
}
