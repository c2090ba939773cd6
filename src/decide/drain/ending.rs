//! Result of a drain, in words.

use std::collections::{BTreeMap, BTreeSet};

use super::state::{UnitProgress, UnitState, drains};
use super::unit_step::UnitEnd;
use crate::decide::pending_pods::explain_pod;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, NamespacedName};
use crate::naming::phrase::{counted, few};
use crate::naming::shell::word;

/// The way on if budgets refuse evictions, and may do so for ever.
const FORCE: &str = "if a PodDisruptionBudget never allows these evictions, run the command with --force: after \
    --grace, the rules get effect NoExecute, which ignores budgets";

/// The way on if partitions are in use that the drain does not include.
const PARTITIONS: &str = "to also drain the partitions that are in use: run the same command again with --with-partitions";

/// Results of the units in one run of a drain, in order.
#[derive(Clone, Debug, Default)]
pub struct DrainEnd {
    /// Name of the drain.
    pub name: String,
    /// The finished units with their results.
    pub units: Vec<(String, UnitEnd)>,
    /// The unit that is being drained.
    pub running: Option<String>,
    /// Units that the run did not start.
    pub waiting: Vec<String>,
    /// Units that were reversed before the run, or since this run has ended them, with the reasons.
    pub skipped: BTreeMap<String, String>,
    /// Why the rules could not be read at the end; absent if they were.
    pub unread: Option<String>,
    /// The units of which rules are left, as they were found at the end.
    pub with_rules: BTreeSet<String>,
    /// Whether a unit is blocked by budgets alone, which `--force` ignores.
    pub needs_force: bool,
    /// Whether partitions of the devices were in use at the start and are not part of the drain; it then selects devices with
    /// flags, not with a plan.
    pub leaves_partitions: bool,
    /// Pods for which the scheduler finds no node and which keep units from being drained: a further run of the same command
    /// meets them again.
    pub unplaced: BTreeSet<NamespacedName>,
}

impl DrainEnd {
    /// Notes that the unit is next.
    pub fn begin(&mut self, unit: &str) {
        self.waiting.retain(|name| name != unit);
        self.running = Some(unit.to_owned());
    }

    /// Notes the result of the unit that was being drained.
    pub fn finish(&mut self, unit: &str, end: UnitEnd) {
        self.running = None;
        self.units.push((unit.to_owned(), end));
    }

    /// The line for a finished unit.
    #[must_use]
    pub fn line(unit: &str, end: &UnitEnd) -> String {
        match end {
            UnitEnd::Idle(unready) if unready.is_empty() => {
                format!("unit {unit}: no claim holds its devices, and its workloads are ready")
            }
            UnitEnd::Idle(unready) => format!(
                "unit {unit}: no claim holds its devices; not all of its workloads are ready: {}",
                few(unready)
            ),
            UnitEnd::Held(pods) => format!(
                "unit {unit}: drained, except for {} that the drain does not evict ({})",
                counted(pods.len(), "pod"),
                few(pods)
            ),
            UnitEnd::NotReleased(reasons) => {
                format!("unit {unit} is held: {}", few(reasons))
            }
            UnitEnd::Blocked(reasons) => format!("unit {unit} is blocked: {}", few(reasons)),
            UnitEnd::Reversed(why) => format!("unit {unit} is skipped: {why}"),
            UnitEnd::TakenOver(by) => format!("unit {unit}: continued by {by}"),
        }
    }

