//! Warnings on rules whose hardware claims hold through another driver: such a rule evicts none of the pods that use it.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use jiff::Timestamp;

use crate::assess::possible_hardware;
use crate::engine::allocator::{
    may_be_used_under_other_names, used_under_other_names, users_beside,
};
use crate::engine::holders::holders;
use crate::engine::unpublished_devices::may_be_same_hardware;
use crate::engine::{self, ProposedTaint, Semantics};
use crate::model::{DeviceId, DeviceTaintRule, Effect, NamespacedName, Snapshot, Warning};
use crate::naming::phrase::{counted, few};

/// Whether attributes are needed to tell whether the devices of `rules` are in use through another driver.
#[must_use]
pub fn needs_attributes(
    rules: &[DeviceTaintRule],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> bool {
    let (_, selected) = selected_by(rules, snapshot, semantics);
    may_be_used_under_other_names(snapshot, &selected)
}

/// The taints of the rules, and the devices that they select: which these are is the same at any time.
fn selected_by(
    rules: &[DeviceTaintRule],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> (Vec<ProposedTaint>, BTreeSet<DeviceId>) {
    let proposed = ProposedTaint::of_rules(rules, Timestamp::UNIX_EPOCH);
    let selected = engine::selection(snapshot, &proposed, semantics).devices;
    (proposed, selected)
}

/// One warning per rule whose devices have the same hardware as allocated devices of other drivers that the rule does
/// not select.
#[must_use]
pub fn warnings(
    rules: &[DeviceTaintRule],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Vec<Warning> {
    let (proposed, selected) = selected_by(rules, snapshot, semantics);
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

/// One warning per rule that selects devices of which pods use partitions that it does not select.
#[must_use]
pub fn partition_warnings(
    rules: &[DeviceTaintRule],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Vec<Warning> {
    let (proposed, selected) = selected_by(rules, snapshot, semantics);
    let selected: BTreeSet<&DeviceId> = selected.iter().collect();
    let users = users_beside(snapshot, &selected);
    if users.is_empty() {
        return Vec::new();
    }
    let by_rule = engine::selected_of(snapshot, &proposed, semantics, &selected);
    let pods_on = |devices: &BTreeSet<DeviceId>| -> BTreeSet<NamespacedName> {
        let holders = holders(snapshot, devices).into_iter();
        holders
            .flat_map(|holder| holder.claim.reserving_pods())
            .collect()
    };
    // Of several rules, one may evict the pods on the partitions of another.
    let evicting = rules.iter().zip(&by_rule);
    let evicting = evicting.filter(|(rule, _)| rule.taint.effect == Effect::NoExecute);
    let evicted: BTreeSet<DeviceId> = evicting.flat_map(|(_, devices)| devices.clone()).collect();
    let evicted = pods_on(&evicted);
    let warnings = rules.iter().zip(&by_rule).filter_map(|(rule, devices)| {
        // A pod on a partition that the rule selects itself is no other pod.
        let own = pods_on(devices);
        let of_parts = devices.iter().filter_map(|device| users.get(device));
        let pods: BTreeSet<&NamespacedName> = of_parts
            .flatten()
            .filter(|pod| !own.contains(pod) && !evicted.contains(pod))
            .collect();
        let pods: Vec<String> = pods.into_iter().map(ToString::to_string).collect();
        (!pods.is_empty()).then(|| on_partitions(rule, &pods))
    });
    warnings.collect()
}

fn on_partitions(rule: &DeviceTaintRule, pods: &[String]) -> Warning {
    let (use_them, are) = match pods.len() {
        1 => ("uses", "is"),
        _ => ("use", "are"),
    };
    Warning {
        code: "partitions-in-use",
        message: format!(
            "rule {}: {} {use_them} partitions of its devices that the rule does not select, and {are} not evicted by it ({})",
            rule.name,
            counted(pods.len(), "pod"),
            few(pods)
        ),
        fix: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{named, selector};
    use crate::engine::testing::{
        claim_in_use, claim_on_node, drawing, pod, published, semantics, slice, slice_of,
    };

    #[test]
    fn pods_on_partitions_that_a_rule_does_not_select_are_named() {
        let pool = ["gpu-0", "gpu-0-mig-0"].map(|device| drawing(device, "40Gi"));
        let mut pool = pool.to_vec();
        pool[0] = drawing("gpu-0", "80Gi");
        let user = pod("team-a", "train");
        let mut claim = claim_in_use(&user);
        let allocation = claim.allocation.as_mut().expect("an allocation");
        allocation.results[0].device.device = "gpu-0-mig-0".into();
        let snapshot = Snapshot {
            slices: vec![slice(pool)],
            claims: vec![claim],
            pods: vec![user],
            ..Snapshot::default()
        };
        let messages = |device: Option<&str>| -> Vec<String> {
            let mut rule = named("drain", "NoExecute");
            let mut selector = selector("gpu-0");
            selector.device = device.map(Into::into);
            rule.selector = Some(selector);
            let found = partition_warnings(&[rule], &snapshot, &semantics(37));
            found.into_iter().map(|warning| warning.message).collect()
        };
        let line = "rule drain: 1 pod uses partitions of its devices that the rule does not select, and is not evicted \
             by it (team-a/train)";
        assert_eq!(messages(Some("gpu-0")), [line]);
        assert!(messages(Some("gpu-0-mig-0")).is_empty(), "its own device");
        assert!(messages(None).is_empty(), "the rule selects both");
        let rule = |device: &str, effect: &str| {
            let mut rule = named("drain", effect);
            rule.selector = Some(selector(device));
            rule
        };
        let beside = |effect: &str| {
            let rules = [rule("gpu-0", "NoExecute"), rule("gpu-0-mig-0", effect)];
            partition_warnings(&rules, &snapshot, &semantics(37)).len()
        };
        assert_eq!(beside("NoExecute"), 0, "the other rule evicts the pod");
        assert_eq!(beside("NoSchedule"), 1, "the other rule does not");
    }

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
