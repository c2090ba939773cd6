//! Flags of commands that wait for their evictions.

use std::time::Duration;

use crate::decide::proposal::Patience;
use crate::naming::duration::parse_duration;

/// Time for which the API must show zero pods to evict.
const SETTLE: Duration = Duration::from_secs(10);

/// Flags of waiting for the evictions that were begun.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Wait")]
pub(crate) struct WaitingArgs {
    /// Wait until all evicted pods have ended
    ///
    /// If --timeout is too short for the last eviction, for example because of a long tolerationSeconds, the
    /// command is refused before anything is changed.
    #[arg(long)]
    pub(crate) wait: bool,

    /// With --wait, how long to wait, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) timeout: Duration,
}

impl WaitingArgs {
    /// Time limit of the wait, if there is one.
    pub(crate) fn patience(&self) -> Option<Patience> {
        self.wait.then_some(Patience {
            timeout: self.timeout,
            settle: SETTLE,
        })
    }
}
