//! Taints that a device gets from rules.
//!
//! A selector is three optional exact strings, so that there are eight shapes of selector at most.
//! Rules are kept by shape and value, and a device is looked up once in each shape in use: the cost
//! of a device does not depend on how many rules there are.

use foldhash::HashMap;

use super::impact::{DeviceTaint, Origin};
use super::semantics::Semantics;
use crate::model::{DeviceSelector, ObjectName, Taint, Warning};

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
