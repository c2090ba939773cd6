//! Devices that rules, proposed taints and conditions select.
//!
//! A selector is three optional exact strings, so that there are eight shapes of selector at most.
//! Rules are kept by shape and value, and a device is looked up once in each shape in use: the cost
//! of a device does not depend on how many rules there are.

use super::devices::{DeviceEntry, DeviceTable};
use super::expression::{AttributeCondition, DeviceExpression, ExpressionError};
use super::impact::{DeviceTaint, Origin};
use super::semantics::Semantics;
use crate::model::{
    DeviceId, DeviceSelector, DeviceTaintRule, Effect, ObjectName, Snapshot, Taint, Warning,
};
use foldhash::HashMap;
use jiff::Timestamp;
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

/// A taint that a preview is asked about, whether a rule for it exists or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedTaint {
    /// The existing rule that it stands for. That rule's own taint is then left out of account.
    pub rule: Option<ObjectName>,
    /// Devices that it would taint; the meaning of `None` depends on the Kubernetes version.
    pub selector: Option<DeviceSelector>,
    /// The taint as it would act. `time_added` is always there.
    pub taint: Taint,
}

impl ProposedTaint {
    /// A taint for which no rule exists yet, added `now`.
    pub fn hypothetical(selector: DeviceSelector, taint: Taint, now: Timestamp) -> Self {
        Self {
            rule: None,
            selector: Some(selector),
            taint: Taint {
                effect: previewed(&taint.effect),
                time_added: Some(taint.time_added.unwrap_or(now)),
                ..taint
            },
        }
    }

    /// Such a taint for each of these selectors.
    pub fn hypothetical_for(
        selectors: impl IntoIterator<Item = DeviceSelector>,
        taint: &Taint,
        now: Timestamp,
    ) -> Vec<Self> {
        let selectors = selectors.into_iter();
        let proposed = selectors.map(|it| Self::hypothetical(it, taint.clone(), now));
        proposed.collect()
    }

    /// The taint of a rule that exists.
    ///
    /// A rule with effect `None` is taken as if its effect were changed to `NoExecute` at `now`: the
    /// server sets the time anew then (since 1.36), and this crate does so where the server does
    /// not. Other rules keep their time.
    pub fn of_rule(rule: &DeviceTaintRule, now: Timestamp) -> Self {
        Self::of_changed_rule(rule, &previewed(&rule.taint.effect), now)
    }

    /// The taints of rules that exist, each as by [`ProposedTaint::of_rule`].
    pub fn of_rules<'a>(
        rules: impl IntoIterator<Item = &'a DeviceTaintRule>,
        now: Timestamp,
    ) -> Vec<Self> {
        let rules = rules.into_iter();
        rules.map(|rule| Self::of_rule(rule, now)).collect()
    }

    /// The taint of a rule that exists, with another effect from `now` on; with the effect that it
    /// has, it keeps its time.
    pub fn of_changed_rule(rule: &DeviceTaintRule, effect: &Effect, now: Timestamp) -> Self {
        let as_it_is = Self {
            rule: Some(rule.name.clone()),
            selector: rule.selector.clone(),
            taint: rule.taint.clone(),
        };
        as_it_is.with_effect(effect, now)
    }

    /// The taint with another effect, which a rule that exists has from `now` on; with the effect that
    /// it has, and where no rule has it yet, it keeps its time.
    #[must_use]
    pub fn with_effect(self, effect: &Effect, now: Timestamp) -> Self {
        let is_changed = self.rule.is_some() && *effect != self.taint.effect;
        let known = self.taint.time_added.filter(|_| !is_changed);
        Self {
            taint: Taint {
                effect: effect.clone(),
                time_added: Some(known.unwrap_or(now)),
                ..self.taint
            },
            ..self
        }
    }

    /// The taint of a manifest, which stands for the rule of its name if `snapshot` has one.
    pub fn of_manifest(manifest: &DeviceTaintRule, snapshot: &Snapshot, now: Timestamp) -> Self {
        let exists = snapshot.rules.iter().any(|rule| rule.name == manifest.name);
        Self {
            rule: exists.then(|| manifest.name.clone()),
            ..Self::of_rule(manifest, now)
        }
    }
}

/// The effect that a preview looks at: the controller previews `None` as if it were `NoExecute`.
fn previewed(effect: &Effect) -> Effect {
    match effect {
        Effect::None => Effect::NoExecute,
        Effect::NoSchedule | Effect::NoExecute | Effect::Unknown(_) => effect.clone(),
    }
}

