//! State of drains, as recorded on the rules of the cluster.
//!
//! The name of the drain is a label of its rules; their unit and its stage are annotations; the last user that changed
//! them is recorded as on every rule. Once all rules exist, each of them records a stage: a rule that is missing after that
//! was removed by another user or program, and its unit is skipped; unless as many are there as were then, and the device
//! or unit was added later.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::completeness::{DrainSize, most_rules, removal, reversed_units};
use super::stage::UnitStage;
use super::terms::TAINT_KEY;
use super::unit::Unit;
use crate::decide::draft::{RuleDraft, RulePatch};
use crate::engine::rule_lifecycle::blocks;
use crate::error::Failure;
use crate::model::{DeviceTaintRule, RuleMetadata};

/// Stage of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitProgress {
    /// The drain of the unit has not begun. New pods are blocked.
    Waiting,
    /// Its pods are being evicted.
    Draining,
    /// Pods could not be evicted.
    Blocked,
    /// No claim held its devices when it was done.
    Idle,
    /// Only pods that the drain does not evict held them.
    Held,
    /// A rule was removed or weakened, such as by `restore` or another program, or
    /// its taint got another value: the reason.
    Reversed(String),
}

impl UnitProgress {
    /// The value of the annotation; a reversal is observed and never recorded.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Waiting => "Waiting",
            Self::Draining => "Draining",
            Self::Blocked => "Blocked",
            Self::Idle => "Idle",
            Self::Held => "Held",
            Self::Reversed(_) => "Reversed",
        }
    }

    fn parse(text: Option<&str>) -> Self {
        match text {
            Some("Idle") => Self::Idle,
            Some("Held") => Self::Held,
            Some("Blocked") => Self::Blocked,
            None | Some("Waiting") => Self::Waiting,
            // A value of a later version: the unit has started and may not be done.
            Some(_) => Self::Draining,
        }
    }

    /// The stage in reports.
    #[must_use]
    pub fn stage(&self) -> UnitStage {
        match self {
            Self::Waiting => UnitStage::Waiting,
            Self::Draining => UnitStage::Draining,
            Self::Blocked => UnitStage::Blocked,
            Self::Idle => UnitStage::Idle,
            Self::Held => UnitStage::Held,
            Self::Reversed(_) => UnitStage::Reversed,
        }
    }

    /// Whether pods of it may have been evicted.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        *self != Self::Waiting
    }

    /// Whether there is nothing left to do.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match self {
            Self::Idle | Self::Held | Self::Reversed(_) => true,
            Self::Waiting | Self::Draining | Self::Blocked => false,
        }
    }

    /// The patch that records it on a rule, `now`.
    #[must_use]
    pub fn patch(&self, now: Option<Timestamp>) -> RulePatch {
        let stage = (
            RuleMetadata::DRAIN_STAGE.to_owned(),
            self.as_str().to_owned(),
        );
        let since = now.map(|now| {
            let key = RuleMetadata::DRAIN_STAGE_SINCE.to_owned();
            (key, now.to_string())
        });
        RulePatch {
            annotations: [stage].into_iter().chain(since).collect(),
            ..RulePatch::default()
        }
    }
}

/// A unit of a drain.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitState {
    /// What it is called.
    pub name: String,
    /// Its rules, by name.
    pub rules: Vec<DeviceTaintRule>,
    /// Its stage.
    pub progress: UnitProgress,
}

/// A drain.
#[derive(Clone, Debug, PartialEq)]
pub struct DrainState {
    /// What it is called.
    pub name: String,
    /// Its units, by name.
    pub units: Vec<UnitState>,
}

impl DrainState {
    /// Whether all of its rules have existed: only then a stage is recorded on any.
    #[must_use]
    pub fn was_complete(&self) -> bool {
        let mut rules = self.units.iter().flat_map(|unit| &unit.rules);
        rules.any(|rule| {
            let stage = rule.metadata.annotation(RuleMetadata::DRAIN_STAGE);
            stage.is_some()
        })
    }

    /// Whether as many units are there, or known to be reversed, as once were.
    fn has_all_units(&self) -> bool {
        self.removed_units() == Some(0)
    }

    /// How many units have no rule left, and no record of the reason on the other rules; absent if no rule records how many
    /// units there were.
    #[must_use]
    pub fn removed_units(&self) -> Option<usize> {
        let rules = self.units.iter().flat_map(|unit| &unit.rules);
        let most = rules.filter_map(DrainSize::of).map(|size| size.units).max();
        most.map(|most| most.saturating_sub(self.units.len()))
    }

