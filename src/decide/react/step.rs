//! Decisions of a policy: a function of the signals, the rules and the time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::policy::Policy;
use crate::decide::draft::{RuleDraft, RulePatch};
use crate::decide::proposal::rank;
use crate::engine::Semantics;
use crate::engine::signal::{DeviceSignals, Signal, SignalAnswer};
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule, Effect, NodeName};
use crate::naming::duration::exact_duration;
use crate::naming::{device, keys};

/// Decision about one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The device; for a rule of another form, its selector.
    pub device: DeviceSelector,
    /// The action.
    pub action: Action,
    /// Reason for the action.
    pub why: String,
}

/// Action of a decision.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The rule is created, with effect None.
    Create(Box<RuleDraft>),
    /// The rule notes this, and gets the effect that it notes.
    Patch(Box<DeviceTaintRule>, Since),
    /// The rule is removed.
    Remove(Box<DeviceTaintRule>),
    /// The rule does not get this effect, because of a limit.
    Hold(Effect),
    /// The signal cannot be read, so that nothing is decided.
    Unknown,
    /// The rule was made or changed by another user or program, so that nothing is decided.
    Leave,
}

/// Effects that guards have refused, each with the reason.
pub type Held = Vec<(DeviceSelector, Effect, String)>;

/// Note of a rule: the state of the signal, its beginning, and the effect that the policy has set.
#[derive(Clone, Debug, PartialEq)]
pub struct Since {
    at: Timestamp,
    state: SignalState,
    effect: Effect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignalState {
    Present,
    Gone,
    Unknown,
}

const STATES: [(SignalState, &str); 3] = [
    (SignalState::Present, "present"),
    (SignalState::Gone, "gone"),
    (SignalState::Unknown, "unknown"),
];

impl fmt::Display for Since {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, state, effect } = self;
        write!(formatter, "{at} {} {effect}", state.as_str())
    }
}

impl Since {
    fn of(rule: &DeviceTaintRule) -> Option<Self> {
        let mut words = rule.metadata.annotation(keys::SINCE)?.split(' ');
        let (at, state, effect) = (words.next()?, words.next()?, words.next()?);
        let (state, _) = STATES.iter().find(|(_, name)| *name == state)?;
        Some(Self {
            at: at.parse().ok()?,
            state: *state,
            effect: Effect::from(effect),
        })
    }
}

/// Threshold that the signals of a device have reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Below,
    Soft,
    Hard,
}

impl Action {
    /// The change of an existing rule, if it is one.
    pub fn patch(&self, semantics: &Semantics, now: Timestamp) -> Option<RulePatch> {
        let Self::Patch(_, since) = self else {
            return None;
        };
        let mut patch = match self.raise() {
            Some((_, effect)) => RulePatch::effect(effect, semantics, Some(now)),
            None => RulePatch::default(),
        };
        let note = (keys::SINCE.to_owned(), since.to_string());
        patch.annotations.extend([note]);
        Some(patch)
    }

    /// True if a rule is created, changed or removed.
    pub fn is_change(&self) -> bool {
        !matches!(self, Self::Hold(_) | Self::Unknown | Self::Leave)
    }

    /// The rule that gets a stronger effect, and the effect.
    pub fn raise(&self) -> Option<(&DeviceTaintRule, &Effect)> {
        match self {
            Self::Patch(rule, since) if since.effect != rule.taint.effect => {
                Some((rule, &since.effect))
            }
            Self::Create(_)
            | Self::Patch(..)
            | Self::Remove(_)
            | Self::Hold(_)
            | Self::Unknown
            | Self::Leave => None,
        }
    }
}

impl SignalState {
    fn as_str(self) -> &'static str {
        let row = STATES.iter().find(|(state, _)| *state == self);
        row.map_or("", |(_, name)| name)
    }
}

impl Step {
    fn new(subject: &Subject<'_>, action: Action, why: impl Into<String>) -> Self {
        Self {
            device: subject.device.clone(),
            action,
            why: why.into(),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (&self.action, self.action.raise()) {
            (_, Some((_, effect))) => format!("effect {effect}"),
            (Action::Create(_), _) => "rule created, effect None".to_owned(),
            (Action::Patch(_, since), _) => format!("signal {}", since.state.as_str()),
            (Action::Remove(_), _) => "rule removed".to_owned(),
            (Action::Hold(effect), _) => format!("held, no {effect}"),
            (Action::Unknown, _) => "nothing decided".to_owned(),
            (Action::Leave, _) => "left alone".to_owned(),
        };
        let (device, why) = (device::format(&self.device), &self.why);
        write!(formatter, "{device}: {what}: {why}")
    }
}

/// A device and its rule.
struct Subject<'a> {
    device: DeviceSelector,
    node: Option<&'a NodeName>,
    level: Result<Level, String>,
    rule: Option<&'a DeviceTaintRule>,
    /// The note of the rule, if the rule is as this policy has left it.
    since: Option<Since>,
    /// The device whose signals it has.
    origin: Option<&'a DeviceId>,
}

