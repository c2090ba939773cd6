//! Flags that limit the impact.

use std::path::PathBuf;

use super::guards;
use crate::commands::work::pipeline::read_expected;
use crate::decide::approval::SafetyLimits;
use crate::error::Failure;

/// Flags that limit the impact.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Safety")]
pub(crate) struct SafetyArgs {
    /// Do not ask for confirmation
    ///
    /// A wide change also needs --abort-if or --expect: pods in kube-system or in several namespaces would be evicted,
    /// every device of every driver would be tainted, or any rule can break kube-scheduler (Kubernetes 1.36.0 to 1.36.2).
    /// Pods with admin access are ignored when namespaces are counted.
    #[arg(short, long)]
    yes: bool,

    /// Refuse more than in this report of `preview -o json`
    ///
    /// Refused are other taints or selectors (except in `drain` and `make-room`), other or earlier evictions, replaced
    /// devices, and evictions that depend on data that can no longer be read.
    #[arg(long, value_name = "FILENAME", hide_short_help = true)]
    expect: Option<PathBuf>,

    /// Refuse if this is true, such as 'pods.evicted>20'
    ///
    /// An unknown value counts as true. Repeatable; for the signals: `help guards`.
    #[arg(long, value_name = "GUARD")]
    abort_if: Vec<String>,
}

impl SafetyArgs {
    /// Finds errors in the flags before anything else is done.
    pub(crate) fn prepare(&self) -> Result<SafetyLimits, Failure> {
        Ok(SafetyLimits {
            yes: self.yes,
            guards: guards::parse(&self.abort_if)?,
            expect: self.expect.as_ref().map(read_expected).transpose()?,
        })
    }
}
