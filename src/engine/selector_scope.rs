//! Scope of a rule's selector: all devices, some, or none, depending on the version.

use super::semantics::Semantics;
use crate::model::{DeviceSelector, Effect};

/// What a selector chooses, before any device is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SelectorScope {
    /// The devices that match the fields of the selector.
    Described,
    /// Every device of every driver.
    EveryDevice,
    /// None: there is no selector, and this version takes that for nothing.
    NoDevice,
    /// There is no selector: nobody is evicted, and the scheduler takes every device as tainted.
    EveryDeviceForTheScheduler,
}

impl SelectorScope {
    /// What a rule with this selector and this effect means.
    ///
    /// Class and expressions narrow nothing where the version drops them (since 1.35).
    ///
    /// Upstream: `ruleMatchesDevice` in `device_taint_eviction.go`, and the filters of the tracker in
    /// `resourceslice/tracker/tracker.go`.
    #[must_use]
    pub fn of(selector: Option<&DeviceSelector>, effect: &Effect, semantics: &Semantics) -> Self {
        let Some(selector) = selector else {
            return Self::without_selector(effect, semantics);
        };
        let by_name =
            selector.driver.is_some() || selector.pool.is_some() || selector.device.is_some();
        if by_name || (selector.is_narrowed() && semantics.selects_by_expression) {
            Self::Described
        } else {
            Self::EveryDevice
        }
    }

    fn without_selector(effect: &Effect, semantics: &Semantics) -> Self {
        let blocks = match effect {
            Effect::NoSchedule | Effect::NoExecute => true,
            Effect::None | Effect::Unknown(_) => false,
        };
        if semantics.nil_selector_evicts {
            Self::EveryDevice
        } else if semantics.nil_selector_blocks && blocks {
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
            ("NoExecute", 34, 0, SelectorScope::EveryDevice),
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
    fn a_class_narrows_nothing_where_the_version_drops_it() {
        let by_class = DeviceSelector {
            device_class: Some("gpu".into()),
            ..DeviceSelector::default()
        };
        assert_eq!(
            scope(Some(&by_class), "NoExecute", 34, 0),
            SelectorScope::Described
        );
        assert_eq!(
            scope(Some(&by_class), "NoExecute", 35, 0),
            SelectorScope::EveryDevice
        );
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
