//! Flags of `preview --publish`.

/// Flags of a preview by the controller.
#[derive(clap::Args, Debug)]
pub(crate) struct PublishArgs {
    /// Create rules with effect None; compare the controller's count
    ///
    /// The exit code is 6 if the controller's count differs, or is not reported in time. In Kubernetes 1.36.0 to 1.36.2,
    /// where any rule can make kube-scheduler panic, --abort-if is required.
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
}
