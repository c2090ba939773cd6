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
    #[arg(long, requires = "publish", help_heading = "Controller")]
    pub(crate) cleanup: bool,
}
