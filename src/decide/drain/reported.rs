//! A drain as reports show it.

use std::collections::BTreeSet;

use super::state::{DrainState, UnitProgress, UnitState};
use super::unit::Unit;
use crate::assess::Basis;
use crate::engine::holders::holders;
use crate::engine::{self, ProposedTaint};
use crate::model::{DeviceId, RuleMetadata};
use crate::report::drains::{Drain, DrainUnit, UnitStage};
use crate::report::reference::ObjectReference;

/// The drain, with the claims and pods that hold its devices now.
#[must_use]
pub fn reported(drain: &DrainState, basis: &Basis<'_>) -> Drain {
    Drain {
        name: drain.name.clone(),
        created_by: drain.created_by().map(str::to_owned),
        units: drain
            .units
            .iter()
            .map(|unit| of_unit(unit, basis))
            .collect(),
    }
}

/// The stage of a unit of a drain that is in this `state`. One that was idle is not done while a claim holds its devices
/// again, or while that is unknown: a pod that tolerates the taint may have come since.
#[must_use]
pub fn progress_now(state: Option<&DrainState>, unit: &Unit, basis: &Basis<'_>) -> UnitProgress {
    let is_held = !holders(&basis.reading.snapshot, &unit.devices).is_empty();
    let recorded = state.and_then(|state| state.unit(&unit.name));
    match recorded.map(|unit| &unit.progress) {
        None => UnitProgress::Waiting,
        Some(UnitProgress::Idle) if is_held || !basis.knows_usage() => UnitProgress::Blocked,
        Some(progress) => progress.clone(),
    }
}

/// The devices that the rules of a unit select.
#[must_use]
pub fn devices_of(unit: &UnitState, basis: &Basis<'_>) -> BTreeSet<DeviceId> {
    let rules = unit.rules.iter();
    let taints: Vec<ProposedTaint> = rules
        .map(|rule| ProposedTaint::of_rule(rule, basis.now))
        .collect();
    let selected = engine::selection(&basis.reading.snapshot, &taints, basis.semantics).devices;
    // Also those that are not published, or whose slices could not be read: each rule names its device.
    let named = unit.rules.iter().filter_map(|rule| {
        let selector = rule.selector.as_ref()?;
        Some(DeviceId {
            driver: selector.driver.clone()?,
            pool: selector.pool.clone()?,
            device: selector.device.clone()?,
        })
    });
    selected.into_iter().chain(named).collect()
}

fn of_unit(unit: &UnitState, basis: &Basis<'_>) -> DrainUnit {
    let devices = devices_of(unit, basis);
    let messages = match &unit.progress {
        UnitProgress::Reversed(why) => vec![why.clone()],
        UnitProgress::Waiting
        | UnitProgress::Draining
        | UnitProgress::Blocked
        | UnitProgress::Idle
        | UnitProgress::Held => Vec::new(),
    };
    let holding = holders(&basis.reading.snapshot, &devices);
    let is_used_again = unit.progress == UnitProgress::Idle && !holding.is_empty();
    let mut messages = messages;
    if is_used_again {
        messages.push("was idle, and a claim holds a device again".to_owned());
    }
    let knows_usage = basis.knows_usage();
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
    let changed_by = unit.rules.iter();
    let mut changed_by =
        changed_by.filter_map(|rule| rule.metadata.annotation(RuleMetadata::CHANGED_BY));
    DrainUnit {
        name: unit.name.clone(),
        unit_stage: if is_used_again {
            UnitStage::Held
        } else {
            unit.progress.stage()
        },
        messages,
        changed_by: changed_by.next_back().map(str::to_owned),
        rules: unit
            .rules
            .iter()
            .map(|rule| rule.name.to_string())
            .collect(),
        devices: devices.iter().map(ToString::to_string).collect(),
        claims: knows_usage.then(|| claims.collect()),
        holding_pods: knows_usage.then(|| pods.into_iter().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::drains;
    use crate::decide::testing::{named, selector};
    use crate::model::{Gap, Kind, Reading};
    use crate::report::testing::{claim_in_use, now, pod, published, reading, semantics, slice};

    #[test]
    fn a_unit_that_was_idle_is_not_done_while_a_claim_holds_its_devices_again() {
        let mut rule = named("a", "NoSchedule");
        rule.selector = Some(selector("gpu-0"));
        let label = (RuleMetadata::DRAIN.to_owned(), "fw".to_owned());
        rule.metadata.labels.extend([label]);
        let notes = [
            (RuleMetadata::DRAIN_STAGE.to_owned(), "Idle".to_owned()),
            (RuleMetadata::DRAIN_UNIT.to_owned(), "node-1".to_owned()),
        ];
        rule.metadata.annotations.extend(notes);
        let drain = drains(&[rule]).remove(0);
        let mut reading = reading();
        reading.snapshot.slices = vec![slice(vec![published("gpu-0", &[])])];
        let semantics = semantics(37);
        let stages = |reading: &Reading| {
            let basis = Basis {
                reading,
                semantics: &semantics,
                now: now(),
            };
            let devices = devices_of(&drain.units[0], &basis);
            let unit = Unit {
                name: "node-1".to_owned(),
                devices,
            };
            let now = progress_now(Some(&drain), &unit, &basis);
            let shown = reported(&drain, &basis).units.remove(0);
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
    fn a_unit_names_its_devices_and_who_holds_them_unless_that_is_not_known() {
        let mut rule = named("a", "NoSchedule");
        rule.selector = Some(selector("gpu-0"));
        let label = (RuleMetadata::DRAIN.to_owned(), "fw".to_owned());
        rule.metadata.labels.extend([label]);
        let drain = drains(&[rule]).remove(0);
        let mut reading = reading();
        reading.snapshot.slices = vec![slice(vec![published("gpu-0", &[])])];
        reading.snapshot.claims = vec![claim_in_use(&pod("team-a", "web-1"))];
        let semantics = semantics(37);
        let shown = |reading: &Reading| {
            let basis = Basis {
                reading,
                semantics: &semantics,
                now: now(),
            };
            reported(&drain, &basis).units.remove(0)
        };
        let unit = shown(&reading);
        assert_eq!(unit.devices, ["gpu.example.com/node-7/gpu-0"]);
        assert_eq!(unit.unit_stage, UnitStage::Waiting);
        let names = |found: Option<Vec<ObjectReference>>| -> Vec<String> {
            found.unwrap().iter().map(ToString::to_string).collect()
        };
        assert_eq!(names(unit.claims), ["team-a/web-1-gpu"]);
        assert_eq!(names(unit.holding_pods), ["team-a/web-1"]);
        reading.gaps = vec![Gap::of(Kind::ResourceClaim, "denied")];
        let unit = shown(&reading);
        assert_eq!((unit.claims, unit.holding_pods), (None, None));
    }
}
