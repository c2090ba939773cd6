//! What is observed at each look, from the moment on that the devices are tainted.

use std::collections::BTreeSet;

use super::plan::RoomPlan;
use super::run::{Competitor, PodProgress, RemainingPod, StageFacts};
use super::terms::kept_for;
use crate::model::{DeviceId, DeviceTaintRule, NamespacedName, Pod, ResourceClaim, Snapshot, Uid};

/// The claims that held the devices before anything was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occupants {
    claims: BTreeSet<Uid>,
}

impl Occupants {
    /// The claims that hold devices now.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let claims = snapshot.claims.iter();
        let holding = claims.filter(|claim| claim.allocation.is_some());
        Self {
            claims: holding.map(|claim| claim.uid.clone()).collect(),
        }
    }
}

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub struct StageView<'a> {
    /// The cluster now, with the pods that use the devices.
    pub snapshot: &'a Snapshot,
    /// The waiting pod now; absent where it is gone.
    pub pod: Option<&'a Pod>,
    /// Its UID.
    pub uid: &'a Uid,
    /// Its claims, by name.
    pub claims: &'a [NamespacedName],
    /// The rules that were made.
    pub rules: &'a [DeviceTaintRule],
    /// Who held devices before.
    pub before: &'a Occupants,
}

/// The facts of a look.
#[must_use]
pub fn stage_facts(plan: &RoomPlan, view: &StageView<'_>) -> StageFacts {
    let own = || {
        let claims = view.snapshot.claims.iter();
        claims.filter(|claim| view.claims.contains(&claim.name))
    };
    let held = own().flat_map(|claim| claim.allocation.iter().flat_map(|it| &it.results));
    StageFacts {
        progress: progress(view.pod, view.uid),
        devices: held.map(|result| result.device.clone()).collect(),
        remaining: remaining(plan, view.snapshot),
        competitors: competitors(&plan.chosen.set.devices, view),
        reversed: reversed(view),
    }
}

impl StageFacts {
    /// The facts of a pod for which nobody is evicted; absent where it is gone.
    #[must_use]
    pub fn of_pod(pod: Option<&Pod>, uid: &Uid) -> Self {
        Self {
            progress: progress(pod, uid),
            devices: BTreeSet::new(),
            remaining: Vec::new(),
            competitors: Vec::new(),
            reversed: None,
        }
    }

    /// Whether the claims were read before the pod was scheduled, and the pod after it: its devices are in the next look.
    #[must_use]
    pub fn precedes_scheduling(&self) -> bool {
        matches!(self.progress, PodProgress::Scheduled(_)) && self.devices.is_empty()
    }
}

fn progress(pod: Option<&Pod>, uid: &Uid) -> PodProgress {
    let Some(pod) = pod.filter(|pod| pod.uid == *uid) else {
        return PodProgress::Gone;
    };
    match &pod.node {
        Some(node) => PodProgress::Scheduled(node.clone()),
        // The scheduler skips pods that are terminating, so this one never gets a node.
        None if pod.deletion.is_some() => PodProgress::Gone,
        None => PodProgress::Pending(pod.has_no_place().map(str::to_owned)),
    }
}

/// The pods of the plan that still have a claim with a device that they are to leave.
fn remaining(plan: &RoomPlan, snapshot: &Snapshot) -> Vec<RemainingPod> {
    let emptied = &plan.chosen.set.emptied;
    let holds = |claim: &&ResourceClaim| {
        let mut results = claim.allocation.iter().flat_map(|it| &it.results);
        results.any(|result| emptied.contains(&result.device))
    };
    let holding = snapshot.claims.iter().filter(holds);
    let users: BTreeSet<&Uid> = holding
        .flat_map(|claim| claim.reserved_for.iter().map(|one| &one.uid))
        .collect();
    let left = plan.chosen.pods.iter();
    left.filter(|pod| users.contains(&pod.uid))
        .map(|pod| {
            let mut known = snapshot.pods.iter();
            let found = known.find(|found| found.uid == pod.uid);
            RemainingPod {
                name: pod.name.clone(),
                uid: pod.uid.clone(),
                has_budget: pod.has_budget,
                // A pod that is gone while its claim is still reserved for it needs no eviction.
                is_terminating: found.is_none_or(|pod| pod.deletion.is_some()),
            }
        })
        .collect()
}

