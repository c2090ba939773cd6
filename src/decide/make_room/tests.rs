//! Every way that a decision about room can go.

use std::collections::BTreeSet;
use std::time::Duration;

use super::candidates::{Beneficiary, Immovable, Movability, candidates};
use super::cleanup::{left_of, taken_over_line};
use super::eligibility::{Eligibility, eligibility};
use super::needed_access::{NeededAccess, needed_access, tried_evictions};
use super::plan::{PlannedEviction, PlannedRoom, RoomLimits, RoomPlan};
use super::run::{
    Competitor, PodProgress, RemainingPod, StageEnd, StageFacts, StageLimits, StageRun, StageStep,
};
use super::target::RoomTarget;
use super::terms::{RoomTerms, kept_for, taint};
use super::tolerance::{Mechanism, lacking, refuse_lacking, toleration_lines};
use crate::assess::Basis;
use crate::decide::drain::EvictionReply;
use crate::decide::proposal::Escalation;
use crate::decide::testing::named;
use crate::decide::{AddStep, RulePatch};
use crate::engine::allocator::room::{RoomCost, RoomSet};
use crate::engine::{NotEvicted, PodImpact, Semantics, Verdict};
use crate::error::{ExitStatus, Failure};
use crate::model::{
    ClaimSource, ClaimSpec, Deletion, DeviceAmount, DeviceClass, DeviceId, DeviceRequest, Effect,
    Gap, Kind, Node, NodeTaint, Operator, Pod, PodClaim, RequestKind, RequestTerms, ResourceClaim,
    RuleMetadata, Scheduled, Scheduling, SliceNodes, Toleration, Uid,
};
use crate::report::testing::{
    after, claim_in_use, controller, device, evicted, impact, name, node, now, pod, published,
    reading, slice, with_verdict,
};

fn movability(change: impl FnOnce(&mut Pod), verdict: Option<Verdict>) -> Movability {
    let mut waiting = pod("team-a", "critical");
    waiting.priority = 100;
    let mut other = pod("team-a", "web-0");
    change(&mut other);
    let found: PodImpact<'_> = match verdict {
        Some(verdict) => with_verdict(&other, verdict),
        None => evicted(&other, 0),
    };
    let impact = impact(vec![found]);
    let sharing = BTreeSet::from([Uid::from("uid-of-mate")]);
    let beneficiary = Beneficiary {
        pod: &waiting,
        sharing: &sharing,
    };
    let found = candidates(&impact, beneficiary, &[], now());
    found[0].movability.clone()
}

#[test]
fn who_is_protected_stays() {
    let stays = Movability::Stays;
    assert_eq!(movability(|_| {}, None), Movability::Evictable);
    for priority in [100, 101] {
        let found = movability(|pod| pod.priority = priority, None);
        assert_eq!(found, stays(Immovable::Priority));
    }
    assert_eq!(
        movability(|pod| pod.priority = 99, None),
        Movability::Evictable
    );
    let system = movability(|pod| pod.name.namespace = "kube-system".into(), None);
    assert_eq!(system, stays(Immovable::SystemNamespace));
    for (key, value, asks) in [
        ("karpenter.sh/do-not-disrupt", "true", true),
        ("karpenter.sh/do-not-disrupt", "false", false),
        (
            "cluster-autoscaler.kubernetes.io/safe-to-evict",
            "false",
            true,
        ),
        (
            "cluster-autoscaler.kubernetes.io/safe-to-evict",
            "true",
            false,
        ),
        (
            "descheduler.alpha.kubernetes.io/prefer-no-eviction",
            "",
            true,
        ),
    ] {
        let found = movability(
            |pod| pod.annotations = vec![(key.into(), value.into())],
            None,
        );
        let expected = if asks {
            stays(Immovable::DoNotDisrupt)
        } else {
            Movability::Evictable
        };
        assert_eq!(found, expected, "{key}={value}");
    }
}

