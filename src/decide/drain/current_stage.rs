//! The stage of a unit as it is now, which is not only what its rules record.

use std::collections::BTreeSet;

use super::published_hardware::PublishedHardware;
use super::state::{DrainState, UnitProgress, UnitState};
use super::unit::Unit;
use crate::assess::DeviceBasis;
use crate::engine::holders::holders;
use crate::engine::{self, ProposedTaint};
use crate::model::DeviceId;

/// The stage of a unit of a drain that is in this `state`. One that was idle is not done while a claim holds its hardware
/// again, under any `published` name, or while that is unknown: a pod that tolerates the taint may have come since. Nor is
/// one that gets one of these `rules` anew, since it has a new device, or one under a new name.
#[must_use]
pub fn progress_now(
    state: Option<&DrainState>,
    unit: &Unit,
    rules: &[String],
    published: &PublishedHardware<'_>,
    basis: &DeviceBasis<'_>,
) -> UnitProgress {
    let recorded = state.and_then(|state| state.unit(&unit.name));
    let known = recorded.map_or(&[][..], |unit| &unit.rules);
    let names = published.names(&unit.devices, known);
    let is_held = !holders(&basis.reading.snapshot, &names).is_empty();
    let is_recorded = |name: &String| known.iter().any(|rule| rule.name.as_str() == name);
    let gets_a_rule = !rules.iter().all(is_recorded);
    match recorded.map(|unit| &unit.progress) {
        None => UnitProgress::Waiting,
        Some(UnitProgress::Idle | UnitProgress::Held) if gets_a_rule => UnitProgress::Draining,
        Some(UnitProgress::Idle) if is_held || !basis.knows_usage() => UnitProgress::Blocked,
        Some(progress) => progress.clone(),
    }
}

/// The devices that the rules of a unit select.
#[must_use]
pub fn devices_of(unit: &UnitState, basis: &DeviceBasis<'_>) -> BTreeSet<DeviceId> {
    let taints = ProposedTaint::of_rules(&unit.rules, basis.now);
    let selected = engine::selection(&basis.reading.snapshot, &taints, basis.semantics).devices;
    // Also those that are not published, or whose slices could not be read: each rule names its device.
    let named = unit.rules.iter();
    let named = named.filter_map(|rule| rule.selector.as_ref()?.device_id());
    selected.into_iter().chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::idle_drain;
    use crate::model::{Gap, Kind, Reading};
    use crate::report::testing::{claim_in_use, now, pod, published, reading, semantics, slice};

    #[test]
    fn a_unit_that_was_idle_is_done_only_while_it_is_known_that_no_claim_holds_its_devices() {
        let drain = idle_drain();
        let mut reading = reading();
        reading.snapshot.slices = vec![slice(vec![published("gpu-0", &[])])];
        let semantics = semantics(37);
        let stage = |state: Option<&DrainState>, rules: &[&str], reading: &Reading| {
            let basis = DeviceBasis {
                reading,
                semantics: &semantics,
                now: now(),
            };
            let devices = devices_of(&drain.units[0], &basis);
            assert_eq!(devices.len(), 1);
            let name = "node-1".to_owned();
            let published = PublishedHardware::of(&basis);
            let rules: Vec<String> = rules.iter().map(|name| (*name).to_owned()).collect();
            progress_now(state, &Unit { name, devices }, &rules, &published, &basis)
        };
        assert_eq!(stage(Some(&drain), &["a"], &reading), UnitProgress::Idle);
        let grown = stage(Some(&drain), &["a", "b"], &reading);
        assert_eq!(grown, UnitProgress::Draining);
        // The rule of a device that has another name now takes the place of that with its old name.
        let renamed = stage(Some(&drain), &["b"], &reading);
        assert_eq!(renamed, UnitProgress::Draining);
        assert_eq!(stage(None, &["a"], &reading), UnitProgress::Waiting);
        let mut unread = reading.clone();
        unread.gaps = vec![Gap::of(Kind::ResourceClaim, "denied")];
        assert_eq!(stage(Some(&drain), &["a"], &unread), UnitProgress::Blocked);
        reading.snapshot.claims = vec![claim_in_use(&pod("team-a", "late"))];
        assert_eq!(stage(Some(&drain), &["a"], &reading), UnitProgress::Blocked);
    }

    #[test]
    fn a_unit_with_more_rules_than_one_is_still_done_and_has_devices_that_are_not_published() {
        let mut drain = idle_drain();
        let mut second = drain.units[0].rules[0].clone();
        second.name = "b".into();
        second.selector = Some(crate::decide::testing::selector("gpu-1"));
        drain.units[0].rules.push(second);
        let reading = reading();
        let semantics = semantics(37);
        let basis = DeviceBasis {
            reading: &reading,
            semantics: &semantics,
            now: now(),
        };
        let devices = devices_of(&drain.units[0], &basis);
        let names: Vec<&str> = devices.iter().map(|id| id.device.as_str()).collect();
        assert_eq!(names, ["gpu-0", "gpu-1"]);
        let name = "node-1".to_owned();
        let published = PublishedHardware::of(&basis);
        let rules = ["a".to_owned(), "b".to_owned()];
        let unit = Unit { name, devices };
        let progress = progress_now(Some(&drain), &unit, &rules, &published, &basis);
        assert_eq!(progress, UnitProgress::Idle);
    }
}