/// The claims of others that hold one of the devices, and held nothing before.
fn competitors(devices: &BTreeSet<DeviceId>, view: &StageView<'_>) -> Vec<Competitor> {
    let claims = view.snapshot.claims.iter();
    let others = claims.filter(|claim| {
        // A claim that held a device before may hold it until its pods have left. It takes nothing from the
        // waiting pod.
        !view.claims.contains(&claim.name) && !view.before.claims.contains(&claim.uid)
    });
    let found = others.filter_map(|claim| {
        let mut results = claim.allocation.iter().flat_map(|it| &it.results);
        // Admin access leaves the device free for others.
        let taken = results.find(|it| !it.admin_access && devices.contains(&it.device))?;
        Some(Competitor {
            device: taken.device.clone(),
            claim: claim.name.clone(),
            pods: claim
                .reserved_for
                .iter()
                .filter(|one| &*one.resource == "pods")
                .map(|one| NamespacedName {
                    namespace: claim.name.namespace.clone(),
                    name: one.name.clone(),
                })
                .collect(),
        })
    });
    found.collect()
}

/// What somebody else did to a rule that was made.
fn reversed(view: &StageView<'_>) -> Option<String> {
    let known = &view.snapshot.rules;
    view.rules.iter().find_map(|rule| {
        let name = &rule.name;
        let Some(now) = known.iter().find(|now| now.name == *name) else {
            return Some(format!("rule {name} was removed"));
        };
        if now.uid != rule.uid {
            return Some(format!("rule {name} was removed and recreated"));
        }
        // The effect is left out: this run raises it itself.
        let is_other = now.selector != rule.selector
            || kept_for(now) != kept_for(rule)
            || now.taint.value != rule.taint.value;
        is_other.then(|| format!("rule {name} was changed"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::plan::{PlannedEviction, PlannedRoom};
    use super::super::terms::{TAINT_KEY, taint};
    use super::*;
    use crate::engine::allocator::room::{RoomCost, RoomSet};
    use crate::model::{Deletion, Effect, RuleMetadata};
    use crate::report::testing::{claim, claim_in_use, device, now, pod};

    fn plan(leaving: &[&Pod]) -> RoomPlan {
        let pods = leaving.iter().map(|pod| PlannedEviction {
            name: pod.name.clone(),
            uid: pod.uid.clone(),
            node: None,
            priority: 0,
            grace_period_seconds: 1,
            controller: None,
            has_budget: true,
        });
        RoomPlan {
            chosen: PlannedRoom {
                set: RoomSet {
                    node: None,
                    evicted: vec![0],
                    devices: [device("gpu-0")].into(),
                    emptied: [device("gpu-0")].into(),
                    kept_free: BTreeSet::new(),
                    cost: RoomCost::NONE,
                },
                pods: pods.collect(),
            },
            runner_up: None,
            is_proved: true,
            unknown: Vec::new(),
            leaving: Vec::new(),
            closed: Default::default(),
        }
    }

    #[test]
    fn each_pod_of_a_plan_is_found_by_its_uid() {
        let (web, db) = (pod("team-a", "web"), pod("team-a", "db"));
        let chosen = plan(&[&web, &db]).chosen;
        let found = |pod: &Pod| chosen.pod(&pod.uid).map(|planned| planned.name.clone());
        assert_eq!(found(&web), Some(web.name.clone()));
        assert_eq!(found(&db), Some(db.name.clone()));
        assert_eq!(found(&pod("team-a", "other")), None);
    }

    /// The facts of a look at `snapshot`, in which the plan evicts web and `critical` waits.
    fn facts(snapshot: &Snapshot, before: &Occupants, rules: &[DeviceTaintRule]) -> StageFacts {
        let waiting = critical();
        let own = [claim(&waiting).name];
        let view = StageView {
            snapshot,
            pod: Some(&waiting),
            uid: &waiting.uid,
            claims: &own,
            rules,
            before,
        };
        stage_facts(&plan(&[&pod("team-a", "web")]), &view)
    }

    fn critical() -> Pod {
        let mut waiting = pod("team-a", "critical");
        waiting.node = None;
        waiting
    }

    #[test]
    fn a_pod_has_left_once_no_claim_with_a_device_of_the_plan_is_reserved_for_it() {
        let web = pod("team-a", "web");
        let mut snapshot = Snapshot {
            claims: vec![claim_in_use(&web), claim_in_use(&pod("team-a", "other"))],
            pods: vec![pod("team-a", "other"), web.clone()],
            ..Snapshot::default()
        };
        let before = Occupants::of(&snapshot);
        let left = |snapshot: &Snapshot| -> Vec<(String, bool)> {
            let remaining = facts(snapshot, &before, &[]).remaining.into_iter();
            let seen = remaining.map(|pod| (pod.name.name.to_string(), pod.is_terminating));
            seen.collect()
        };
        assert_eq!(left(&snapshot), [("web".to_owned(), false)]);
        snapshot.pods[1].deletion = Some(Deletion {
            at: now(),
            grace_period_seconds: None,
            finalizers: Vec::new(),
        });
        assert_eq!(left(&snapshot), [("web".to_owned(), true)]);
        snapshot.pods.pop();
        assert_eq!(left(&snapshot), [("web".to_owned(), true)], "it is gone");
        let results = &mut snapshot.claims[0].allocation.as_mut().unwrap().results;
        results[0].device = device("gpu-9");
        assert_eq!(left(&snapshot), []);
    }

    #[test]
    fn who_takes_a_device_of_the_plan_and_had_none_before_is_a_competitor() {
        let taken = |change: &dyn Fn(&mut ResourceClaim)| {
            let mut other = claim_in_use(&pod("team-b", "late"));
            change(&mut other);
            Snapshot {
                claims: vec![other],
                ..Snapshot::default()
            }
        };
        let none = Occupants::default();
        let found = facts(&taken(&|_| ()), &none, &[]).competitors;
        let [late] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(late.pods, [pod("team-b", "late").name]);
        let results = |claim: &mut ResourceClaim| claim.allocation.take().unwrap().results;
        type Change<'a> = &'a dyn Fn(&mut ResourceClaim);
        let changes: [Change<'_>; 4] = [
            &|claim| drop(results(claim)),
            &|claim| claim.allocation.as_mut().unwrap().results[0].admin_access = true,
            &|claim| claim.allocation.as_mut().unwrap().results[0].device = device("gpu-9"),
            &|own| own.name = claim(&critical()).name,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let found = facts(&taken(change), &none, &[]).competitors;
            assert_eq!(found, [], "{number}");
        }
        let unchanged = taken(&|_| ());
        let before = Occupants::of(&unchanged);
        assert_eq!(facts(&unchanged, &before, &[]).competitors, []);
        // Nobody held anything with a claim that was not allocated.
        let pending = taken(&|claim| claim.allocation = None);
        let before = Occupants::of(&pending);
        assert_eq!(facts(&unchanged, &before, &[]).competitors.len(), 1);
    }

    #[test]
    fn a_rule_that_somebody_has_removed_or_changed_is_seen_and_a_raised_effect_is_ours() {
        let made = |name: &str| {
            let mut rule = crate::decide::testing::named(name, "NoSchedule");
            rule.taint = taint(&critical().uid, Effect::NoSchedule);
            let labels = &mut rule.metadata.labels;
            labels.insert(
                RuleMetadata::MAKE_ROOM.to_owned(),
                critical().uid.to_string(),
            );
            rule
        };
        assert_eq!(made("a").taint.key, TAINT_KEY);
        let rules = [made("a"), made("b")];
        let seen = |change: &dyn Fn(&mut Vec<DeviceTaintRule>)| {
            let mut rules_now = vec![made("b"), made("a")];
            change(&mut rules_now);
            let snapshot = Snapshot {
                rules: rules_now,
                ..Snapshot::default()
            };
            facts(&snapshot, &Occupants::default(), &rules).reversed
        };
        assert_eq!(seen(&|_| ()), None);
        assert_eq!(seen(&|now| now[0].taint.effect = Effect::NoExecute), None);
        type Change<'a> = &'a dyn Fn(&mut Vec<DeviceTaintRule>);
        let changes: [(Change<'_>, &str); 5] = [
            (&|now| drop(now.pop()), "rule a was removed"),
            (
                &|now| now[1].uid = "other".into(),
                "rule a was removed and recreated",
            ),
            (&|now| now[0].selector = None, "rule b was changed"),
            (&|now| now[0].metadata.labels.clear(), "rule b was changed"),
            (&|now| now[0].taint.value.push('x'), "rule b was changed"),
        ];
        for (change, expected) in changes {
            assert_eq!(seen(change).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_pod_waits_until_it_has_a_node_or_is_on_its_way_out_or_is_another_one() {
        let uid = critical().uid;
        let waiting = critical();
        let waits = PodProgress::Pending(None);
        assert_eq!(StageFacts::of_pod(Some(&waiting), &uid).progress, waits);
        let placed = pod("team-a", "critical");
        let scheduled = PodProgress::Scheduled(placed.node.clone().unwrap());
        assert_eq!(StageFacts::of_pod(Some(&placed), &uid).progress, scheduled);
        let mut leaving = critical();
        leaving.deletion = Some(Deletion {
            at: now(),
            grace_period_seconds: None,
            finalizers: Vec::new(),
        });
        let mut another = pod("team-a", "critical");
        another.uid = "another".into();
        for found in [None, Some(&leaving), Some(&another)] {
            let progress = StageFacts::of_pod(found, &uid).progress;
            assert_eq!(progress, PodProgress::Gone, "{found:?}");
        }
    }
}
