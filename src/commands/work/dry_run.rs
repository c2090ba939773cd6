//! Who pretends, and what it is worth that there was nothing to change.

use crate::cluster::WriteMode;
use crate::report::change::DryRun;

/// How a command changes rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteRequest {
    /// Who pretends.
    pub(crate) dry_run: DryRun,
    /// Whether it is worth an exit code of its own that there was nothing to change.
    pub(crate) error_unchanged: bool,
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
