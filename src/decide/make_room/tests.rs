//! Decisions about room: pods that may be evicted, tolerations, rules, and the steps of a run.

use std::collections::BTreeSet;
use std::time::Duration;

use super::candidates::{
    Beneficiary, Eligibility, Immovable, Movability, candidates, eligibility, rivals,
};
use super::plan::{
    RoomInput, RoomOptions, RoomPlan, TAINT_KEY, covers, drafts, kept_for, lacking, left_of, plan,
    refuse_lacking, reserved, room_steps, taint,
};
use super::run::{
    PodProgress, RoomFacts, RoomRun, RoomStep, RoomView, allocated, progress, with_removal,
};
use crate::assess::Basis;
use crate::decide::drain::EvictionReply;
use crate::decide::testing::named;
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::{
    ClaimSpec, DeviceRequest, DeviceTaintRule, Effect, Gap, Kind, Node, NodeTaint, Operator, Phase,
    Pod, Reading, RequestKind, RequestTerms, ResourceClaim, Scheduled, Scheduling, SliceNodes,
    Snapshot, Toleration, Uid,
};
use crate::naming::keys;
use crate::report::testing::{
    after, budget, claim_in_use, controller, device, gpu_class, name, node, now, pod, published,
    reading, slice, uses,
};

/// Movability of a pod as `change` makes it, for a waiting pod of priority 100.
fn movability(change: impl FnOnce(&mut Pod, &mut ResourceClaim)) -> Option<Movability> {
    let mut waiting = pod("team-a", "critical");
    waiting.priority = 100;
    let mut other = pod("team-a", "web-0");
    let mut claim = claim_in_use(&other);
    change(&mut other, &mut claim);
    let sharing = BTreeSet::from([Uid::from("uid-of-mate")]);
    claim.reserved_for[0].uid = other.uid.clone();
    let snapshot = Snapshot {
        pods: vec![other],
        claims: vec![claim],
        ..Snapshot::default()
    };
    let beneficiary = Beneficiary {
        pod: &waiting,
        sharing: &sharing,
        has_taint: true,
    };
    let found = candidates(&snapshot, &[device("gpu-0")].into(), beneficiary);
    found.first().map(|candidate| candidate.movability.clone())
}

#[test]
fn protected_pods_stay() {
    let of = |change: &dyn Fn(&mut Pod)| movability(|pod, _| change(pod)).unwrap();
    let stays = Movability::Stays;
    assert_eq!(of(&|_| {}), Movability::Evictable);
    assert_eq!(of(&|pod| pod.priority = 99), Movability::Evictable);
    for priority in [100, 101] {
        let found = of(&|pod| pod.priority = priority);
        assert_eq!(found, stays(Immovable::Priority));
    }
    let owned =
        |kind: &'static str| of(&move |pod: &mut Pod| pod.controller = Some(controller(kind, "x")));
    assert_eq!(owned("Node"), stays(Immovable::MirrorPod));
    assert_eq!(owned("DaemonSet"), stays(Immovable::DaemonSet));
    assert_eq!(owned("ReplicaSet"), Movability::Evictable);
    for uid in ["uid-of-mate", "uid-of-critical"] {
        let found = of(&|pod| pod.uid = uid.into());
        assert_eq!(found, stays(Immovable::SameClaim));
    }
    let system = of(&|pod| pod.name.namespace = "kube-system".into());
    assert_eq!(system, stays(Immovable::Critical));
    let asks = "karpenter.sh/do-not-disrupt";
    let asks = of(&|pod| pod.annotations = vec![(asks.into(), "true".into())]);
    assert_eq!(asks, stays(Immovable::DoNotDisrupt));
}

#[test]
fn pods_that_end_leave_by_themselves_whatever_protects_them() {
    let deleted = movability(|pod, _| {
        pod.controller = Some(controller("Node", "x"));
        pod.deletion = Some(crate::engine::testing::deletion(now(), None));
    });
    assert_eq!(deleted, Some(Movability::Leaving));
    let ended = movability(|pod, _| pod.phase = Phase::Succeeded);
    assert_eq!(ended, Some(Movability::Leaving));
}

