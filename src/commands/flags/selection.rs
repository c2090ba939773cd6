//! Devices and rules that commands select.

use std::collections::BTreeMap;

use crate::completion::Values;
use crate::decide::{RuleArguments, RuleChoice};
use crate::error::Failure;
use crate::naming::labels::LabelSelector;
use crate::naming::rule;

/// Rules by name, taint or labels.
#[derive(clap::Args, Debug)]
pub(crate) struct RuleArgs {
    /// Rules by name, or by devices and the KEY of their taint
    ///
    /// A device is DRIVER/POOL/DEVICE or a hardware ID (UUID, PCI address, uuid=UUID or serial=NUMBER). Only rules that
    /// select exactly this device are selected. Instead of KEY, KEY=VALUE and KEY:EFFECT are also accepted. A final
    /// `-`, as in `kubectl taint`, is accepted and ignored.
    #[arg(value_name = "RULE|DEVICE KEY", add = Values::RulesOrDevices)]
    targets: Vec<String>,

    /// Rules with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<LabelSelector>,
}

impl RuleArgs {
    /// Rules by name.
    pub(crate) fn named(names: Vec<String>) -> Self {
        Self {
            targets: names,
            selector: None,
        }
    }

    /// The selection of a command that takes all rules where none are named, and narrows them by labels; absent without
    /// names. As for kubectl, the type alone stands for all.
    pub(crate) fn narrowed(&self) -> Result<Option<RuleChoice>, Failure> {
        let is_all = match &self.targets[..] {
            [only] => rule::is_type(only),
            several => several.is_empty(),
        };
        if is_all {
            return Ok(None);
        }
        let choice = RuleChoice::parse(&RuleArguments {
            targets: &self.targets,
            ..RuleArguments::default()
        });
        choice.map(Some)
    }

    /// True if a rule with these labels is among the selected ones.
    pub(crate) fn has_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        let selector = self.selector.as_ref();
        selector.is_none_or(|selector| selector.matches(labels))
    }

    /// Parses the arguments.
    pub(crate) fn choice(&self) -> Result<RuleChoice, Failure> {
        RuleChoice::parse(&self.ways())
    }

    /// The arguments, for commands that add other ways to select rules.
    pub(crate) fn ways(&self) -> RuleArguments<'_> {
        RuleArguments {
            targets: &self.targets,
            selector: self.selector.as_ref(),
            ..RuleArguments::default()
        }
    }
}
