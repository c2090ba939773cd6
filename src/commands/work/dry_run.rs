//! Who pretends, and what it is worth that there was nothing to change.

use crate::cluster::WriteMode;
use crate::report;

/// How a command changes rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// Who pretends.
    pub(crate) dry_run: DryRun,
    /// Whether it is worth an exit code of its own that there was nothing to change.
    pub(crate) error_unchanged: bool,
}

/// Who pretends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DryRun {
    /// Nobody: it is done.
    None,
    /// This plugin.
    Client,
    /// The server.
    Server,
}

impl DryRun {
    /// How a change is sent, if it is.
    pub(crate) fn mode(self) -> Option<WriteMode> {
        match self {
            Self::None => Some(WriteMode::Store),
            Self::Server => Some(WriteMode::DryRun),
            Self::Client => None,
        }
    }

    /// Whether anything is stored.
    pub(crate) fn is_real(self) -> bool {
        self == Self::None
    }

    /// Who pretends, as reports say it.
    pub(super) fn told(self) -> report::change::DryRun {
        match self {
            Self::None => report::change::DryRun::None,
            Self::Client => report::change::DryRun::Client,
            Self::Server => report::change::DryRun::Server,
        }
    }
}
