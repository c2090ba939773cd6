//! Devices that another dedication has already.

use super::terms::Terms;
use crate::error::Failure;
use crate::model::{DeviceSelector, DeviceTaintRule};
use crate::naming::device;

/// A rule of another dedication that taints some of the devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The other dedication.
    pub dedication: String,
    /// Its rule.
    pub rule: String,
    /// What that taints.
    pub selector: DeviceSelector,
}

/// The rules of other dedications than `name` that taint something of what `selectors` do. Every rule with
/// the taint of a dedication counts, whatever its effect is and whatever made it: its devices are promised.
#[must_use]
pub fn overlaps(
    name: &str,
    selectors: &[DeviceSelector],
    rules: &[DeviceTaintRule],
) -> Vec<Overlap> {
    let others = rules
        .iter()
        .filter(|rule| rule.taint.key == Terms::KEY && rule.taint.value != name);
    let overlapping = others.filter_map(|rule| {
        // Up to 1.37.0 the scheduler applies a rule without a selector to every device.
        let selector = rule.selector.clone().unwrap_or_default();
        let meets = selectors.iter().any(|one| overlap(one, &selector));
        meets.then(|| Overlap {
            dedication: rule.taint.value.clone(),
            rule: rule.name.to_string(),
            selector,
        })
    });
    overlapping.collect()
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

/// Refuses devices that another dedication has, each by its name.
///
/// # Errors
///
/// Where there are any.
pub fn refuse_overlaps(overlaps: &[Overlap]) -> Result<(), Failure> {
    let Some(first) = overlaps.first() else {
        return Ok(());
    };
    let failure = Failure::refused(format!(
        "{} already belongs to dedication {}; nothing was changed",
        device::format(&first.selector),
        first.dedication
    ));
    let failure = overlaps.iter().fold(failure, |failure, overlap| {
        failure.detail(format!(
            "{} belongs to dedication {} (rule {})",
            device::format(&overlap.selector),
            overlap.dedication,
            overlap.rule
        ))
    });
    Err(failure.hint(format!(
        "omit these devices, or remove the other dedication first: kubectl devicetaint undedicate \
        {}",
        first.dedication
    )))
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
            let overlaps = overlaps("research", &[selector("gpu-0")], &rules);
            assert_eq!(!overlaps.is_empty(), found, "{what}");
            assert_eq!(refuse_overlaps(&overlaps).is_err(), found, "{what}");
        }
    }

    #[test]
    fn a_rule_without_a_selector_may_be_about_every_device() {
        let mut all = dedicated("ml", DeviceSelector::default());
        all.selector = None;
        assert_eq!(overlaps("research", &[selector("gpu-0")], &[all]).len(), 1);
    }

    #[test]
    fn ones_own_rules_and_other_taints_are_no_overlap() {
        let mut other = dedicated("ml", selector("gpu-0"));
        other.taint.key = "example.com/maintenance".to_owned();
        let rules = [dedicated("research", selector("gpu-0")), other];
        assert_eq!(overlaps("research", &[selector("gpu-0")], &rules), []);
    }

    #[test]
    fn an_overlap_is_refused_with_the_names_of_dedication_and_rule() {
        let rules = [dedicated("ml", selector("gpu-0"))];
        let overlaps = overlaps("research", &[selector("gpu-0")], &rules);
        let failure = refuse_overlaps(&overlaps).unwrap_err();
        assert!(
            failure
                .to_string()
                .contains("already belongs to dedication ml"),
            "{failure}"
        );
        assert!(failure.details()[0].ends_with("dedication ml (rule of-ml)"));
    }

    #[test]
    fn one_of_several_devices_is_enough_for_an_overlap() {
        let rules = [dedicated("ml", selector("gpu-1"))];
        let wanted = [selector("gpu-0"), selector("gpu-1")];
        assert_eq!(overlaps("research", &wanted, &rules).len(), 1);
    }
}
