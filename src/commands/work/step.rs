//! What has to be done about a rule that is asked for?

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::look::Look;
use crate::cluster::{RuleDraft, RulePatch};
use crate::engine::{ConsideredTaint, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, RuleMetadata, Taint};
use crate::naming::device;

/// What has to be done about one rule.
#[derive(Debug)]
pub(crate) enum Step {
    Create(RuleDraft),
    Change(RuleDraft, Box<DeviceTaintRule>, RulePatch),
    Keep(RuleDraft),
}

impl Step {
    /// The rule as it is asked for.
    pub(crate) fn draft(&self) -> &RuleDraft {
        match self {
            Self::Create(draft) | Self::Change(draft, _, _) | Self::Keep(draft) => draft,
        }
    }
}

/// The taint that a step brings about, unless it is harmless or there already.
pub(crate) fn considered(step: &Step, now: Timestamp) -> Option<ConsideredTaint> {
    let harmless = |effect: &Effect| *effect == Effect::None;
    match step {
        Step::Keep(_) => None,
        Step::Create(draft) if harmless(&draft.taint.effect) => None,
        Step::Create(draft) => Some(ConsideredTaint::hypothetical(
            draft.selector.clone(),
            draft.taint.clone(),
            now,
        )),
        Step::Change(_, _, patch) if patch.effect.is_none() && patch.value.is_none() => None,
        Step::Change(draft, _, _) if harmless(&draft.taint.effect) => None,
        Step::Change(draft, rule, _) => Some(ConsideredTaint {
            taint: Taint {
                value: draft.taint.value.clone(),
                time_added: Some(if rule.taint.effect == draft.taint.effect {
                    rule.taint.time_added.unwrap_or(now)
                } else {
                    now
                }),
                ..draft.taint.clone()
            },
            ..ConsideredTaint::of_changed_rule(rule, &draft.taint.effect, now)
        }),
    }
}

/// A server that does not know an effect or a field would refuse it, or worse, drop it.
pub(crate) fn refuse_unsupported(
    drafts: &[RuleDraft],
    semantics: &Semantics,
) -> Result<(), Failure> {
    for draft in drafts {
        if draft.taint.effect == Effect::None && !semantics.has_effect_none {
            return Err(Failure::new(
                ExitStatus::Failed,
                format!(
                    "effect None came with Kubernetes 1.35, and this server is {}",
                    semantics.version
                ),
            )
            .hint("look at it with `kubectl devicetaint preview`, then add the taint with NoSchedule or NoExecute"));
        }
        let by_name = draft.selector.driver.is_some()
            || draft.selector.pool.is_some()
            || draft.selector.device.is_some();
        let narrowed =
            draft.selector.device_class.is_some() || !draft.selector.expressions.is_empty();
        if narrowed && !semantics.selects_by_expression {
            let consequence = if by_name {
                "more devices"
            } else {
                "every device"
            };
            return Err(Failure::usage(format!(
                "rule {} selects by deviceClassName or selectors, which Kubernetes 1.35 and later drop: it would taint {consequence}",
                draft.name
            ))
            .hint("name a driver, a pool or a device in spec.deviceSelector"));
        }
        if !draft.selector.unknown_fields.is_empty() {
            return Err(Failure::usage(format!(
                "rule {} has selector fields that this plugin does not know: {}",
                draft.name,
                draft.selector.unknown_fields.join(", ")
            )));
        }
    }
    Ok(())
}

/// What becomes of effect and value of a rule that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// They stay.
    Kept,
    /// They become what is asked for.
    Overwritten,
}

/// What has to be done, all of it checked before the first of it is.
pub(crate) fn steps(
    drafts: Vec<RuleDraft>,
    existing: Existing,
    look: &Look,
) -> Result<Vec<Step>, Failure> {
    drafts
        .into_iter()
        .map(|draft| {
            let rules = &look.snapshot().rules;
            match rules.iter().find(|rule| rule.name.as_str() == draft.name) {
                None => Ok(Step::Create(draft)),
                Some(rule) => step(draft, rule, existing, look),
            }
        })
        .collect()
}

fn step(
    draft: RuleDraft,
    rule: &DeviceTaintRule,
    existing: Existing,
    look: &Look,
) -> Result<Step, Failure> {
    let selects_same = rule.selector.as_ref() == Some(&draft.selector);
    let other_spec = !draft.is_spec_of(rule);
    if !selects_same
        || rule.taint.key != draft.taint.key
        || (other_spec && existing == Existing::Kept)
    {
        return Err(different(&draft, rule));
    }
    let mut patch = RulePatch::default();
    if rule.taint.effect != draft.taint.effect {
        patch.effect = Some(draft.taint.effect.clone());
        patch.time_added = (!look.semantics.server_renews_time_added).then_some(look.now);
    }
    if rule.taint.value != draft.taint.value {
        patch.value = Some(draft.taint.value.clone());
    }
    patch.labels = missing(&draft.labels, &rule.metadata.labels);
    patch.annotations = missing(&draft.annotations, &rule.metadata.annotations);
    if existing == Existing::Kept && rule.metadata.expires().is_some() {
        patch.annotations.remove(RuleMetadata::EXPIRES);
    }
    Ok(if patch.is_empty() {
        Step::Keep(draft)
    } else {
        Step::Change(draft, Box::new(rule.clone()), patch)
    })
}

/// A rule of that name is there and does something else.
pub(crate) fn different(draft: &RuleDraft, rule: &DeviceTaintRule) -> Failure {
    let selector = rule.selector.as_ref().map(device::format);
    let found = selector.unwrap_or_else(|| "no selector".to_owned());
    let failure = Failure::new(
        ExitStatus::Failed,
        format!(
            "rule {} exists and is different: it taints {found} with {}, not {} with {}; nothing was changed",
            rule.name,
            rule.taint,
            device::format(&draft.selector),
            draft.taint
        ),
    );
    let same_devices =
        rule.selector.as_ref() == Some(&draft.selector) && rule.taint.key == draft.taint.key;
    if same_devices {
        failure
            .hint("to change its effect or value, add --overwrite")
            .hint("to change its effect alone, use `escalate` or `deescalate`")
    } else {
        failure.hint("choose another name with --name")
    }
}

/// The entries of `wanted` that `present` does not have.
fn missing(
    wanted: &BTreeMap<String, String>,
    present: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let lacks = |(key, value): &(&String, &String)| present.get(*key) != Some(*value);
    wanted
        .iter()
        .filter(lacks)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