/// The proposed taints as the rules that they are or would be, in the order of the question.
pub(crate) fn proposed_rules(proposed: &[ProposedTaint]) -> impl Iterator<Item = RuleTaint<'_>> {
    proposed
        .iter()
        .enumerate()
        .map(|(place, proposed)| RuleTaint {
            origin: Origin::Proposed(place),
            name: proposed.rule.as_ref(),
            selector: proposed.selector.as_ref(),
            taint: &proposed.taint,
        })
}

/// Something that a device has to meet.
#[derive(Clone, Debug)]
pub enum DeviceCondition {
    /// One of these selectors names it.
    Named(Vec<DeviceSelector>),
    /// It is local to this node, as its driver says or the claims that hold it.
    Node(String),
    /// It has one of these values.
    Attribute(Vec<AttributeCondition>),
    /// The expression says so.
    Expression(DeviceExpression),
}

/// The devices that conditions choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilteredDevices {
    /// Those that meet all conditions, by name.
    pub devices: Vec<DeviceId>,
    /// Those of which that cannot be said, by name, and why.
    pub failed: Vec<(DeviceId, ExpressionError)>,
}

/// The devices of `snapshot` that meet all `conditions`.
///
/// Costs O(devices × conditions).
pub fn filter_devices(
    snapshot: &Snapshot,
    conditions: &[DeviceCondition],
    semantics: &Semantics,
) -> FilteredDevices {
    let table = all_devices(snapshot, semantics);
    let mut pick = FilteredDevices::default();
    for place in table.sorted(|_| true) {
        let entry = table.entry(place);
        match meets(conditions, entry) {
            Ok(true) => pick.devices.push(entry.id()),
            Ok(false) => {}
            Err(error) => pick.failed.push((entry.id(), error)),
        }
    }
    pick
}

pub(crate) fn all_devices<'a>(snapshot: &'a Snapshot, semantics: &Semantics) -> DeviceTable<'a> {
    // No condition is about taints, and matching rules is most of the work of a table.
    let no_rules = RuleIndex::new(Vec::new(), semantics);
    DeviceTable::new(&snapshot.slices, &snapshot.claims, &no_rules)
}

/// True if the device meets all conditions. One that it does not meet decides, even if others cannot be evaluated.
fn meets(conditions: &[DeviceCondition], entry: &DeviceEntry<'_>) -> Result<bool, ExpressionError> {
    let mut failure = None;
    for condition in conditions {
        match condition.is_met(entry) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(true), Err)
}

impl DeviceCondition {
    /// True if it is about facts that only a published device shows.
    pub fn is_about_attributes(&self) -> bool {
        match self {
            Self::Attribute(_) | Self::Expression(_) => true,
            Self::Named(_) | Self::Node(_) => false,
        }
    }

    fn is_met(&self, entry: &DeviceEntry<'_>) -> Result<bool, ExpressionError> {
        match self {
            Self::Named(selectors) => Ok(selectors.iter().any(|selector| names(selector, entry))),
            Self::Node(node) => Ok(entry.node().is_some_and(|found| found.as_str() == node)),
            Self::Attribute(conditions) => {
                let published = entry.published.ok_or(ExpressionError::Unpublished)?;
                let (driver, device) = (&published.slice.driver, published.device);
                let conditions = conditions.iter();
                any(conditions.map(|condition| condition.holds(driver, device)))
            }
            Self::Expression(expression) => is_selected(expression, entry),
        }
    }
}

/// True if the expression selects the device, published or not.
pub(crate) fn is_selected(
    expression: &DeviceExpression,
    entry: &DeviceEntry<'_>,
) -> Result<bool, ExpressionError> {
    match entry.published {
        Some(published) => expression.matches(&published.slice.driver, published.device),
        // Its driver is part of its name.
        None => expression.matches_unpublished(&entry.key.driver.into()),
    }
}