fn request(tolerations: Vec<Toleration>) -> RequestTerms {
    crate::engine::testing::terms("gpu", tolerations)
}

fn claim(kind: RequestKind) -> ResourceClaim {
    ResourceClaim {
        name: name("team-a", "gpu"),
        uid: "uid-of-gpu".into(),
        spec: Some(
            ClaimSpec {
                requests: vec![DeviceRequest {
                    name: "r".into(),
                    kind,
                }],
                constraints: Vec::new(),
            }
            .into(),
        ),
        ..ResourceClaim::default()
    }
}

fn toleration(effect: Option<Effect>) -> Toleration {
    Toleration {
        key: TAINT_KEY.to_owned(),
        operator: Operator::Exists,
        effect,
        ..Toleration::default()
    }
}

#[test]
fn every_request_of_a_claim_has_to_tolerate_the_taint() {
    let uid = Uid::from("uid-of-critical");
    assert!(covers(&[toleration(Some(Effect::NoSchedule))], &uid));
    assert!(covers(&[toleration(None)], &uid));
    assert!(!covers(&[toleration(Some(Effect::NoExecute))], &uid));
    assert!(!covers(&[], &uid));
    let good = || request(vec![toleration(None)]);
    let of = |kind| -> Vec<String> {
        let lacking = lacking(&claim(kind), &uid).into_iter();
        let name = |it: String| it.rsplit(' ').next().unwrap().to_owned();
        lacking.map(name).collect()
    };
    assert_eq!(of(RequestKind::Exactly(good())), [""; 0]);
    assert_eq!(of(RequestKind::Exactly(request(vec![]))), ["r"]);
    let either = RequestKind::FirstAvailable(vec![
        ("small".into(), good()),
        ("large".into(), request(vec![])),
    ]);
    assert_eq!(of(either), ["r/large"]);
    assert_eq!(of(RequestKind::Unknown), ["r"]);
    assert!(refuse_lacking(&[]).is_ok());
    let found = lacking(&claim(RequestKind::Unknown), &uid);
    let failure = refuse_lacking(&found).unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Refused);
    assert!(failure.details()[0].contains("team-a/gpu"), "{failure:?}");
}

#[test]
fn pending_pods_of_the_same_priority_that_tolerate_the_taint_are_rivals() {
    let mut waiting = pod("team-a", "critical");
    waiting.node = None;
    waiting.priority = 100;
    let own = claim(RequestKind::Exactly(request(vec![toleration(None)])));
    let rival = |change: &dyn Fn(&mut Pod)| {
        let mut other = pod("team-a", "other");
        other.node = None;
        other.priority = 100;
        other.claims = uses("gpu");
        change(&mut other);
        vec![other]
    };
    let count = |pods: &[Pod], claim: &ResourceClaim, name: &str| {
        let mut reading = one_device();
        let snapshot = &mut reading.snapshot;
        snapshot.claims = vec![claim.clone()];
        let semantics = Semantics::assumed();
        let basis = Basis::new(&reading, &semantics, now());
        rivals(&waiting, pods, &[device(name)].into(), &basis).len()
    };
    assert_eq!(count(&rival(&|_| {}), &own, "gpu-0"), 1);
    assert_eq!(count(&rival(&|_| {}), &own, "gpu-9"), 0, "another device");
    let lower = rival(&|pod| pod.priority = 99);
    let placed = rival(&|pod| pod.node = Some("node-7".into()));
    let same = rival(&|pod| pod.uid = waiting.uid.clone());
    for pods in [lower, placed, same] {
        assert_eq!(count(&pods, &own, "gpu-0"), 0, "{pods:?}");
    }
    let mut allocated = own;
    allocated.allocation = claim_in_use(&waiting).allocation;
    assert_eq!(count(&rival(&|_| {}), &allocated, "gpu-0"), 0);
    let mut monitor = request(vec![toleration(None)]);
    monitor.admin_access = true;
    let monitor = claim(RequestKind::Exactly(monitor));
    assert_eq!(count(&rival(&|_| {}), &monitor, "gpu-0"), 0);
    let strict = claim(RequestKind::Exactly(request(vec![])));
    assert_eq!(count(&rival(&|_| {}), &strict, "gpu-0"), 0);
    // A class that was not read may select the device.
    let mut unread = allocated;
    unread.allocation = None;
    unread.spec = None;
    assert_eq!(count(&rival(&|_| {}), &unread, "gpu-0"), 1);
}

