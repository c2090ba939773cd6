//! Single changes that would alter what happens to a pod, in words.

use std::fmt::Display;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request_text::terms_path;
use super::step::{About, FieldSource, Step};
use super::verdict::{ExplainedVerdict, describe};
use crate::engine::allocator::TaintOwner;
use crate::engine::explain::alterations::{RequestToleration, rule_of};
use crate::engine::explain::{Chain, ClaimEntry, ExplainInput, PodVerdict, VerdictChange};
use crate::model::{ClaimSource, DeviceId, NamespacedName, Operator, RequestKind, Toleration};

/// What a change does for a pod that waits.
const THERE_WOULD_BE: &str = "devices would be available";

/// A change of one thing that would alter what becomes of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SingleChange {
    /// What is changed: without-taint, with-toleration, without-toleration, with-no-execute, with-taint,
    /// scheduled, reserved, owned.
    pub change: String,
    /// What it is, in words.
    pub text: String,
    /// What to do for it, in words; null for what only shows what the outcome depends on.
    pub fix: Option<String>,
    /// What becomes of the pod then, by everything that is there; null for a pod that waits and could be
    /// placed then.
    pub verdict: Option<ExplainedVerdict>,
    /// What becomes of the pod then, in words.
    pub then: String,
    /// Where the change is made; null where it is made in what was asked about.
    pub source: Option<FieldSource>,
    /// The rule that would go, or change; null for others.
    pub rule: Option<String>,
    /// The device whose taint comes or goes; null for others.
    pub device: Option<String>,
    /// The taint that comes or goes, as KEY[=VALUE]:EFFECT; null for others.
    pub taint: Option<String>,
    /// The claim that is changed, as NAMESPACE/NAME; null for others.
    pub claim: Option<String>,
    /// The request that is changed, as the allocation names it; null for others.
    pub request: Option<String>,
    /// The toleration that comes or goes, with the fields of the API; null for others.
    pub toleration: Option<ExplainedToleration>,
}

/// A toleration, with the fields of the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedToleration {
    /// The key; absent for every key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// How values are compared.
    pub operator: String,
    /// The value, where values are compared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The effect; absent for every effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// For how long; absent for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

impl From<&Toleration> for ExplainedToleration {
    fn from(toleration: &Toleration) -> Self {
        let is_equal = toleration.operator == Operator::Equal;
        Self {
            key: toleration.key.clone(),
            operator: toleration.operator.as_str().to_owned(),
            value: if is_equal {
                toleration.value.clone()
            } else {
                String::new()
            },
            effect: toleration.effect.as_ref().map(ToString::to_string),
            toleration_seconds: toleration.seconds,
        }
    }
}

impl ExplainedToleration {
    /// As it is written in a claim, line by line.
    fn lines(&self) -> Vec<String> {
        let mut fields = Vec::new();
        if !self.key.is_empty() {
            fields.push(format!("key: {}", self.key));
        }
        fields.push(format!("operator: {}", self.operator));
        if !self.value.is_empty() {
            fields.push(format!("value: {:?}", self.value));
        }
        fields.extend(
            self.effect
                .as_ref()
                .map(|effect| format!("effect: {effect}")),
        );
        let seconds = self.toleration_seconds;
        fields.extend(seconds.map(|seconds| format!("tolerationSeconds: {seconds}")));
        let fields = fields.into_iter().enumerate();
        fields
            .map(|(place, field)| {
                let sign = if place == 0 { "- " } else { "  " };
                format!("{sign}{field}")
            })
            .collect()
    }
}

impl SingleChange {
    /// The change, with which, alone or with others, that becomes of the pod.
    pub(super) fn new(
        change: &VerdictChange,
        verdict: PodVerdict,
        chain: &Chain<'_>,
        input: &ExplainInput<'_>,
    ) -> Self {
        Self {
            verdict: Some(ExplainedVerdict::new(verdict)),
            then: describe(verdict, chain.pod, input.now),
            ..of(change, chain, input)
        }
    }

