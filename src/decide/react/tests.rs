//! Policies in virtual time.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Action, Held, Policy, Step, TaintPolicy, decide, simulate};
use crate::engine::signal::{DeviceSignals, SignalAnswer};
use crate::engine::testing::{Random, semantics, tries};
use crate::model::{DeviceId, DeviceTaintRule, Effect};

const BEGIN: i64 = 1_000_000;

fn policy(spec: &str) -> Policy {
    written(spec).check().unwrap()
}

fn written(spec: &str) -> TaintPolicy {
    read(spec).unwrap()
}

fn read(spec: &str) -> Result<TaintPolicy, String> {
    let text = format!(
        "{{apiVersion: devicetaint.dev/v1alpha1, kind: TaintPolicy, metadata: {{name: xid}}, spec: {{devices: 'true', taint: {{key: example.com/unhealthy}}, {spec}}}}}"
    );
    serde_yaml::from_str(&text).map_err(|error| error.to_string())
}

fn id(device: &str) -> DeviceId {
    DeviceId {
        driver: "gpu.example.com".into(),
        pool: "node-7".into(),
        device: device.into(),
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(BEGIN + seconds).unwrap()
}

/// `.` for no signal, `s` for the soft one, `h` for both, `?` for neither known.
fn signals(device: &str, node: &str, state: char) -> DeviceSignals {
    let unknown = || SignalAnswer::Unknown("not published".to_owned());
    let (soft, hard) = match state {
        's' => (SignalAnswer::Present, SignalAnswer::Absent),
        'h' => (SignalAnswer::Present, SignalAnswer::Present),
        '?' => (unknown(), unknown()),
        _ => (SignalAnswer::Absent, SignalAnswer::Absent),
    };
    DeviceSignals {
        id: id(device),
        node: Some(node.into()),
        selected: SignalAnswer::Present,
        soft,
        hard,
        origin: None,
    }
}

/// All decisions at a time; those that change something are carried out.
fn turn(
    policy: &Policy,
    devices: &[DeviceSignals],
    rules: &mut Vec<DeviceTaintRule>,
    now: Timestamp,
) -> Vec<Step> {
    let mut all = Vec::new();
    for _ in 0..8 {
        let steps = decide(policy, devices, rules, &Held::new(), now);
        for step in &steps {
            simulate(rules, &step.action, now);
            if let Action::Patch(rule, _) = &step.action {
                let patch = step.action.patch(&semantics(37), now).expect("a patch");
                let mut made = rules.iter().filter(|made| made.name == rule.name);
                assert!(made.all(|made| patch.is_in(made)), "{step}: {patch:?}");
                assert_eq!(patch.effect.is_some(), step.action.raise().is_some());
                assert!(!patch.annotations.is_empty(), "{step}");
            }
        }
        let is_done = !steps.iter().any(|step| step.action.is_change());
        all.extend(
            steps
                .into_iter()
                .filter(|step| step.action.is_change() || is_done),
        );
        if is_done {
            return all;
        }
    }
    panic!("decisions do not end: {all:?}");
}

/// The lines of a device with this history, a character for a minute, each after its minute.
fn lines(policy: &Policy, history: &str) -> Vec<String> {
    let mut rules = Vec::new();
    let mut lines = Vec::new();
    for (minute, state) in (0..).zip(history.chars()) {
        let devices = [signals("gpu-0", "a", state)];
        for step in turn(policy, &devices, &mut rules, at(minute * 60)) {
            let line = step
                .to_string()
                .replace("gpu.example.com/node-7/gpu-0: ", "");
            lines.push(format!("{minute} {line}"));
        }
    }
    lines
}

const SOFT_AND_HARD: &str = "soft: {signal: 'temperature>85', for: 5m, effect: NoSchedule}, hard: {signal: 'temperature>95', effect: NoExecute}, recover: {for: 3m}";

#[test]
fn device_goes_through_its_effects_and_back() {
    let found = lines(&policy(SOFT_AND_HARD), ".ssssssshhs....");
    assert_eq!(
        found,
        [
            "1 rule created, effect None: temperature>85",
            "6 effect NoSchedule: temperature>85 for 5m",
            "8 effect NoExecute: temperature>95",
            "11 signal gone: the rule is removed when it is gone for 3m",
            "14 rule removed: the signal is gone for 3m",
        ]
    );
}

#[test]
fn flapping_signal_makes_one_rule_and_no_effect() {
    let found = lines(&policy(SOFT_AND_HARD), "ssss.ssss.ssss......");
    let of = |word: &str| found.iter().filter(|line| line.contains(word)).count();
    assert_eq!(
        (of("created"), of("effect NoSchedule"), of("removed: ")),
        (1, 0, 1),
        "{found:?}"
    );
}

#[test]
fn unknown_time_is_no_grace_period_and_no_recovery() {
    let found = lines(&policy(SOFT_AND_HARD), "ss??sssss");
    assert_eq!(
        found.last().unwrap(),
        "4 signal present: the grace period begins again"
    );
    assert!(found.contains(&"3 nothing decided: not published".to_owned()));
    let found = lines(&policy(SOFT_AND_HARD), "ssssss..?..");
    assert!(
        !found.iter().any(|line| line.contains("removed: ")),
        "{found:?}"
    );
}

#[test]
fn hard_signal_acts_at_once() {
    let found = lines(&policy(SOFT_AND_HARD), "h");
    assert_eq!(
        found,
        [
            "0 rule created, effect None: temperature>95",
            "0 effect NoExecute: temperature>95"
        ]
    );
}

#[test]
fn without_recovery_a_tainted_device_stays_tainted() {
    let policy = policy("signal: health=Unhealthy, hard: {effect: NoSchedule}");
    let found = lines(&policy, &format!("h{}", ".".repeat(600)));
    let last = "1 signal gone: the rule stays until it is removed by hand";
    assert_eq!(found.last().unwrap(), last);
}

#[test]
fn rules_of_others_and_changed_ones_are_left_alone() {
    type Change = fn(&mut DeviceTaintRule);
    let changes: [Change; 6] = [
        |rule| rule.taint.effect = Effect::NoExecute,
        |rule| rule.taint.value.push('x'),
        |rule| rule.selector = None,
        |rule| rule.metadata.labels.clear(),
        |rule| rule.metadata.annotations.clear(),
        |rule| {
            let note = ("devicetaint.dev/since".to_owned(), "yesterday".to_owned());
            rule.metadata.annotations.extend([note]);
        },
    ];
    let policy = policy(SOFT_AND_HARD);
    for (number, change) in changes.into_iter().enumerate() {
        let mut rules = Vec::new();
        turn(&policy, &[signals("gpu-0", "a", 's')], &mut rules, at(0));
        change(&mut rules[0]);
        let changed = rules.clone();
        for (time, state) in [(600, 'h'), (1200, 's')] {
            let steps = turn(
                &policy,
                &[signals("gpu-0", "a", state)],
                &mut rules,
                at(time),
            );
            let left = steps.iter().any(|step| step.action == Action::Leave);
            assert!(left, "{number}: {steps:?}");
        }
        assert_eq!(rules, changed, "{number}");
    }
}

#[test]
fn limits_and_guards_leave_the_weaker_effect() {
    let devices = ["gpu-0", "gpu-1"].map(|device| signals(device, "a", 'h'));
    let shown = |rules: &[DeviceTaintRule]| -> Vec<String> {
        rules
            .iter()
            .map(|rule| rule.taint.effect.to_string())
            .collect()
    };
    for (limits, effects, why) in [
        ("", ["NoExecute", "NoSchedule"], "one device has NoExecute"),
        (
            ", limits: {devices: 1}",
            ["NoExecute", "None"],
            "limits.devices is 1",
        ),
        (
            ", limits: {devices: 9, perNode: 1}",
            ["NoExecute", "None"],
            "limits.perNode is 1",
        ),
        (", limits: {devices: 2}", ["NoExecute", "NoExecute"], ""),
    ] {
        let policy = policy(&format!("{SOFT_AND_HARD}{limits}"));
        let mut rules = Vec::new();
        turn(&policy, &devices, &mut rules, at(0));
        let steps = turn(&policy, &devices, &mut rules, at(600));
        assert_eq!(shown(&rules), effects, "{limits}");
        let held = steps
            .iter()
            .find(|step| matches!(step.action, Action::Hold(_)));
        let reason = held.map_or("", |step| step.why.as_str());
        assert!(
            reason.starts_with(why) && reason.is_empty() == why.is_empty(),
            "{reason}"
        );
    }
    let policy = policy(SOFT_AND_HARD);
    let mut rules = Vec::new();
    turn(&policy, &devices[..1], &mut rules, at(0));
    rules[0].taint.effect = Effect::None;
    let note = (
        "devicetaint.dev/since".to_owned(),
        format!("{} present None", at(0)),
    );
    rules[0].metadata.annotations.extend([note]);
    let device = rules[0].selector.clone().unwrap();
    let held = vec![(device, Effect::NoExecute, "guard tripped".to_owned())];
    let steps = decide(&policy, &devices[..1], &rules, &held, at(600));
    let actions: Vec<String> = steps
        .iter()
        .map(|step| format!("{:.12?}", step.why))
        .collect();
    assert_eq!(steps.len(), 2, "{actions:?}");
    assert_eq!(steps[0].action, Action::Hold(Effect::NoExecute));
    let (_, effect) = steps[1].action.raise().unwrap();
    assert_eq!(*effect, Effect::NoSchedule);
}

#[test]
fn hard_signal_comes_first_within_limits() {
    let policy = policy(&format!("{SOFT_AND_HARD}, limits: {{devices: 1}}"));
    let mut rules = Vec::new();
    let mut last = Vec::new();
    for (time, first, second) in [(0, 's', '.'), (240, 's', 's'), (300, 's', 'h')] {
        let devices = [signals("gpu-0", "a", first), signals("gpu-1", "b", second)];
        last = turn(&policy, &devices, &mut rules, at(time));
    }
    let lines: Vec<String> = last.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "gpu.example.com/node-7/gpu-1: effect NoExecute: temperature>95",
            "gpu.example.com/node-7/gpu-0: held, no NoSchedule: limits.devices is 1",
        ]
    );
}