fn asked(change: impl FnOnce(&mut Pod)) -> Result<Eligibility, Failure> {
    let mut waiting = pod("team-a", "critical");
    waiting.node = None;
    change(&mut waiting);
    let reading = reading();
    eligibility(
        &waiting,
        &Basis::new(&reading, &Semantics::assumed(), now()),
    )
}

#[test]
fn a_pod_that_does_not_wait_for_devices_is_refused_with_the_words_of_the_scheduler() {
    let scheduled = asked(|pod| pod.node = Some("node-7".into()));
    assert!(matches!(scheduled, Ok(Eligibility::Scheduled(node)) if node.as_str() == "node-7"));
    let nominated = asked(|pod| {
        pod.scheduling = Some(Box::new(Scheduling {
            nominated: Some("node-7".into()),
            ..Scheduling::default()
        }));
    });
    assert!(matches!(nominated, Ok(Eligibility::Nominated(_))));
    let terminating = asked(|pod| {
        pod.deletion = Some(crate::engine::testing::deletion(now(), None));
    });
    let with = |scheduling| asked(|pod| pod.scheduling = Some(Box::new(scheduling)));
    let gated = with(Scheduling {
        gates: vec!["quota".into()],
        ..Scheduling::default()
    });
    let without_claims = with(Scheduling {
        said: Some(Scheduled {
            reason: "Unschedulable".into(),
            message: "0/3 nodes are available: 3 Insufficient cpu.".into(),
            ..Scheduled::default()
        }),
        ..Scheduling::default()
    });
    for (result, words) in [
        (terminating, "terminating"),
        (gated, "quota"),
        (without_claims, "Insufficient cpu"),
    ] {
        let failure = result.unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Refused);
        let all = format!("{failure} {}", failure.details().join(" "));
        assert!(all.contains(words), "{all}");
        assert!(all.contains("nothing was changed"), "{all}");
    }
}

/// Eligibility of a pod whose device is in use on node-7 and free on node-8, which is as `change` makes it.
fn asked_beside_a_free_device(change: impl FnOnce(&mut Node)) -> Result<Eligibility, Failure> {
    let mut reading = one_device();
    let snapshot = &mut reading.snapshot;
    let mut free = snapshot.slices[0].clone();
    free.name = "slice-8".into();
    free.pool.name = "node-8".into();
    free.nodes = SliceNodes::One("node-8".into());
    snapshot.slices.push(free);
    let mut other = node("node-8");
    change(&mut other);
    snapshot.nodes.push(other);
    let waiting = claim(RequestKind::Exactly(request(vec![])));
    snapshot.claims = vec![claim_in_use(&pod("team-a", "web-0")), waiting];
    let mut critical = pod("team-a", "critical");
    critical.node = None;
    critical.claims = uses("gpu");
    let semantics = Semantics::assumed();
    let basis = Basis::new(&reading, &semantics, now());
    eligibility(&critical, &basis)
}