    /// The unit of that name.
    #[must_use]
    pub fn unit(&self, name: &str) -> Option<&UnitState> {
        self.units.iter().find(|unit| unit.name == name)
    }

    /// The user that started it, if recorded on its rules.
    #[must_use]
    pub fn created_by(&self) -> Option<&str> {
        let mut rules = self.units.iter().flat_map(|unit| &unit.rules);
        rules.find_map(|rule| rule.metadata.annotation(RuleMetadata::CREATED_BY))
    }
}

impl UnitState {
    /// The user or program that reversed it, or else the one that changed one of its rules last, if that is recorded.
    #[must_use]
    pub fn changed_by(&self) -> Option<&str> {
        let changed = self.rules.iter().filter_map(|rule| {
            let by = rule.last_author()?;
            // The server notes whole seconds, and notes also records on rules, which are no change of a user. Who deletes
            // a rule is not recorded.
            let reverses = rule.metadata.deletion.is_none() && reversal(rule).is_some();
            let time = rule.last_writer().and_then(|writer| writer.time);
            Some((reverses, time, by))
        });
        let last = changed.max_by_key(|(reverses, time, _)| (*reverses, *time));
        last.map(|(_, _, by)| by)
    }

    /// Whether as many of its rules are there as once were.
    fn has_all_rules(&self) -> bool {
        most_rules(&self.rules).is_some_and(|most| self.rules.len() >= most)
    }
}

fn stage(rule: &DeviceTaintRule) -> UnitProgress {
    UnitProgress::parse(rule.metadata.annotation(RuleMetadata::DRAIN_STAGE))
}

/// Why the rule no longer blocks new pods.
pub(super) fn reversal(rule: &DeviceTaintRule) -> Option<String> {
    let by = rule.last_author();
    let by = by.map_or_else(String::new, |author| format!(" by {author}"));
    if rule.metadata.deletion.is_some() {
        return Some(format!("rule {} is being deleted", rule.name));
    }
    let taint = &rule.taint;
    if !blocks(&taint.effect) {
        return Some(format!(
            "rule {} was set to effect {}{by}",
            rule.name, taint.effect
        ));
    }
    // Claims may tolerate the other value, and no run changes a value back.
    let drain = rule.metadata.labels.get(RuleMetadata::DRAIN);
    let has_other_value = taint.key == TAINT_KEY && drain.is_some_and(|it| *it != taint.value);
    has_other_value.then(|| {
        let value = &taint.value;
        format!(
            "the taint value of rule {} was changed to '{value}'{by}",
            rule.name
        )
    })
}

/// Stage of the unit with these rules: the least of their stages, since a run may be interrupted between two of them.
fn progress(rules: &[DeviceTaintRule]) -> UnitProgress {
    // One rule without effect is enough: new pods may use its device, so the unit cannot be drained.
    if let Some(reversed) = rules.iter().find_map(reversal) {
        return UnitProgress::Reversed(reversed);
    }
    let stages: Vec<UnitProgress> = rules.iter().map(stage).collect();
    let all = |wanted: UnitProgress| stages.iter().all(|stage| *stage == wanted);
    let any = |wanted: UnitProgress| stages.contains(&wanted);
    if all(UnitProgress::Waiting) {
        return UnitProgress::Waiting;
    }
    if any(UnitProgress::Waiting) || any(UnitProgress::Draining) {
        return UnitProgress::Draining;
    }
    // A later run records how it ended on the rules of the devices that it drained. A rule whose device has another name
    // since keeps what an earlier run recorded.
    let ended = [UnitProgress::Blocked, UnitProgress::Held];
    let least = ended.into_iter().find(|end| any(end.clone()));
    least.unwrap_or(UnitProgress::Idle)
}

/// The rules of the drain of this name.
#[must_use]
pub fn rules_of(rules: &[DeviceTaintRule], drain: &str) -> Vec<DeviceTaintRule> {
    let is_of_it = |rule: &&DeviceTaintRule| {
        let name = rule.metadata.labels.get(RuleMetadata::DRAIN);
        name.is_some_and(|name| name == drain)
    };
    rules.iter().filter(is_of_it).cloned().collect()
}

/// The rules of a unit on which a run records how the unit ended: also that of a device that has another name since the rule
/// was created. Not those that another user weakened: a change would hide who that was.
#[must_use]
pub fn rules_of_unit(rules: &[DeviceTaintRule], drain: &str, unit: &str) -> Vec<DeviceTaintRule> {
    let known = drains(rules);
    let drain = known.iter().find(|known| known.name == drain);
    let unit = drain.and_then(|drain| drain.unit(unit));
    let rules = unit.into_iter().flat_map(|unit| &unit.rules);
    let rules = rules.filter(|rule| reversal(rule).is_none());
    rules.cloned().collect()
}

