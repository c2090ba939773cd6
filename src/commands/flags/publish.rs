//! Flags of `preview --publish`.

/// How the controller is asked.
#[derive(clap::Args, Debug)]
pub(crate) struct PublishArgs {
    /// Create rules with effect None; compare the controller's count
    ///
    /// The controller counts the pods that NoExecute would evict. If its count differs from the preview, or is not
    /// reported in time, the exit code is 6. Without --cleanup, the rules stay.
    #[arg(long, conflicts_with = "from", help_heading = "Controller")]
    pub(crate) publish: bool,

    /// Delete the rules of --publish afterwards
    #[arg(
        long,
        requires = "publish",
        help_heading = "Controller",
        hide_short_help = true
    )]
    pub(crate) cleanup: bool,

    /// Proceed despite known Kubernetes bugs
    ///
    /// In Kubernetes 1.36.0 to 1.36.2, any rule can make kube-scheduler panic, even with effect None.
    /// Without this flag, --publish asks for confirmation for these releases and for an unknown release; if
    /// stdin is not a terminal, the command is refused.
    #[arg(
        long,
        requires = "publish",
        help_heading = "Controller",
        hide_short_help = true
    )]
    pub(crate) accept_known_defects: bool,
}
