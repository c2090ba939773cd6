//! Flags that say how much harm is agreed to.

use std::path::PathBuf;

use super::guards;
use crate::commands::work::consent::SafetyLimits;
use crate::error::Failure;

/// Flags that say how much harm is agreed to.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Safety")]
pub(crate) struct SafetyArgs {
    /// Do not ask for confirmation
    ///
    /// If stdin is not a terminal, required for everything that needs confirmation. With --yes, --abort-if or --expect is
    /// also required for a wide change: if pods in kube-system or in several namespaces would be evicted, if every device
    /// of every driver would be tainted, or if any rule can break kube-scheduler (Kubernetes 1.36.0 to 1.36.2). Pods that
    /// use devices only with admin access (adminAccess: true in their claims) are ignored when namespaces are counted.
    #[arg(short, long)]
    yes: bool,

    /// Refuse more than in this report of `preview -o json`
    ///
    /// The command is refused if the taints or their selectors differ (except in `drain` and `make-room`), if a pod would
    /// be evicted that the file does not list as evicted, if a pod would be evicted earlier than in the file, if a device
    /// that is selected by driver, pool and name was replaced since, or if the evictions depend on data that could be read
    /// when the file was created, but cannot be read now. Fewer evicted pods and later evictions are accepted.
    #[arg(long, value_name = "FILENAME", hide_short_help = true)]
    expect: Option<PathBuf>,

    /// Refuse if this is true, such as 'pods.evicted>20'
    ///
    /// Also refuses if this may be true because the value is unknown. Repeatable; for the list of signals, such
    /// as pods.evicted: `help guards`.
    #[arg(long, value_name = "GUARD")]
    abort_if: Vec<String>,
}

impl SafetyArgs {
    /// Whether the question is answered beforehand.
    pub(crate) fn is_yes(&self) -> bool {
        self.yes
    }

    /// Finds what is wrong with the flags before anything else is done.
    pub(crate) fn prepare(&self) -> Result<SafetyLimits, Failure> {
        let guards = guards::parse(&self.abort_if)?;
        SafetyLimits::new(self.yes, self.expect.as_ref(), guards)
    }
}