/// The drains of a cluster that has these rules, by name.
#[must_use]
pub fn drains(rules: &[DeviceTaintRule]) -> Vec<DrainState> {
    let mut found: BTreeMap<String, BTreeMap<String, Vec<DeviceTaintRule>>> = BTreeMap::new();
    for rule in rules {
        let Some(name) = rule.metadata.labels.get(RuleMetadata::DRAIN) else {
            continue;
        };
        let unit = rule.metadata.annotation(RuleMetadata::DRAIN_UNIT);
        // Another client may have removed the annotation: then the rule is a unit by itself.
        let unit = unit.unwrap_or(rule.name.as_str()).to_owned();
        let units = found.entry(name.clone()).or_default();
        units.entry(unit).or_default().push(rule.clone());
    }
    let drains = found.into_iter().map(|(name, units)| {
        let mut removed = reversed_units(units.values().flatten());
        let units = units.into_iter().map(|(name, mut rules)| {
            rules.sort_by(|left, right| left.name.cmp(&right.name));
            // What the rules show now goes before what was recorded: it names the rule and the user. Nothing else shows a
            // removal, whatever the stage was: new pods may use the device.
            let recorded = removed.remove(&name);
            let progress = match (progress(&rules), removal(&rules).or(recorded)) {
                (UnitProgress::Reversed(why), _) => {
                    let removed = removal(&rules).map(|removed| format!("; {removed}"));
                    UnitProgress::Reversed(why + &removed.unwrap_or_default())
                }
                (_, Some(why)) => UnitProgress::Reversed(why),
                (progress, None) => progress,
            };
            UnitState {
                name,
                progress,
                rules,
            }
        });
        let mut units: Vec<UnitState> = units.collect();
        units.extend(removed.into_iter().map(|(name, why)| UnitState {
            name,
            rules: Vec::new(),
            progress: UnitProgress::Reversed(why),
        }));
        units.sort_by(|left, right| left.name.cmp(&right.name));
        DrainState { name, units }
    });
    drains.collect()
}

/// The rules to create from the `drafts` of a drain, each with the index of its unit in `units`; and the skipped units
/// with the reason: those that another user or program reversed.
///
/// # Errors
///
/// A device is part of another drain.
pub fn wanted(
    drafts: Vec<(usize, RuleDraft)>,
    units: &[Unit],
    known: &[DrainState],
    name: &str,
) -> Result<(Vec<RuleDraft>, BTreeMap<String, String>), Failure> {
    for other in known.iter().filter(|drain| drain.name != name) {
        refuse_shared(&drafts, other)?;
    }
    let drain = known.iter().find(|drain| drain.name == name);
    let mut left_out = BTreeMap::new();
    for unit in units {
        let state = drain.and_then(|drain| drain.unit(&unit.name));
        if let Some(UnitProgress::Reversed(why)) = state.map(|state| &state.progress) {
            left_out.insert(unit.name.clone(), why.clone());
        }
    }
    if let Some(drain) = drain.filter(|drain| drain.was_complete()) {
        let there: BTreeSet<&str> = drain
            .units
            .iter()
            .flat_map(|unit| &unit.rules)
            .map(|rule| rule.name.as_str())
            .collect();
        for (place, draft) in &drafts {
            if let Some(unit) = units.get(*place)
                && !there.contains(draft.name.as_str())
            {
                let why = match drain.unit(&unit.name) {
                    // The device came later.
                    Some(state) if state.has_all_rules() => continue,
                    Some(_) => format!("rule {} was removed", draft.name),
                    None if drain.has_all_units() => continue,
                    None => {
                        "its rules were removed, or it was added after the drain started".to_owned()
                    }
                };
                left_out.entry(unit.name.clone()).or_insert(why);
            }
        }
    }
    let mut wanted = Vec::new();
    for (place, mut draft) in drafts {
        let Some(unit) = units.get(place) else {
            continue;
        };
        if left_out.contains_key(&unit.name) {
            continue;
        }
        draft
            .annotations
            .insert(RuleMetadata::DRAIN_UNIT.to_owned(), unit.name.clone());
        // A run with --force may have raised the effect before it was interrupted.
        let state = drain.and_then(|drain| drain.unit(&unit.name));
        let mut rules = state.into_iter().flat_map(|state| &state.rules);
        if let Some(rule) = rules.find(|rule| rule.name.as_str() == draft.name) {
            draft.taint.effect.clone_from(&rule.taint.effect);
        }
        wanted.push(draft);
    }
    Ok((wanted, left_out))
}

