//! Ends of waits, without a server and without time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::world::{GPU_0, NOW, World, at, device_id, facts, one_pod, proposed};
use crate::holders::{HoldingClaim, NotEvictedReason, UnevictedPod, holders, staying};
use crate::holders::{PodEnd, UnreleasedPod};
use crate::model::{
    Affects, Containers, Deletion, DeviceSelector, DeviceTaintRule, Effect, EvictionCondition, Gap,
    Kind, Phase, Pod, Sandbox,
};
use crate::rule_lifecycle::{EvictionStatus, PendingEviction, pending_evictions};
use crate::settle::{
    AdminAccess, Freshness, Goal, Observation, OpenCondition, Patience, Settle, UnreachableGoal,
    WaitFacts, WaitStep,
};

const MAINTENANCE: &str = "example.com/maintenance:NoExecute";
const PATIENCE: Patience = Patience {
    settle: Duration::from_secs(10),
    timeout: Duration::from_secs(60),
};

/// `drain`, at generation 2, whose evictions are over as the controller says.
fn drain() -> DeviceTaintRule {
    let mut world = World::default().rule("drain", GPU_0, MAINTENANCE);
    let mut rule = world.snapshot.rules.remove(0);
    rule.generation = 2;
    rule.condition = Some(EvictionCondition {
        status: "False".to_owned(),
        reason: "Completed".to_owned(),
        observed_generation: 2,
        ..EvictionCondition::default()
    });
    rule
}

fn gap(affects: Affects) -> Gap {
    Gap {
        what: "things".to_owned(),
        why: "cannot list them".to_owned(),
        affects,
    }
}

/// Nothing is left, and that was read for this look.
fn quiet(rules: &[DeviceTaintRule]) -> WaitFacts<'_> {
    WaitFacts {
        rules,
        left: &[],
        pods: &[],
        claims: &[],
        holders: &[],
        staying: &[],
        departed: &[],
        unread: &[],
        freshness: Freshness::Read,
    }
}

/// As [`quiet`], from what was kept current alone.
fn kept(rules: &[DeviceTaintRule]) -> WaitFacts<'_> {
    WaitFacts {
        freshness: Freshness::Kept,
        ..quiet(rules)
    }
}

/// As [`quiet`], with pods that are left.
fn remaining<'a>(left: &'a [PendingEviction<'a>], rules: &'a [DeviceTaintRule]) -> WaitFacts<'a> {
    WaitFacts {
        left,
        ..quiet(rules)
    }
}

fn wait(goal: Goal, rules: &[DeviceTaintRule]) -> Settle {
    Settle::new(goal, rules, PATIENCE)
}

/// The next step after so many seconds.
fn step(wait: &mut Settle, facts: &WaitFacts<'_>, seconds: u64) -> WaitStep {
    wait.observe(facts, Duration::from_secs(seconds)).step
}

fn until(seconds: u64) -> WaitStep {
    WaitStep::WaitUntil(Duration::from_secs(seconds))
}