impl Subject<'_> {
    /// The signal, with the device that has it.
    fn named(&self, signal: &Signal) -> String {
        match self.origin {
            Some(origin) => format!("{signal} of {}", origin.device),
            None => signal.to_string(),
        }
    }
}

/// Returns the decisions of `policy` at `now`, first about devices whose effect stays. After its changes, the next
/// call decides on what they lead to; without changes, nothing is left to decide at this time.
///
/// `devices` are all devices with their signals, `rules` all rules. `held` are effects that guards have refused.
pub fn decide(
    policy: &Policy,
    devices: &[DeviceSignals],
    rules: &[DeviceTaintRule],
    held: &Held,
    now: Timestamp,
) -> Vec<Step> {
    let subjects = policy.subjects(devices, rules);
    let mut steps = Vec::new();
    let mut raises = Vec::new();
    for subject in &subjects {
        match policy.next_step(subject, now) {
            Next::Nothing => {}
            Next::Step(step) => steps.push(step),
            Next::Raise(wanted) => raises.push((subject, wanted)),
        }
    }
    // Hard thresholds first, devices with signals of their own, then those that were reached first: limits hold the others.
    raises.sort_by_key(|(subject, _)| {
        let since = subject.since.as_ref().map(|since| since.at);
        let is_hard = subject.level == Ok(Level::Hard);
        let is_other = subject.origin.is_some();
        (
            Reverse(is_hard),
            is_other,
            since,
            device::format(&subject.device),
        )
    });
    let tainted = subjects.iter();
    let tainted = tainted.filter_map(|it| Some((it, it.rule?.taint.effect.clone())));
    let mut tainted: Vec<_> = tainted.filter(|(_, it)| *it != Effect::None).collect();
    for (subject, wanted) in raises {
        steps.extend(policy.within_limits(subject, wanted, held, &mut tainted));
    }
    steps
}

/// Carries out a change on rules in memory.
pub fn simulate(rules: &mut Vec<DeviceTaintRule>, action: &Action, now: Timestamp) {
    match action {
        Action::Create(draft) => {
            let mut rule = draft.rule();
            rule.uid = draft.name.as_str().into();
            rule.taint.time_added = Some(now);
            rules.push(rule);
        }
        Action::Patch(rule, since) => {
            for found in rules.iter_mut().filter(|found| found.name == rule.name) {
                let note = (keys::SINCE.to_owned(), since.to_string());
                found.metadata.annotations.extend([note]);
                if found.taint.effect != since.effect {
                    found.taint.effect = since.effect.clone();
                    found.taint.time_added = Some(now);
                }
            }
        }
        Action::Remove(rule) => rules.retain(|found| found.name != rule.name),
        Action::Hold(_) | Action::Unknown | Action::Leave => {}
    }
}

/// Next step about a device with a rule.
enum Next {
    Nothing,
    Step(Step),
    /// The rule is to have one of these effects, the strongest first, each with its reason.
    Raise(Vec<(Effect, String)>),
}

