//! Which rules are meant, as it is typed.

use crate::decide::{Chooser, Ways};
use crate::error::Failure;
use crate::naming::labels::LabelSelector;

/// Rules by name, by what they taint, or by their labels.
#[derive(clap::Args, Debug)]
pub(crate) struct RuleArgs {
    /// Rules by name, or devices and the KEY of their taint
    ///
    /// Devices are written DRIVER/POOL/DEVICE, the taint KEY, KEY=VALUE or KEY:EFFECT.
    #[arg(value_name = "RULE|DEVICE KEY")]
    targets: Vec<String>,

    /// Rules with these labels
    ///
    /// Such as kubectl-devicetaint/batch=9c41d7e02b, which those of one `add` have in common.
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<LabelSelector>,
}

impl RuleArgs {
    /// Which rules are meant.
    pub(crate) fn chooser(&self) -> Result<Chooser, Failure> {
        Chooser::parse(&self.ways())
    }

    /// What was typed, for who adds other ways to it.
    pub(crate) fn ways(&self) -> Ways<'_> {
        Ways {
            targets: &self.targets,
            selector: self.selector.as_ref(),
            ..Ways::default()
        }
    }
}