#[test]
fn a_free_device_on_a_node_that_the_scheduler_does_not_use_is_no_reason_to_wait() {
    let failure = asked_beside_a_free_device(|_| {}).unwrap_err();
    let text = failure.to_string();
    assert!(text.contains("a node has enough free devices; "), "{text}");
    let tainted = NodeTaint {
        key: "example.com/reserved".to_owned(),
        effect: "NoSchedule".to_owned(),
        ..NodeTaint::default()
    };
    let cordoned = asked_beside_a_free_device(|node| node.unschedulable = true);
    let tainted = asked_beside_a_free_device(|node| node.taints = vec![tainted]);
    for found in [cordoned, tainted] {
        let Ok(Eligibility::Waits(waiting)) = found else {
            panic!("{found:?}");
        };
        assert_eq!(waiting.closed.len(), 1);
        assert_eq!(waiting.closed[0].name.as_str(), "node-8");
    }
}

#[test]
fn a_claim_that_was_not_read_is_not_one_that_does_not_exist() {
    let mut reading = reading();
    reading.known.remove(&Kind::ResourceClaim);
    reading.gaps.push(Gap::of(Kind::ResourceClaim, "denied"));
    let mut pod = pod("team-a", "critical");
    pod.node = None;
    let semantics = Semantics::assumed();
    let basis = Basis::new(&reading, &semantics, now());
    let failure = eligibility(&pod, &basis).unwrap_err();
    assert!(
        failure.to_string().contains("could not be read"),
        "{failure}"
    );
    let details = failure.details().join(" ");
    assert!(details.contains("resourceclaims: denied"), "{details}");
}

/// A cluster with one device on one node, and a class of it.
fn one_device() -> Reading {
    let mut reading = reading();
    let snapshot = &mut reading.snapshot;
    snapshot.slices = vec![slice(vec![published("gpu-0", &[])])];
    snapshot.nodes = vec![node("node-7")];
    snapshot.classes = vec![gpu_class()];
    reading
}

/// A cluster with one device, which `holder` has, beside a monitor; the plan for a pod that waits for it.
fn planned(
    holder: &Pod,
    limits: RoomOptions,
    change: impl FnOnce(&mut Reading),
) -> Result<RoomPlan, Failure> {
    let mut reading = one_device();
    let snapshot = &mut reading.snapshot;
    let monitor = pod("monitoring", "dcgm");
    let mut watched = claim_in_use(&monitor);
    watched.allocation.as_mut().unwrap().results[0].admin_access = true;
    let mut waiting = pod("team-a", "critical");
    waiting.node = None;
    waiting.priority = 100;
    waiting.claims = uses("gpu");
    let wanted = claim(RequestKind::Exactly(request(vec![])));
    snapshot.claims = vec![claim_in_use(holder), watched, wanted];
    snapshot.pods = vec![holder.clone(), monitor, waiting.clone()];
    change(&mut reading);
    let semantics = Semantics::assumed();
    let basis = Basis::new(&reading, &semantics, now());
    let Eligibility::Waits(eligible) = eligibility(&waiting, &basis)? else {
        panic!("the pod waits");
    };
    let beneficiary = Beneficiary {
        pod: &waiting,
        sharing: &eligible.sharing,
        has_taint: true,
    };
    let candidates = candidates(&reading.snapshot, &[device("gpu-0")].into(), beneficiary);
    let input = RoomInput {
        waiting: &eligible,
        candidates: &candidates,
        reserved: &BTreeSet::new(),
        basis: &basis,
    };
    plan(&waiting, &input, limits)
}

#[test]
fn a_budget_that_allows_nothing_needs_force_and_is_named() {
    let holder = pod("team-a", "web-0");
    let with_budget = |reading: &mut Reading| {
        let mut budget = budget("team-a", 1, 1, 1);
        budget.name = name("team-a", "web");
        reading.snapshot.budgets = vec![budget];
    };
    let failure = planned(&holder, RoomOptions::default(), with_budget).unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Failed);
    assert!(failure.hints()[0].contains("--force"), "{failure:?}");
    let limits = RoomOptions {
        force: true,
        ..RoomOptions::default()
    };
    let forced = planned(&holder, limits, with_budget).unwrap();
    let room = super::plan::Room::from(&forced);
    assert_eq!(room.violated_budgets, ["team-a/web"]);
    assert_eq!(room.evicted_pods, ["team-a/web-0"]);
    let mut same = holder;
    same.priority = 100;
    let failure = planned(&same, limits, |_| {}).unwrap_err();
    assert!(failure.details()[0].contains("team-a/web-0"), "{failure:?}");
    assert!(failure.hints().is_empty(), "{failure:?}");
}