fn refuse_shared(drafts: &[(usize, RuleDraft)], other: &DrainState) -> Result<(), Failure> {
    let rules = other.units.iter().flat_map(|unit| &unit.rules);
    let theirs: BTreeMap<&str, &DeviceTaintRule> =
        rules.map(|rule| (rule.name.as_str(), rule)).collect();
    // The name of a rule follows from its devices and the key, so the same name means the same device.
    let shared = drafts
        .iter()
        .find(|(_, draft)| theirs.contains_key(draft.name.as_str()));
    let Some((_, draft)) = shared else {
        return Ok(());
    };
    let devices = crate::naming::device::format(&draft.selector);
    let by = other.created_by();
    let by = by.map_or_else(String::new, |user| format!(", started by {user}"));
    let name = &other.name;
    Err(Failure::refused(format!(
        "{devices} is part of drain {name}{by}; nothing was changed"
    ))
    .hint(format!(
        "to see the drain: kubectl devicetaint drain status {name}"
    ))
    .hint(format!(
        "to undo the drain: kubectl devicetaint restore {name}"
    )))
}

/// Argument of `restore`.
#[derive(Clone, Copy, Debug)]
pub struct RestoreTarget<'a> {
    /// A drain, or a unit of one: a node, a pool or a device.
    pub name: &'a str,
}

/// What of a drain is restored, in words: all of it, or the unit or device that was named.
#[must_use]
pub fn restored_part(target: &str, drain: &str) -> String {
    if target == drain {
        format!("drain {drain}")
    } else {
        format!("{target} of drain {drain}")
    }
}

/// The units of a drain, or one of its units, with rules and stages.
///
/// # Errors
///
/// When there is no such drain or unit, or units of several drains have the name.
pub fn restorable(
    target: RestoreTarget<'_>,
    known: &[DrainState],
) -> Result<(String, Vec<UnitState>), Failure> {
    let name = target.name;
    if let Some(drain) = known.iter().find(|drain| drain.name == name) {
        return Ok((drain.name.clone(), drain.units.clone()));
    }
    let of_unit = |drain: &DrainState| {
        let units: Vec<UnitState> = drain
            .units
            .iter()
            .filter(|unit| unit.name == name && !unit.rules.is_empty() || unit.is_about(name))
            .map(|unit| unit.of_device(name))
            .collect();
        (!units.is_empty()).then(|| (drain.name.clone(), units))
    };
    let mut found: Vec<(String, Vec<UnitState>)> = known.iter().filter_map(of_unit).collect();
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some((last, _)), false) => {
            let names: Vec<String> = found
                .into_iter()
                .map(|(name, _)| name)
                .chain([last])
                .collect();
            Err(Failure::usage(format!(
                "{name} is part of several drains: {}",
                names.join(", ")
            ))
            .hint("specify the name of the drain"))
        }
        (None, _) => {
            if let Some(failure) = no_longer_restorable(name, known) {
                return Err(failure);
            }
            let names: Vec<&str> = known.iter().map(|drain| drain.name.as_str()).collect();
            let failure = Failure::new(
                crate::error::ExitStatus::Failed,
                format!(
                    "no drain {name:?}, and no unit of a drain is a node, pool or device of that name"
                ),
            );
            Err(match names.as_slice() {
                [] => failure.detail("there are no drains"),
                names => failure.hint(format!("name one of the drains: {}", names.join(", "))),
            })
        }
    }
}

/// That the unit of that name has no rules any more, and why, as the other rules of its drain record it.
fn no_longer_restorable(name: &str, known: &[DrainState]) -> Option<Failure> {
    let units = known
        .iter()
        .filter_map(|drain| Some((drain, drain.unit(name)?)));
    let lines: Vec<String> = units
        .filter_map(|(drain, unit)| match &unit.progress {
            UnitProgress::Reversed(why) => {
                Some(format!("unit {name} of drain {}: {why}", drain.name))
            }
            UnitProgress::Waiting
            | UnitProgress::Draining
            | UnitProgress::Blocked
            | UnitProgress::Idle
            | UnitProgress::Held => None,
        })
        .collect();
    let failure = Failure::new(
        crate::error::ExitStatus::Failed,
        format!("nothing to restore: unit {name} has no rules any more"),
    );
    (!lines.is_empty()).then(|| lines.into_iter().fold(failure, Failure::detail))
}

impl UnitState {
    /// Whether one of its rules is about the device of that name.
    fn is_about(&self, device: &str) -> bool {
        self.rules.iter().any(|rule| selects(rule, device))
    }

