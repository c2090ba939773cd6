//! Scope of a rule's selector: all devices, some, or none, depending on the version.

use super::semantics::Semantics;
use crate::model::{DeviceSelector, Effect};

/// Devices that a selector chooses, before any device is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SelectorScope {
    /// The devices that match the fields of the selector.
    Described,
    /// Every device of every driver.
    EveryDevice,
    /// None: there is no selector, and this version takes that for nothing.
    NoDevice,
    /// There is no selector: no pod is evicted, and the scheduler takes every device as tainted.
    EveryDeviceForTheScheduler,
}

impl SelectorScope {
    /// Meaning of a rule with this selector and this effect.
    ///
    /// Upstream: `ruleMatchesDevice` in `device_taint_eviction.go`, and the filters of the tracker in
    /// `resourceslice/tracker/tracker.go`.
    pub fn of(selector: Option<&DeviceSelector>, effect: &Effect, semantics: &Semantics) -> Self {
        let Some(selector) = selector else {
            return Self::without_selector(effect, semantics);
        };
        if selector.selects_every_device() {
            Self::EveryDevice
        } else {
            Self::Described
        }
    }

    fn without_selector(effect: &Effect, semantics: &Semantics) -> Self {
        let blocks = match effect {
            Effect::NoSchedule | Effect::NoExecute => true,
            Effect::None | Effect::Unknown(_) => false,
        };
        if semantics.nil_selector_blocks && blocks {
            Self::EveryDeviceForTheScheduler
        } else {
            Self::NoDevice
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Minor;

    fn scope(
        selector: Option<&DeviceSelector>,
        effect: &str,
        minor: u32,
        patch: u32,
    ) -> SelectorScope {
        let version = Minor {
            minor,
            patch: Some(patch),
        };
        SelectorScope::of(selector, &effect.into(), &Semantics::of(version).unwrap())
    }

    #[test]
    fn a_rule_without_a_selector_means_what_the_version_makes_of_it() {
        for (effect, minor, patch, expected) in [
            (
                "NoExecute",
                35,
                0,
                SelectorScope::EveryDeviceForTheScheduler,
            ),
            (
                "NoSchedule",
                37,
                0,
                SelectorScope::EveryDeviceForTheScheduler,
            ),
            ("None", 37, 0, SelectorScope::NoDevice),
            ("NoExecute", 37, 1, SelectorScope::NoDevice),
        ] {
            assert_eq!(
                scope(None, effect, minor, patch),
                expected,
                "{effect} in 1.{minor}.{patch}"
            );
        }
    }

    #[test]
    fn a_selector_without_names_means_every_device() {
        let all = DeviceSelector::default();
        assert_eq!(
            scope(Some(&all), "NoSchedule", 37, 0),
            SelectorScope::EveryDevice
        );
        let named = DeviceSelector {
            pool: Some("node-7".into()),
            ..DeviceSelector::default()
        };
        assert_eq!(
            scope(Some(&named), "NoExecute", 37, 0),
            SelectorScope::Described
        );
    }
}