#[test]
fn rules_name_their_pod_and_expire_after_the_longest_run() {
    let mut waiting = pod("team-a", "critical");
    waiting.uid = "0b1c2d3e-0000-4000-8000-000000000000".into();
    let devices = [device("gpu-0"), device("gpu-1")].into();
    let drafts = drafts(&devices, &waiting, now(), Duration::from_secs(300)).unwrap();
    assert_eq!(drafts.len(), 2);
    for draft in &drafts {
        let rule = draft.rule();
        assert_eq!(kept_for(&rule), Some(waiting.uid.as_str()));
        assert_eq!(keys::expires(&rule.metadata), Some(after(420)));
        assert_eq!(rule.taint.effect, Effect::NoSchedule);
        assert_eq!(rule.taint.value, waiting.uid.as_str());
    }
}

/// A rule that keeps a device for the pod with this UID.
fn keeping(device_name: &str, uid: &str) -> DeviceTaintRule {
    let mut rule = named(device_name, "NoSchedule");
    rule.selector = Some(crate::decide::testing::selector(device_name));
    rule.taint = taint(&uid.into());
    let label = (keys::MAKE_ROOM.to_owned(), uid.to_owned());
    rule.metadata.labels.extend([label]);
    rule
}

#[test]
fn rules_of_other_pods_reserve_devices_and_those_of_the_pod_are_taken_over() {
    let mut by_hand = keeping("gpu-3", "theirs");
    by_hand.metadata.labels.clear();
    let rules = [
        keeping("gpu-1", "mine"),
        keeping("gpu-2", "theirs"),
        by_hand,
    ];
    let uid = Uid::from("mine");
    let found: Vec<String> = reserved(&rules, &uid)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found, ["gpu.example.com/node-7/gpu-2"]);
    let left: Vec<_> = left_of(&rules, &uid)
        .into_iter()
        .map(|it| it.name)
        .collect();
    assert_eq!(left, [rules[0].name.clone()]);
    let semantics = Semantics::assumed();
    let step = |existing: DeviceTaintRule| {
        let rule = keeping("gpu-1", "mine");
        let mut draft = crate::decide::RuleDraft {
            name: rule.name.to_string(),
            selector: rule.selector.clone().unwrap(),
            taint: rule.taint.clone(),
            labels: rule.metadata.labels.clone(),
            annotations: rule.metadata.annotations,
            manifest: None,
        };
        draft
            .annotations
            .insert(keys::EXPIRES.to_owned(), after(9).to_string());
        room_steps(vec![draft], &[existing], &uid, &semantics, now())
    };
    let taken = step(keeping("gpu-1", "mine")).unwrap();
    assert!(taken.len() == 1 && taken[0].is_open(), "{taken:?}");
    let mut foreign = keeping("gpu-1", "mine");
    foreign.metadata.labels.remove(keys::MAKE_ROOM);
    foreign.taint.effect = Effect::None;
    let found = step(foreign);
    let is_changed = found.is_ok_and(|steps| steps.iter().any(|step| step.patch.effect.is_some()));
    assert!(!is_changed, "the rule of another user keeps its effect");
}