    /// Exit status of the command.
    ///
    /// # Errors
    ///
    /// A unit is blocked, another run has taken it over, or another user or program has reversed one.
    pub fn status(&self) -> Result<ExitStatus, Failure> {
        let is_open = |(_, end): &&(String, UnitEnd)| match end {
            UnitEnd::NotReleased(_) | UnitEnd::Blocked(_) | UnitEnd::TakenOver(_) => true,
            UnitEnd::Idle(_) | UnitEnd::Held(_) | UnitEnd::Reversed(_) => false,
        };
        let Some((unit, end)) = self.units.iter().find(is_open) else {
            return self.refuse_reversed();
        };
        let name = word(&self.name);
        match end {
            UnitEnd::Idle(_) | UnitEnd::Held(_) | UnitEnd::Reversed(_) => self.refuse_reversed(),
            UnitEnd::TakenOver(by) => Err(Failure::new(
                ExitStatus::Failed,
                format!("drain {} was taken over by {by}", self.name),
            )
            .hint(format!(
                "to watch it: kubectl devicetaint drain status {name}"
            ))),
            UnitEnd::NotReleased(reasons) | UnitEnd::Blocked(reasons) => {
                let failure =
                    Failure::new(ExitStatus::TimedOut, format!("unit {unit} was not drained"));
                let failure = reasons.iter().fold(failure, |failure, reason| {
                    failure.detail(format!("left: {reason}"))
                });
                let failure = if self.waiting.is_empty() {
                    failure
                } else {
                    failure.detail(format!("not started: {}", few(&self.waiting)))
                };
                let reversed = self.reversed();
                let failure = self.taints().into_iter().fold(failure, Failure::detail);
                let failure = reversed.into_iter().fold(failure, |failure, line| {
                    failure.detail(format!("no longer drained: {line}"))
                });
                let force = self.needs_force.then(|| FORCE.to_owned());
                let partitions = self.leaves_partitions.then(|| PARTITIONS.to_owned());
                let hints = force
                    .into_iter()
                    .chain(self.unplaced_hints())
                    .chain(partitions);
                let failure = hints.fold(failure, Failure::hint);
                let advice = interrupted(&self.name).into_iter();
                Err(advice.fold(failure, Failure::hint))
            }
        }
    }
}

impl DrainEnd {
    /// Notes the units that were reversed after this run had ended or passed them, as the rules show that are `found` at the
    /// end; or why these could not be read.
    pub fn observe(&mut self, found: Result<&[DeviceTaintRule], String>) {
        let found = match found {
            Ok(rules) => rules,
            Err(why) => {
                self.unread = Some(why);
                return;
            }
        };
        let units = self.units_among(found);
        self.with_rules = units_with_rules(&units);
        let reversed = self.newly_reversed(units);
        self.skipped.extend(reversed);
    }

    /// With the units of which rules are left among these, for a run that drains no unit.
    #[must_use]
    pub fn with_rules_among(self, rules: &[DeviceTaintRule]) -> Self {
        Self {
            with_rules: units_with_rules(&self.units_among(rules)),
            ..self
        }
    }

    /// Notes the units that this run has ended and that others have reversed since, as the rules show that are `found` while
    /// another unit is drained; a line for each of them that is new.
    pub fn observe_ended(&mut self, found: &[DeviceTaintRule]) -> Vec<String> {
        // The first unit has none before it, and a drain is looked at every second.
        if self.units.is_empty() {
            return Vec::new();
        }
        let mut reversed = self.newly_reversed(self.units_among(found));
        // Of the others, each finds out itself when it begins or looks.
        let ended: BTreeSet<&String> = self.units.iter().map(|(name, _)| name).collect();
        reversed.retain(|name, _| ended.contains(name));
        let lines = reversed.iter();
        let lines =
            lines.map(|(name, why)| format!("the drain of unit {name} was reversed: {why}"));
        let lines = lines.collect();
        self.skipped.extend(reversed);
        lines
    }

    /// The units of the drain, as these rules show them.
    fn units_among(&self, rules: &[DeviceTaintRule]) -> Vec<UnitState> {
        let state = drains(rules).into_iter().find(|it| it.name == self.name);
        state.map(|state| state.units).unwrap_or_default()
    }

    /// The units of this run that others have reversed and that are not known to be, as their rules show, of which `units` are
    /// there.
    fn newly_reversed(&self, units: Vec<UnitState>) -> BTreeMap<String, String> {
        let reported = self.reversed_names();
        let there: BTreeSet<&str> = units.iter().map(|unit| &*unit.name).collect();
        let mut reversed: BTreeMap<String, String> = self
            .names()
            .filter(|name| !there.contains(name))
            .map(|name| (name.to_owned(), "its rules were removed".to_owned()))
            .collect();
        reversed.extend(units.into_iter().filter_map(|unit| match unit.progress {
            UnitProgress::Reversed(why) => Some((unit.name, why)),
            UnitProgress::Waiting
            | UnitProgress::Draining
            | UnitProgress::Blocked
            | UnitProgress::Idle
            | UnitProgress::Held => None,
        }));
        reversed.retain(|name, _| !reported.contains(name));
        reversed
    }

    /// What to do about pods for which the scheduler finds no node.
    fn unplaced_hints(&self) -> Vec<String> {
        let Some(pod) = self.unplaced.first() else {
            return Vec::new();
        };
        vec![
            format!("to see why pod {pod} is pending: {}", explain_pod(pod)),
            "to continue although replacements stay pending: run the command with --accept-unplaceable"
                .to_owned(),
        ]
    }