    /// Without the taint, which stands there if it is a driver's, there would be devices for a pod that waits.
    pub(super) fn releasing(owner: &TaintOwner, taint: &str, at: Option<FieldSource>) -> Self {
        let then = THERE_WOULD_BE.to_owned();
        let rule = |name: &str| Self {
            change: "without-taint".to_owned(),
            text: format!("without the taint of rule {name}"),
            fix: Some(format!("remove rule {name}")),
            source: FieldSource::new("DeviceTaintRule", name, ".spec.taint"),
            rule: Some(name.to_owned()),
            taint: Some(taint.to_owned()),
            ..Self::default()
        };
        let made = match owner {
            TaintOwner::Rule(name) => rule(name.as_str()),
            TaintOwner::Proposed(_) => Self {
                text: "without the proposed taint".to_owned(),
                fix: None,
                source: FieldSource::question(),
                rule: None,
                ..rule("")
            },
            TaintOwner::Driver(device, taint) => Self {
                text: format!("without the driver's taint {taint} on {device}"),
                fix: Some(driver_removes(taint, device)),
                source: at,
                rule: None,
                device: Some(device.to_string()),
                ..rule("")
            },
        };
        Self { then, ..made }
    }

    /// With a toleration of what keeps devices out there would be some for a pod that waits.
    pub(super) fn tolerating(
        claim: &NamespacedName,
        (name, path): (String, String),
        toleration: &Toleration,
    ) -> Self {
        Self {
            change: "with-toleration".to_owned(),
            text: format!("with one more toleration in request {name} of a new claim"),
            fix: Some(format!(
                "tolerate {toleration} in request {name} of a new claim"
            )),
            then: THERE_WOULD_BE.to_owned(),
            source: FieldSource::new("ResourceClaim", claim, path),
            claim: Some(claim.to_string()),
            request: Some(name),
            toleration: Some(ExplainedToleration::from(toleration)),
            ..Self::default()
        }
    }

    /// The changes as steps that are made together, and what that comes to.
    pub(super) fn steps(together: &[Self]) -> Vec<Step> {
        let each = together.iter();
        let each = each.map(|one| Step::new(About::Change, &*one.text, one.source.clone()));
        let then = together.first();
        let then = then.map(|one| Step::new(About::Note, format!("then: {}", one.then), None));
        each.chain(then).collect()
    }

    /// The change as a step, with the lines of a toleration that comes.
    pub(super) fn step(&self) -> Step {
        let text = format!("{}: {}", self.text, self.then);
        let toleration = self.toleration.iter();
        let lines = toleration.flat_map(ExplainedToleration::lines);
        let lines = lines.map(|line| Step::new(About::Note, line, None));
        Step::new(About::Change, text, self.source.clone()).with(lines)
    }
}

fn driver_removes(taint: &impl Display, device: &DeviceId) -> String {
    format!("repair {device}, so that its driver removes taint {taint}")
}

/// Where a toleration has to be added for a claim like that: in the template that it was generated from, or in a
/// new claim.
fn origin_of(claim: &NamespacedName, chain: &Chain<'_>) -> String {
    let mut links = chain.links.iter();
    let link = links.find(|link| link.claim.is_some_and(|known| known.name == *claim));
    match link.map(|link| link.place) {
        Some(ClaimEntry::Entry(_, ClaimSource::Template { template, .. })) => {
            // Its spec cannot be changed.
            format!("a ResourceClaimTemplate that replaces {template}")
        }
        Some(ClaimEntry::Entry(..) | ClaimEntry::ExtendedResource(_)) | None => {
            "a new claim".to_owned()
        }
    }
}

