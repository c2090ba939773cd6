//! Policies: the document, and its meaning.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::assess::Guard;
use crate::decide::draft::{RuleDraft, of_batch};
use crate::engine::expression::DeviceExpression;
use crate::engine::signal::{Signal, SignalQuestion};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceSelector, Effect, Taint};
use crate::naming::duration::parse_duration;
use crate::naming::phrase::each_once;
use crate::naming::{device, keys, rule};

const API_VERSION: &str = keys::in_group!("v1alpha1");
const KIND: &str = "TaintPolicy";
/// So long may the name of a policy be: it is the beginning of the names of its rules, and the value of their taints.
const LONGEST_NAME: usize = 40;

/// Policy of `react`: which signal of which devices becomes which taint.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaintPolicy {
    /// `devicetaint.dev/v1alpha1`.
    pub api_version: String,
    /// `TaintPolicy`.
    pub kind: String,
    /// Name of the policy.
    pub metadata: PolicyMetadata,
    /// The policy.
    pub spec: PolicySpec,
}

/// Name of a policy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyMetadata {
    /// The name: the value of the taints, and the label `devicetaint.dev/policy` of the rules.
    pub name: String,
}

/// Content of a policy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicySpec {
    /// The devices, as a CEL expression, as of `--where`.
    pub devices: String,
    /// The signal: `taint KEY[=VALUE][:EFFECT]` that the driver publishes, an attribute or capacity with an operator and a
    /// quantity, such as `temperature>90`, or `health=Unhealthy`.
    pub signal: Option<String>,
    /// The taint that the devices get; its value is the name of the policy.
    pub taint: PolicyTaint,
    /// Effect after a grace period.
    pub soft: Option<SoftThreshold>,
    /// Effect at once.
    pub hard: Option<HardThreshold>,
    /// Removal of the taint; without it, a taint with an effect stays until it is removed by hand.
    pub recover: Option<Recovery>,
    /// True if devices that cannot be used beside a device that has the signal, such as partitions of a GPU, are tainted
    /// with it.
    #[serde(default)]
    pub with_partitions: bool,
    /// Limits.
    #[serde(default)]
    pub limits: PolicyLimits,
}

/// Taint of a policy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyTaint {
    /// Its key.
    pub key: String,
}

/// Threshold with a grace period.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoftThreshold {
    /// Its signal; default: that of the policy.
    pub signal: Option<String>,
    /// Grace period, such as `5m`.
    pub r#for: String,
    /// `NoSchedule` or `NoExecute`.
    pub effect: StrongEffect,
}

/// Threshold without a grace period.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HardThreshold {
    /// Its signal; default: that of the policy.
    pub signal: Option<String>,
    /// `NoSchedule` or `NoExecute`.
    pub effect: StrongEffect,
}

/// Effect of a threshold.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum StrongEffect {
    /// New pods are blocked.
    NoSchedule,
    /// Running pods are evicted, too.
    NoExecute,
}

/// Removal of a taint.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recovery {
    /// Time for which the signal has to be gone, such as `30m`.
    pub r#for: String,
}

/// Limits of a policy. Rules with effect None do not count.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyLimits {
    /// Most devices that the policy taints; without it, at most one gets NoExecute.
    pub devices: Option<usize>,
    /// Most devices of one node.
    pub per_node: Option<usize>,
    /// Guards, as of `--abort-if`: a device keeps its effect if one trips, or if its value is unknown.
    #[serde(default)]
    pub abort_if: Vec<String>,
}

/// A policy that was understood.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Guards of its evictions.
    pub guards: Vec<Guard>,
    /// True if pods are needed for its signals.
    pub needs_pods: bool,
    pub(super) soft: Option<Threshold>,
    pub(super) hard: Option<Threshold>,
    pub(super) recovery: Option<SignedDuration>,
    pub(super) device_limit: Option<usize>,
    pub(super) node_limit: Option<usize>,
    devices: DeviceExpression,
    key: String,
    with_partitions: bool,
}

/// A threshold of a policy.
#[derive(Clone, Debug)]
pub(super) struct Threshold {
    pub(super) signal: Signal,
    pub(super) grace: SignedDuration,
    pub(super) effect: Effect,
}