/// True if one of the verdicts is yes, even if others cannot be evaluated.
fn any(
    verdicts: impl Iterator<Item = Result<bool, ExpressionError>>,
) -> Result<bool, ExpressionError> {
    let mut failure = None;
    for verdict in verdicts {
        match verdict {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(false), Err)
}

fn names(selector: &DeviceSelector, entry: &DeviceEntry<'_>) -> bool {
    selector.has_names(entry.key.driver, entry.key.pool, entry.key.device)
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

#[cfg(test)]
mod proposed_tests {
    use super::*;

    const NOW: i64 = 1_000;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    fn rule(effect: &str, added: Option<i64>) -> DeviceTaintRule {
        DeviceTaintRule {
            name: "drain".into(),
            uid: "uid".into(),
            resource_version: "1".into(),
            generation: 1,
            selector: Some(DeviceSelector::default()),
            taint: Taint {
                key: "example.com/drain".into(),
                value: String::new(),
                effect: effect.into(),
                time_added: added.map(at),
            },
            ..DeviceTaintRule::default()
        }
    }

    #[test]
    fn rule_is_previewed_as_the_controller_would_see_it() {
        for (name, effect, added, expected, time) in [
            ("None becomes NoExecute", "None", Some(10), "NoExecute", NOW),
            ("NoExecute keeps it", "NoExecute", Some(10), "NoExecute", 10),
            ("NoSchedule stays", "NoSchedule", Some(10), "NoSchedule", 10),
            ("unknown stays", "Newer", Some(10), "Newer", 10),
            ("no time means now", "NoExecute", None, "NoExecute", NOW),
        ] {
            let proposed = ProposedTaint::of_rule(&rule(effect, added), at(NOW));
            assert_eq!(proposed.taint.effect.as_str(), expected, "{name}");
            assert_eq!(proposed.taint.time_added, Some(at(time)), "{name}");
        }
    }

    #[test]
    fn manifest_stands_for_the_rule_of_its_name_only_if_there_is_one() {
        let manifest = rule("None", None);
        let mut snapshot = Snapshot::default();
        assert_eq!(
            ProposedTaint::of_manifest(&manifest, &snapshot, at(NOW)).rule,
            None
        );
        snapshot.rules.push(rule("NoSchedule", Some(10)));
        let known = ProposedTaint::of_manifest(&manifest, &snapshot, at(NOW));
        assert_eq!(known.rule, Some(manifest.name));
    }
}

#[cfg(test)]
mod filter_tests {
    use super::*;
    use crate::model::{
        Allocation, AttributeValue, CounterUse, Device, DeviceTerms, Minor, NamespacedName, Pool,
        ResourceClaim, ResourceSlice, SliceNodes,
    };

    fn device(name: &str, model: Option<&str>, set: Option<&str>) -> Device {
        let model = model.map(|model| ("model".into(), AttributeValue::String(model.into())));
        Device {
            name: name.into(),
            attributes: model.into_iter().collect(),
            terms: set.map(|set| {
                let used = CounterUse {
                    set: set.into(),
                    ..CounterUse::default()
                };
                Box::new(DeviceTerms {
                    consumes: vec![used],
                    ..DeviceTerms::default()
                })
            }),
            ..Device::default()
        }
    }

    fn slice(pool: &str, devices: Vec<Device>) -> ResourceSlice {
        ResourceSlice {
            name: pool.into(),
            driver: "gpu.example.com".into(),
            pool: Pool {
                name: pool.into(),
                generation: 1,
                slice_count: 1,
            },
            nodes: SliceNodes::One(pool.into()),
            devices,
            terms: None,
        }
    }

    fn id(pool: &str, device: &str) -> DeviceId {
        DeviceId {
            driver: "gpu.example.com".into(),
            pool: pool.into(),
            device: device.into(),
        }
    }

    /// Two nodes with parts of GPUs, and a claim that holds a part and what is not published any more.
    fn snapshot() -> Snapshot {
        use crate::testing::result;
        Snapshot {
            slices: vec![
                slice(
                    "a",
                    vec![
                        device("part-0", Some("h100"), Some("gpu-0")),
                        device("part-1", Some("h100"), Some("gpu-0")),
                        device("part-2", Some("a100"), Some("gpu-1")),
                    ],
                ),
                slice("b", vec![device("part-0", None, Some("gpu-0"))]),
            ],
            claims: vec![ResourceClaim {
                name: NamespacedName {
                    namespace: "ml".into(),
                    name: "claim".into(),
                },
                uid: "1".into(),
                controller: None,
                spec: None,
                allocation: Some(Allocation {
                    node: None,
                    results: vec![result(id("a", "part-0")), result(id("a", "gone"))],
                }),
                reserved_for: Vec::new(),
            }],
            ..Snapshot::default()
        }
    }

    fn semantics() -> Semantics {
        let newest = Minor {
            minor: 37,
            patch: None,
        };
        Semantics::of(newest).unwrap()
    }

    fn filtered(wanted: &[DeviceCondition]) -> (Vec<String>, Vec<String>) {
        let snapshot = snapshot();
        let pick = filter_devices(&snapshot, wanted, &semantics());
        let name = |id: &DeviceId| format!("{}/{}", id.pool, id.device);
        let failed = pick.failed.iter().map(|(id, _)| name(id));
        (pick.devices.iter().map(name).collect(), failed.collect())
    }

    fn expression(text: &str) -> DeviceCondition {
        DeviceCondition::Expression(DeviceExpression::compile(text).unwrap())
    }

    #[test]
    fn all_conditions_have_to_be_met_and_what_cannot_be_said_is_told() {
        let h100 = || expression("device.attributes['gpu.example.com'].model == 'h100'");
        for (name, wanted, devices, failed) in [
            (
                "a node",
                vec![DeviceCondition::Node("b".into())],
                &["b/part-0"][..],
                &[][..],
            ),
            (
                "an expression",
                vec![h100()],
                &["a/part-0", "a/part-1"],
                &["a/gone", "b/part-0"],
            ),
            (
                "what another rules out cannot fail",
                vec![h100(), DeviceCondition::Node("a".into())],
                &["a/part-0", "a/part-1"],
                &[],
            ),
            (
                "what is not published has no attributes that are known",
                vec![
                    DeviceCondition::Named(vec![id("a", "part-0").into(), id("a", "gone").into()]),
                    h100(),
                ],
                &["a/part-0"],
                &["a/gone"],
            ),
            (
                "either value",
                vec![
                    DeviceCondition::Attribute(vec![
                        AttributeCondition::is("model", "a100"),
                        AttributeCondition::is("model", "b100"),
                    ]),
                    DeviceCondition::Node("a".into()),
                ],
                &["a/part-2"],
                &[],
            ),
        ] {
            let found = filtered(&wanted);
            let expected = |names: &[&str]| names.iter().map(ToString::to_string).collect();
            assert_eq!(found, (expected(devices), expected(failed)), "{name}");
        }
    }

    #[test]
    fn what_is_known_of_an_unpublished_device_decides() {
        let model = "device.attributes['gpu.example.com'].model == 'h100'";
        let with = |start: &str| format!("{start} {model}");
        // Of the device that only an allocation knows: chosen, not chosen, or not known.
        for (text, verdict) in [
            (with("device.driver == 'nic.example.com' &&"), Some(false)),
            (with("device.driver == 'gpu.example.com' ||"), Some(true)),
            (with("device.driver == 'gpu.example.com' &&"), None),
            (with("device.driver == 'nic.example.com' ||"), None),
            (format!("{model} && device.driver == 'x'"), Some(false)),
            (format!("{model} || device.driver != 'x'"), Some(true)),
            (with("device.driver != 'x' ? true :"), Some(true)),
            (with("device.driver == 'x' ? true :"), None),
            (format!("{model} ? true : true"), None),
            (with("1 / 0 == 1 &&"), None),
            (format!("{model} && 1 / 0 == 1"), None),
            ("device.allowMultipleAllocations".to_owned(), None),
            ("!device.allowMultipleAllocations".to_owned(), None),
            ("'x' in device.attributes".to_owned(), None),
            ("has(device.attributes['x'].y)".to_owned(), None),
            (
                format!("['a', 'b'].exists(e, {model} || e == 'b')"),
                Some(true),
            ),
            (
                format!("['a', 'b'].all(e, {model} && e == 'a')"),
                Some(false),
            ),
            (format!("['a', 'b'].exists(e, {model} && e == 'b')"), None),
        ] {
            let alone = [
                DeviceCondition::Named(vec![id("a", "gone").into()]),
                expression(&text),
            ];
            let pick = filter_devices(&snapshot(), &alone, &semantics());
            let found = match (pick.devices.len(), &pick.failed[..]) {
                (chosen, []) => Some(chosen == 1),
                (_, failed) => {
                    assert_eq!(failed[0].1, ExpressionError::Unpublished, "{text}");
                    None
                }
            };
            assert_eq!(found, verdict, "{text}");
        }
    }

    /// Monitoring that holds a device whose driver is gone must not keep others from being chosen.
    #[test]
    fn an_unpublished_device_of_another_driver_is_not_in_the_way() {
        let mut snapshot = snapshot();
        let allocation = snapshot.claims[0].allocation.as_mut().unwrap();
        allocation.results[1].device.driver = "nic.example.com".into();
        let wanted = expression(
            "device.driver == 'gpu.example.com' && 'model' in device.attributes['gpu.example.com']",
        );
        let pick = filter_devices(&snapshot, &[wanted], &semantics());
        assert_eq!(pick.failed, []);
        assert_eq!(pick.devices.len(), 3);
    }
}