/// The pods of `world` that are left of those on `GPU_0`.
fn with_left<T>(world: &World, then: impl FnOnce(&[PendingEviction<'_>]) -> T) -> T {
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let impact = world.preview(&taints);
    then(&pending_evictions(
        &impact,
        &facts(&world.snapshot, &BTreeMap::new()),
        at(NOW),
    ))
}

#[test]
fn whoever_comes_within_the_settle_time_starts_it_anew() {
    let rules = [drain()];
    let mut wait = wait(Goal::Evicted, &rules);
    assert_eq!(step(&mut wait, &quiet(&rules), 0), until(10));
    with_left(&one_pod(), |left| {
        let facts = remaining(left, &rules);
        assert_eq!(step(&mut wait, &facts, 9), until(60));
    });
    assert_eq!(step(&mut wait, &quiet(&rules), 11), until(21));
    assert_eq!(step(&mut wait, &quiet(&rules), 21), WaitStep::Met);
}

#[test]
fn facts_that_were_only_kept_current_are_read_again_before_they_count() {
    let rules = [drain()];
    let kept = kept(&rules);
    let mut wait = wait(Goal::Evicted, &rules);
    assert_eq!(step(&mut wait, &kept, 0), until(10));
    assert_eq!(step(&mut wait, &kept, 10), WaitStep::ReadAgain);
    with_left(&one_pod(), |left| {
        let facts = remaining(left, &rules);
        assert_eq!(step(&mut wait, &facts, 11), until(60), "it was not so");
    });
    assert_eq!(step(&mut wait, &quiet(&rules), 12), until(22));
    assert_eq!(step(&mut wait, &quiet(&rules), 22), WaitStep::Met);
}

#[test]
fn terminating_pods_are_left() {
    let rules = [drain()];
    let world = one_pod().but_pod(|pod| {
        pod.deletion = Some(crate::testing::deletion(at(NOW - 100), Some(30)));
    });
    with_left(&world, |left| {
        let facts = remaining(left, &rules);
        let mut wait = wait(Goal::Evicted, &rules);
        let Observation {
            step,
            open,
            all,
            spared,
            ..
        } = wait.observe(&facts, Duration::ZERO);
        assert_eq!(step, until(60));
        assert!(matches!(open[..], [OpenCondition::Pod(pod)] if pod.obstacle.is_terminating()));
        assert_eq!((all, spared), (1, 0));
        assert_eq!(
            wait.observe(&facts, Duration::from_secs(61)).step,
            WaitStep::TimedOut
        );
    });
}

#[test]
fn who_is_there_and_not_to_go_any_more_is_spared_and_not_gone() {
    let rules = [drain()];
    let world = one_pod();
    let pods = &world.snapshot.pods;
    let mut wait = wait(Goal::Evicted, &rules);
    with_left(&world, |left| {
        let facts = WaitFacts {
            left,
            pods,
            ..quiet(&rules)
        };
        let seen = wait.observe(&facts, Duration::ZERO);
        assert_eq!((seen.all, seen.spared), (1, 0), "it is left");
    });
    let deleted = WaitFacts {
        pods,
        claims: &world.snapshot.claims,
        ..quiet(&[])
    };
    let seen = wait.observe(&deleted, Duration::from_secs(1));
    assert_eq!((seen.all, seen.spared), (1, 1), "its rule was deleted");
    let mut released = world.snapshot.claims.clone();
    released.iter_mut().for_each(|it| it.reserved_for.clear());
    let claims = &released;
    let seen = wait.observe(&WaitFacts { claims, ..deleted }, Duration::from_secs(1));
    let there = (seen.spared, seen.ended);
    assert_eq!(there, (0, 0), "without a watch, its pod is as it was read");
    let gone = wait.observe(&quiet(&[]), Duration::from_secs(2));
    assert_eq!((gone.all, gone.spared), (1, 0), "it is gone");
}

#[test]
fn who_was_to_go_before_the_first_look_counts() {
    let rules = [drain()];
    let mut wait = wait(Goal::Evicted, &rules).expecting(["uid-1".into(), "uid-2".into()]);
    let seen = wait.observe(&quiet(&rules), Duration::ZERO);
    assert_eq!((seen.all, seen.spared), (2, 0));
}

#[test]
fn the_controllers_word_counts_only_about_the_rule_as_it_is() {
    let mut silent = drain();
    silent.condition = None;
    let of = |status: &str, observed_generation| {
        let mut rule = drain();
        let condition = rule.condition.as_mut().expect("a condition");
        condition.status = status.to_owned();
        condition.observed_generation = observed_generation;
        rule
    };
    for (name, rule, expected) in [
        ("earlier state", of("False", 1), EvictionStatus::Outdated),
        ("pending", of("True", 2), EvictionStatus::Leftover),
        ("unclear", of("Unknown", 2), EvictionStatus::Unknown),
        ("silent", silent, EvictionStatus::Unknown),
    ] {
        let rules = [rule];
        let facts = quiet(&rules);
        let mut wait = wait(Goal::Evicted, &rules);
        assert_eq!(step(&mut wait, &facts, 0), until(60), "{name}");
        let seen = wait.observe(&facts, Duration::from_secs(59));
        let [OpenCondition::Unsettled { evicting, .. }] = seen.open[..] else {
            panic!("{name}: {:?}", seen.open);
        };
        assert_eq!(evicting, expected, "{name}");
        assert_eq!(step(&mut wait, &facts, 60), WaitStep::TimedOut, "{name}");
    }
}

#[test]
fn what_hides_evictions_ends_the_wait_at_once_and_details_do_not_matter() {
    let rules = [drain()];
    for (affects, expected) in [
        (
            Affects::Evictions,
            WaitStep::Never(UnreachableGoal::Unknowable(vec![gap(Affects::Evictions)])),
        ),
        (Affects::Details, until(10)),
        (Affects::Nothing, until(10)),
    ] {
        let gaps = [gap(affects)];
        let facts = WaitFacts {
            unread: &gaps,
            ..quiet(&rules)
        };
        let mut evicted = wait(Goal::Evicted, &rules);
        assert_eq!(step(&mut evicted, &facts, 0), expected, "{affects:?}");
        let mut observed = wait(Goal::Observed, &rules);
        assert_eq!(step(&mut observed, &facts, 0), WaitStep::Met, "{affects:?}");
    }
}

#[test]
fn slices_hide_who_holds_hardware_and_no_evictions() {
    let rules = [drain()];
    let slices = Gap::of(Kind::ResourceSlice, "cannot list them");
    let facts = WaitFacts {
        unread: std::slice::from_ref(&slices),
        ..quiet(&rules)
    };
    let mut evicted = wait(Goal::Evicted, &rules);
    assert_eq!(step(&mut evicted, &facts, 0), until(10));
    // Pods on partitions hold the hardware, and only slices say which devices are partitions of it.
    let mut idle = wait(Goal::Idle(AdminAccess::Counted), &rules);
    assert_eq!(
        step(&mut idle, &facts, 0),
        WaitStep::Never(UnreachableGoal::Unknowable(vec![slices.clone()]))
    );
}

#[test]
fn a_wait_that_is_shorter_than_its_settle_time_runs_out() {
    let rules = [drain()];
    let facts = quiet(&rules);
    let patience = Patience {
        timeout: Duration::from_secs(5),
        ..PATIENCE
    };
    let mut wait = Settle::new(Goal::Evicted, &rules, patience);
    assert_eq!(step(&mut wait, &facts, 0), until(5));
    let seen = wait.observe(&facts, Duration::from_secs(5));
    assert_eq!(seen.step, WaitStep::TimedOut);
    let settle = PATIENCE.settle;
    assert_eq!(seen.open, [OpenCondition::Settling { settle }]);
}

#[test]
fn times_beyond_all_reason_are_waited_for_as_they_are() {
    let rules = [drain()];
    let patience = Patience {
        settle: Duration::MAX,
        timeout: Duration::MAX,
    };
    let mut wait = Settle::new(Goal::Evicted, &rules, patience);
    let forever = WaitStep::WaitUntil(Duration::MAX);
    assert_eq!(step(&mut wait, &quiet(&rules), 7), forever);
}

#[test]
fn observed_means_the_current_generation_whatever_the_controller_says() {
    let mut rule = drain();
    rule.taint.effect = Effect::None;
    let rules = [rule.clone()];
    let mut met = wait(Goal::Observed, &rules);
    assert_eq!(step(&mut met, &quiet(&rules), 0), WaitStep::Met);
    let kept = kept(&rules);
    assert_eq!(step(&mut met, &kept, 0), WaitStep::ReadAgain);

    rule.generation = 3;
    let changed = [rule];
    let mut open = wait(Goal::Observed, &rules);
    let seen = open.observe(&quiet(&changed), Duration::ZERO);
    assert_eq!(seen.step, until(60));
    assert_eq!(seen.open, [OpenCondition::Unobserved(&changed[0])]);
    let gone = WaitStep::Never(UnreachableGoal::Gone("drain".into()));
    assert_eq!(step(&mut open, &quiet(&[]), 1), gone);
}

#[test]
fn deleted_means_that_this_rule_is_gone_and_not_only_its_name() {
    let rules = [drain()];
    let mut wait = wait(Goal::Deleted, &rules);
    let seen = wait.observe(&quiet(&rules), Duration::ZERO);
    assert_eq!(seen.step, until(60));
    assert_eq!(seen.open, [OpenCondition::Present(&rules[0])]);
    let mut another = drain();
    another.uid = "another".into();
    assert_eq!(step(&mut wait, &quiet(&[another]), 1), WaitStep::Met);
    assert_eq!(step(&mut wait, &quiet(&[]), 1), WaitStep::Met);
    assert_eq!(step(&mut wait, &quiet(&rules), 60), WaitStep::TimedOut);
}

#[test]
fn a_wait_that_ends_before_the_last_pod_is_due_cannot_be_met() {
    let within = |seconds| Patience {
        timeout: Duration::from_secs(seconds),
        ..PATIENCE
    };
    let shortfall = within(309)
        .shortfall(at(NOW + 300), at(NOW))
        .expect("too short");
    assert_eq!(shortfall.last, at(NOW + 300));
    assert_eq!(shortfall.until_last, Duration::from_secs(300));
    assert_eq!(shortfall.needed, Duration::from_secs(310));
    assert_eq!(within(310).shortfall(at(NOW + 300), at(NOW)), None);
    for due in [NOW, NOW - 1_000] {
        assert_eq!(within(9).shortfall(at(due), at(NOW)), None, "due already");
    }
    assert!(within(9).is_too_short_to_settle() && !within(10).is_too_short_to_settle());
    assert!(
        within(0)
            .shortfall(Timestamp::MAX, Timestamp::MIN)
            .is_some()
    );
}

fn idle_rule(effect: &str) -> DeviceTaintRule {
    let mut rule = drain();
    rule.taint.effect = effect.into();
    rule
}

/// The claims of `world` that hold `GPU_0`.
fn held_by(world: &World) -> Vec<HoldingClaim<'_>> {
    holders(&world.snapshot, &BTreeSet::from([device_id(GPU_0)]))
}

#[test]
fn devices_are_idle_when_no_claim_holds_them_for_the_settle_time() {
    for effect in ["NoSchedule", "NoExecute"] {
        let rules = [idle_rule(effect)];
        let world = one_pod();
        let holders = held_by(&world);
        let held = WaitFacts {
            holders: &holders,
            ..quiet(&rules)
        };
        let mut wait = wait(Goal::Idle(AdminAccess::Counted), &rules);
        let seen = wait.observe(&held, Duration::ZERO);
        assert_eq!(seen.step, until(60), "{effect}");
        assert_eq!(seen.open, [OpenCondition::Held(&holders[0])]);
        assert_eq!(step(&mut wait, &quiet(&rules), 5), until(15));
        assert_eq!(step(&mut wait, &held, 9), until(60), "a pod came");
        assert_eq!(step(&mut wait, &quiet(&rules), 20), until(30));
        assert_eq!(step(&mut wait, &quiet(&rules), 30), WaitStep::Met);
    }
}

#[test]
fn whoever_tolerates_the_taint_for_ever_holds_the_device_and_administrators_do() {
    let tolerant = World::default()
        .slice("gpu.example.com/node-a", &[("gpu-0", &[])])
        .claim("team/claim", &[GPU_0], &[":NoExecute"])
        .pod("team/pod", &["claim"]);
    let admin = tolerant.clone().but_claim(|claim| {
        let allocation = claim.allocation.as_mut().expect("a device");
        allocation.results[0].admin_access = true;
    });
    let ended = tolerant.clone().but_pod(|pod| pod.phase = Phase::Failed);
    let leaves = tolerant
        .clone()
        .but_pod(|pod| pod.deletion = Some(deleted()));
    for (world, expected) in [
        (tolerant, NotEvictedReason::Tolerates),
        (admin, NotEvictedReason::AdminAccess),
        (ended, NotEvictedReason::Ended),
        (leaves, NotEvictedReason::Leaving),
    ] {
        let taints = [proposed(GPU_0, MAINTENANCE)];
        let impact = world.preview(&taints);
        with_left(&world, |left| {
            assert!(left.is_empty(), "it is not one that is evicted: {left:?}");
            let found = staying(&impact, left);
            let stays: Vec<NotEvictedReason> = found.iter().map(|one| one.stay).collect();
            assert_eq!(stays, [expected]);
        });
        assert_eq!(held_by(&world).len(), 1, "{expected:?}");
    }
    let taints = [proposed(GPU_0, "example.com/maintenance:NoSchedule")];
    let world = one_pod();
    let stays = staying(&world.preview(&taints), &[]);
    assert_eq!(stays[0].stay, NotEvictedReason::EffectDoesNotEvict);
}

fn deleted() -> Deletion {
    crate::testing::deletion(at(NOW - 100), Some(30))
}

/// The pod of `one_pod` as it was last, which is gone from the second look on.
fn after_departure(last: impl FnOnce(&mut Pod)) -> (WaitStep, Vec<UnreleasedPod>) {
    let rules = [drain()];
    let world = one_pod().but_pod(|pod| pod.deletion = Some(deleted()));
    let mut wait = wait(Goal::Evicted, &rules);
    with_left(&world, |left| {
        let facts = WaitFacts {
            pods: &world.snapshot.pods,
            claims: &world.snapshot.claims,
            ..remaining(left, &rules)
        };
        assert_eq!(step(&mut wait, &facts, 0), until(60));
    });
    let departed = world.but_pod(last).snapshot.pods;
    let gone = WaitFacts {
        departed: &departed,
        ..quiet(&rules)
    };
    wait.observe(&gone, Duration::from_secs(1));
    let seen = wait.observe(&quiet(&rules), Duration::from_secs(11));
    (seen.step, not_released(seen.open))
}

fn not_released(open: Vec<OpenCondition<'_>>) -> Vec<UnreleasedPod> {
    let open = open.into_iter();
    let not_released = open.filter_map(|open| {
        let OpenCondition::NotReleased(pod) = open else {
            return None;
        };
        Some(pod)
    });
    not_released.collect()
}

#[test]
fn a_pod_that_was_running_when_it_went_was_deleted_by_force() {
    let (step, not_released) = after_departure(|_| {});
    assert_eq!(step, WaitStep::NotSeenReleased);
    assert_eq!(not_released.len(), 1);
    assert_eq!(not_released[0].pod.to_string(), "team/pod");
    assert_eq!(not_released[0].devices, [device_id(GPU_0)]);
    assert_eq!(not_released[0].end, PodEnd::ForceDeleted);
    // Its containers had ended, and its driver had not given anything back.
    let stuck = |pod: &mut Pod| pod.containers = Containers::Ended { at: None };
    assert_eq!(after_departure(stuck).0, WaitStep::NotSeenReleased);
    // Another client than its kubelet has said that it failed.
    let phase_alone = |pod: &mut Pod| pod.phase = Phase::Failed;
    assert_eq!(after_departure(phase_alone).0, WaitStep::NotSeenReleased);
}

#[test]
fn a_pod_that_was_not_to_be_evicted_and_was_deleted_by_force_keeps_the_devices_in_use() {
    let rules = [drain()];
    let world = one_pod();
    let pods = &world.snapshot.pods;
    let mut wait = wait(Goal::Evicted, &rules);
    let staying = [UnevictedPod {
        pod: &pods[0],
        stay: NotEvictedReason::Tolerates,
    }];
    let facts = WaitFacts {
        staying: &staying,
        pods,
        claims: &world.snapshot.claims,
        ..quiet(&rules)
    };
    assert_eq!(step(&mut wait, &facts, 0), until(10));
    let gone = WaitFacts {
        departed: pods,
        ..quiet(&rules)
    };
    wait.observe(&gone, Duration::from_secs(1));
    let seen = wait.observe(&quiet(&rules), Duration::from_secs(11));
    assert_eq!(seen.step, WaitStep::NotSeenReleased);
    assert!(
        matches!(&seen.open[..], [OpenCondition::NotReleased(pod)] if pod.devices == [device_id(GPU_0)])
    );
}

#[test]
fn a_pod_that_its_kubelet_has_ended_or_never_begun_is_gone() {
    for phase in [Phase::Failed, Phase::Succeeded] {
        let ended = |pod: &mut Pod| {
            pod.phase = phase.clone();
            pod.containers = Containers::Ended { at: None };
        };
        assert_eq!(
            after_departure(ended),
            (WaitStep::Met, Vec::new()),
            "{phase:?}"
        );
    }
    let never_begun = |pod: &mut Pod| {
        pod.phase = Phase::Pending;
        pod.containers = Containers::Unknown;
        pod.sandbox = Sandbox::Unknown;
    };
    assert_eq!(after_departure(never_begun), (WaitStep::Met, Vec::new()));
}

/// A wait that has seen a pod stuck, and by the next looks like these.
fn wait_on_stuck_pod(then: &[fn(&mut Pod)]) -> Settle {
    let rules = [drain()];
    let stuck = |pod: &mut Pod| {
        pod.deletion = Some(deleted());
        pod.containers = Containers::Ended {
            at: Some(at(NOW - 60)),
        };
        pod.sandbox = Sandbox::Down {
            since: Some(at(NOW - 60)),
        };
    };
    let mut wait = wait(Goal::Evicted, &rules);
    let unchanged: fn(&mut Pod) = |_| {};
    for change in std::iter::once(&unchanged).chain(then) {
        let world = one_pod().but_pod(stuck).but_pod(change);
        with_left(&world, |left| {
            let facts = WaitFacts {
                pods: &world.snapshot.pods,
                claims: &world.snapshot.claims,
                ..remaining(left, &rules)
            };
            wait.observe(&facts, Duration::ZERO);
        });
    }
    wait
}

/// End of such a pod that is gone by the next look; no watch told of it.
fn ends_of_stuck_pod(then: &[fn(&mut Pod)]) -> (Vec<PodEnd>, WaitStep) {
    let rules = [drain()];
    let mut wait = wait_on_stuck_pod(then);
    let facts = quiet(&rules);
    let seen = wait.observe(&facts, Duration::from_secs(1));
    let ends = not_released(seen.open).into_iter().map(|pod| pod.end);
    (ends.collect(), step(&mut wait, &quiet(&rules), 11))
}

#[test]
fn whoever_was_stuck_when_seen_last_and_is_gone_was_not_seen_to_be_released() {
    let not_observed = (vec![PodEnd::NotObserved], WaitStep::NotSeenReleased);
    assert_eq!(ends_of_stuck_pod(&[]), not_observed);
    // Another client than its kubelet has said that it failed.
    let failed: fn(&mut Pod) = |pod| {
        pod.phase = Phase::Failed;
        pod.containers = Containers::Running;
    };
    assert_eq!(ends_of_stuck_pod(&[failed]), not_observed);
}

#[test]
fn whoever_was_stuck_and_was_seen_to_end_is_gone() {
    let ended: fn(&mut Pod) = |pod| pod.phase = Phase::Succeeded;
    assert_eq!(ends_of_stuck_pod(&[ended]), (Vec::new(), WaitStep::Met));
}

#[test]
fn a_rule_that_is_about_something_else_now_is_not_waited_for() {
    let before = drain();
    let mut elsewhere = before.clone();
    elsewhere.selector = Some(DeviceSelector::default());
    let mut unselective = before.clone();
    unselective.selector = None;
    let mut keyed = before.clone();
    keyed.taint.key = "other".to_owned();
    let mut valued = before.clone();
    valued.taint.value = "other".to_owned();
    let mut weaker = before.clone();
    weaker.taint.effect = Effect::NoSchedule;
    for (changed, goal, is_over) in [
        (&elsewhere, Goal::Evicted, true),
        (&unselective, Goal::Idle(AdminAccess::Counted), true),
        (&keyed, Goal::Evicted, true),
        (&valued, Goal::Idle(AdminAccess::Counted), true),
        (&weaker, Goal::Idle(AdminAccess::Counted), false),
        (&keyed, Goal::Deleted, false),
        (&keyed, Goal::Observed, false),
    ] {
        let mut wait = wait(goal, std::slice::from_ref(&before));
        let facts = quiet(std::slice::from_ref(changed));
        let never = WaitStep::Never(UnreachableGoal::Changed(before.name.clone()));
        assert_eq!(step(&mut wait, &facts, 0) == never, is_over, "{goal:?}");
    }
}

#[test]
fn whoever_has_ended_is_not_one_who_is_let_off() {
    let rules = [drain()];
    let world = one_pod();
    let mut wait = wait(Goal::Evicted, &rules);
    with_left(&world, |left| {
        let facts = WaitFacts {
            left,
            pods: &world.snapshot.pods,
            ..quiet(&rules)
        };
        wait.observe(&facts, Duration::ZERO);
    });
    let ended = one_pod().but_pod(|pod| pod.phase = Phase::Succeeded);
    let facts = WaitFacts {
        pods: &ended.snapshot.pods,
        ..quiet(&rules)
    };
    let seen = wait.observe(&facts, Duration::from_secs(1));
    assert_eq!((seen.all, seen.spared, seen.ended), (1, 0, 1));
}
