//! Steps of a drain by single facts.

use std::collections::BTreeMap;
use std::time::Duration;

use super::facts::{IdleWait, IncludedClass, PodClass, UnitFacts, UnitPod, WorkloadState};
use super::run::{DrainLimits, DrainRun, DrainStep, UnitEnd};
use super::start::{RestartProgress, RestartState};
use super::testing::{limits, unit_pod};
use crate::decide::drain::run::EvictionReply;
use crate::engine::testing::{name, pod as running};
use crate::model::Uid;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn pod(name: &str, class: PodClass, workload: Option<&str>) -> UnitPod {
    UnitPod {
        workload: workload.map(Uid::from),
        ..unit_pod(&running("team-a", name), class)
    }
}

fn web(name: &str) -> UnitPod {
    pod(name, PodClass::Replicated, Some("web"))
}

fn facts(pods: &[UnitPod], ready: i32) -> UnitFacts {
    let state = WorkloadState {
        name: "ReplicaSet team-a/web".to_owned(),
        ready: Some(ready),
        wanted: Some(3),
        has_ended: false,
    };
    UnitFacts {
        pods: pods.to_vec(),
        workloads: BTreeMap::from([(Uid::from("web"), state)]),
        ..UnitFacts::default()
    }
}

fn terminating(mut pod: UnitPod) -> UnitPod {
    pod.is_terminating = true;
    pod
}

fn evicts(step: &DrainStep) -> Option<&str> {
    match step {
        DrainStep::Evict(uid) => Some(uid.as_str()),
        DrainStep::Restart(_) | DrainStep::Raise | DrainStep::Wait | DrainStep::Finished(_) => None,
    }
}

fn uid(pod: &UnitPod) -> Option<&str> {
    Some(pod.uid.as_str())
}

fn end(step: DrainStep) -> UnitEnd {
    match step {
        DrainStep::Finished(end) => end,
        DrainStep::Evict(_) | DrainStep::Restart(_) | DrainStep::Raise | DrainStep::Wait => {
            panic!("{step:?}")
        }
    }
}

fn run() -> DrainRun {
    DrainRun::new(limits(), false)
}

fn accept(run: &mut DrainRun, pod: &UnitPod, elapsed: u64) {
    run.replied(pod, &EvictionReply::Accepted, seconds(elapsed));
}

#[test]
fn the_next_pod_of_a_workload_leaves_when_as_many_are_ready_as_before() {
    let (one, two) = (web("web-1"), web("web-2"));
    let mut run = run();
    let both = [one.clone(), two.clone()];
    assert_eq!(evicts(&run.next(&facts(&both, 2), seconds(0))), uid(&one));
    accept(&mut run, &one, 0);
    let leaving = [terminating(one), two.clone()];
    assert_eq!(run.next(&facts(&leaving, 2), seconds(1)), DrainStep::Wait);
    let rest = [two.clone()];
    assert_eq!(run.next(&facts(&rest, 1), seconds(2)), DrainStep::Wait);
    // The first count after the pod is gone may be that from before.
    assert_eq!(run.next(&facts(&rest, 2), seconds(3)), DrainStep::Wait);
    assert_eq!(evicts(&run.next(&facts(&rest, 2), seconds(4))), uid(&two));
}

#[test]
fn a_pending_replacement_that_is_accepted_delays_the_next_pod_for_a_minute() {
    let (one, two) = (web("web-1"), web("web-2"));
    let accepting = DrainLimits {
        accept_unplaceable: true,
        timeout: seconds(600),
        ..limits()
    };
    let mut run = DrainRun::new(accepting, false);
    let both = [one.clone(), two.clone()];
    assert_eq!(evicts(&run.next(&facts(&both, 3), seconds(0))), uid(&one));
    accept(&mut run, &one, 0);
    let rest = [two.clone()];
    assert_eq!(run.next(&facts(&rest, 2), seconds(59)), DrainStep::Wait);
    assert_eq!(evicts(&run.next(&facts(&rest, 2), seconds(60))), uid(&two));
}

