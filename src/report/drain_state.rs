//! A drain as reports show it, from its state.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::drains::{Drain, DrainUnit};
use super::reference::ObjectReference;
use super::time::Time;
use crate::assess::DeviceBasis;
use crate::decide::drain::{
    DrainState, PublishedHardware, UnitProgress, UnitStage, UnitState, devices_of, restorer,
    untainted_line,
};
use crate::decide::identity::warnings_among;
use crate::engine::holders::holders;
use crate::model::{DeviceId, RuleMetadata};
use crate::naming::age::human_duration;
use crate::naming::phrase::few;

/// The drain, with the claims and pods that hold its devices now, under any `published` name.
#[must_use]
pub fn reported(
    drain: &DrainState,
    published: &PublishedHardware<'_>,
    basis: &DeviceBasis<'_>,
) -> Drain {
    Drain {
        name: drain.name.clone(),
        created_by: drain.created_by().map(str::to_owned),
        reason: noted(drain, RuleMetadata::REASON),
        units: drain
            .units
            .iter()
            .map(|unit| of_unit(unit, published, basis))
            .collect(),
        removed_unit_count: drain.removed_units(),
    }
}

/// What the rules of the drain record under `key`, each text once.
fn noted(drain: &DrainState, key: &str) -> Option<String> {
    let rules = drain.units.iter().flat_map(|unit| &unit.rules);
    let texts: BTreeSet<&str> = rules
        .filter_map(|rule| rule.metadata.annotation(key))
        .collect();
    let texts: Vec<&str> = texts.into_iter().collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// Since when the unit is as far as it is: the newest time of its rules.
fn stage_time(unit: &UnitState) -> Option<Timestamp> {
    // The rules of a unit are updated one after the other, so the latest time is that of the stage.
    let rules = unit.rules.iter();
    rules
        .filter_map(|rule| {
            let text = rule.metadata.annotation(RuleMetadata::DRAIN_STAGE_SINCE)?;
            text.parse().ok()
        })
        .max()
}

/// What nothing but the command knows: whether a unit that was begun is still being drained.
fn draining_message(since: Option<Timestamp>, now: Timestamp) -> String {
    let since = since.map_or_else(String::new, |since| {
        let age = human_duration(now.duration_since(since).max(SignedDuration::ZERO));
        format!(" {age} ago")
    });
    format!(
        "started{since}; if no `drain` command is still running, run the same command again to continue"
    )
}

fn of_unit(
    unit: &UnitState,
    published: &PublishedHardware<'_>,
    basis: &DeviceBasis<'_>,
) -> DrainUnit {
    let devices = devices_of(unit, basis);
    let mut messages = match &unit.progress {
        UnitProgress::Reversed(why) => vec![why.clone()],
        UnitProgress::Draining => vec![draining_message(stage_time(unit), basis.now)],
        UnitProgress::Waiting | UnitProgress::Blocked | UnitProgress::Idle | UnitProgress::Held => {
            Vec::new()
        }
    };
    let names = published.names(&devices, &unit.rules);
    let holding = holders(&basis.reading.snapshot, &names);
    // The recorded stage is of the past. A claim that holds a device now contradicts it.
    let is_used_again = unit.progress == UnitProgress::Idle && !holding.is_empty();
    if is_used_again {
        messages.push("was idle when its drain ended, but a claim holds a device again".to_owned());
    }
    let drift = warnings_among(&unit.rules, basis.reading, published.devices()).into_iter();
    messages.extend(drift.map(|warning| warning.message));
    let elsewhere = holding.iter().flat_map(|holder| &holder.devices);
    let elsewhere: BTreeSet<&DeviceId> = elsewhere.filter(|id| !devices.contains(*id)).collect();
    if !elsewhere.is_empty() {
        let names: Vec<String> = elsewhere.iter().map(ToString::to_string).collect();
        messages.push(format!(
            "other devices on its hardware are allocated: {}",
            few(&names)
        ));
    }
    // Of a reversed unit, the reason is named already.
    let left = match &unit.progress {
        UnitProgress::Reversed(_) => None,
        UnitProgress::Waiting
        | UnitProgress::Draining
        | UnitProgress::Blocked
        | UnitProgress::Idle
        | UnitProgress::Held => {
            untainted_line(&unit.name, &unit.rules, &basis.reading.snapshot.slices)
        }
    };
    let is_open = left.is_some();
    messages.extend(left.map(|line| format!("{line}; to taint them, run the same `drain` again")));
    let knows_usage = basis.knows_usage();
    // The stage is that of the end of the last run.
    if unit.progress == UnitProgress::Blocked
        && messages.is_empty()
        && knows_usage
        && holding.is_empty()
    {
        messages.push(
            "was blocked when the `drain` command ended, and no claim holds its devices now; to complete the drain, run the \
             same `drain` again"
                .to_owned(),
        );
    }
    let claims = holding
        .iter()
        .map(|holder| ObjectReference::from(holder.claim));
    let pods: BTreeSet<ObjectReference> = holding
        .iter()
        .flat_map(|holder| {
            let consumers = holder.claim.reserved_for.iter();
            consumers.map(|consumer| ObjectReference {
                namespace: holder.claim.name.namespace.to_string(),
                name: consumer.name.to_string(),
                uid: Some(consumer.uid.to_string()),
            })
        })
        .collect();
    DrainUnit {
        name: unit.name.clone(),
        unit_stage: match (unit.progress.stage(), is_open) {
            (UnitStage::Idle | UnitStage::Held, true) => UnitStage::Blocked,
            (UnitStage::Idle, false) if is_used_again => UnitStage::Held,
            (stage, _) => stage,
        },
        unit_stage_time: stage_time(unit).map(Time),
        messages,
        changed_by: changed_by(unit).map(str::to_owned),
        rules: unit
            .rules
            .iter()
            .map(|rule| rule.name.to_string())
            .collect(),
        devices: devices.iter().map(ToString::to_string).collect(),
        // With claims unread, an empty list would read as unused.
        claims: knows_usage.then(|| claims.collect()),
        holding_pods: knows_usage.then(|| pods.into_iter().collect()),
    }
}

/// Who changed the unit last; of a unit without rules, nothing but the record of its restoration tells that.
fn changed_by(unit: &UnitState) -> Option<&str> {
    let restored = match &unit.progress {
        UnitProgress::Reversed(why) => restorer(why),
        UnitProgress::Waiting
        | UnitProgress::Draining
        | UnitProgress::Blocked
        | UnitProgress::Idle
        | UnitProgress::Held => None,
    };
    restored.or_else(|| unit.changed_by())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::idle_drain;
    use crate::decide::drain::{Unit, drains, progress_now};
    use crate::decide::testing::{named, selector};
    use crate::model::{Effect, FieldManager, Gap, Kind, ManagerOperation, Reading};
    use crate::report::testing::{
        claim_in_use, device, now, pod, published, reading, semantics, slice,
    };

    /// The drain as a report shows it, where that was read.
    fn shown(drain: &DrainState, reading: &Reading) -> Drain {
        let semantics = semantics(37);
        let basis = DeviceBasis {
            reading,
            semantics: &semantics,
            now: now(),
        };
        reported(drain, &PublishedHardware::of(&basis), &basis)
    }

    /// The only unit of the drain.
    fn shown_unit(drain: &DrainState, reading: &Reading) -> DrainUnit {
        shown(drain, reading).units.remove(0)
    }

    #[test]
    fn a_unit_that_was_idle_is_not_done_while_a_claim_holds_its_devices_again() {
        let drain = idle_drain();
        let mut reading = reading();
        reading.snapshot.slices = vec![slice(vec![published("gpu-0", &[])])];
        let semantics = semantics(37);
        let stages = |reading: &Reading| {
            let basis = DeviceBasis {
                reading,
                semantics: &semantics,
                now: now(),
            };
            let devices = devices_of(&drain.units[0], &basis);
            let unit = Unit {
                name: "node-1".to_owned(),
                devices,
            };
            let published = PublishedHardware::of(&basis);
            let [old, new] = ["a", "b"].map(str::to_owned);
            let own = std::slice::from_ref(&old);
            let now = progress_now(Some(&drain), &unit, own, &published, &basis);
            let both = [old.clone(), new];
            let grown = progress_now(Some(&drain), &unit, &both, &published, &basis);
            assert_eq!(grown, UnitProgress::Draining);
            let shown = shown_unit(&drain, reading);
            (now, shown.unit_stage, shown.messages.len())
        };
        assert_eq!(stages(&reading), (UnitProgress::Idle, UnitStage::Idle, 0));
        reading.snapshot.claims = vec![claim_in_use(&pod("team-a", "late"))];
        assert_eq!(
            stages(&reading),
            (UnitProgress::Blocked, UnitStage::Held, 1)
        );
    }

    #[test]
    fn a_unit_names_who_changed_one_of_its_rules_last() {
        let made = idle_drain().units.remove(0).rules.remove(0);
        let changed = |name: &str, by: &str, seconds: i64| {
            let mut rule = made.clone();
            rule.name = name.into();
            let by = (RuleMetadata::CHANGED_BY.to_owned(), by.to_owned());
            rule.metadata.annotations.extend([by]);
            rule.managers = vec![FieldManager {
                name: FieldManager::THIS_PLUGIN.to_owned(),
                operation: ManagerOperation::Update,
                subresource: None,
                time: Some(now() + SignedDuration::from_secs(seconds)),
                owns_spec: true,
            }];
            rule
        };
        for (first, second, last) in [(1, 2, "bob"), (2, 1, "anna")] {
            let rules = [changed("a", "anna", first), changed("b", "bob", second)];
            let drain = drains(&rules).remove(0);
            let unit = shown_unit(&drain, &reading());
            assert_eq!(unit.changed_by.as_deref(), Some(last));
        }
        // The server's times are whole seconds, and the drain records on the other rules at any time.
        for (first, second) in [(1, 1), (1, 2), (2, 1)] {
            let mut lowered = changed("a", "bob", first);
            lowered.taint.effect = Effect::None;
            for rules in [
                [lowered.clone(), changed("b", "anna", second)],
                [changed("b", "anna", second), lowered.clone()],
            ] {
                let unit = shown_unit(&drains(&rules).remove(0), &reading());
                assert_eq!(unit.changed_by.as_deref(), Some("bob"));
                let line = "rule a was set to effect None by bob";
                assert_eq!(unit.messages[0], line);
            }
            // Another program notes no user: the annotation is that of the drain.
            let mut patched = changed("a", "anna", second.max(1));
            patched.taint.effect = Effect::None;
            patched.managers[0].name = "kubectl-patch".to_owned();
            let rules = [patched, changed("b", "anna", 1)];
            let unit = shown_unit(&drains(&rules).remove(0), &reading());
            assert_eq!(unit.changed_by.as_deref(), Some("kubectl-patch"));
            assert!(unit.messages[0].ends_with("by kubectl-patch"), "{unit:?}");
            let mut deleted = changed("a", "bob", 1);
            deleted.metadata.deletion = Some(now());
            let rules = [deleted, changed("b", "anna", 2)];
            let unit = shown_unit(&drains(&rules).remove(0), &reading());
            assert_eq!(unit.changed_by.as_deref(), Some("anna"), "bob changed it");
        }
    }

    #[test]
    fn a_unit_that_is_blocked_by_nothing_any_more_is_told_with_the_way_on() {
        let mut rule = idle_drain().units.remove(0).rules.remove(0);
        let stage = (RuleMetadata::DRAIN_STAGE.to_owned(), "Blocked".to_owned());
        rule.metadata.annotations.extend([stage]);
        let drain = drains(&[rule]).remove(0);
        let mut reading = reading();
        reading.snapshot.slices = vec![slice(vec![published("gpu-0", &[])])];
        let messages = |reading: &Reading| shown_unit(&drain, reading).messages;
        let [line] = &messages(&reading)[..] else {
            panic!("one line");
        };
        assert!(line.contains("run the same `drain` again"), "{line}");
        let mut unread = reading.clone();
        unread.gaps = vec![Gap::of(Kind::ResourceClaim, "denied")];
        assert!(messages(&unread).is_empty(), "who holds them is unknown");
        reading.snapshot.claims = vec![claim_in_use(&pod("team-a", "late"))];
        assert!(messages(&reading).is_empty(), "a claim holds one");
    }

    #[test]
    fn hardware_that_got_another_name_is_not_idle_while_it_is_held_under_that() {
        let mut rule = idle_drain().units.remove(0).rules.remove(0);
        let note = r#"{"gpu.example.com/uuid":"A"}"#;
        let note = (RuleMetadata::IDENTITY.to_owned(), note.to_owned());
        rule.metadata.annotations.extend([note]);
        let drain = drains(&[rule]).remove(0);
        let mut reading = reading();
        reading.snapshot.slices = vec![slice(vec![published("gpu-9", &[("uuid", "A")])])];
        let mut claim = claim_in_use(&pod("team-a", "late"));
        let allocation = claim.allocation.as_mut().expect("an allocation");
        allocation.results[0].device = device("gpu-9");
        reading.snapshot.claims = vec![claim];
        let semantics = semantics(37);
        let basis = DeviceBasis {
            reading: &reading,
            semantics: &semantics,
            now: now(),
        };
        let unit = shown_unit(&drain, &reading);
        assert_eq!(unit.unit_stage, UnitStage::Held);
        assert_eq!(unit.holding_pods.map(|pods| pods.len()), Some(1));
        let drift = unit
            .messages
            .iter()
            .find(|line| line.contains("is now named"));
        assert!(drift.is_some(), "{:?}", unit.messages);
        let name = "other devices on its hardware are allocated: gpu.example.com/node-7/gpu-9";
        assert!(unit.messages.iter().any(|line| line == name));
        let published = PublishedHardware::of(&basis);
        let devices = devices_of(&drain.units[0], &basis);
        let name = "node-1".to_owned();
        let (unit, rules) = (Unit { name, devices }, ["a".to_owned()]);
        let now = progress_now(Some(&drain), &unit, &rules, &published, &basis);
        assert_eq!(now, UnitProgress::Blocked);
    }

    #[test]
    fn a_unit_names_its_devices_and_who_holds_them_unless_that_is_not_known() {
        let mut rule = named("a", "NoSchedule");
        rule.selector = Some(selector("gpu-0"));
        let label = (RuleMetadata::DRAIN.to_owned(), "fw".to_owned());
        rule.metadata.labels.extend([label]);
        let drain = drains(&[rule]).remove(0);
        let mut reading = reading();
        reading.snapshot.slices = vec![slice(vec![published("gpu-0", &[])])];
        reading.snapshot.claims = vec![claim_in_use(&pod("team-a", "web-1"))];
        let unit = shown_unit(&drain, &reading);
        assert_eq!(unit.devices, ["gpu.example.com/node-7/gpu-0"]);
        assert_eq!(unit.unit_stage, UnitStage::Waiting);
        let names = |found: Option<Vec<ObjectReference>>| -> Vec<String> {
            found.unwrap().iter().map(ToString::to_string).collect()
        };
        assert_eq!(names(unit.claims), ["team-a/web-1-gpu"]);
        assert_eq!(names(unit.holding_pods), ["team-a/web-1"]);
        reading.gaps = vec![Gap::of(Kind::ResourceClaim, "denied")];
        let unit = shown_unit(&drain, &reading);
        assert_eq!((unit.claims, unit.holding_pods), (None, None));
    }

    #[test]
    fn a_node_with_devices_that_the_drain_does_not_taint_is_neither_idle_nor_held() {
        let mut reading = reading();
        let devices = ["gpu-0", "gpu-1"].map(|name| published(name, &[]));
        reading.snapshot.slices = vec![slice(devices.into())];
        for (stage, scope, expected) in [
            ("Idle", Some("*"), UnitStage::Blocked),
            ("Held", Some("*"), UnitStage::Blocked),
            ("Waiting", Some("*"), UnitStage::Waiting),
            ("Idle", None, UnitStage::Idle),
        ] {
            let mut rule = named("a", "NoSchedule");
            rule.selector = Some(selector("gpu-0"));
            let label = (RuleMetadata::DRAIN.to_owned(), "fw".to_owned());
            rule.metadata.labels.extend([label]);
            let notes = [
                (RuleMetadata::DRAIN_STAGE, Some(stage)),
                (RuleMetadata::DRAIN_UNIT, Some("node-7")),
                (RuleMetadata::DRAIN_SCOPE, scope),
            ];
            for (key, note) in notes {
                let note = note.map(|note| (key.to_owned(), note.to_owned()));
                rule.metadata.annotations.extend(note);
            }
            let unit = shown_unit(&drains(&[rule])[0], &reading);
            assert_eq!(unit.unit_stage, expected, "{stage} {scope:?}");
            let found = unit.messages.iter().any(|line| {
                line.contains("1 device of the node is not tainted by this drain: gpu.example.com/node-7/gpu-1")
            });
            assert_eq!(found, scope.is_some(), "{:?}", unit.messages);
        }
    }

    #[test]
    fn status_says_who_asked_why_and_since_when_a_unit_is_as_far_as_it_is() {
        let minute = SignedDuration::from_mins(1);
        let mut rule = named("a", "NoSchedule");
        rule.selector = Some(selector("gpu-0"));
        let label = (RuleMetadata::DRAIN.to_owned(), "fw".to_owned());
        rule.metadata.labels.extend([label]);
        let notes = [
            (RuleMetadata::DRAIN_STAGE, "Draining".to_owned()),
            (
                RuleMetadata::DRAIN_STAGE_SINCE,
                (now() - minute).to_string(),
            ),
            (RuleMetadata::REASON, "firmware".to_owned()),
        ];
        let notes = notes.map(|(key, text)| (key.to_owned(), text));
        rule.metadata.annotations.extend(notes);
        let shown = shown(&drains(&[rule])[0], &reading());
        assert_eq!(shown.reason.as_deref(), Some("firmware"));
        let unit = &shown.units[0];
        assert_eq!(unit.unit_stage_time, Some(Time(now() - minute)));
        assert!(
            unit.messages[0].starts_with("started 60s ago; "),
            "{unit:?}"
        );
    }
}