fn of(change: &VerdictChange, chain: &Chain<'_>, input: &ExplainInput<'_>) -> SingleChange {
    let rule = rule_of(change, input).map(ToString::to_string);
    let named = |word: &str, text: String| SingleChange {
        change: word.to_owned(),
        text,
        rule: rule.clone(),
        ..SingleChange::default()
    };
    let of_rule = |path: &str| match &rule {
        Some(rule) => FieldSource::new("DeviceTaintRule", rule, path),
        None => FieldSource::question(),
    };
    let whose = rule.as_ref().map_or_else(
        || "the proposed taint".to_owned(),
        |rule| format!("rule {rule}"),
    );
    let of_claim = |claim: &NamespacedName, path: &str| {
        let source = FieldSource::new("ResourceClaim", claim, path);
        (source, Some(claim.to_string()))
    };
    match change {
        VerdictChange::WithoutRule(_) => SingleChange {
            source: of_rule(""),
            fix: rule.as_ref().map(|rule| format!("remove rule {rule}")),
            ..named("without-taint", format!("without {whose}"))
        },
        VerdictChange::WithNoExecute(_) => {
            // With this plugin it is so in every version.
            let renewed = if rule.is_some() && !input.semantics.server_renews_time_added {
                " from now on, with a new timeAdded"
            } else {
                ""
            };
            let text = format!("with effect NoExecute of {whose}{renewed}");
            SingleChange {
                source: of_rule(".spec.taint.effect"),
                ..named("with-no-execute", text)
            }
        }
        VerdictChange::WithoutDriverTaint { device, taint } => SingleChange {
            fix: Some(driver_removes(taint, device)),
            device: Some(device.to_string()),
            taint: Some(taint.to_string()),
            ..named(
                "without-taint",
                format!("without the driver's taint {taint} on {device}"),
            )
        },
        VerdictChange::WithTaint(device) => SingleChange {
            device: Some(device.to_string()),
            ..named(
                "with-taint",
                format!("with a NoExecute taint on {device} that it does not tolerate"),
            )
        },
        VerdictChange::WithToleration(wanted) => SingleChange {
            text: format!(
                "with one more toleration in request {}, before the claim is allocated",
                wanted.request
            ),
            // Its claim keeps the tolerations that were copied when it was allocated.
            fix: Some(format!(
                "for later pods: tolerate {} in request {} of {}",
                wanted.toleration,
                wanted.request,
                origin_of(&wanted.claim, chain)
            )),
            ..with_toleration(named("with-toleration", String::new()), wanted, chain)
        },
        VerdictChange::WithoutToleration(unwanted) => SingleChange {
            text: format!(
                "without the toleration {} in request {}, before the claim is allocated",
                unwanted.toleration, unwanted.request
            ),
            ..with_toleration(named("without-toleration", String::new()), unwanted, chain)
        },
        VerdictChange::Scheduled => SingleChange {
            source: FieldSource::new("Pod", &chain.pod.name, ".spec.nodeName"),
            ..named("scheduled", "once it has a node".to_owned())
        },
        VerdictChange::Reserved(claim) => {
            let (source, claim) = of_claim(claim, ".status.reservedFor");
            SingleChange {
                source,
                claim,
                ..named("reserved", "once the claim is reserved for it".to_owned())
            }
        }
        VerdictChange::Owned(claim) => {
            let (source, claim) = of_claim(claim, ".metadata.ownerReferences");
            SingleChange {
                source,
                claim,
                ..named("owned", "if the claim had been generated for it".to_owned())
            }
        }
    }
}

fn with_toleration(
    change: SingleChange,
    wanted: &RequestToleration,
    chain: &Chain<'_>,
) -> SingleChange {
    let path = request_path(wanted, chain).map(|path| format!("{path}.tolerations"));
    let path = path.unwrap_or_else(|| ".spec.devices.requests".to_owned());
    SingleChange {
        source: FieldSource::new("ResourceClaim", &wanted.claim, path),
        claim: Some(wanted.claim.to_string()),
        request: Some(wanted.request.to_string()),
        toleration: Some(ExplainedToleration::from(&wanted.toleration)),
        ..change
    }
}

/// Where the request stands in its claim, where what the claim asks for was read.
fn request_path(wanted: &RequestToleration, chain: &Chain<'_>) -> Option<String> {
    let mut claims = chain.links.iter().filter_map(|link| link.claim);
    let claim = claims.find(|claim| claim.name == wanted.claim)?;
    let (name, alternative) = match wanted.request.split_once('/') {
        Some((name, alternative)) => (name, Some(alternative)),
        None => (&*wanted.request, None),
    };
    let requests = &claim.spec.as_deref()?.requests;
    let place = requests.iter().position(|request| *request.name == *name)?;
    let kind = &requests.get(place)?.kind;
    let alternative = match kind {
        RequestKind::FirstAvailable(all) => all
            .iter()
            .position(|(name, _)| Some(&**name) == alternative),
        RequestKind::Exactly(_) | RequestKind::Unknown => None,
    };
    let is_told = alternative.is_some() || matches!(kind, RequestKind::Exactly(_));
    is_told.then(|| terms_path(kind, place, alternative))
}