    /// The part of the unit that is the device, unless the unit itself has the name.
    fn of_device(&self, name: &str) -> Self {
        let mut unit = self.clone();
        if unit.name != name {
            unit.rules.retain(|rule| selects(rule, name));
        }
        unit
    }
}

fn selects(rule: &DeviceTaintRule, device: &str) -> bool {
    let selector = rule.selector.as_ref();
    selector.is_some_and(|selector| crate::naming::device::format(selector) == device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{named, selector, taint};
    use crate::model::Effect;
    use crate::report::testing::device;

    fn rule(name: &str, unit: &str, stage: Option<&str>) -> DeviceTaintRule {
        let mut rule = named(name, "NoSchedule");
        rule.selector = Some(selector(name));
        rule.metadata
            .labels
            .insert(RuleMetadata::DRAIN.to_owned(), "fw".to_owned());
        let notes = [
            (RuleMetadata::DRAIN_UNIT, Some(unit)),
            (RuleMetadata::DRAIN_STAGE, stage),
            (RuleMetadata::CREATED_BY, Some("anna")),
        ];
        for (key, note) in notes {
            let note = note.map(|note| (key.to_owned(), note.to_owned()));
            rule.metadata.annotations.extend(note);
        }
        rule
    }

    fn progress_of(rules: &[DeviceTaintRule]) -> UnitProgress {
        let mut drains = drains(rules);
        drains.remove(0).units.remove(0).progress
    }

    #[test]
    fn a_unit_that_was_restored_already_says_so_and_by_whom() {
        let mut left = rule("b", "node-2", None);
        let note = (
            RuleMetadata::DRAIN_REVERSED.to_owned(),
            r#"{"node-1":"restored by anna"}"#.to_owned(),
        );
        left.metadata.annotations.extend([note]);
        let known = drains(&[left]);
        let failure = |name| restorable(RestoreTarget { name }, &known).unwrap_err();
        let found = failure("node-1");
        assert_eq!(
            found.to_string(),
            "nothing to restore: unit node-1 has no rules any more"
        );
        assert_eq!(
            found.details(),
            ["unit node-1 of drain fw: restored by anna"]
        );
        assert!(failure("node-3").to_string().starts_with("no drain"));
        assert!(restorable(RestoreTarget { name: "node-2" }, &known).is_ok());
    }

    #[test]
    fn how_a_unit_ended_is_recorded_on_all_of_its_rules_that_nobody_weakened() {
        let mut weak = rule("c", "node-1", Some("Draining"));
        weak.taint.effect = Effect::None;
        let rules = [
            rule("a", "node-1", Some("Draining")),
            rule("renamed", "node-1", Some("Draining")),
            weak,
            rule("b", "node-2", None),
        ];
        let names = |drain, unit| {
            let rules = rules_of_unit(&rules, drain, unit).into_iter();
            rules.map(|rule| rule.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names("fw", "node-1"), ["a", "renamed"]);
        assert_eq!(names("fw", "node-3"), Vec::<String>::new());
        assert_eq!(names("other", "node-1"), Vec::<String>::new());
    }

    #[test]
    fn a_rule_whose_taint_has_another_value_is_reversed() {
        let mut changed = rule("a", "node-1", Some("Draining"));
        changed.taint.key = TAINT_KEY.to_owned();
        changed.taint.value = "fw".to_owned();
        assert_eq!(progress_of(&[changed.clone()]), UnitProgress::Draining);
        changed.taint.value = "mine".to_owned();
        let note = (RuleMetadata::CHANGED_BY.to_owned(), "bob".to_owned());
        changed.metadata.annotations.extend([note]);
        let why = "the taint value of rule a was changed to 'mine' by bob";
        assert_eq!(
            progress_of(&[changed]),
            UnitProgress::Reversed(why.to_owned())
        );
    }

    #[test]
    fn the_stage_of_a_unit_is_the_least_that_its_rules_say() {
        for (one, other, expected) in [
            (None, None, UnitProgress::Waiting),
            (Some("Draining"), None, UnitProgress::Draining),
            (Some("Idle"), Some("Idle"), UnitProgress::Idle),
            (Some("Idle"), Some("Draining"), UnitProgress::Draining),
            (Some("Held"), Some("Held"), UnitProgress::Held),
            (Some("Blocked"), Some("Blocked"), UnitProgress::Blocked),
            (Some("Idle"), Some("Blocked"), UnitProgress::Blocked),
            (Some("Held"), Some("Blocked"), UnitProgress::Blocked),
            (Some("Draining"), Some("Blocked"), UnitProgress::Draining),
            (Some("Blocked"), None, UnitProgress::Draining),
            (Some("Idle"), Some("Held"), UnitProgress::Held),
            (Some("Idle"), None, UnitProgress::Draining),
            (
                Some("FromTheFuture"),
                Some("FromTheFuture"),
                UnitProgress::Draining,
            ),
        ] {
            let rules = [rule("a", "node-1", one), rule("b", "node-1", other)];
            assert_eq!(progress_of(&rules), expected, "{one:?} {other:?}");
            let patched = expected.patch(None);
            let noted = patched.annotations.get(RuleMetadata::DRAIN_STAGE);
            assert_eq!(UnitProgress::parse(noted.map(String::as_str)), expected);
        }
        assert!(drains(&[named("other", "NoSchedule")]).is_empty());
    }

    #[test]
    fn a_rule_that_was_weakened_or_is_being_deleted_reverses_its_unit() {
        let mut weak = rule("a", "node-1", Some("Idle"));
        weak.taint.effect = Effect::None;
        weak.metadata
            .annotations
            .insert(RuleMetadata::CHANGED_BY.to_owned(), "bob".to_owned());
        let reversed = UnitProgress::Reversed("rule a was set to effect None by bob".to_owned());
        assert_eq!(
            progress_of(&[rule("b", "node-1", Some("Idle")), weak]),
            reversed
        );
        let mut going = rule("a", "node-1", None);
        going.metadata.deletion = Some(crate::report::testing::now());
        let reversed = UnitProgress::Reversed("rule a is being deleted".to_owned());
        assert_eq!(progress_of(&[going]), reversed);
        let mut raised = rule("a", "node-1", Some("Draining"));
        raised.taint.effect = Effect::NoExecute;
        assert_eq!(progress_of(&[raised]), UnitProgress::Draining);
    }

    fn drafts(names: &[&str]) -> Vec<(usize, RuleDraft)> {
        let drafts = names.iter().enumerate();
        drafts
            .map(|(place, name)| {
                let draft = RuleDraft {
                    name: (*name).to_owned(),
                    selector: selector(name),
                    taint: taint("NoSchedule"),
                    labels: BTreeMap::new(),
                    annotations: BTreeMap::new(),
                    manifest: None,
                };
                (place, draft)
            })
            .collect()
    }

    fn units(names: &[&str]) -> Vec<Unit> {
        let units = names.iter().map(|name| Unit {
            name: (*name).to_owned(),
            devices: [device(name)].into(),
        });
        units.collect()
    }

    #[test]
    fn a_rule_that_is_missing_was_removed_once_all_have_existed_and_is_made_before() {
        let units = units(&["node-1", "node-2"]);
        for (stage, expected) in [
            (None, vec!["a", "b"]),
            (Some("Waiting"), vec!["a"]),
            (Some("Draining"), vec!["a"]),
        ] {
            let known = drains(&[rule("a", "node-1", stage)]);
            let (wanted, left_out) = wanted(drafts(&["a", "b"]), &units, &known, "fw").unwrap();
            let names: Vec<&str> = wanted.iter().map(|draft| draft.name.as_str()).collect();
            assert_eq!(names, expected, "{stage:?}");
            assert_eq!(left_out.len(), 2 - expected.len());
            assert!(left_out.values().all(
                |why| why == "its rules were removed, or it was added after the drain started"
            ));
            let unit = wanted[0].annotations.get(RuleMetadata::DRAIN_UNIT);
            assert_eq!(unit.map(String::as_str), Some("node-1"));
        }
    }

    /// A rule of a drain that had so many units and rules in this one when it was complete.
    fn sized(name: &str, unit: &str, size: &str) -> DeviceTaintRule {
        let mut rule = rule(name, unit, Some("Idle"));
        let note = (RuleMetadata::DRAIN_SIZE.to_owned(), size.to_owned());
        rule.metadata.annotations.extend([note]);
        rule
    }

    #[test]
    fn a_device_or_unit_that_came_later_is_drained_and_a_removed_one_is_not() {
        let of_one = |names: &[&str]| -> Vec<(usize, RuleDraft)> {
            let drafts = drafts(names).into_iter();
            drafts.map(|(_, draft)| (0, draft)).collect()
        };
        let one = units(&["node-1"]);
        for (size, expected) in [("1/1", 2), ("1/2", 0), ("", 0)] {
            let known = drains(&[sized("a", "node-1", size)]);
            let (wanted, left_out) = wanted(of_one(&["a", "b"]), &one, &known, "fw").unwrap();
            assert_eq!(wanted.len(), expected, "{size}");
            assert_eq!(left_out.is_empty(), expected > 0, "{size}");
        }
        let both = units(&["node-1", "node-2"]);
        for (size, expected) in [("1/1", 2), ("2/1", 1)] {
            let known = drains(&[sized("a", "node-1", size)]);
            let (wanted, left_out) = wanted(drafts(&["a", "b"]), &both, &known, "fw").unwrap();
            assert_eq!(wanted.len(), expected, "{size}");
            assert_eq!(left_out.len(), 2 - expected, "{size}");
        }
    }

    #[test]
    fn a_unit_whose_rules_were_seen_to_be_removed_is_reversed_whatever_is_left_of_it() {
        let noted = |name: &str, unit: &str| {
            let mut rule = sized(name, unit, "2/1");
            let unit = ["node-1".to_owned()];
            let patch = crate::decide::drain::reversal_patch(&rule, &unit, "rule a was removed");
            rule.metadata.annotations.extend(patch.annotations);
            rule
        };
        let reversed = UnitProgress::Reversed("rule a was removed".to_owned());
        for rules in [
            vec![noted("b", "node-2")],
            vec![noted("b", "node-2"), rule("c", "node-1", Some("Draining"))],
        ] {
            let known = drains(&rules);
            let names: Vec<&str> = known[0].units.iter().map(|unit| &*unit.name).collect();
            assert_eq!(names, ["node-1", "node-2"]);
            assert_eq!(known[0].units[0].progress, reversed);
            let both = units(&["node-1", "node-2"]);
            let (_, left_out) = wanted(drafts(&["a", "b"]), &both, &known, "fw").unwrap();
            assert_eq!(left_out.keys().collect::<Vec<_>>(), ["node-1"]);
        }
        let gone = restorable(
            RestoreTarget { name: "node-1" },
            &drains(&[noted("b", "node-2")]),
        );
        assert!(gone.is_err());
    }

    #[test]
    fn a_unit_with_fewer_rules_than_it_had_is_reversed_whatever_its_stage() {
        for stage in ["Idle", "Held", "Blocked", "Waiting"] {
            let mut rule = sized("a", "node-1", "1/2");
            let notes = [
                (RuleMetadata::DRAIN_STAGE, stage),
                (RuleMetadata::DRAIN_NEXT, "b"),
            ];
            let notes = notes.map(|(key, text)| (key.to_owned(), text.to_owned()));
            rule.metadata.annotations.extend(notes);
            let both = [rule.clone(), sized("b", "node-1", "1/2")];
            assert!(!matches!(progress_of(&both), UnitProgress::Reversed(_)));
            let reversed = UnitProgress::Reversed("rule b was removed".to_owned());
            assert_eq!(progress_of(&[rule]), reversed, "{stage}");
        }
    }

    #[test]
    fn a_reversed_unit_is_left_out_and_a_raised_one_keeps_its_effect() {
        let units = units(&["node-1", "node-2"]);
        let mut weak = rule("a", "node-1", None);
        weak.taint.effect = Effect::None;
        let mut raised = rule("b", "node-2", None);
        raised.taint.effect = Effect::NoExecute;
        let known = drains(&[weak, raised]);
        // A reversal proves nothing of whether all rules had been made.
        assert!(!known[0].was_complete());
        let (wanted, left_out) = wanted(drafts(&["a", "b"]), &units, &known, "fw").unwrap();
        assert_eq!(left_out.keys().collect::<Vec<_>>(), ["node-1"]);
        assert_eq!(wanted.len(), 1);
        assert_eq!(wanted[0].taint.effect, Effect::NoExecute);
    }

    #[test]
    fn devices_of_another_drain_are_refused_by_its_name() {
        let known = drains(&[rule("a", "node-1", None)]);
        let refused = wanted(drafts(&["a"]), &units(&["node-1"]), &known, "mine").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "gpu.example.com/node-7/a is part of drain fw, started by anna; nothing was changed"
        );
        assert_eq!(refused.status(), crate::error::ExitStatus::Refused);
        assert!(wanted(drafts(&["b"]), &units(&["node-1"]), &known, "mine").is_ok());
    }

    #[test]
    fn a_drain_a_unit_or_a_device_is_restored_by_its_name() {
        let known = drains(&[
            rule("a", "node-1", Some("Idle")),
            rule("b", "node-1", Some("Idle")),
            rule("c", "node-2", None),
        ]);
        let names = |target| {
            let (drain, units) = restorable(RestoreTarget { name: target }, &known).unwrap();
            assert_eq!(drain, "fw");
            let rules = units.into_iter().flat_map(|unit| unit.rules);
            rules.map(|rule| rule.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names("fw"), ["a", "b", "c"]);
        assert_eq!(names("node-1"), ["a", "b"]);
        assert_eq!(names("gpu.example.com/node-7/b"), ["b"]);
        let none = restorable(RestoreTarget { name: "node-9" }, &known).unwrap_err();
        assert_eq!(none.hints(), ["name one of the drains: fw"]);
        let mut other = rule("d", "node-1", None);
        other
            .metadata
            .labels
            .insert(RuleMetadata::DRAIN.to_owned(), "other".to_owned());
        let both = drains(&[rule("a", "node-1", None), other]);
        let several = restorable(RestoreTarget { name: "node-1" }, &both).unwrap_err();
        assert_eq!(
            several.to_string(),
            "node-1 is part of several drains: fw, other"
        );
    }

    #[test]
    fn a_stage_on_one_rule_says_that_all_rules_have_existed() {
        let known = drains(&[rule("a", "node-1", Some("Idle")), rule("b", "node-1", None)]);
        assert!(known[0].was_complete());
    }

    #[test]
    fn the_largest_recorded_size_says_how_many_units_there_were() {
        let known = drains(&[sized("a", "node-1", "1/1"), sized("b", "node-2", "3/1")]);
        assert!(!known[0].has_all_units());
        assert_eq!(known[0].removed_units(), Some(1));
        let removed = |rules: &[DeviceTaintRule]| drains(rules)[0].removed_units();
        assert_eq!(removed(&[sized("a", "node-1", "1/1")]), Some(0));
        assert_eq!(removed(&[rule("a", "node-1", None)]), None, "not recorded");
    }

    #[test]
    fn a_unit_is_reversed_by_all_that_was_done_to_its_rules() {
        let mut weakened = sized("a", "node-1", "1/2");
        weakened.taint.effect = Effect::None;
        let UnitProgress::Reversed(why) = &drains(&[weakened])[0].units[0].progress else {
            panic!("it is reversed");
        };
        assert!(why.starts_with("rule a was set to effect None"), "{why}");
        assert!(why.ends_with("; 1 of 2 rules were removed"), "{why}");
    }

    #[test]
    fn a_drain_is_continued_as_it_is_and_not_as_another_one_or_another_rule() {
        let mut other = rule("z", "node-1", Some("Idle"));
        let label = (RuleMetadata::DRAIN.to_owned(), "early".to_owned());
        other.metadata.labels.extend([label]);
        let mut raised = rule("b", "node-1", None);
        raised.taint.effect = Effect::NoExecute;
        let known = drains(&[other, rule("a", "node-1", None), raised]);
        assert_eq!(known[0].name, "early");
        let of_one: Vec<(usize, RuleDraft)> = drafts(&["a", "b", "c"])
            .into_iter()
            .map(|(_, draft)| (0, draft))
            .collect();
        let (wanted, left_out) = wanted(of_one, &units(&["node-1"]), &known, "fw").unwrap();
        assert!(left_out.is_empty(), "{left_out:?}");
        let effects: Vec<Effect> = wanted.into_iter().map(|draft| draft.taint.effect).collect();
        assert_eq!(
            effects,
            [Effect::NoSchedule, Effect::NoExecute, Effect::NoSchedule]
        );
    }

    #[test]
    fn what_a_stage_says_about_the_work_that_is_left() {
        let reversed = UnitProgress::Reversed("rule a was removed".to_owned());
        for (progress, has_begun, is_over) in [
            (UnitProgress::Waiting, false, false),
            (UnitProgress::Draining, true, false),
            (UnitProgress::Blocked, true, false),
            (UnitProgress::Idle, true, true),
            (UnitProgress::Held, true, true),
            (reversed, true, true),
        ] {
            assert_eq!(progress.has_begun(), has_begun, "{progress:?}");
            assert_eq!(progress.is_over(), is_over, "{progress:?}");
        }
    }

    #[test]
    fn the_rules_of_a_drain_are_those_with_its_name() {
        let mut other = rule("c", "node-1", None);
        let label = (RuleMetadata::DRAIN.to_owned(), "other".to_owned());
        other.metadata.labels.extend([label]);
        let rules = [
            rule("a", "node-1", None),
            rule("b", "node-1", None),
            other,
            named("d", "None"),
        ];
        let names = |found: &[DeviceTaintRule]| -> Vec<String> {
            found.iter().map(|rule| rule.name.to_string()).collect()
        };
        assert_eq!(names(&rules_of(&rules, "fw")), ["a", "b"]);
    }
}