    /// The units of this run.
    fn names(&self) -> impl Iterator<Item = &str> {
        let ended = self.units.iter().map(|(name, _)| name);
        let others = self.running.iter().chain(&self.waiting);
        ended.chain(others).map(String::as_str)
    }

    /// The names of the units that others have reversed.
    fn reversed_names(&self) -> BTreeSet<String> {
        let ended = self.units.iter().filter_map(|(unit, end)| match end {
            UnitEnd::Reversed(_) => Some(unit),
            UnitEnd::Idle(_)
            | UnitEnd::Held(_)
            | UnitEnd::NotReleased(_)
            | UnitEnd::Blocked(_)
            | UnitEnd::TakenOver(_) => None,
        });
        ended.chain(self.skipped.keys()).cloned().collect()
    }

    /// What becomes of the taints without the command; nothing if no unit has its taints.
    fn taints(&self) -> Option<String> {
        const STAY: &str = "stay: only pods that tolerate them can be scheduled on the devices";
        if let Some(why) = &self.unread {
            return Some(format!(
                "cannot tell whether the taints are unchanged: {why}"
            ));
        }
        let reversed = self.reversed_names();
        if reversed.is_empty() {
            return Some(format!("the taints {STAY}"));
        }
        let mut names = self.names();
        let is_left = names.any(|name| !reversed.contains(name));
        is_left.then(|| format!("the taints of the other units {STAY}"))
    }

    /// The units that others have reversed, before the run or meanwhile, with the reasons.
    fn reversed(&self) -> Vec<String> {
        let ended = self.units.iter().filter_map(|(unit, end)| match end {
            UnitEnd::Reversed(why) => Some(format!("unit {unit}: {why}")),
            UnitEnd::Idle(_)
            | UnitEnd::Held(_)
            | UnitEnd::NotReleased(_)
            | UnitEnd::Blocked(_)
            | UnitEnd::TakenOver(_) => None,
        });
        let skipped = self
            .skipped
            .iter()
            .map(|(unit, why)| format!("unit {unit}: {why}"));
        skipped.chain(ended).collect()
    }

    /// A drain is not done where a unit was left out: nothing keeps new pods off its devices.
    fn refuse_reversed(&self) -> Result<ExitStatus, Failure> {
        let lines = self.reversed();
        if lines.is_empty() {
            return Ok(ExitStatus::Success);
        }
        let failure = Failure::new(
            ExitStatus::Failed,
            format!(
                "drain {}: {} no longer drained, because rules were removed or changed",
                self.name,
                if lines.len() == 1 {
                    "1 unit is".to_owned()
                } else {
                    format!("{} units are", lines.len())
                }
            ),
        );
        let failure = lines.into_iter().fold(failure, Failure::detail);
        let mut names = self.reversed_names();
        names.retain(|name| self.with_rules.contains(name));
        // Not the drain as a whole: its other units may be idle, and work on them has begun.
        let restored = names.iter().map(|name| {
            format!(
                "unit {name} still has rules; to remove them: kubectl devicetaint restore {}",
                word(name)
            )
        });
        let failure = restored.fold(failure, Failure::hint);
        // The other units' rules record which units were reversed; without rules, nothing of the drain is left.
        let is_gone = self.unread.is_none() && self.with_rules.is_empty();
        let way = if is_gone || !names.is_empty() && self.with_rules.is_subset(&names) {
            "run the same command again"
        } else {
            "use another --name"
        };
        // A device is part of one drain at a time, also where its rules no longer have an effect.
        let mut reversed = self.reversed_names().into_iter();
        Err(failure.hint(match (reversed.next(), reversed.next()) {
            _ if names.is_empty() => format!("to drain these devices again, {way}"),
            (Some(unit), None) => {
                format!("to drain the devices of unit {unit} again after that, {way}")
            }
            (None, None) | (_, Some(_)) => {
                format!("to drain the devices of these units again after that, {way}")
            }
        }))
    }
}

fn units_with_rules(units: &[UnitState]) -> BTreeSet<String> {
    let with_rules = units.iter().filter(|unit| !unit.rules.is_empty());
    with_rules.map(|unit| unit.name.clone()).collect()
}

/// How to continue or undo an interrupted drain.
#[must_use]
pub fn interrupted(name: &str) -> Vec<String> {
    vec![
        "to continue: run the same command again".to_owned(),
        format!("to undo the drain: {}", restoration(name)),
    ]
}