impl Policy {
    /// Devices with a signal or a rule of this policy.
    fn subjects<'a>(
        &self,
        devices: &'a [DeviceSignals],
        rules: &'a [DeviceTaintRule],
    ) -> Vec<Subject<'a>> {
        let is_labelled =
            |rule: &&DeviceTaintRule| rule.metadata.labels.get(keys::POLICY) == Some(&self.name);
        let mut own: BTreeMap<String, &DeviceTaintRule> = rules
            .iter()
            .filter(is_labelled)
            .map(|rule| (format_selector(rule), rule))
            .collect();
        let mut subjects = Vec::new();
        for found in devices {
            let device = DeviceSelector::from(found.id.clone());
            let mut rule = own.remove(&device::format(&device));
            let level = level(found, rule.is_some());
            if rule.is_none() {
                if level == Ok(Level::Below) {
                    continue;
                }
                // A rule of this name without the label was made by another user or program.
                let name = self.name_for(&device);
                rule = rules.iter().find(|rule| *rule.name.as_str() == name);
            }
            subjects.push(Subject {
                since: rule.and_then(|rule| self.note_of(rule, &device)),
                device,
                node: found.node.as_ref(),
                level,
                rule,
                origin: found.origin.as_ref(),
            });
        }
        // Of devices that no driver publishes and no claim holds.
        subjects.extend(own.into_values().map(|rule| {
            let device = rule.selector.clone().unwrap_or_default();
            Subject {
                since: self.note_of(rule, &device),
                device,
                node: None,
                level: Err("no driver publishes the device".to_owned()),
                rule: Some(rule),
                origin: None,
            }
        }));
        subjects
    }

    /// The note of a rule that is as this policy has left it.
    fn note_of(&self, rule: &DeviceTaintRule, device: &DeviceSelector) -> Option<Since> {
        let since = Since::of(rule)?;
        let is_own = rule.metadata.labels.get(keys::POLICY) == Some(&self.name)
            && *rule.name.as_str() == self.name_for(device)
            && rule.selector.as_ref() == Some(device)
            && self.is_taint(&rule.taint)
            && rule.taint.effect == since.effect;
        is_own.then_some(since)
    }

    /// Step about a device without a rule.
    fn first_step(&self, subject: &Subject<'_>, now: Timestamp) -> Option<Step> {
        let threshold = match &subject.level {
            Ok(Level::Below) => return None,
            Ok(Level::Soft) => self.soft.as_ref()?,
            Ok(Level::Hard) => self.hard.as_ref()?,
            Err(reason) => return Some(Step::new(subject, Action::Unknown, reason)),
        };
        let since = Since {
            at: now,
            state: SignalState::Present,
            effect: Effect::None,
        };
        let draft = self.draft(&subject.device, since.to_string());
        let create = Action::Create(Box::new(draft));
        Some(Step::new(subject, create, subject.named(&threshold.signal)))
    }

    fn next_step(&self, subject: &Subject<'_>, now: Timestamp) -> Next {
        let (rule, since) = match (subject.rule, &subject.since) {
            (None, _) => {
                let first = self.first_step(subject, now);
                return first.map_or(Next::Nothing, Next::Step);
            }
            (Some(rule), _) if rule.metadata.deletion.is_some() => return Next::Nothing,
            (Some(rule), None) => {
                let name = &rule.name;
                let why = format!("rule {name} was made or changed by another user or program");
                return Next::Step(Step::new(subject, Action::Leave, why));
            }
            (Some(rule), Some(since)) => (rule, since),
        };
        let (state, unknown) = match &subject.level {
            Ok(Level::Below) => (SignalState::Gone, None),
            Ok(Level::Soft | Level::Hard) => (SignalState::Present, None),
            Err(reason) => (SignalState::Unknown, Some(reason)),
        };
        let stay = self.stay(&since.effect);
        let elapsed = now.duration_since(since.at);
        let step = match (unknown, state == since.state) {
            (Some(reason), true) => Step::new(subject, Action::Unknown, reason),
            (reason, false) => {
                let why = match (reason, state, stay) {
                    (Some(reason), _, _) => reason.clone(),
                    (None, SignalState::Present, _) => "the grace period begins again".to_owned(),
                    (None, _, Some(stay)) => {
                        let stay = exact_duration(stay);
                        format!("the rule is removed when it is gone for {stay}")
                    }
                    (None, _, None) => "the rule stays until it is removed by hand".to_owned(),
                };
                let noted = Since {
                    at: now,
                    state,
                    effect: since.effect.clone(),
                };
                Step::new(subject, Action::Patch(Box::new(rule.clone()), noted), why)
            }
            (None, true) if state == SignalState::Present => {
                return Next::Raise(self.wanted(subject, since, elapsed));
            }
            (None, true) if stay.is_none_or(|stay| elapsed < stay) => return Next::Nothing,
            (None, true) => {
                let why = format!("the signal is gone for {}", exact_duration(elapsed));
                Step::new(subject, Action::Remove(Box::new(rule.clone())), why)
            }
        };
        Next::Step(step)
    }

    /// Time for which a rule stays after its signal is gone; absent for ever. One with effect None stays for the grace
    /// period, too, so that a flapping signal makes one rule.
    fn stay(&self, effect: &Effect) -> Option<SignedDuration> {
        match effect {
            Effect::None => {
                let grace = self.soft.as_ref().map(|soft| soft.grace);
                Some(grace.max(self.recovery).unwrap_or_default())
            }
            Effect::NoSchedule | Effect::NoExecute | Effect::Unknown(_) => self.recovery,
        }
    }

    /// Effects that the rule should have by now, the strongest first.
    fn wanted(
        &self,
        subject: &Subject<'_>,
        since: &Since,
        elapsed: SignedDuration,
    ) -> Vec<(Effect, String)> {
        let hard = self.hard.as_ref();
        let hard = hard.filter(|_| subject.level == Ok(Level::Hard));
        let hard = hard.map(|hard| (hard.effect.clone(), subject.named(&hard.signal)));
        let soft = self.soft.as_ref().filter(|soft| elapsed >= soft.grace);
        let soft = soft.map(|soft| {
            let signal = subject.named(&soft.signal);
            let why = format!("{signal} for {}", exact_duration(elapsed));
            (soft.effect.clone(), why)
        });
        let mut wanted: Vec<_> = hard.into_iter().chain(soft).collect();
        wanted.retain(|(effect, _)| rank(effect) > rank(&since.effect));
        wanted.sort_by_key(|(effect, _)| Reverse(rank(effect)));
        wanted
    }

    /// The strongest of the wanted effects that limits and guards allow, and the one that they do not; `tainted` are the
    /// devices that the policy taints.
    fn within_limits<'a>(
        &self,
        subject: &'a Subject<'a>,
        wanted: Vec<(Effect, String)>,
        held: &Held,
        tainted: &mut Vec<(&'a Subject<'a>, Effect)>,
    ) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let (Some(rule), Some(since)) = (subject.rule, &subject.since) else {
            return steps;
        };
        for (effect, why) in wanted {
            let refused = held
                .iter()
                .find(|(device, refused, _)| *device == subject.device && *refused == effect);
            let refused = refused.map(|(.., reason)| reason.clone());
            if let Some(reason) = refused.or_else(|| self.limit(subject, &effect, tainted)) {
                if steps.is_empty() {
                    steps.push(Step::new(subject, Action::Hold(effect), reason));
                }
                continue;
            }
            tainted.retain(|(other, _)| other.device != subject.device);
            tainted.push((subject, effect.clone()));
            let since = Since {
                effect,
                ..since.clone()
            };
            let raise = Action::Patch(Box::new(rule.clone()), since);
            steps.push(Step::new(subject, raise, why));
            break;
        }
        steps
    }

    /// The limit that keeps a device from an effect.
    fn limit(
        &self,
        subject: &Subject<'_>,
        effect: &Effect,
        tainted: &[(&Subject<'_>, Effect)],
    ) -> Option<String> {
        let others = tainted.iter();
        let others = others.filter(|(other, _)| other.device != subject.device);
        let on_node = others
            .clone()
            .filter(|(other, _)| other.node == subject.node);
        if self
            .device_limit
            .is_some_and(|limit| others.clone().count() >= limit)
        {
            return Some(format!("limits.devices is {}", others.count()));
        }
        if self
            .node_limit
            .is_some_and(|limit| on_node.clone().count() >= limit)
        {
            return Some(format!("limits.perNode is {}", on_node.count()));
        }
        let evicting = others.clone().any(|(_, effect)| effect.evicts());
        (self.device_limit.is_none() && effect.evicts() && evicting)
            .then(|| "one device has NoExecute, and limits.devices is not set".to_owned())
    }
}

fn format_selector(rule: &DeviceTaintRule) -> String {
    rule.selector
        .as_ref()
        .map_or_else(String::new, device::format)
}

/// The threshold that a device has reached, or why that is unknown.
fn level(device: &DeviceSignals, has_rule: bool) -> Result<Level, String> {
    match &device.selected {
        SignalAnswer::Present => {}
        SignalAnswer::Absent | SignalAnswer::Unreported => return Ok(Level::Below),
        SignalAnswer::Unknown(reason) => return Err(reason.clone()),
    }
    match (&device.hard, &device.soft) {
        (SignalAnswer::Present, _) => Ok(Level::Hard),
        (_, SignalAnswer::Present) => Ok(Level::Soft),
        (hard, soft) => match hard.max(soft) {
            SignalAnswer::Unknown(reason) => Err(reason.clone()),
            // Without a rule, nothing hangs on the answer.
            SignalAnswer::Unreported if has_rule => {
                Err("no pod uses the device and reports its health".to_owned())
            }
            SignalAnswer::Absent | SignalAnswer::Unreported | SignalAnswer::Present => {
                Ok(Level::Below)
            }
        },
    }
}
