//! Warnings on rules whose hardware claims hold through another driver: such a rule evicts none of the pods that use it.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use jiff::Timestamp;

use crate::assess::possible_hardware;
use crate::engine::allocator::{may_be_used_under_other_names, used_under_other_names};
use crate::engine::unpublished_devices::may_be_same_hardware;
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
    let possible = may_be_same_hardware(snapshot, &selected, None);
    // Attributes are decoded only where devices of several drivers are allocated.
    let elsewhere = if may_be_used_under_other_names(snapshot, &selected) {
        used_under_other_names(snapshot, &selected.iter().collect())
    } else {
        BTreeMap::new()
    };
    // A rule may select the other devices, too.
    let meant = elsewhere.iter().chain(&possible);
    let meant: BTreeSet<&DeviceId> = meant
        .flat_map(|(device, others)| iter::once(device).chain(others))
        .collect();
    if meant.is_empty() {
        return Vec::new();
    }
    let by_rule = engine::selected_of(snapshot, &proposed, semantics, &meant);
    let mut warnings = Vec::new();
    for (rule, devices) in rules.iter().zip(&by_rule) {
        let devices = devices.iter().collect();
        warnings.extend(warning(rule, &devices, &elsewhere));
        let possible = possible_hardware::warning(&devices, &possible);
        warnings.extend(possible.map(|possible| Warning {
            message: format!("rule {}: {}", rule.name, possible.message),
            ..possible
        }));
    }
    warnings
}

fn warning(
    rule: &DeviceTaintRule,
    selected: &BTreeSet<&DeviceId>,
    elsewhere: &BTreeMap<DeviceId, BTreeSet<DeviceId>>,
) -> Option<Warning> {
    let others = possible_hardware::beside(selected, elsewhere);
    let first = others.first()?;
    Some(Warning {
        code: "allocated-through-another-driver",
        message: format!(
            "rule {}: the hardware of its devices is also allocated under other device names ({}); the rule \
            does not evict pods that use the hardware only under these names",
            rule.name,
            few(&others)
        ),
        fix: Some(format!(
            "to show the claims: kubectl devicetaint devices {first}"
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{named, selector};
    use crate::engine::testing::{claim_on_node, pod, published, semantics, slice, slice_of};

    #[test]
    fn each_rule_is_told_of_what_it_does_not_select_itself() {
        let card = vec![published("card0", &[("uuid", "A")])];
        let card = slice_of("vfio.example.com", card);
        let gpu = slice(vec![published("gpu-0", &[("uuid", "A")])]);
        let rule = |name: &str, driver: Option<&str>, device: Option<&str>| {
            let mut rule = named(name, "NoExecute");
            let mut selector = selector("gpu-0");
            selector.driver = driver.map(Into::into);
            selector.device = device.map(Into::into);
            rule.selector = Some(selector);
            rule
        };
        let rules = [
            rule("on-card", Some("vfio.example.com"), Some("card0")),
            rule("on-gpu", Some("gpu.example.com"), Some("gpu-0")),
            rule("on-both", None, None),
        ];
        let told = |slices: Vec<_>, is_held: bool| -> Vec<(String, &str)> {
            let claims = vec![claim_on_node(&pod("ml", "embed"))];
            let snapshot = Snapshot {
                slices,
                claims: claims.into_iter().filter(|_| is_held).collect(),
                ..Snapshot::default()
            };
            let warnings = warnings(&rules, &snapshot, &semantics(37)).into_iter();
            let name = |text: String| text.split(':').next().unwrap_or_default().to_owned();
            warnings
                .map(|warning| (name(warning.message), warning.code))
                .collect()
        };
        let both = vec![card.clone(), gpu];
        let held = (
            "rule on-card".to_owned(),
            "allocated-through-another-driver",
        );
        assert_eq!(told(both.clone(), true), [held]);
        assert_eq!(told(both, false), []);
        // The driver of the GPU is away: what it holds is all that is known of it.
        let possible = ("rule on-card".to_owned(), "may-be-same-hardware");
        assert_eq!(told(vec![card], true), [possible]);
    }
}