/// The command that restores the drain.
fn restoration(name: &str) -> String {
    format!("kubectl devicetaint restore {}", word(name))
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::decide::drain::testing::drain_rule;
    use crate::engine::testing::name;
    use crate::model::Effect;

    fn ended(end: UnitEnd) -> DrainEnd {
        DrainEnd {
            name: "fw".to_owned(),
            units: vec![("node-1".to_owned(), end)],
            running: None,
            waiting: vec!["node-2".to_owned()],
            skipped: BTreeMap::new(),
            unread: None,
            with_rules: BTreeSet::new(),
            needs_force: false,
            leaves_partitions: false,
            unplaced: BTreeSet::new(),
        }
    }

    const TAINTS_STAY: &str =
        "the taints stay: only pods that tolerate them can be scheduled on the devices";

    #[test]
    fn a_unit_that_is_blocked_taken_over_or_reversed_fails_the_command() {
        for (end, expected) in [
            (UnitEnd::Idle(Vec::new()), ExitStatus::Success),
            (
                UnitEnd::Held(vec!["a/agent".to_owned()]),
                ExitStatus::Success,
            ),
            (UnitEnd::Reversed("x".to_owned()), ExitStatus::Failed),
            (UnitEnd::Blocked(vec!["x".to_owned()]), ExitStatus::TimedOut),
            (UnitEnd::TakenOver("bob".to_owned()), ExitStatus::Failed),
        ] {
            let found = match ended(end).status() {
                Ok(status) => status,
                Err(failure) => failure.status(),
            };
            assert_eq!(found, expected);
        }
        assert_eq!(DrainEnd::default().status().unwrap(), ExitStatus::Success);
    }

    #[test]
    fn reversed_units_are_named_wherever_they_were_in_the_order() {
        let mut end = ended(UnitEnd::Reversed("rule a was removed".to_owned()));
        end.units
            .push(("node-2".to_owned(), UnitEnd::Idle(Vec::new())));
        let skipped = ("node-3".to_owned(), "rule c was removed".to_owned());
        end.skipped.extend([skipped]);
        let failure = end.status().unwrap_err();
        assert_eq!(
            failure.details(),
            [
                "unit node-3: rule c was removed",
                "unit node-1: rule a was removed"
            ]
        );
        end.units.clear();
        assert_eq!(end.status().unwrap_err().status(), ExitStatus::Failed);
    }

    #[test]
    fn a_blocked_unit_names_what_is_left_and_the_ways_on() {
        let reason = "pod team-a/web-1: the budget needs 3".to_owned();
        let failure = ended(UnitEnd::Blocked(vec![reason])).status().unwrap_err();
        let details = failure.details();
        for named in [
            "pod team-a/web-1: the budget needs 3",
            "node-2",
            TAINTS_STAY,
        ] {
            assert!(details.iter().any(|line| line.contains(named)), "{named}");
        }
        assert!(failure.hints()[1].ends_with("restore fw"));
        let mut end = ended(UnitEnd::Blocked(vec!["x".to_owned()]));
        let reversed = UnitEnd::Reversed("rule b was removed".to_owned());
        end.units.push(("node-3".to_owned(), reversed));
        let failure = end.status().unwrap_err();
        let last = failure.details().last().map(String::as_str);
        assert_eq!(
            last,
            Some("no longer drained: unit node-3: rule b was removed")
        );
        let details = failure.details();
        assert!(details.iter().all(|detail| detail != TAINTS_STAY));
        end.units.truncate(1);
        end.observe(Err("denied".to_owned()));
        let failure = end.status().unwrap_err();
        assert!(failure.details().iter().all(|line| !line.contains("stay")));
    }

    #[test]
    fn units_that_were_reversed_after_they_had_ended_are_named() {
        let rule = |name: &str, unit: &str| drain_rule(name, unit, "NoSchedule");
        let (one, two) = (rule("a", "node-1"), rule("b", "node-2"));
        let mut lowered = one.clone();
        lowered.taint.effect = Effect::None;
        let details = |end: UnitEnd, rules: &[DeviceTaintRule]| -> Vec<String> {
            let mut end = ended(end);
            end.observe(Ok(rules));
            match end.status() {
                Ok(_) => Vec::new(),
                Err(failure) => failure.details().to_vec(),
            }
        };
        let none: [&str; 0] = [];
        assert_eq!(
            details(UnitEnd::Idle(Vec::new()), &[one.clone(), two.clone()]),
            none
        );
        assert_eq!(
            details(UnitEnd::Idle(Vec::new()), &[lowered.clone(), two.clone()]),
            ["unit node-1: rule a was set to effect None"]
        );
        assert_eq!(
            details(UnitEnd::Idle(Vec::new()), &[one]),
            ["unit node-2: its rules were removed"]
        );
        let blocked = || UnitEnd::Blocked(vec!["x".to_owned()]);
        let found = details(blocked(), &[lowered, two]);
        assert_eq!(
            found.last().map(String::as_str),
            Some("no longer drained: unit node-1: rule a was set to effect None")
        );
        // Of no unit the taints are left.
        let found = details(blocked(), &[]);
        assert!(found.iter().all(|line| !line.contains("stay")), "{found:?}");
        let before = UnitEnd::Reversed("rule a was removed".to_owned());
        assert_eq!(
            details(before, &[rule("b", "node-2")]),
            ["unit node-1: rule a was removed"],
            "each once"
        );
    }

    #[test]
    fn an_ended_unit_that_others_reverse_is_shown_while_the_next_is_drained() {
        let rule = |name: &str, unit: &str| drain_rule(name, unit, "NoSchedule");
        let mut end = ended(UnitEnd::Idle(Vec::new()));
        end.begin("node-2");
        let nothing: [&str; 0] = [];
        assert_eq!(
            end.observe_ended(&[rule("a", "node-1"), rule("b", "node-2")]),
            nothing
        );
        let line = "the drain of unit node-1 was reversed: its rules were removed";
        assert_eq!(end.observe_ended(&[rule("b", "node-2")]), [line]);
        // That of the unit that is drained is its own matter.
        assert_eq!(end.observe_ended(&[]), nothing);
        end.observe(Ok(&[rule("b", "node-2")]));
        let hint = |end: &DrainEnd| {
            let failure = end.status().unwrap_err();
            failure.hints().last().cloned().unwrap_or_default()
        };
        assert!(hint(&end).contains("--name"), "the drain is still there");
        let mut gone = ended(UnitEnd::Idle(Vec::new()));
        gone.observe(Ok(&[]));
        assert!(hint(&gone).contains("same command"));
        let mut weakened = rule("a", "node-1");
        weakened.taint.effect = Effect::None;
        let mut left = ended(UnitEnd::Idle(Vec::new()));
        left.observe(Ok(&[weakened, rule("b", "node-2")]));
        let failure = left.status().unwrap_err();
        assert!(failure.hints()[0].ends_with("restore node-1"));
        assert!(hint(&left).contains("--name"));
        left.waiting.clear();
        left.with_rules.remove("node-2");
        assert!(
            hint(&left).contains("same command"),
            "nothing is left of the drain then"
        );
        let failure = end.status().unwrap_err();
        assert_eq!(
            failure.details(),
            ["unit node-1: its rules were removed"],
            "once"
        );
    }

    #[test]
    fn the_way_on_is_proposed_where_budgets_or_unschedulable_pods_are_in_the_way() {
        let blocked = || ended(UnitEnd::Blocked(vec!["pod a/b: no".to_owned()]));
        let hints = |end: DrainEnd| end.status().unwrap_err().hints().to_vec();
        assert!(!hints(blocked()).iter().any(|hint| hint.contains("--force")));
        let mut end = blocked();
        end.needs_force = true;
        assert_eq!(hints(end)[0], FORCE);
        let mut end = blocked();
        end.leaves_partitions = true;
        assert_eq!(hints(end)[0], PARTITIONS);
        let mut end = blocked();
        let pending = ["web-3", "web-4"].map(|pod| name("team-a", pod));
        end.unplaced = pending.into();
        assert!(hints(end)[0].contains("explain pod/web-3 -n team-a"));
    }

    #[test]
    fn a_blocked_unit_decides_the_status_wherever_it_is_in_the_order() {
        for first in [
            UnitEnd::Idle(Vec::new()),
            UnitEnd::Held(Vec::new()),
            UnitEnd::Reversed("rule a was removed".to_owned()),
        ] {
            let mut end = ended(first);
            let blocked = UnitEnd::Blocked(vec!["x".to_owned()]);
            end.units.push(("node-2".to_owned(), blocked));
            let failure = end.status().unwrap_err();
            assert_eq!(failure.status(), ExitStatus::TimedOut);
            assert_eq!(failure.to_string(), "unit node-2 was not drained");
        }
    }
}