#[test]
fn a_refused_eviction_is_tried_again_later_each_time_and_others_go_on() {
    let refused = web("web-1");
    let other = pod("api-1", PodClass::Replicated, None);
    let mut run = run();
    let both = [refused.clone(), other.clone()];
    let reply = EvictionReply::Refused("needs 3".to_owned());
    assert_eq!(
        evicts(&run.next(&facts(&both, 3), seconds(0))),
        uid(&refused)
    );
    run.replied(&refused, &reply, seconds(0));
    assert_eq!(evicts(&run.next(&facts(&both, 3), seconds(0))), uid(&other));
    accept(&mut run, &other, 0);
    let rest = facts(std::slice::from_ref(&refused), 3);
    let mut at = 0;
    for wait in [1, 2, 4, 5, 5] {
        assert_eq!(run.next(&rest, seconds(at + wait - 1)), DrainStep::Wait);
        at += wait;
        assert_eq!(evicts(&run.next(&rest, seconds(at))), uid(&refused));
        run.replied(&refused, &reply, seconds(at));
    }
    let UnitEnd::Blocked(reasons) = end(run.next(&rest, seconds(60))) else {
        panic!("not in time");
    };
    assert!(reasons[0].contains("web-1: needs 3"), "{reasons:?}");
}

#[test]
fn a_budget_that_refuses_is_named_when_the_time_is_over() {
    let mut refused = web("web-1");
    refused.budgets = vec![name("team-a", "web")];
    let mut run = run();
    let rest = facts(std::slice::from_ref(&refused), 3);
    assert!(evicts(&run.next(&rest, seconds(0))).is_some());
    let reply = EvictionReply::Refused("needs 3".to_owned());
    run.replied(&refused, &reply, seconds(0));
    let UnitEnd::Blocked(reasons) = end(run.next(&rest, seconds(60))) else {
        panic!("not in time");
    };
    assert!(reasons[0].contains("budget web allows"), "{reasons:?}");
}

#[test]
fn effect_no_execute_comes_after_the_grace_and_only_by_force() {
    let one = [web("web-1")];
    let forced = DrainLimits {
        force: true,
        grace: seconds(10),
        ..limits()
    };
    let mut run = DrainRun::new(forced, false);
    run.begin_unit(seconds(100));
    let reply = EvictionReply::Refused("needs 3".to_owned());
    assert!(evicts(&run.next(&facts(&one, 3), seconds(100))).is_some());
    run.replied(&one[0], &reply, seconds(109));
    assert_eq!(run.next(&facts(&one, 3), seconds(109)), DrainStep::Wait);
    assert_eq!(run.next(&facts(&one, 3), seconds(110)), DrainStep::Raise);
    let mut raised = facts(&one, 3);
    raised.is_raised = true;
    assert_eq!(run.next(&raised, seconds(111)), DrainStep::Wait);
    // A pod that is leaving already needs no force.
    let leaving = [terminating(one[0].clone())];
    assert_eq!(run.next(&facts(&leaving, 3), seconds(111)), DrainStep::Wait);
    let mut plain = self::run();
    let step = plain.next(&facts(&one, 3), seconds(59));
    assert_ne!(step, DrainStep::Raise);
}

#[test]
fn a_unit_is_idle_only_when_the_wait_says_so_and_all_data_was_read() {
    let idle = IdleWait {
        is_idle: true,
        ..IdleWait::default()
    };
    let with = |pods: &[UnitPod], wait: &IdleWait| UnitFacts {
        wait: wait.clone(),
        ..facts(pods, 3)
    };
    let monitor = [pod("dcgm", PodClass::Admin, None)];
    assert_eq!(
        run().next(&with(&[], &IdleWait::default()), seconds(0)),
        DrainStep::Wait
    );
    assert_eq!(
        end(run().next(&with(&[], &idle), seconds(0))),
        UnitEnd::Idle
    );
    assert_eq!(
        end(run().next(&with(&monitor, &idle), seconds(0))),
        UnitEnd::Idle
    );
    let leaving = [terminating(web("web-1"))];
    assert_eq!(
        run().next(&with(&leaving, &idle), seconds(0)),
        DrainStep::Wait
    );
    let mut unread = with(&[], &idle);
    unread.unread = vec!["pods could not be read: denied".to_owned()];
    assert_eq!(run().next(&unread, seconds(0)), DrainStep::Wait);
    let blocked = end(run().next(&unread, seconds(60)));
    assert_eq!(blocked, UnitEnd::Blocked(unread.unread));
}