#[test]
fn who_would_come_back_or_is_not_evicted_stays() {
    let owned =
        |kind: &'static str| move |pod: &mut Pod| pod.controller = Some(controller(kind, "x"));
    let stays = Movability::Stays;
    assert_eq!(movability(owned("Node"), None), stays(Immovable::MirrorPod));
    assert_eq!(
        movability(owned("DaemonSet"), None),
        stays(Immovable::DaemonSet)
    );
    assert_eq!(
        movability(|pod| pod.uid = "uid-of-mate".into(), None),
        stays(Immovable::SameClaim)
    );
    assert_eq!(
        movability(|pod| pod.uid = "uid-of-critical".into(), None),
        stays(Immovable::SameClaim)
    );
    assert_eq!(
        movability(|_| {}, Some(Verdict::Tolerates)),
        stays(Immovable::Tolerates)
    );
    // A toleration with seconds.
    assert_eq!(
        movability(|_| {}, Some(Verdict::Evicted { at: after(60) })),
        stays(Immovable::Tolerates)
    );
    let why = NotEvicted::ExtendedResource;
    assert_eq!(
        movability(|_| {}, Some(Verdict::NotEvicted(why))),
        stays(Immovable::NotEvicted(why))
    );
    // Also a mirror pod that is terminating leaves.
    assert_eq!(
        movability(owned("Node"), Some(Verdict::Terminating)),
        Movability::Leaving
    );
}

fn request(tolerations: Vec<Toleration>) -> RequestTerms {
    RequestTerms {
        class: "gpu".into(),
        expressions: Vec::new(),
        amount: DeviceAmount::Exactly(1),
        admin_access: false,
        tolerations,
        capacity: Default::default(),
        is_more: false,
    }
}

fn claim(kind: RequestKind) -> ResourceClaim {
    ResourceClaim {
        name: name("team-a", "gpu"),
        uid: "uid-of-gpu".into(),
        controller: None,
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
        allocation: None,
        reserved_for: Vec::new(),
    }
}

fn tolerates(effect: Option<Effect>, seconds: Option<i64>) -> Toleration {
    Toleration {
        key: super::TAINT_KEY.to_owned(),
        operator: Operator::Exists,
        value: String::new(),
        effect,
        seconds,
    }
}

#[test]
fn a_claim_has_to_tolerate_both_effects_and_the_eviction_forever() {
    let both = || {
        vec![
            tolerates(Some(Effect::NoSchedule), None),
            tolerates(Some(Effect::NoExecute), None),
        ]
    };
    let uid = Uid::from("uid-of-critical");
    let semantics = Semantics::assumed();
    for (what, tolerations, is_enough) in [
        ("both", both(), true),
        ("none", vec![], false),
        (
            "NoSchedule",
            vec![tolerates(Some(Effect::NoSchedule), None)],
            false,
        ),
        (
            "NoExecute",
            vec![tolerates(Some(Effect::NoExecute), None)],
            false,
        ),
        // Enough for the scheduler, and not for the eviction controller.
        ("no effect", vec![tolerates(None, None)], false),
        (
            "no effect and NoExecute",
            vec![
                tolerates(None, None),
                tolerates(Some(Effect::NoExecute), None),
            ],
            true,
        ),
        (
            "for seconds",
            vec![
                tolerates(Some(Effect::NoSchedule), None),
                tolerates(Some(Effect::NoExecute), Some(60)),
            ],
            false,
        ),
    ] {
        let claim = claim(RequestKind::Exactly(request(tolerations)));
        assert_eq!(
            lacking(&[&claim], &uid, &semantics).is_empty(),
            is_enough,
            "{what}"
        );
    }
    let some = claim(RequestKind::FirstAvailable(vec![
        ("a".into(), request(both())),
        ("b".into(), request(vec![])),
    ]));
    let found = lacking(&[&some], &uid, &semantics);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].request, "r/b");
    let unknown = claim(RequestKind::Unknown);
    assert_eq!(lacking(&[&unknown], &uid, &semantics).len(), 1);
}

