//! Flags of `preview --publish`.

/// How the controller is asked.
#[derive(clap::Args, Debug)]
pub(crate) struct PublishArgs {
    /// Also create rules with effect None, and compare with what the controller says about them
    #[arg(long, conflicts_with = "from", help_heading = "Controller")]
    pub(crate) publish: bool,

    /// Remove the rules of --publish again
    #[arg(long, requires = "publish", help_heading = "Controller")]
    pub(crate) cleanup: bool,
}
