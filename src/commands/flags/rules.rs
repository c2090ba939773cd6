//! Which rules are meant, as it is typed.

use crate::completion::Values;
use crate::decide::rules_on::SiblingRules;
use crate::decide::{RuleArguments, RuleWords};
use crate::naming::labels::LabelSelector;

/// Rules by name, by what they taint, or by their labels.
#[derive(clap::Args, Debug)]
pub(crate) struct RuleArgs {
    /// Rules by name, by hardware ID, or by devices and the KEY of their taint
    ///
    /// A device is DRIVER/POOL/DEVICE or a hardware ID (UUID, serial number or PCI address). After a hardware ID, KEY
    /// may be omitted. Instead of KEY, KEY=VALUE and KEY:EFFECT are also accepted. A final `-`, as in `kubectl
    /// taint`, is accepted and ignored.
    ///
    /// A hardware ID selects the rules that taint only the device with this ID, and the rules whose annotation
    /// devicetaint.dev/identity has this ID. When the plugin creates a rule for a device, it records the hardware of
    /// the device in this annotation. In `wait`, `describe` and `list`, a hardware ID also selects the rules that
    /// taint only a partition of this device. Rules that taint several devices, such as all devices of a pool, are
    /// not selected. With KEY, only rules with this taint key are selected.
    #[arg(value_name = "RULE|DEVICE KEY", add = Values::RulesOrDevices)]
    targets: Vec<String>,

    /// Rules with these labels
    ///
    /// For example devicetaint.dev/batch=9c41d7e02b, the label of all rules of one `add`.
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

    /// What was typed to mean rules, with the hardware among it.
    pub(crate) fn typed(&self, siblings: SiblingRules) -> RuleWords<'_> {
        RuleWords::new(self.ways(), siblings)
    }

    /// What was typed, for who adds other ways to it.
    pub(crate) fn ways(&self) -> RuleArguments<'_> {
        RuleArguments {
            targets: &self.targets,
            selector: self.selector.as_ref(),
            ..RuleArguments::default()
        }
    }
}