#[test]
fn a_unit_with_a_force_deleted_pod_is_held_and_never_idle() {
    let unreleased = vec!["pod team-a/web-0 was force-deleted".to_owned()];
    let mut at = facts(&[], 3);
    at.wait.unreleased.clone_from(&unreleased);
    let mut run = run();
    assert_eq!(run.next(&at, seconds(0)), DrainStep::Wait);
    let held = UnitEnd::Held(unreleased);
    assert_eq!(end(run.next(&at, seconds(5))), held);
    at.wait.is_idle = true;
    assert_eq!(end(self::run().next(&at, seconds(0))), held);
}

#[test]
fn pods_that_the_drain_does_not_evict_hold_a_unit() {
    let agent = [pod("agent", PodClass::DaemonSet, None)];
    let mut run = run();
    let all = [agent[0].clone(), terminating(web("web-1"))];
    assert_eq!(run.next(&facts(&all, 3), seconds(0)), DrainStep::Wait);
    assert_eq!(run.next(&facts(&agent, 3), seconds(7)), DrainStep::Wait);
    assert_eq!(run.next(&facts(&agent, 3), seconds(11)), DrainStep::Wait);
    let UnitEnd::Held(pods) = end(run.next(&facts(&agent, 3), seconds(12))) else {
        panic!("held");
    };
    assert!(pods[0].contains("team-a/agent"), "{pods:?}");
    let mut included = limits();
    included.include.push(IncludedClass::Daemonsets);
    let step = DrainRun::new(included, false).next(&facts(&agent, 3), seconds(0));
    assert_eq!(evicts(&step), uid(&agent[0]));
}

#[test]
fn a_changed_rule_ends_the_drain_before_the_next_eviction() {
    let mut at = facts(&[web("web-1")], 3);
    at.change = Some("rule a was removed".to_owned());
    let ended = end(run().next(&at, seconds(0)));
    assert_eq!(ended, UnitEnd::Changed("rule a was removed".to_owned()));
}

/// Facts about a Deployment `web` whose restart is so far.
fn deployed(pods: &[UnitPod], progress: RestartProgress) -> UnitFacts {
    let state = RestartState {
        owner: name("team-a", "web"),
        resource_version: "7".to_owned(),
        replicas: 3,
        pods: pods.iter().map(|pod| pod.uid.clone()).collect(),
        progress,
    };
    UnitFacts {
        restarts: BTreeMap::from([(Uid::from("web"), state)]),
        ..facts(pods, 3)
    }
}

#[test]
fn a_deployment_is_restarted_once_and_what_is_left_is_evicted() {
    let one = [web("web-1")];
    let restarting = DrainLimits {
        restart: true,
        ..limits()
    };
    let mut run = DrainRun::new(restarting.clone(), false);
    let owner = Uid::from("web");
    let at = |progress| deployed(&one, progress);
    let step = run.next(&at(RestartProgress::NotBegun), seconds(0));
    assert_eq!(step, DrainStep::Restart(owner.clone()));
    run.restarted(&owner, seconds(0));
    for second in 1..4 {
        let step = run.next(&at(RestartProgress::Ongoing), seconds(second));
        assert_eq!(step, DrainStep::Wait);
    }
    let step = run.next(&at(RestartProgress::Complete), seconds(4));
    assert_eq!(evicts(&step), uid(&one[0]));
    // Without the flag, or if it cannot be restarted, its pods are evicted at once.
    let mut denied = DrainRun::new(restarting, false);
    denied.cannot_restart(&owner);
    for mut run in [denied, self::run()] {
        let step = run.next(&at(RestartProgress::NotBegun), seconds(0));
        assert_eq!(evicts(&step), uid(&one[0]));
    }
}

#[test]
fn a_minute_of_refusals_brings_the_hint_about_restarts_once() {
    let one = [web("web-1")];
    let mut run = run();
    let at = deployed(&one, RestartProgress::NotBegun);
    let reply = EvictionReply::Refused("needs 3".to_owned());
    run.replied(&one[0], &reply, seconds(0));
    assert_eq!(run.hint(&at, seconds(59)), None);
    run.replied(&one[0], &reply, seconds(59));
    let hint = run.hint(&at, seconds(60)).expect("a hint");
    assert!(
        hint.contains("--restart") && hint.contains("team-a/web"),
        "{hint}"
    );
    assert_eq!(run.hint(&at, seconds(61)), None);
}