fn facts(remaining: &[(&str, bool)]) -> RoomFacts {
    RoomFacts {
        progress: PodProgress::Pending(None),
        devices: BTreeSet::new(),
        remaining: remaining
            .iter()
            .map(|(pod, is_leaving)| (name("team-a", pod), Uid::from(*pod), *is_leaving))
            .collect(),
        competitors: Vec::new(),
        interference: None,
    }
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_pod_is_evicted_once_and_a_refused_eviction_is_tried_again() {
    let mut run = RoomRun::new(at(300), false);
    let both = facts(&[("a", false), ("b", false)]);
    assert_eq!(run.next(&both, at(0)), RoomStep::Evict("a".into()));
    run.replied(&"a".into(), EvictionReply::Accepted, at(0));
    assert_eq!(run.next(&both, at(0)), RoomStep::Evict("b".into()));
    let refused = || EvictionReply::Refused("needs 1".to_owned());
    run.replied(&"b".into(), refused(), at(0));
    assert_eq!(run.next(&both, at(0)), RoomStep::Wait);
    assert_eq!(run.next(&both, at(1)), RoomStep::Evict("b".into()));
    assert!(run.left(&both)[1].contains("needs 1"));
    run.replied(&"b".into(), refused(), at(1));
    assert_eq!(run.next(&both, at(2)), RoomStep::Wait);
    assert_eq!(run.next(&both, at(3)), RoomStep::Evict("b".into()));
    // Without --force it is never deleted.
    assert_eq!(run.next(&both, at(200)), RoomStep::Evict("b".into()));
    let leaving = facts(&[("c", true)]);
    assert_eq!(run.next(&leaving, at(0)), RoomStep::Wait);
}

#[test]
fn with_force_a_pod_is_deleted_after_a_minute_of_refusals() {
    let mut run = RoomRun::new(at(300), true);
    let one = facts(&[("a", false)]);
    for second in [5, 20, 40, 64] {
        assert_eq!(run.next(&one, at(second)), RoomStep::Evict("a".into()));
        run.replied(
            &"a".into(),
            EvictionReply::Refused("no".to_owned()),
            at(second),
        );
    }
    assert_eq!(run.next(&one, at(69)), RoomStep::Delete("a".into()));
    run.replied(&"a".into(), EvictionReply::Accepted, at(69));
    assert_eq!(run.next(&one, at(70)), RoomStep::Wait);
}

#[test]
fn each_end_has_its_exit_code() {
    let run = RoomRun::new(at(300), false);
    let end = |change: &dyn Fn(&mut RoomFacts), seconds| {
        let mut facts = facts(&[("a", false)]);
        change(&mut facts);
        match run.next(&facts, at(seconds)) {
            RoomStep::Finished(end) => end
                .result(&name("team-a", "critical"))
                .map_err(|it| it.status()),
            other @ (RoomStep::Evict(_) | RoomStep::Delete(_) | RoomStep::Wait) => {
                panic!("{other:?}")
            }
        }
    };
    let scheduled = |facts: &mut RoomFacts| {
        facts.progress = PodProgress::Scheduled("node-7".into());
        facts.competitors = vec!["claim x".to_owned()];
    };
    assert!(end(&scheduled, 999).is_ok());
    let gone = |facts: &mut RoomFacts| facts.progress = PodProgress::Gone;
    assert_eq!(end(&gone, 0), Err(ExitStatus::Failed));
    let lost = |facts: &mut RoomFacts| facts.competitors = vec!["claim x".to_owned()];
    assert_eq!(end(&lost, 0), Err(ExitStatus::TimedOut));
    let removed = |facts: &mut RoomFacts| facts.interference = Some("rule x".to_owned());
    assert_eq!(end(&removed, 0), Err(ExitStatus::Failed));
    assert_eq!(end(&|_| {}, 300), Err(ExitStatus::TimedOut));
}

#[test]
fn the_facts_of_a_look() {
    let holder = pod("team-a", "web-0");
    let plan = planned(&holder, RoomOptions::default(), |_| {}).unwrap();
    let mut waiting = pod("team-a", "critical");
    waiting.node = None;
    let own = [name("team-a", "gpu")];
    let mut snapshot = Snapshot {
        claims: vec![claim_in_use(&holder)],
        pods: vec![holder.clone()],
        ..Snapshot::default()
    };
    let before = allocated(&snapshot);
    let look = |snapshot: &Snapshot, rules: &[DeviceTaintRule], before: &BTreeSet<Uid>| {
        RoomFacts::new(
            &plan,
            &RoomView {
                snapshot,
                pod: Some(&waiting),
                uid: &waiting.uid,
                claims: &own,
                rules,
                before,
            },
        )
    };
    let first = look(&snapshot, &[], &before);
    let left = [(holder.name.clone(), holder.uid, false)];
    assert_eq!(first.remaining, left);
    assert_eq!((first.competitors.len(), first.interference), (0, None));
    // A claim that held nothing before is a competitor; with admin access it takes nothing.
    let none = BTreeSet::new();
    assert_eq!(look(&snapshot, &[], &none).competitors.len(), 1);
    let admin = |snapshot: &mut Snapshot, access| {
        snapshot.claims[0].allocation.as_mut().unwrap().results[0].admin_access = access;
    };
    admin(&mut snapshot, true);
    let second = look(&snapshot, &[], &none);
    assert_eq!((second.competitors.len(), second.remaining.len()), (0, 0));
    // A pod that is gone while its claim is reserved for it is not evicted.
    admin(&mut snapshot, false);
    snapshot.pods.clear();
    assert!(look(&snapshot, &[], &before).remaining[0].2);
    let rule = keeping("gpu-0", waiting.uid.as_str());
    let interference = |change: &dyn Fn(&mut DeviceTaintRule)| {
        let mut now = rule.clone();
        change(&mut now);
        let snapshot = Snapshot {
            rules: vec![now],
            ..Snapshot::default()
        };
        look(&snapshot, std::slice::from_ref(&rule), &none).interference
    };
    assert_eq!(interference(&|_| {}), None);
    type Change<'a> = &'a dyn Fn(&mut DeviceTaintRule);
    let changes: [Change<'_>; 5] = [
        &|rule| rule.name = "other".into(),
        &|rule| rule.uid = "other".into(),
        &|rule| rule.selector = None,
        &|rule| rule.taint.value.push('x'),
        &|rule| rule.taint.effect = Effect::NoExecute,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        assert!(interference(change).is_some(), "{number}");
    }
}

#[test]
fn a_pod_waits_until_it_has_a_node_or_is_terminating_or_is_another_one() {
    let uid = pod("team-a", "critical").uid;
    let mut waiting = pod("team-a", "critical");
    assert!(matches!(
        progress(Some(&waiting), &uid),
        PodProgress::Scheduled(_)
    ));
    waiting.node = None;
    assert_eq!(progress(Some(&waiting), &uid), PodProgress::Pending(None));
    waiting.deletion = Some(crate::engine::testing::deletion(now(), None));
    assert_eq!(progress(Some(&waiting), &uid), PodProgress::Gone);
    let mut another = pod("team-a", "critical");
    another.uid = "another".into();
    assert_eq!(progress(Some(&another), &uid), PodProgress::Gone);
    assert_eq!(progress(None, &uid), PodProgress::Gone);
}

#[test]
fn rules_that_are_left_come_first_and_then_a_signal() {
    let of = |status: ExitStatus| Failure::new(status, format!("failure {}", status.code()));
    let end = |done, removed| with_removal(done, removed, of).map_err(|end| end.status());
    let success = || Ok(ExitStatus::Success);
    let late = || Err(of(ExitStatus::TimedOut));
    let stopped = || Ok(Some(ExitStatus::Interrupted));
    let kept = || Err(of(ExitStatus::Failed));
    assert_eq!(end(success(), Ok(None)), Ok(ExitStatus::Success));
    assert_eq!(end(late(), Ok(None)), Err(ExitStatus::TimedOut));
    assert_eq!(end(success(), stopped()), Err(ExitStatus::Interrupted));
    assert_eq!(end(late(), stopped()), Err(ExitStatus::Interrupted));
    assert_eq!(end(success(), kept()), Err(ExitStatus::Failed));
    assert_eq!(end(late(), kept()), Err(ExitStatus::Failed));
}
