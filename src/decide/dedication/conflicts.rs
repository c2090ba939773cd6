//! Devices that another dedication has, or that others can still use.

use std::collections::BTreeSet;

use super::terms::Terms;
use crate::engine::allocator::sharing_counters;
use crate::error::Failure;
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule, Snapshot};
use crate::naming::device;
use crate::naming::phrase::few;

/// A rule of another dedication that taints something of what `terms` do. Every rule with the taint of a
/// dedication counts, whatever its effect is and whatever created it.
pub fn other_dedication<'a>(
    terms: &Terms,
    rules: &'a [DeviceTaintRule],
) -> Option<(&'a DeviceTaintRule, &'a str)> {
    let overlaps = |rule: &DeviceTaintRule| {
        // Up to 1.37.0 the scheduler applies a rule without a selector to every device.
        let theirs = rule.selector.clone().unwrap_or_default();
        terms.devices.iter().any(|own| overlap(own, &theirs))
    };
    rules.iter().find_map(|rule| {
        let name = rule.taint.dedication()?;
        (name != terms.name && overlaps(rule)).then_some((rule, name))
    })
}

/// True if a device could be selected by both: where both name something, they name the same.
fn overlap(one: &DeviceSelector, other: &DeviceSelector) -> bool {
    fn agree<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
        one.zip(other).is_none_or(|(one, other)| one == other)
    }
    agree(one.driver.as_ref(), other.driver.as_ref())
        && agree(one.pool.as_ref(), other.pool.as_ref())
        && agree(one.device.as_ref(), other.device.as_ref())
}

/// Refuses devices that another dedication has.
///
/// # Errors
///
/// The first rule of another dedication.
pub fn refuse_overlap(terms: &Terms, rules: &[DeviceTaintRule]) -> Result<(), Failure> {
    let Some((rule, name)) = other_dedication(terms, rules) else {
        return Ok(());
    };
    let devices = device::format(&rule.selector.clone().unwrap_or_default());
    Err(Failure::refused(format!(
        "{devices} belongs to dedication {name} (rule {})",
        rule.name
    ))
    .hint(format!(
        "omit these devices, or end the other dedication: kubectl devicetaint undedicate {name}"
    )))
}

/// Refuses devices whose counters others can still use: a partition of a dedicated GPU, or the GPU of a
/// dedicated partition. `selected` are the devices of the terms.
///
/// # Errors
///
/// The devices that share counters and are not dedicated.
pub fn refuse_shared_counters(
    snapshot: &Snapshot,
    selected: &BTreeSet<DeviceId>,
) -> Result<(), Failure> {
    let others = sharing_counters(snapshot, selected);
    if others.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = others.iter().map(ToString::to_string).collect();
    Err(Failure::refused(format!(
        "other claims could use the hardware of the devices through {}; nothing was changed",
        few(&names)
    ))
    .hint("dedicate these devices too: --with-partitions"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::dedication::testing::terms;
    use crate::decide::testing::{rule, selector};
    use crate::model::Taint;

    fn dedicated(name: &str, selector: Option<DeviceSelector>) -> DeviceTaintRule {
        let mut rule = rule("NoSchedule");
        rule.taint.key = Taint::DEDICATED.to_owned();
        rule.taint.value = name.to_owned();
        rule.selector = selector;
        rule
    }

    #[test]
    fn devices_of_another_dedication_are_found_however_they_are_selected() {
        let whole_driver = DeviceSelector {
            pool: None,
            device: None,
            ..selector("gpu-0")
        };
        let elsewhere = DeviceSelector {
            pool: Some("elsewhere".into()),
            ..selector("gpu-0")
        };
        let mut terms = terms("research", &["research"]);
        terms.devices = vec![selector("gpu-0"), selector("gpu-2")];
        let other_taint = rule("NoSchedule");
        let of = |name: &str, device: &str| dedicated(name, Some(selector(device)));
        for (what, theirs, found) in [
            ("the same device", of("ml", "gpu-0"), true),
            ("one of several", of("ml", "gpu-2"), true),
            ("another device", of("ml", "gpu-1"), false),
            ("its driver", dedicated("ml", Some(whole_driver)), true),
            ("another pool", dedicated("ml", Some(elsewhere)), false),
            ("no selector", dedicated("ml", None), true),
            ("its own rule", of("research", "gpu-0"), false),
            ("another taint", other_taint, false),
        ] {
            let refused = refuse_overlap(&terms, &[theirs]);
            assert_eq!(refused.is_err(), found, "{what}");
        }
    }
}
