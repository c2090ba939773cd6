//! Flags of `preview --publish`.

/// How the controller is asked.
#[derive(clap::Args, Debug)]
pub(crate) struct PublishArgs {
    /// Ask the controller too, with rules of effect None
    ///
    /// They are created, and what the controller says about them is compared with the answer.
    #[arg(long, conflicts_with = "from", help_heading = "Controller")]
    pub(crate) publish: bool,

    /// Remove the rules of --publish again
    #[arg(
        long,
        requires = "publish",
        help_heading = "Controller",
        hide_short_help = true
    )]
    pub(crate) cleanup: bool,

    /// Ask also where the release of Kubernetes breaks at rules
    ///
    /// From 1.36.0 to 1.36.2 any rule can make kube-scheduler panic, also one of effect None. That is
    /// asked about on a terminal; scripts need this flag there, and where the release is not known.
    #[arg(
        long,
        requires = "publish",
        help_heading = "Controller",
        hide_short_help = true
    )]
    pub(crate) accept_known_defects: bool,
}
