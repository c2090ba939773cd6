//! What a restoration removes, and whether it goes on to wait.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::recorded_workloads::UnreadyWorkload;
use super::released::{KeptBack, may_be_released};
use super::requesters::Withdrawal;
use super::state::UnitState;
use crate::decide::pending_pods::explain_unready;
use crate::engine::ProposedTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule};

impl Withdrawal {
    /// Whether the rule is removed.
    #[must_use]
    pub fn removes(&self, rule: &DeviceTaintRule) -> bool {
        self.removed.iter().any(|name| *name == rule.name.as_str())
    }

    /// The units, with only the rules that are removed: devices of the others stay tainted, and are not waited for.
    #[must_use]
    pub fn removed_rules_of(&self, units: Vec<UnitState>) -> Vec<UnitState> {
        let units = units.into_iter().map(|unit| UnitState {
            rules: unit
                .rules
                .into_iter()
                .filter(|rule| self.removes(rule))
                .collect(),
            ..unit
        });
        units.collect()
    }
}

/// The taints of removed rules. None has a rule: that is gone when the devices are read again.
#[must_use]
pub fn removed_taints(units: &[UnitState], now: Timestamp) -> Vec<ProposedTaint> {
    let rules = units.iter().flat_map(|unit| &unit.rules);
    rules
        .map(|rule| ProposedTaint {
            rule: None,
            ..ProposedTaint::of_rule(rule, now)
        })
        .collect()
}

/// The taints and the devices, with those that have other names now by these.
#[must_use]
pub fn under_new_names(
    taints: Vec<ProposedTaint>,
    devices: BTreeSet<DeviceId>,
    renamed: &BTreeMap<DeviceId, DeviceId>,
) -> (Vec<ProposedTaint>, BTreeSet<DeviceId>) {
    let new_name = |id: DeviceId| renamed.get(&id).cloned().unwrap_or(id);
    let taints = taints.into_iter().map(|taint| {
        let named = taint.selector.as_ref().and_then(DeviceSelector::device_id);
        ProposedTaint {
            selector: named.map(|id| new_name(id).into()).or(taint.selector),
            ..taint
        }
    });
    (
        taints.collect(),
        devices.into_iter().map(new_name).collect(),
    )
}

/// The lines before the question of a restoration: its units, and the owners of its rules. Where nobody can be asked, the
/// owners are below the refusal instead, so that they stand once.
#[must_use]
pub fn asked_lines(units: Vec<String>, owners: &[String], is_refused: bool) -> Vec<String> {
    let owners = owners.iter().filter(|_| !is_refused);
    let owners = owners.map(|line| format!("  {line}"));
    units.into_iter().chain(owners).collect()
}

/// What still keeps restored devices from being allocated, one line each; empty if they can be allocated. `is_over` says
/// whether the time to wait is over.
///
/// # Errors
///
/// The time is over, or only rules keep the devices back, which this program does not remove (code 5).
pub fn left_to_allocate(kept: Vec<KeptBack>, is_over: bool) -> Result<Vec<String>, Failure> {
    let goes_on = kept.is_empty() || may_be_released(&kept) && !is_over;
    let lines = kept.into_iter().map(|kept| kept.line).collect();
    if goes_on {
        return Ok(lines);
    }
    Err(timed_out(
        "the rules are removed, but some devices cannot be allocated",
        lines,
    ))
}

/// The workloads that are not ready yet, one line each; empty if all are. `is_over` says whether the time to wait is over.
///
/// # Errors
///
/// The time is over (code 5), or some workloads could not be read.
pub fn left_to_be_ready(
    left: Result<Vec<UnreadyWorkload>, Vec<String>>,
    is_over: bool,
) -> Result<Vec<String>, Failure> {
    let left = left.map_err(|unread| {
        let failure = Failure::new(
            ExitStatus::Failed,
            "the devices can be allocated, but it is unknown whether workloads are ready",
        );
        unread.iter().fold(failure, |failure, what| {
            failure.detail(format!("could not be read: {what}"))
        })
    })?;
    let lines = left.iter().map(|workload| workload.line.clone()).collect();
    if left.is_empty() || !is_over {
        return Ok(lines);
    }
    let failure = timed_out(
        "the devices can be allocated, but some workloads are not ready",
        lines,
    );
    let namespaces = left.iter().map(|workload| &workload.namespace);
    let hints = explain_unready(namespaces).into_iter();
    Err(hints.fold(failure, Failure::hint))
}