#[test]
fn limits_hold_what_only_shares_counters() {
    let policy = policy(&format!("{SOFT_AND_HARD}, limits: {{devices: 1}}"));
    let mut card = signals("a-card", "a", 'h');
    card.origin = Some(id("b-part"));
    let devices = [card, signals("b-part", "a", 'h')];
    let mut rules = Vec::new();
    let steps = turn(&policy, &devices, &mut rules, at(0));
    let lines: Vec<String> = steps.iter().map(Step::to_string).collect();
    let has = |line: &str| lines.iter().any(|found| found.ends_with(line));
    assert!(
        has("a-card: rule created, effect None: temperature>95 of b-part"),
        "{lines:?}"
    );
    assert!(has("b-part: effect NoExecute: temperature>95"), "{lines:?}");
    assert!(
        has("a-card: held, no NoExecute: limits.devices is 1"),
        "{lines:?}"
    );
}

#[test]
fn health_that_is_not_reported_matters_only_with_a_rule() {
    let policy = policy("signal: health=Unhealthy, hard: {effect: NoSchedule}, recover: {for: 1m}");
    let mut device = signals("gpu-0", "a", '.');
    device.hard = SignalAnswer::Unreported;
    let mut rules = Vec::new();
    assert_eq!(
        turn(&policy, std::slice::from_ref(&device), &mut rules, at(0)),
        []
    );
    turn(&policy, &[signals("gpu-0", "a", 'h')], &mut rules, at(60));
    for minute in 2..9 {
        let steps = turn(
            &policy,
            std::slice::from_ref(&device),
            &mut rules,
            at(60 * minute),
        );
        assert!(steps.iter().any(|step| step.action == Action::Unknown));
    }
    assert_eq!(rules[0].taint.effect, Effect::NoSchedule);
}

