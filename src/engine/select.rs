//! Taints that a device gets from rules.
//!
//! A selector is three optional exact strings, so that there are eight shapes of selector at most.
//! Rules are kept by shape and value, and a device is looked up once in each shape in use: the cost
//! of a device does not depend on how many rules there are. Rules of 1.34 may narrow that
//! further by device class and expressions, which are not evaluated.

use foldhash::{HashMap, HashSet};

use super::impact::{DeviceTaint, Origin};
use super::semantics::Semantics;
use crate::model::{Affects, DeviceSelector, Gap, ObjectName, Taint, Warning};

/// The full name of a device, borrowed from wherever it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DeviceKey<'a> {
    pub(crate) driver: &'a str,
    pub(crate) pool: &'a str,
    pub(crate) device: &'a str,
}

/// Whether a current slice has a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It has.
    Published,
    /// It has not.
    Absent,
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

/// The rules that select a device, and those of which nobody can tell.
#[derive(Debug, Default)]
pub(crate) struct Matching {
    /// Places of the rules, ascending; one that cannot be evaluated is among them, so that no
    /// answer is shorter than the truth.
    pub(crate) places: Vec<u32>,
    /// What could not be evaluated.
    pub(crate) gaps: Vec<Gap>,
}

/// What a selector asks for: the fields that are given.
type Pattern<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>);

/// Which of driver, pool and device a selector gives.
type Shape = [bool; 3];

/// Rules, ready to be asked by device.
#[derive(Debug)]
pub(crate) struct RuleIndex<'a> {
    rules: Vec<RuleTaint<'a>>,
    shapes: Vec<Shape>,
    by_pattern: HashMap<Pattern<'a>, Vec<u32>>,
    /// Places of the rules whose class or expressions are not evaluated.
    narrowed: HashSet<u32>,
    semantics: Semantics,
}

impl<'a> RuleIndex<'a> {
    /// How the version behaves under which the rules are indexed.
    pub(crate) fn semantics(&self) -> &Semantics {
        &self.semantics
    }

    /// Indexes `rules` by what they select under `semantics`.
    pub(crate) fn new(rules: Vec<RuleTaint<'a>>, semantics: &Semantics) -> Self {
        let mut index = Self {
            rules,
            shapes: Vec::new(),
            by_pattern: HashMap::default(),
            narrowed: HashSet::default(),
            semantics: *semantics,
        };
        for (place, rule) in (0u32..).zip(&index.rules) {
            let Some(pattern) = pattern(rule.selector, semantics) else {
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
            let is_narrowed = rule.selector.is_some_and(DeviceSelector::is_narrowed);
            if semantics.selects_by_expression && is_narrowed {
                index.narrowed.insert(place);
            }
        }
        index
    }

    /// Whether a rule may select a device of this pool.
    pub(crate) fn reaches(&self, driver: &str, pool: &str) -> bool {
        let mut patterns = self.by_pattern.keys();
        patterns.any(|(of_driver, of_pool, _)| {
            of_driver.is_none_or(|name| name == driver) && of_pool.is_none_or(|name| name == pool)
        })
    }

    /// The rules that select the device `key`.
    pub(crate) fn matching(&self, key: DeviceKey<'_>, presence: Presence) -> Matching {
        let mut matching = Matching::default();
        for [driver, pool, device] in &self.shapes {
            let pattern: Pattern<'_> = (
                driver.then_some(key.driver),
                pool.then_some(key.pool),
                device.then_some(key.device),
            );
            if let Some(found) = self.by_pattern.get(&pattern) {
                matching.places.extend_from_slice(found);
            }
        }
        // Callers take the proposed taints from the front, whose places are the lowest.
        matching.places.sort_unstable();
        if !self.narrowed.is_empty() {
            self.narrow(&mut matching, presence);
        }
        matching
    }

    /// Notes the rules whose class or expressions are not evaluated as gaps.
    fn narrow(&self, matching: &mut Matching, presence: Presence) {
        let gaps = &mut matching.gaps;
        matching.places.retain(|place| {
            if !self.narrowed.contains(place) {
                return true;
            }
            // 1.34 evaluates classes and expressions on slices, so that these never select a device that no slice has.
            if presence == Presence::Absent {
                return false;
            }
            gaps.push(Gap {
                affects: self.affects(*place),
                what: format!("devices of {}", self.describe(*place)),
                why: "this plugin does not evaluate deviceClassName and selectors of rules; every device that \
                    matches the rest of the selector is treated as selected"
                    .to_owned(),
            });
            true
        });
    }

    /// How far a preview depends on which devices the rule at `place` selects: other rules than the
    /// proposed ones only decide what is said beside it.
    fn affects(&self, place: u32) -> Affects {
        match self.rule(place).origin {
            Origin::Proposed(_) => Affects::Evictions,
            Origin::Rule(_) | Origin::ResourceSlice(_) => Affects::Details,
        }
    }

    /// The rule at `place`.
    pub(crate) fn rule(&self, place: u32) -> &RuleTaint<'a> {
        &self.rules[place as usize]
    }

    /// What is odd about the selectors.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (place, rule) in (0u32..).zip(&self.rules) {
            match rule.selector {
                None if self.semantics.nil_selector_evicts => {
                    warnings.push(self.nil_selects_all(place))
                }
                None => warnings.push(self.nil_selects_none(place)),
                Some(selector) => {
                    warnings.extend(self.widened(place, selector));
                    if pattern(Some(selector), &self.semantics) == Some((None, None, None))
                        && !self.narrowed.contains(&place)
                    {
                        warnings.push(self.selects_all(place));
                    }
                }
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

    fn nil_selects_all(&self, place: u32) -> Warning {
        Warning {
            code: "nil-selector",
            message: format!(
                "{} has no selector: in Kubernetes {} it taints every published device",
                self.describe(place),
                self.semantics.version
            ),
            fix: Some("set the devices in spec.deviceSelector".to_owned()),
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

    /// Whether a version that does not know class and expressions makes the selector wider.
    fn widened(&self, place: u32, selector: &DeviceSelector) -> Option<Warning> {
        (selector.is_narrowed() && !self.semantics.selects_by_expression).then(|| Warning {
            code: "ignored-selector",
            message: format!(
                "{} selects by deviceClassName or selectors, which Kubernetes {} ignores: the rule also taints \
                 devices that do not match",
                self.describe(place),
                self.semantics.version
            ),
            fix: Some("select by driver, pool and device".to_owned()),
        })
    }
}

/// What `selector` asks for, or `None` when it selects no device at all.
///
/// Names are compared byte for byte, upper and lower case included.
///
/// Upstream: `ruleMatchesDevice` in `device_taint_eviction.go`; an absent selector is the tracker's
/// affair up to 1.34.
fn pattern<'a>(selector: Option<&'a DeviceSelector>, semantics: &Semantics) -> Option<Pattern<'a>> {
    match selector {
        Some(selector) => Some((
            selector.driver.as_ref().map(|name| name.as_str()),
            selector.pool.as_ref().map(|name| name.as_str()),
            selector.device.as_ref().map(|name| name.as_str()),
        )),
        None => semantics.nil_selector_evicts.then_some((None, None, None)),
    }
}
