//! Warnings on rules whose hardware claims hold through another driver: such a rule evicts none of the pods that use it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::assess::possible_hardware;
use crate::engine::allocator::{may_be_used_under_other_names, used_under_other_names};
use crate::engine::{self, ProposedTaint, Semantics};
use crate::model::{DeviceId, DeviceTaintRule, Snapshot, Warning};
use crate::naming::phrase::few;

/// Whether attributes are needed to tell whether the devices of `rules` are in use through another driver.
#[must_use]
pub fn needs_attributes(
    rules: &[DeviceTaintRule],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> bool {
    let proposed = ProposedTaint::of_rules(rules, Timestamp::UNIX_EPOCH);
    let selected = engine::selection(snapshot, &proposed, semantics).devices;
    may_be_used_under_other_names(snapshot, &selected)
}

/// One warning per rule whose devices have the same hardware as allocated devices of other drivers that the rule does
/// not select.
#[must_use]
pub fn warnings(
    rules: &[DeviceTaintRule],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Vec<Warning> {
    // Which devices a rule selects is the same at any time.
    let proposed = ProposedTaint::of_rules(rules, Timestamp::UNIX_EPOCH);
    let selected = engine::selection(snapshot, &proposed, semantics).devices;
    // Attributes are decoded only where devices of several drivers are allocated.
    if !may_be_used_under_other_names(snapshot, &selected) {
        return Vec::new();
    }
    let elsewhere = used_under_other_names(snapshot, &selected.iter().collect());
    let mut warnings = Vec::new();
    for (rule, proposed) in rules.iter().zip(&proposed) {
        let of_rule = engine::selection(snapshot, std::slice::from_ref(proposed), semantics);
        warnings.extend(warning(rule, &of_rule.devices, &elsewhere));
        // Per rule: what another rule selects may be the hardware all the same.
        let devices = of_rule.devices.iter().collect();
        let possible = possible_hardware::warning(&devices, snapshot);
        warnings.extend(possible.map(|possible| Warning {
            message: format!("rule {}: {}", rule.name, possible.message),
            ..possible
        }));
    }
    warnings
}

fn warning(
    rule: &DeviceTaintRule,
    selected: &BTreeSet<DeviceId>,
    elsewhere: &BTreeMap<DeviceId, BTreeSet<DeviceId>>,
) -> Option<Warning> {
    let others = selected.iter().filter_map(|device| elsewhere.get(device));
    let others: BTreeSet<&DeviceId> = others.flatten().collect();
    let others: Vec<String> = others
        .into_iter()
        .filter(|device| !selected.contains(*device))
        .map(ToString::to_string)
        .collect();
    let first = others.first()?;
    Some(Warning {
        code: "allocated-through-another-driver",
        message: format!(
            "rule {}: the hardware of its devices is also allocated as {}; the rule evicts no pod that uses \
             this hardware under another name",
            rule.name,
            few(&others)
        ),
        fix: Some(format!(
            "to show the claims: kubectl devicetaint devices {first}"
        )),
    })
}