#[test]
fn rule_of_a_device_that_is_gone_stays() {
    let policy = policy(SOFT_AND_HARD);
    let mut rules = Vec::new();
    turn(&policy, &[signals("gpu-0", "a", 'h')], &mut rules, at(0));
    for minute in 1..60 {
        turn(&policy, &[], &mut rules, at(60 * minute));
    }
    assert_eq!(rules[0].taint.effect, Effect::NoExecute);
}

#[test]
fn device_that_is_no_longer_selected_recovers() {
    let policy = policy(SOFT_AND_HARD);
    let mut rules = Vec::new();
    let mut device = signals("gpu-0", "a", 'h');
    turn(&policy, std::slice::from_ref(&device), &mut rules, at(0));
    device.selected = SignalAnswer::Absent;
    for minute in 1..5 {
        turn(
            &policy,
            std::slice::from_ref(&device),
            &mut rules,
            at(60 * minute),
        );
    }
    assert_eq!(rules, []);
}

#[test]
fn wrong_policies_are_refused_by_the_field() {
    for (spec, field) in [
        ("signal: a>1", "spec: it has neither soft nor hard"),
        ("hard: {effect: NoExecute}", "spec.signal"),
        ("signal: a>x, hard: {effect: NoExecute}", "spec.signal"),
        (
            "signal: a>1, soft: {for: 1m, effect: NoExecute}, hard: {effect: NoSchedule}",
            "spec.hard.effect",
        ),
        (
            "signal: a>1, soft: {for: soon, effect: NoSchedule}",
            "spec.soft.for",
        ),
        (
            "signal: a>1, hard: {effect: NoExecute}, recover: {for: '-1m'}",
            "spec.recover.for",
        ),
        (
            "signal: a>1, hard: {effect: NoExecute}, limits: {abortIf: [x]}",
            "spec.limits.abortIf",
        ),
    ] {
        let error = written(spec).check().unwrap_err().to_string();
        assert!(
            error.starts_with("TaintPolicy xid: ") && error.contains(field),
            "{error}"
        );
    }
    for (change, field) in [
        (
            (|it| it.metadata.name = "A".to_owned()) as fn(&mut TaintPolicy),
            "metadata.name",
        ),
        (|it| it.metadata.name = "a".repeat(41), "metadata.name"),
        (|it| it.spec.taint.key = "a b".to_owned(), "spec.taint.key"),
        (|it| it.spec.devices = "device.".to_owned(), "spec.devices"),
        (|it| it.kind = "Policy".to_owned(), "kind"),
    ] {
        let mut policy = written(SOFT_AND_HARD);
        change(&mut policy);
        let error = policy.check().unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
    for (spec, problem) in [
        (
            "signal: a>1, hard: {effect: None}",
            "unknown variant `None`",
        ),
        (
            "signal: a>1, soft: {effect: NoSchedule}",
            "missing field `for`",
        ),
        ("signal: a>1, weight: 3", "unknown field `weight`"),
    ] {
        let error = read(spec).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn hard_effect_is_not_weaker_than_the_soft_one() {
    for (soft, hard, is_fine) in [
        ("NoSchedule", "NoSchedule", true),
        ("NoSchedule", "NoExecute", true),
        ("NoExecute", "NoExecute", true),
        ("NoExecute", "NoSchedule", false),
    ] {
        let spec =
            format!("signal: a>1, soft: {{for: 1m, effect: {soft}}}, hard: {{effect: {hard}}}");
        assert_eq!(written(&spec).check().is_ok(), is_fine, "{soft} {hard}");
    }
    let mut longest = written(SOFT_AND_HARD);
    longest.metadata.name = "a".repeat(40);
    assert!(longest.check().is_ok());
}

#[test]
fn pods_are_needed_for_their_reports_of_health_alone() {
    assert!(policy("hard: {signal: health=Unhealthy, effect: NoExecute}").needs_pods);
    assert!(!policy(SOFT_AND_HARD).needs_pods);
}

/// A device's history: a state for each minute.
struct History {
    device: &'static str,
    node: &'static str,
    states: Vec<char>,
}

impl History {
    fn random(device: &'static str, node: &'static str, random: &mut Random) -> Self {
        let mut state = '.';
        let states = (0..60).map(|_| {
            if random.one_in(4) {
                state = ['.', '.', 's', 'h', '?'][random.below(5)];
            }
            state
        });
        Self {
            device,
            node,
            states: states.collect(),
        }
    }

    fn at(&self, time: i64) -> char {
        let minute = usize::try_from(time / 60).unwrap();
        self.states.get(minute).copied().unwrap_or('.')
    }

    /// True if the state was one of these for so long before this time.
    fn was(&self, states: &str, time: i64, length: i64) -> bool {
        let mut minutes = (time - length) / 60..=time / 60;
        time >= length && minutes.all(|minute| states.contains(self.at(minute * 60)))
    }
}

struct Terms {
    grace: i64,
    recovery: i64,
    device_limit: Option<usize>,
    node_limit: Option<usize>,
    policy: Policy,
}

impl Terms {
    fn random(random: &mut Random) -> Self {
        let grace = [0, 2, 5][random.below(3)];
        let recovery = [1, 4, 10][random.below(3)];
        let device_limit = [None, Some(1), Some(2)][random.below(3)];
        let node_limit = [None, Some(1)][random.below(2)];
        let number = |name: &str, number: Option<usize>| {
            number.map_or_else(String::new, |number| format!("{name}: {number}, "))
        };
        let limits = number("devices", device_limit) + &number("perNode", node_limit);
        let spec = format!(
            "soft: {{signal: 'a>1', for: {grace}m, effect: NoSchedule}}, hard: {{signal: 'a>2', effect: NoExecute}}, recover: {{for: {recovery}m}}, limits: {{{limits}}}"
        );
        Self {
            grace: 60 * grace,
            recovery: 60 * recovery,
            device_limit,
            node_limit,
            policy: policy(&spec),
        }
    }
}

/// Runs a history in steps of so many seconds; `check` sees each decision, and the rules after each step.
fn run(
    terms: &Terms,
    histories: &[History],
    step: i64,
    mut check: impl FnMut(i64, &[Step], &[DeviceTaintRule]),
) -> Vec<DeviceTaintRule> {
    let mut rules = Vec::new();
    for time in (0..=90 * 60).step_by(usize::try_from(step).unwrap()) {
        let devices: Vec<DeviceSignals> = histories
            .iter()
            .map(|history| signals(history.device, history.node, history.at(time)))
            .collect();
        let steps = turn(&terms.policy, &devices, &mut rules, at(time));
        check(time, &steps, &rules);
    }
    rules
}

#[test]
fn laws_hold_for_every_history() {
    for seed in 1..=tries(1000) {
        let random = &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let terms = Terms::random(random);
        let histories = [("gpu-0", "a"), ("gpu-1", "a"), ("gpu-2", "b")]
            .map(|(device, node)| History::random(device, node, random));
        let of = |step: &Step| {
            let name = step.device.device.as_ref().unwrap().as_str();
            histories
                .iter()
                .find(|history| history.device == name)
                .unwrap()
        };
        let mut created: BTreeMap<&str, i64> = BTreeMap::new();
        let end = run(&terms, &histories, 10, |time, steps, rules| {
            for step in steps {
                let history = of(step);
                let place = format!("seed {seed}, second {time}: {step}");
                assert!(!step.why.is_empty(), "{place}");
                match &step.action {
                    Action::Create(_) => {
                        assert!("sh".contains(history.at(time)), "{place}");
                        // A flapping signal makes one rule in a grace period.
                        let before = created.insert(history.device, time);
                        assert!(
                            before.is_none_or(|before| time - before >= terms.grace),
                            "{place}"
                        );
                    }
                    Action::Patch(..) if step.action.raise().is_some() => {
                        // Only rules with effect None outlive a short recovery.
                        created.remove(history.device);
                        let (_, effect) = step.action.raise().unwrap();
                        let is_hard = history.at(time) == 'h' && effect.evicts();
                        let is_soft = history.was("sh", time, terms.grace) && !effect.evicts();
                        assert!(is_hard || is_soft, "{place}");
                    }
                    Action::Remove(rule) => {
                        let stay = match rule.taint.effect {
                            Effect::None => terms.recovery.max(terms.grace),
                            Effect::NoSchedule | Effect::NoExecute | Effect::Unknown(_) => {
                                terms.recovery
                            }
                        };
                        assert!(history.was(".", time, stay), "{place}");
                    }
                    Action::Patch(..) | Action::Hold(_) | Action::Unknown | Action::Leave => {}
                }
            }
            let tainted: Vec<&DeviceTaintRule> = rules
                .iter()
                .filter(|rule| rule.taint.effect != Effect::None)
                .collect();
            let evicting = tainted
                .iter()
                .filter(|rule| rule.taint.effect.evicts())
                .count();
            assert!(
                terms.device_limit.is_some() || evicting <= 1,
                "seed {seed}, second {time}"
            );
            assert!(
                terms
                    .device_limit
                    .is_none_or(|limit| tainted.len() <= limit)
            );
            let on_a = tainted.iter().filter(|rule| {
                let device = rule.selector.as_ref().unwrap().device.as_ref().unwrap();
                device.as_str() != "gpu-2"
            });
            let on_a = on_a.count();
            assert!(
                terms.node_limit.is_none_or(|limit| on_a <= limit),
                "seed {seed}"
            );
        });
        // Other steps see the same changes at the same times.
        for step in [20, 60] {
            let other = run(&terms, &histories, step, |_, _, _| {});
            assert_eq!(other, end, "seed {seed}, steps of {step} s");
        }
    }
}
