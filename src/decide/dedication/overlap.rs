//! Devices that another dedication has already.

use super::terms::Terms;
use crate::error::Failure;
use crate::model::{DeviceSelector, DeviceTaintRule};
use crate::naming::device;

/// Refuses devices that another dedication than `name` has: its rules taint something of what `selectors` do.
/// Every rule with the taint of a dedication counts, whatever its effect is and whatever made it.
///
/// # Errors
///
/// The first such rule.
pub fn refuse_overlap(
    name: &str,
    selectors: &[DeviceSelector],
    rules: &[DeviceTaintRule],
) -> Result<(), Failure> {
    let mut others = rules
        .iter()
        .filter(|rule| rule.taint.key == Terms::KEY && rule.taint.value != name);
    // Up to 1.37.0 the scheduler applies a rule without a selector to every device.
    let selector = |rule: &DeviceTaintRule| rule.selector.clone().unwrap_or_default();
    let Some(rule) = others.find(|rule| selectors.iter().any(|one| overlap(one, &selector(rule))))
    else {
        return Ok(());
    };
    let dedication = &rule.taint.value;
    Err(Failure::refused(format!(
        "{} already belongs to dedication {dedication} (rule {}); nothing was changed",
        device::format(&selector(rule)),
        rule.name
    ))
    .hint(format!(
        "omit these devices, or remove the other dedication first: kubectl devicetaint undedicate \
        {dedication}"
    )))
}

/// Whether a device could be selected by both: where both name something, they name the same.
fn overlap(one: &DeviceSelector, other: &DeviceSelector) -> bool {
    fn agree<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
        one.zip(other).is_none_or(|(one, other)| one == other)
    }
    agree(one.driver.as_ref(), other.driver.as_ref())
        && agree(one.pool.as_ref(), other.pool.as_ref())
        && agree(one.device.as_ref(), other.device.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{rule, selector};

    fn dedicated(name: &str, selector: DeviceSelector) -> DeviceTaintRule {
        let mut rule = rule("NoSchedule");
        rule.name = format!("of-{name}").as_str().into();
        rule.taint.key = Terms::KEY.to_owned();
        rule.taint.value = name.to_owned();
        rule.selector = Some(selector);
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
        for (what, theirs, found) in [
            ("the same device", selector("gpu-0"), true),
            ("another device", selector("gpu-1"), false),
            ("the whole driver", whole_driver, true),
            ("another pool", elsewhere, false),
            ("every device", DeviceSelector::default(), true),
        ] {
            let rules = [dedicated("ml", theirs)];
            let refused = refuse_overlap("research", &[selector("gpu-0")], &rules);
            assert_eq!(refused.is_err(), found, "{what}");
        }
    }

    #[test]
    fn a_rule_without_a_selector_may_be_about_every_device() {
        let mut all = dedicated("ml", DeviceSelector::default());
        all.selector = None;
        assert!(refuse_overlap("research", &[selector("gpu-0")], &[all]).is_err());
    }

    #[test]
    fn ones_own_rules_and_other_taints_are_no_overlap() {
        let mut other = dedicated("ml", selector("gpu-0"));
        other.taint.key = "example.com/maintenance".to_owned();
        let rules = [dedicated("research", selector("gpu-0")), other];
        assert!(refuse_overlap("research", &[selector("gpu-0")], &rules).is_ok());
    }

    #[test]
    fn one_of_several_devices_is_enough_for_an_overlap() {
        let rules = [dedicated("ml", selector("gpu-1"))];
        let wanted = [selector("gpu-0"), selector("gpu-1")];
        let failure = refuse_overlap("research", &wanted, &rules).unwrap_err();
        assert!(failure.to_string().contains("of-ml"), "{failure}");
    }
}
