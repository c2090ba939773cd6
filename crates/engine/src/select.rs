//! Taints that a device gets from rules.
//!
//! A selector is three optional exact strings, so that there are eight shapes of selector at most.
//! Rules are kept by shape and value, and a device is looked up once in each shape in use: the cost
//! of a device does not depend on how many rules there are.

use super::devices::DeviceTable;
use super::impact::{DeviceTaint, Origin, ProposedTaint, proposed_rules};
use super::semantics::Semantics;
use crate::model::{DeviceId, DeviceSelector, Effect, ObjectName, Snapshot, Taint, Warning};
use foldhash::HashMap;
use std::collections::BTreeSet;

/// The full name of a device, borrowed from wherever it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DeviceKey<'a> {
    pub(crate) driver: &'a str,
    pub(crate) pool: &'a str,
    pub(crate) device: &'a str,
}

/// A taint that a rule puts, or would put, on the devices it selects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleTaint<'a> {
    pub(crate) origin: Origin<'a>,
    /// The rule that it is of, or stands for.
    pub(crate) name: Option<&'a ObjectName>,
    pub(crate) selector: Option<&'a DeviceSelector>,
    pub(crate) taint: &'a Taint,
}

impl<'a> RuleTaint<'a> {
    pub(crate) fn as_device_taint(&self) -> DeviceTaint<'a> {
        DeviceTaint {
            origin: self.origin,
            taint: self.taint,
        }
    }
}

/// Fields that a selector gives.
type Pattern<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>);

/// True for each of driver, pool and device that a selector gives.
type Shape = [bool; 3];

/// Rules, ready to be asked by device.
#[derive(Debug)]
pub(crate) struct RuleIndex<'a> {
    rules: Vec<RuleTaint<'a>>,
    shapes: Vec<Shape>,
    by_pattern: HashMap<Pattern<'a>, Vec<u32>>,
    semantics: Semantics,
}

impl<'a> RuleIndex<'a> {
    /// Behaviour of the version under which the rules are indexed.
    pub(crate) fn semantics(&self) -> &Semantics {
        &self.semantics
    }

    /// Indexes `rules` by what they select; `semantics` are those of the version that has them.
    pub(crate) fn new(rules: Vec<RuleTaint<'a>>, semantics: &Semantics) -> Self {
        let mut index = Self {
            rules,
            shapes: Vec::new(),
            by_pattern: HashMap::default(),
            semantics: *semantics,
        };
        for (place, rule) in (0u32..).zip(&index.rules) {
            // Without a selector it selects no device.
            let Some(pattern) = rule.selector.map(pattern) else {
                continue;
            };
            let shape = [
                pattern.0.is_some(),
                pattern.1.is_some(),
                pattern.2.is_some(),
            ];
            if !index.shapes.contains(&shape) {
                index.shapes.push(shape);
            }
            index.by_pattern.entry(pattern).or_default().push(place);
        }
        index
    }

    /// True if a rule may select a device of this pool.
    pub(crate) fn reaches(&self, driver: &str, pool: &str) -> bool {
        let mut patterns = self.by_pattern.keys();
        patterns.any(|(of_driver, of_pool, _)| {
            of_driver.is_none_or(|name| name == driver) && of_pool.is_none_or(|name| name == pool)
        })
    }