/// Says `what` is the case, and what is `left`.
fn timed_out(what: &'static str, left: Vec<String>) -> Failure {
    let failure = Failure::new(ExitStatus::TimedOut, what);
    left.into_iter().fold(failure, |failure, line| {
        failure.detail(format!("left: {line}"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::state::UnitProgress;
    use super::*;
    use crate::decide::testing::{named, selector};
    use crate::engine::testing::{device, now};

    /// A unit with the rules `a` and `b`.
    fn unit() -> UnitState {
        UnitState {
            name: "node-7".to_owned(),
            rules: vec![named("a", "NoSchedule"), named("b", "NoSchedule")],
            progress: UnitProgress::Idle,
        }
    }

    #[test]
    fn who_is_asked_sees_the_owners_and_who_is_refused_sees_them_once() {
        let (units, owners) = (vec!["  unit a".to_owned()], ["b of bob".to_owned()]);
        let asked = asked_lines(units.clone(), &owners, false);
        assert_eq!(asked, ["  unit a", "  b of bob"]);
        assert_eq!(asked_lines(units.clone(), &owners, true), units);
    }

    #[test]
    fn only_devices_of_removed_rules_are_waited_for() {
        let withdrawal = Withdrawal {
            removed: vec!["b".to_owned()],
            ..Withdrawal::default()
        };
        let units = withdrawal.removed_rules_of(vec![unit()]);
        let names: Vec<&str> = units[0]
            .rules
            .iter()
            .map(|rule| rule.name.as_str())
            .collect();
        assert_eq!(names, ["b"]);
        let taints = removed_taints(&units, now());
        assert_eq!((taints.len(), taints[0].rule.clone()), (1, None));
        assert_eq!(removed_taints(&[unit()], now()).len(), 2);
    }

    #[test]
    fn devices_that_were_renamed_are_waited_for_by_their_new_names() {
        let mut taints = removed_taints(&[unit()], now());
        taints[0].selector = Some(selector("gpu-0"));
        taints[1].selector = Some(selector("gpu-1"));
        let renamed = [(device("gpu-0"), device("gpu-8"))].into();
        let devices = [device("gpu-0"), device("gpu-1")].into();
        let (taints, devices) = under_new_names(taints, devices, &renamed);
        assert_eq!(devices, [device("gpu-1"), device("gpu-8")].into());
        let selected = taints.iter().map(|taint| {
            let selector = taint.selector.as_ref().expect("a selector");
            selector.device_id().expect("one device")
        });
        assert_eq!(
            selected.collect::<Vec<_>>(),
            [device("gpu-8"), device("gpu-1")]
        );
    }

    #[test]
    fn a_restoration_waits_for_devices_until_its_time_is_over_and_never_for_rules() {
        let kept = |is_by_rule| KeptBack {
            line: "1 device".to_owned(),
            is_by_rule,
        };
        for (kept, is_over, left) in [
            (vec![], false, Ok(0)),
            (vec![], true, Ok(0)),
            (vec![kept(false)], false, Ok(1)),
            (vec![kept(false)], true, Err(1)),
            (vec![kept(true)], false, Err(1)),
            (vec![kept(true), kept(false)], false, Ok(2)),
            (vec![kept(true), kept(false)], true, Err(2)),
        ] {
            let found = left_to_allocate(kept.clone(), is_over);
            let found = found.map(|lines| lines.len()).map_err(|failure| {
                assert_eq!(failure.status(), ExitStatus::TimedOut);
                failure.details().len()
            });
            assert_eq!(found, left, "{kept:?} {is_over}");
        }
    }

    #[test]
    fn a_restoration_waits_for_workloads_until_its_time_is_over_and_fails_if_they_are_unknown() {
        let unready = || {
            vec![UnreadyWorkload {
                namespace: "team-a".into(),
                line: "Deployment team-a/web: 0 of 1 ready".to_owned(),
            }]
        };
        for (left, is_over, expected) in [
            (Ok(vec![]), true, Ok(0)),
            (Ok(unready()), false, Ok(1)),
            (Ok(unready()), true, Err(ExitStatus::TimedOut)),
            (
                Err(vec!["denied".to_owned()]),
                false,
                Err(ExitStatus::Failed),
            ),
        ] {
            let found = left_to_be_ready(left, is_over);
            let found = found
                .map(|lines| lines.len())
                .map_err(|failure| failure.status());
            assert_eq!(found, expected);
        }
    }
}
