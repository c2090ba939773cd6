//! Flags that say how much harm is agreed to.

use std::path::PathBuf;

use super::guards;
use crate::commands::work::consent::{SafetyFlags, SafetyLimits};
use crate::error::Failure;

/// Flags that say how much harm is agreed to.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Safety")]
pub(crate) struct SafetyArgs {
    /// Do not ask for confirmation
    ///
    /// If stdin is not a terminal, required for everything that needs confirmation.
    #[arg(short, long)]
    yes: bool,

    /// Refuse unless exactly N pods would be evicted
    ///
    /// If N is wrong, the error message shows the right number. If an interrupted run has already changed rules,
    /// fewer than N pods are accepted, too.
    ///
    /// With --yes, this flag or --expect is required if pods in kube-system or in several namespaces would be
    /// evicted, or if the command would taint every device of every driver. Pods that use devices only with admin
    /// access (adminAccess: true in their claims) are ignored when namespaces are counted.
    #[arg(long, value_name = "N")]
    confirm_pods: Option<usize>,

    /// Refuse if the impact or the hardware does not match this earlier report
    ///
    /// A file from `preview -o json`, or the value of its field digest (sha256:…) or hardwareDigest (hardware:…). In
    /// all three cases, the command is refused if a device that is selected by name (by driver, pool and device) was
    /// replaced since the report.
    ///
    /// With a file, the command is also refused if the taints or their selectors differ, if a pod would be evicted
    /// that the file does not list as evicted, or if a pod would be evicted earlier than in the file. Fewer evicted
    /// pods and later evictions are accepted. The command is also refused if the evictions depend on data that could
    /// be read when the file was created, but cannot be read now.
    ///
    /// With sha256:…, the command is also refused if the taints, their selectors, the pods or their outcomes differ
    /// in any way, even if the impact is smaller.
    ///
    /// With hardware:…, the command is only refused if the devices that it selects by name are not the same hardware as
    /// in the report. Nothing else is compared, so the impact may be larger.
    ///
    /// Hazards and severities are never compared (see `help hazards`).
    #[arg(long, value_name = "REPORT", hide_short_help = true)]
    expect: Option<PathBuf>,

    /// Refuse if this is true, such as 'pods.evicted>20'
    ///
    /// Also refuses if this may be true because the value is unknown. Repeatable; for the list of signals, such
    /// as pods.evicted: `help guards`.
    #[arg(long, value_name = "GUARD")]
    abort_if: Vec<String>,

    /// Refuse what the policy in this file forbids
    ///
    /// A policy sets guards, fields that every rule must have, and devices that must not be tainted.
    /// Repeatable; all policies apply.
    #[arg(long, value_name = "FILENAME")]
    policy: Vec<PathBuf>,

    /// Proceed despite known Kubernetes bugs
    ///
    /// In Kubernetes 1.36.0 to 1.36.2, kube-scheduler can ignore rules, and any rule can make it panic.
    /// Without this flag, the command asks for confirmation for these releases and for an unknown release, even
    /// with --yes; if stdin is not a terminal, the command is refused.
    #[arg(long, hide_short_help = true)]
    accept_known_defects: bool,
}

impl SafetyArgs {
    /// Whether nobody is asked.
    pub(crate) fn says_yes(&self) -> bool {
        self.yes
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