impl TaintPolicy {
    /// Checks the policy.
    ///
    /// # Errors
    ///
    /// A wrong field, which is named.
    pub fn check(&self) -> Result<Policy, Failure> {
        let Self { metadata, spec, .. } = self;
        let name = &metadata.name;
        let wrong = |field: &str, problem: &str| {
            let text = format!("{KIND} {}: {field}: {problem}", name.escape_debug());
            Failure::new(ExitStatus::Failed, text)
        };
        if (self.api_version.as_str(), self.kind.as_str()) != (API_VERSION, KIND) {
            let message = format!("it must be {KIND} of {API_VERSION}");
            return Err(wrong("apiVersion, kind", &message));
        }
        device::check_rule(name).map_err(|error| wrong("metadata.name", &error.to_string()))?;
        if name.len() > LONGEST_NAME {
            let problem = format!("at most {LONGEST_NAME} characters");
            return Err(wrong("metadata.name", &problem));
        }
        let key = &spec.taint.key;
        device::check_taint_key(key)
            .map_err(|error| wrong("spec.taint.key", &error.to_string()))?;
        let devices = DeviceExpression::compile(&spec.devices);
        let devices = devices.map_err(|error| wrong("spec.devices", &error.to_string()))?;
        let time = |field: &str, text: &str| {
            let time = parse_duration(text).map_err(|error| wrong(field, &error))?;
            Ok::<_, Failure>(SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX))
        };
        let threshold = |field: &str, own: &Option<String>, effect, grace| {
            let Some(signal) = own.as_ref().or(spec.signal.as_ref()) else {
                return Err(wrong("spec.signal", &format!("{field} has no signal")));
            };
            let signal = signal.parse::<Signal>();
            let signal = signal.map_err(|error| wrong("spec.signal", &error))?;
            Ok(Threshold {
                signal,
                grace,
                effect: match effect {
                    StrongEffect::NoSchedule => Effect::NoSchedule,
                    StrongEffect::NoExecute => Effect::NoExecute,
                },
            })
        };
        let soft = spec.soft.as_ref().map(|soft| {
            let grace = time("spec.soft.for", &soft.r#for)?;
            threshold("soft", &soft.signal, soft.effect, grace)
        });
        let hard = spec.hard.as_ref();
        let hard =
            hard.map(|hard| threshold("hard", &hard.signal, hard.effect, SignedDuration::ZERO));
        let (soft, hard) = (soft.transpose()?, hard.transpose()?);
        if soft.is_none() && hard.is_none() {
            return Err(wrong("spec", "it has neither soft nor hard"));
        }
        if soft
            .as_ref()
            .zip(hard.as_ref())
            .is_some_and(|(soft, hard)| soft.effect.evicts() && !hard.effect.evicts())
        {
            return Err(wrong("spec.hard.effect", "it is weaker than that of soft"));
        }
        let recovery = spec.recover.as_ref();
        let recovery = recovery.map(|recovery| time("spec.recover.for", &recovery.r#for));
        let guards = spec.limits.abort_if.iter().map(|guard| {
            let guard = guard.parse::<Guard>();
            guard.map_err(|error| wrong("spec.limits.abortIf", &error.to_string()))
        });
        let signals = soft.iter().chain(&hard).map(|threshold| &threshold.signal);
        Ok(Policy {
            name: name.clone(),
            guards: guards.collect::<Result<_, _>>()?,
            needs_pods: signals.clone().any(|signal| *signal == Signal::Unhealthy),
            soft,
            hard,
            recovery: recovery.transpose()?,
            device_limit: spec.limits.devices,
            node_limit: spec.limits.per_node,
            devices,
            key: key.clone(),
            with_partitions: spec.with_partitions,
        })
    }
}

impl Policy {
    /// The question about all devices.
    pub fn question(&self) -> SignalQuestion<'_> {
        SignalQuestion {
            devices: &self.devices,
            soft: self.soft.as_ref().map(|threshold| &threshold.signal),
            hard: self.hard.as_ref().map(|threshold| &threshold.signal),
            with_partitions: self.with_partitions,
        }
    }

    /// Name of the rule for a device.
    pub(super) fn name_for(&self, device: &DeviceSelector) -> String {
        rule::policy_name(&self.name, device, &self.key)
    }

    /// True if the taint is one of this policy, whatever its effect.
    pub(super) fn is_taint(&self, taint: &Taint) -> bool {
        taint.key == self.key && taint.value == self.name
    }

    /// The rule for a device, with effect None.
    pub(super) fn draft(&self, device: &DeviceSelector, since: String) -> RuleDraft {
        let selector = device.clone();
        let taint = Taint {
            key: self.key.clone(),
            value: self.name.clone(),
            effect: Effect::None,
            time_added: None,
        };
        let mut labels = of_batch(&rule::batch(std::slice::from_ref(&selector), &taint));
        labels.insert(keys::POLICY.to_owned(), self.name.clone());
        let thresholds = self.soft.iter().chain(&self.hard);
        let signals = each_once(thresholds.map(|threshold| threshold.signal.to_string()));
        let reason = format!("policy {}: {}", self.name, signals.join(" or "));
        RuleDraft {
            name: self.name_for(&selector),
            selector,
            taint,
            labels,
            annotations: BTreeMap::from([
                (keys::REASON.to_owned(), reason),
                (keys::SINCE.to_owned(), since),
            ]),
            manifest: None,
        }
    }
}