    /// Places of the rules that select the device `key`, ascending.
    pub(crate) fn matching(&self, key: DeviceKey<'_>) -> Vec<u32> {
        let mut places = Vec::new();
        for [driver, pool, device] in &self.shapes {
            let pattern: Pattern<'_> = (
                driver.then_some(key.driver),
                pool.then_some(key.pool),
                device.then_some(key.device),
            );
            if let Some(found) = self.by_pattern.get(&pattern) {
                places.extend_from_slice(found);
            }
        }
        // Callers take the proposed taints from the front, whose places are the lowest.
        places.sort_unstable();
        places
    }

    /// The rule at `place`.
    pub(crate) fn rule(&self, place: u32) -> &RuleTaint<'a> {
        &self.rules[place as usize]
    }

    /// Oddities of the selectors.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (place, rule) in (0u32..).zip(&self.rules) {
            match rule.selector {
                None => warnings.push(self.nil_selects_none(place)),
                Some(selector) if selector.selects_every_device() => {
                    warnings.push(self.selects_all(place));
                }
                Some(_) => {}
            }
        }
        warnings
    }

    fn describe(&self, place: u32) -> String {
        let rule = self.rule(place);
        match rule.name {
            Some(name) => format!("rule {name}"),
            None => format!("the proposed taint {}", rule.taint),
        }
    }

    fn nil_selects_none(&self, place: u32) -> Warning {
        let scheduler = if self.semantics.nil_selector_blocks {
            ", but the scheduler treats every device as tainted"
        } else {
            ""
        };
        Warning {
            code: "nil-selector",
            message: format!(
                "{} has no selector: in Kubernetes {} it evicts no pods{scheduler}",
                self.describe(place),
                self.semantics.version
            ),
            fix: Some("set the devices in spec.deviceSelector".to_owned()),
        }
    }

    fn selects_all(&self, place: u32) -> Warning {
        Warning {
            code: "empty-selector",
            message: format!(
                "{} selects every device of every driver",
                self.describe(place)
            ),
            fix: Some("set a driver, a pool or a device, unless you mean all of them".to_owned()),
        }
    }
}

/// Fields that `selector` gives.
///
/// Names are compared byte for byte, upper and lower case included.
///
/// Upstream: `ruleMatchesDevice` in `device_taint_eviction.go`.
fn pattern(selector: &DeviceSelector) -> Pattern<'_> {
    (
        selector.driver.as_ref().map(|name| name.as_str()),
        selector.pool.as_ref().map(|name| name.as_str()),
        selector.device.as_ref().map(|name| name.as_str()),
    )
}

/// The devices that some taints select.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The devices, published or allocated, each once.
    pub devices: BTreeSet<DeviceId>,
    /// Number of devices that each taint selects, in the order of the question.
    pub counts: Vec<usize>,
}

/// Those of `devices` that each of the `proposed` taints selects, in the order of the question.
pub fn selected_of(
    snapshot: &Snapshot,
    proposed: &[ProposedTaint],
    semantics: &Semantics,
    devices: &BTreeSet<&DeviceId>,
) -> Vec<BTreeSet<DeviceId>> {
    let wanted = proposed_rules(proposed).collect();
    let index = RuleIndex::new(wanted, semantics);
    let table = DeviceTable::of_selected_pools(&snapshot.slices, &snapshot.claims, &index);
    let mut selected = vec![BTreeSet::new(); proposed.len()];
    for entry in &table.entries {
        let id = entry.id();
        for place in entry.rules.iter().filter(|_| devices.contains(&id)) {
            selected[*place as usize].insert(id.clone());
        }
    }
    selected
}

/// The devices of `snapshot` that any of the `proposed` taints selects.
///
/// Costs O(considered + devices + claims).
pub fn selection(
    snapshot: &Snapshot,
    proposed: &[ProposedTaint],
    semantics: &Semantics,
) -> Selection {
    let wanted = proposed_rules(proposed).collect();
    let index = RuleIndex::new(wanted, semantics);
    let table = DeviceTable::of_selected_pools(&snapshot.slices, &snapshot.claims, &index);
    let mut counts = vec![0; proposed.len()];
    for place in table.entries.iter().flat_map(|entry| &entry.rules) {
        let count: &mut usize = &mut counts[*place as usize];
        *count = count.saturating_add(1);
    }
    let selected = table.entries.iter().filter(|entry| !entry.rules.is_empty());
    Selection {
        devices: selected.map(|entry| entry.id()).collect(),
        counts,
    }
}

/// Devices that a selector chooses, before any device is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
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
