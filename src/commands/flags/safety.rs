//! Flags that say how much harm is agreed to.

use std::path::PathBuf;

use super::guards;
use crate::commands::work::consent::{Agreement, Safety};
use crate::error::Failure;

/// Flags that say how much harm is agreed to.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Safety")]
pub(crate) struct SafetyArgs {
    /// Do not ask; needed where there is no terminal
    #[arg(short, long)]
    yes: bool,

    /// Number of pods that may be evicted, exactly
    ///
    /// Needed beside --yes where several namespaces, kube-system or all devices are hit, unless --expect
    /// says what is agreed to.
    #[arg(long, value_name = "N")]
    confirm_pods: Option<usize>,

    /// Refuse when more is hit than this report says
    ///
    /// A file that `preview -o json` has written, or its digest: then anything else is refused, less too.
    /// hardware:… is the digest of the devices alone, and says that they are what they were. A device that
    /// was exchanged since is refused in any case.
    #[arg(long, value_name = "REPORT", hide_short_help = true)]
    expect: Option<PathBuf>,

    /// Refuse when this holds, such as 'pods.evicted>20'
    ///
    /// Repeatable; `help guards` says what can be asked.
    #[arg(long, value_name = "GUARD")]
    abort_if: Vec<String>,

    /// Refuse what the policy in this file forbids
    ///
    /// Guards, what a rule has to say about itself, and devices that are never tainted, for a whole
    /// team; repeatable, and all have to be kept.
    #[arg(long, value_name = "FILENAME")]
    policy: Vec<PathBuf>,

    /// Go on where the release of Kubernetes breaks at rules
    ///
    /// From 1.36.0 to 1.36.2 any rule can make kube-scheduler panic, or is ignored by it. That is asked
    /// about on a terminal; scripts need this flag there, and where the release is not known.
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
    pub(crate) fn prepare(&self) -> Result<Safety, Failure> {
        Safety::new(Agreement {
            yes: self.yes,
            confirm_pods: self.confirm_pods,
            expect: self.expect.clone(),
            guards: guards::parse(&self.abort_if)?,
            risk: self.accept_known_defects.into(),
            policy: self.policy.clone(),
        })
    }
}
