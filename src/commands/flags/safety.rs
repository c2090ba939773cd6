//! Flags that say how much harm is agreed to.

use std::path::PathBuf;

use super::guards;
use crate::commands::work::consent::{SafetyFlags, SafetyLimits};
use crate::error::Failure;

/// Flags that say how much harm is agreed to.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Safety")]
pub(crate) struct SafetyArgs {
    /// Skip the prompt, which needs a terminal
    #[arg(short, long)]
    yes: bool,

    /// Exact number of pods that may be evicted
    ///
    /// Required in addition to --yes if several namespaces, kube-system or all devices are
    /// affected, unless --expect is set.
    #[arg(long, value_name = "N")]
    confirm_pods: Option<usize>,

    /// Refuse if the impact is larger than in this report
    ///
    /// A file from `preview -o json`, or its digest. A file refuses other taints, pods that it does
    /// not list as evicted, and earlier evictions. With a digest, any difference in devices selected
    /// by name, pods or outcomes is refused, even a smaller impact. Neither compares hazards or
    /// severities. hardware:… is a digest of the devices only, and refuses changed devices. A device
    /// selected by name that was replaced since the report is always refused.
    #[arg(long, value_name = "REPORT", hide_short_help = true)]
    expect: Option<PathBuf>,

    /// Refuse if this is true, such as 'pods.evicted>20'
    ///
    /// Repeatable; for the list of signals: `help guards`.
    #[arg(long, value_name = "GUARD")]
    abort_if: Vec<String>,

    /// Refuse what the policy in this file forbids
    ///
    /// A policy sets guards, fields that a rule requires, and devices that must not be tainted.
    /// Repeatable; all policies apply.
    #[arg(long, value_name = "FILENAME")]
    policy: Vec<PathBuf>,

    /// Proceed despite known Kubernetes bugs
    ///
    /// In 1.36.0 to 1.36.2 any rule can make kube-scheduler panic, or is ignored by it. On a
    /// terminal this asks for confirmation; scripts need this flag for these releases, and for an
    /// unknown release.
    #[arg(long, hide_short_help = true)]
    accept_known_defects: bool,
}

impl SafetyArgs {
    /// Takes the word `none` from the files with policies, and says whether it was there: a command that makes
    /// admission policies takes it for making none.
    pub(crate) fn take_no_policy(&mut self) -> bool {
        let before = self.policy.len();
        self.policy.retain(|path| path.as_os_str() != "none");
        self.policy.len() < before
    }

    /// Finds what is wrong with the flags before anything else is done.
    pub(crate) fn prepare(&self) -> Result<SafetyLimits, Failure> {
        SafetyLimits::new(SafetyFlags {
            yes: self.yes,
            confirm_pods: self.confirm_pods,
            expect: self.expect.clone(),
            guards: guards::parse(&self.abort_if)?,
            risk: self.accept_known_defects.into(),
            policy: self.policy.clone(),
        })
    }
}