#[test]
fn a_claim_that_does_not_tolerate_the_taint_is_refused_with_the_lines_to_add() {
    let uid = Uid::from("uid-of-critical");
    let claim = claim(RequestKind::Exactly(request(vec![])));
    let lacking = lacking(&[&claim], &uid, &Semantics::assumed());
    let refused = refuse_lacking(&lacking, Mechanism::Taint).unwrap_err();
    assert_eq!(refused.status(), ExitStatus::Refused);
    let details = refused.details().join("\n");
    for line in toleration_lines() {
        assert!(details.contains(&line), "{details}");
    }
    assert!(refused.hints().join("\n").contains("--without-toleration"));
    assert!(refuse_lacking(&lacking, Mechanism::PriorityAlone).is_ok());
    assert!(refuse_lacking(&[], Mechanism::Taint).is_ok());
}

#[test]
fn a_target_is_a_pod() {
    let parse = RoomTarget::parse;
    let of = |namespace: Option<&str>, name: &str| RoomTarget {
        namespace: namespace.map(Into::into),
        name: name.into(),
    };
    for (typed, namespace, expected) in [
        ("pod/a", Some("n"), of(Some("n"), "a")),
        ("a", None, of(None, "a")),
        ("pod/n/a", Some("m"), of(Some("n"), "a")),
    ] {
        assert_eq!(parse(typed, namespace).unwrap(), expected, "{typed}");
    }
    for typed in ["claim/a", "node/a", "pod/", "pod//a", "a/b/c/d", ""] {
        let failure = parse(typed, None).unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Usage, "{typed:?}");
    }
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
        pod.deletion = Some(Deletion {
            at: now(),
            grace_period_seconds: None,
            finalizers: Vec::new(),
        });
    });
    let gated = asked(|pod| {
        pod.scheduling = Some(Box::new(Scheduling {
            gates: vec!["quota".into()],
            ..Scheduling::default()
        }));
    });
    let without_claims = asked(|pod| {
        pod.scheduling = Some(Box::new(Scheduling {
            said: Some(Scheduled {
                is_scheduled: false,
                since: None,
                reason: "Unschedulable".into(),
                message: "0/3 nodes are available: 3 Insufficient cpu.".into(),
            }),
            ..Scheduling::default()
        }));
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

/// What becomes of a pod whose device is in use on node-7 and free on node-8, which is as `change` makes it.
fn asked_beside_a_free_device(change: impl FnOnce(&mut Node)) -> Result<Eligibility, Failure> {
    let mut reading = reading();
    let snapshot = &mut reading.snapshot;
    let used = slice(vec![published("gpu-0", &[])]);
    let mut free = used.clone();
    free.name = "slice-8".into();
    free.pool.name = "node-8".into();
    free.nodes = SliceNodes::One("node-8".into());
    snapshot.slices = vec![used, free];
    let mut other = node("node-8");
    change(&mut other);
    snapshot.nodes = vec![node("node-7"), other];
    snapshot.classes = vec![DeviceClass {
        name: "gpu".into(),
        expressions: vec!["device.driver == 'gpu.example.com'".to_owned()],
    }];
    let waiting = claim(RequestKind::Exactly(request(vec![])));
    snapshot.claims = vec![claim_in_use(&pod("team-a", "web-0")), waiting];
    let mut critical = pod("team-a", "critical");
    critical.node = None;
    critical.claims = vec![PodClaim {
        name: "gpu".into(),
        source: ClaimSource::Claim("gpu".into()),
    }];
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
        value: String::new(),
        effect: "NoSchedule".to_owned(),
        time_added: None,
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

fn set() -> RoomSet {
    RoomSet {
        node: None,
        evicted: vec![0],
        devices: [device("gpu-0"), device("gpu-1")].into(),
        emptied: [device("gpu-0")].into(),
        kept_free: [device("gpu-1")].into(),
        cost: RoomCost::NONE,
    }
}

fn terms() -> RoomTerms {
    RoomTerms::new(
        &name("team-a", "critical"),
        &"0b1c2d3e-0000-4000-8000-000000000000".into(),
        now(),
        Duration::from_secs(300),
    )
}

#[test]
fn its_rules_say_for_whom_and_until_when_and_evict_only_where_pods_have_to_leave() {
    let set = set();
    let terms = terms();
    let drafts = terms.drafts(&set).unwrap();
    let effects: Vec<Effect> = drafts.iter().map(|it| it.taint.effect.clone()).collect();
    assert_eq!(effects, [Effect::NoExecute, Effect::NoSchedule]);
    for draft in &drafts {
        let rule = draft.rule();
        assert_eq!(kept_for(&rule), Some(terms.uid.as_str()));
        // The timeout, and two minutes.
        assert_eq!(rule.metadata.expires(), Some(after(420)));
        assert_eq!(
            rule.taint.to_string().split(':').next(),
            Some("devicetaint.dev/make-room=0b1c2d3e-0000-4000-8000-000000000000")
        );
    }
}

#[test]
fn rules_of_an_earlier_run_for_the_pod_are_found() {
    let own = |called: &str, uid: &str| {
        let mut rule = named(called, "NoExecute");
        rule.taint = taint(&uid.into(), Effect::NoExecute);
        let labels = &mut rule.metadata.labels;
        labels.insert(
            RuleMetadata::MANAGED_BY.to_owned(),
            RuleMetadata::THIS_PROGRAM.to_owned(),
        );
        labels.insert(RuleMetadata::MAKE_ROOM.to_owned(), uid.to_owned());
        rule
    };
    let mut by_hand = own("by-hand", "one");
    by_hand.metadata.labels.remove(RuleMetadata::MANAGED_BY);
    let mut other_key = own("other-key", "one");
    other_key.taint.key = "example.com/maintenance".to_owned();
    let mut drain = own("drain", "one");
    drain.metadata.labels.remove(RuleMetadata::MAKE_ROOM);
    let mut expired = own("a-expired", "two");
    let past = (RuleMetadata::EXPIRES.to_owned(), after(-60).to_string());
    expired.metadata.annotations.extend([past]);
    let mut going_on = own("c-going-on", "one");
    let later = (RuleMetadata::EXPIRES.to_owned(), after(60).to_string());
    going_on.metadata.annotations.extend([later]);
    let rules = [
        own("b", "one"),
        by_hand,
        other_key,
        drain,
        expired,
        going_on,
    ];
    let names = |found: &[crate::model::DeviceTaintRule]| -> Vec<String> {
        found.iter().map(|rule| rule.name.to_string()).collect()
    };
    assert_eq!(names(&left_of(&rules, &"one".into())), ["b", "c-going-on"]);
    assert!(left_of(&rules, &"three".into()).is_empty());
}

#[test]
fn a_run_that_takes_over_the_rules_of_another_says_so() {
    let mut rule = named("make-room-a", "NoExecute");
    let until = (RuleMetadata::EXPIRES.to_owned(), after(60).to_string());
    rule.metadata.annotations.extend([until]);
    let line = taken_over_line(&[rule]).expect("a line");
    assert!(
        line.starts_with("this run takes over 1 rule that another `make-room`"),
        "{line}"
    );
    assert!(line.contains("make-room-a"), "{line}");
    let expiry = format!("(expires at {})", after(60));
    assert!(line.contains(&expiry), "{line}");
    assert_eq!(taken_over_line(&[]), None);
}

#[test]
fn one_eviction_of_each_namespace_is_tried_of_those_that_the_api_is_asked_for() {
    let pods = [
        planned("team-a", false),
        planned("team-a", true),
        planned("team-a", true),
        planned("team-b", true),
        planned("team-c", false),
    ];
    let tried = tried_evictions(&pods);
    assert_eq!(tried, [&pods[1], &pods[3]]);
}

fn planned(namespace: &str, has_budget: bool) -> PlannedEviction {
    PlannedEviction {
        name: name(namespace, "web-0"),
        uid: "uid-of-web-0".into(),
        node: None,
        priority: 0,
        grace_period_seconds: 1,
        controller: None,
        has_budget,
    }
}

#[test]
fn rules_begin_with_no_schedule_while_the_eviction_api_evicts() {
    for (pods, force, expected) in [
        (vec![false, false], true, None),
        (vec![true, false], false, Some(Escalation::Certain)),
        (vec![true, true], true, Some(Escalation::IfRefused)),
        (vec![true, true], false, Some(Escalation::Never)),
    ] {
        let room = PlannedRoom {
            set: set(),
            pods: pods.iter().map(|budget| planned("a", *budget)).collect(),
        };
        let limits = RoomLimits { force };
        assert_eq!(room.escalation(limits), expected, "{pods:?} {force}");
    }
}

#[test]
fn all_permissions_of_a_run_are_needed_before_its_first_change() {
    let evict = |namespace: &str| NeededAccess::EvictPods(namespace.into());
    let (create, patch, delete) = (
        NeededAccess::CreateRules,
        NeededAccess::PatchRules,
        NeededAccess::DeleteRules,
    );
    let draft = || terms().drafts(&set()).unwrap().remove(0);
    let made = || AddStep::Create(draft());
    let rule = || Box::new(named("a", "NoExecute"));
    let kept = || AddStep::Keep {
        draft: draft(),
        rule: rule(),
    };
    let changed = || AddStep::Change {
        draft: draft(),
        rule: rule(),
        patch: RulePatch::effect(&Effect::NoExecute, &Semantics::assumed(), None),
    };
    for (what, pods, first, force, expected) in [
        (
            "by taint alone",
            vec![planned("a", false)],
            vec![made()],
            false,
            vec![create.clone(), delete.clone()],
        ),
        (
            "by evictions alone",
            vec![planned("a", true), planned("b", true)],
            vec![made()],
            false,
            vec![create.clone(), delete.clone(), evict("a"), evict("b")],
        ),
        (
            "by evictions, then by taint",
            vec![planned("a", true), planned("b", false)],
            vec![made()],
            false,
            vec![create.clone(), patch.clone(), delete.clone(), evict("a")],
        ),
        (
            "by evictions, and by force",
            vec![planned("a", true)],
            vec![made()],
            true,
            vec![create, patch.clone(), delete.clone(), evict("a")],
        ),
        (
            "with the rules of an earlier run",
            vec![planned("a", false)],
            vec![kept()],
            false,
            vec![delete.clone()],
        ),
        (
            "with rules of an earlier run that become others",
            vec![planned("a", false)],
            vec![changed()],
            false,
            vec![patch, delete],
        ),
        ("nothing to do", vec![], vec![], false, vec![]),
    ] {
        let plan = RoomPlan {
            chosen: PlannedRoom { set: set(), pods },
            runner_up: None,
            is_proved: true,
            unknown: Vec::new(),
            leaving: Vec::new(),
            closed: Vec::new(),
        };
        let needed = needed_access(&plan, &first, RoomLimits { force });
        assert_eq!(Vec::from_iter(needed), expected, "{what}");
    }
}

fn limits() -> StageLimits {
    StageLimits {
        timeout: Duration::from_secs(60),
        force_after: None,
        mechanism: Mechanism::Taint,
    }
}

fn remaining(called: &str, has_budget: bool, is_terminating: bool) -> RemainingPod {
    RemainingPod {
        name: name("team-a", called),
        uid: called.into(),
        has_budget,
        is_terminating,
    }
}

fn facts(remaining: &[RemainingPod]) -> StageFacts {
    StageFacts {
        progress: PodProgress::Pending(Some("no device".to_owned())),
        devices: BTreeSet::new(),
        remaining: remaining.to_vec(),
        competitors: Vec::new(),
        reversed: None,
    }
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn pods_with_budgets_leave_first_and_the_others_by_the_taint() {
    let mut run = StageRun::new(limits());
    let both = [remaining("a", true, false), remaining("b", false, false)];
    assert_eq!(run.next(&facts(&both), at(0)), StageStep::Evict("a".into()));
    let refusal = EvictionReply::Refused("budget".to_owned());
    run.replied(&"a".into(), &refusal, at(0));
    // A second later it is tried again, and the others wait for it.
    assert!(matches!(
        run.next(&facts(&both), at(0)),
        StageStep::WaitUntil(_)
    ));
    assert_eq!(run.next(&facts(&both), at(1)), StageStep::Evict("a".into()));
    run.replied(&"a".into(), &EvictionReply::Accepted, at(1));
    assert_eq!(run.next(&facts(&both), at(1)), StageStep::Raise);
    run.raised();
    assert!(matches!(
        run.next(&facts(&both), at(2)),
        StageStep::WaitUntil(_)
    ));
    let left = run.left(&facts(&[remaining("b", false, true)]));
    assert_eq!(left[0], "pod team-a/b is terminating");
}

#[test]
fn the_effect_is_raised_once_the_eviction_of_every_pod_with_a_budget_was_accepted() {
    let mut run = StageRun::new(limits());
    let all = [
        remaining("a", true, false),
        remaining("b", true, false),
        remaining("c", false, false),
    ];
    run.replied(&"a".into(), &EvictionReply::Accepted, at(0));
    assert_eq!(run.next(&facts(&all), at(0)), StageStep::Evict("b".into()));
    run.replied(&"b".into(), &EvictionReply::Accepted, at(0));
    assert_eq!(run.next(&facts(&all), at(0)), StageStep::Raise);
    // An earlier run has raised it: a budget is respected all the same.
    let mut continued = StageRun::new(limits());
    continued.raised();
    let step = continued.next(&facts(&all), at(0));
    assert_eq!(step, StageStep::Evict("a".into()));
}

#[test]
fn the_last_look_is_at_the_timeout() {
    let run = StageRun::new(limits());
    let late = Duration::from_millis(59_800);
    let step = run.next(&facts(&[]), late);
    assert_eq!(step, StageStep::WaitUntil(at(60)));
}

#[test]
fn without_other_pods_the_effect_stays_and_a_terminating_pod_is_not_asked_for_again() {
    let mut run = StageRun::new(limits());
    let one = [remaining("a", true, false)];
    run.replied(&"a".into(), &EvictionReply::Accepted, at(0));
    assert!(matches!(
        run.next(&facts(&one), at(0)),
        StageStep::WaitUntil(_)
    ));
    let leaving = [remaining("b", true, true)];
    assert!(matches!(
        run.next(&facts(&leaving), at(0)),
        StageStep::WaitUntil(_)
    ));
}

#[test]
fn with_force_a_budget_is_overruled_after_its_grace() {
    let forced = StageLimits {
        force_after: Some(at(5)),
        ..limits()
    };
    let mut run = StageRun::new(forced);
    let one = [remaining("a", true, false)];
    let refusal = EvictionReply::Refused("budget".to_owned());
    run.replied(&"a".into(), &refusal, at(0));
    assert_eq!(run.next(&facts(&one), at(4)), StageStep::Evict("a".into()));
    assert_eq!(run.next(&facts(&one), at(5)), StageStep::Raise);
    run.raised();
    assert!(matches!(
        run.next(&facts(&one), at(6)),
        StageStep::WaitUntil(_)
    ));
    // Without it, only the timeout ends the wait.
    let mut patient = StageRun::new(limits());
    patient.replied(&"a".into(), &refusal, at(0));
    assert_eq!(
        patient.next(&facts(&one), at(50)),
        StageStep::Evict("a".into())
    );
    let StageStep::Finished(end) = patient.next(&facts(&one), at(60)) else {
        panic!("the time is over");
    };
    let failure = end.status(&name("team-a", "critical")).unwrap_err();
    assert_eq!(failure.status(), ExitStatus::TimedOut);
    assert!(failure.details().join("\n").contains("budget"));
}

#[test]
fn a_pod_whose_devices_are_not_known_yet_is_scheduled_on_its_node() {
    let end = |devices: &[DeviceId]| {
        let devices = devices.iter().cloned().collect();
        StageEnd::Scheduled("node-7".into(), devices).success(&name("team-a", "critical"))
    };
    let told = "pod team-a/critical is scheduled on node node-7";
    assert_eq!(end(&[]).as_deref(), Some(told));
    let with = end(&[device("gpu-0")]).unwrap();
    assert!(with.starts_with(&format!("{told} with ")), "{with}");
}

#[test]
fn claims_that_were_read_before_the_pod_was_scheduled_are_read_again() {
    let mut facts = facts(&[]);
    facts.devices.clear();
    assert!(!facts.precedes_scheduling());
    facts.progress = PodProgress::Scheduled("node-7".into());
    assert!(facts.precedes_scheduling());
    facts.devices = [device("gpu-0")].into();
    assert!(!facts.precedes_scheduling());
}

#[test]
fn each_end_has_its_exit_code() {
    let run = StageRun::new(limits());
    let competitor = Competitor {
        device: device("gpu-0"),
        claim: name("team-b", "c"),
        pods: vec![name("team-b", "other")],
    };
    let with = |change: &dyn Fn(&mut StageFacts)| {
        let mut facts = facts(&[]);
        change(&mut facts);
        match run.next(&facts, at(1)) {
            StageStep::Finished(end) => end,
            StageStep::Evict(_) | StageStep::Raise | StageStep::Lift | StageStep::WaitUntil(_) => {
                panic!("it is not over")
            }
        }
    };
    let scheduled = with(&|facts| {
        facts.progress = PodProgress::Scheduled("node-7".into());
        facts.devices = [device("gpu-0")].into();
        // Whoever came later does not matter any more.
        facts.competitors = vec![competitor.clone()];
    });
    let pod = name("team-a", "critical");
    assert_eq!(scheduled.status(&pod).unwrap(), ExitStatus::Success);
    assert!(scheduled.success(&pod).unwrap().contains("node-7"));
    let lost = with(&|facts| facts.competitors = vec![competitor.clone()]);
    let failure = lost.status(&pod).unwrap_err();
    assert_eq!(failure.status(), ExitStatus::TimedOut);
    assert!(failure.details().join("").contains("team-b/other"));
    assert!(lost.success(&pod).is_none());
    let gone = with(&|facts| facts.progress = PodProgress::Gone);
    assert_eq!(gone.status(&pod).unwrap_err().status(), ExitStatus::Failed);
    let reversed = with(&|facts| facts.reversed = Some("rule r was removed".to_owned()));
    assert_eq!(
        reversed,
        StageEnd::Reversed("rule r was removed".to_owned())
    );
    assert_eq!(
        reversed.status(&pod).unwrap_err().status(),
        ExitStatus::Failed
    );
}

#[test]
fn priority_alone_lifts_the_taint_once_everybody_has_left() {
    let alone = StageLimits {
        mechanism: Mechanism::PriorityAlone,
        ..limits()
    };
    let mut run = StageRun::new(alone);
    run.raised();
    let one = [remaining("a", false, true)];
    assert!(matches!(
        run.next(&facts(&one), at(0)),
        StageStep::WaitUntil(_)
    ));
    assert_eq!(run.next(&facts(&[]), at(1)), StageStep::Lift);
    run.lifted();
    let mut lifted = facts(&[]);
    // That its rules are gone is its own doing.
    lifted.reversed = Some("rule r was removed".to_owned());
    assert!(matches!(run.next(&lifted, at(2)), StageStep::WaitUntil(_)));
}
