//! Single changes that would alter what happens to a pod, in words.

use std::fmt::Display;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request_text::terms_path;
use super::step::{FieldReference, Step, StepType};
use super::verdict::{ExplainedVerdict, describe};
use crate::engine::allocator::TaintOwner;
use crate::engine::explain::alterations::{RequestToleration, rule_of};
use crate::engine::explain::{Chain, ExplainInput, PodVerdict, VerdictChange};
use crate::model::{
    self, DeviceId, NamespacedName, NodeName, ObjectName, Pod, RequestKind, RuleMetadata, Snapshot,
    Toleration,
};
use crate::report::reference::ObjectReference;
use crate::report::taint::Taint;
use crate::report::toleration::TolerationView;

/// What a change does for a pod that waits.
const THERE_WOULD_BE: &str = "devices would be available";

/// Type of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ChangeType {
    /// A taint is removed.
    #[default]
    WithoutTaint,
    /// A taint is added.
    WithTaint,
    /// The effect of a rule is changed to NoExecute.
    WithNoExecute,
    /// A toleration is added to a request.
    WithToleration,
    /// A toleration is removed from a request.
    WithoutToleration,
    /// A node is uncordoned.
    Uncordoned,
    /// The pod is scheduled to a node.
    Scheduled,
    /// The claim is reserved for the pod.
    Reserved,
    /// The claim is replaced by one that is generated for the pod.
    Owned,
}

/// A single change that would alter the outcome of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SingleChange {
    /// Type of the change.
    #[serde(rename = "type")]
    pub change_type: ChangeType,
    /// The change as text.
    pub message: String,
    /// How to make the change, as text; null if the change only explains the outcome.
    pub fix: Option<String>,
    /// Outcome of the pod after the change; in `combinedFix`, after all changes of this list. All other taints remain.
    /// Null for a change that makes devices available to a waiting pod.
    pub verdict: Option<ExplainedVerdict>,
    /// Outcome of the pod after the change, as text.
    pub outcome_message: String,
    /// Object and field of the change; null if no field is known, as for a taint of a driver.
    pub field_ref: Option<FieldReference>,
    /// Name of the rule that is removed or changed; null for other changes, and for a rule that does not
    /// exist yet.
    pub rule: Option<String>,
    /// Device of the taint that is added, or of the driver's taint that is removed, as DRIVER/POOL/DEVICE;
    /// null for other changes.
    pub device: Option<String>,
    /// The taint that the change removes; null if the change removes no taint. If a rule is removed, this is set only if
    /// the pod waits for devices; otherwise, only `rule` is set.
    pub taint: Option<Taint>,
    /// The pod's claim to which the change applies. If the claim itself cannot be changed, `fix` names what to
    /// change instead, such as a new claim. Null for changes that concern no claim.
    pub claim: Option<ObjectReference>,
    /// The request of the claim to which a toleration is added, or from which it is removed, as REQUEST or
    /// REQUEST/SUBREQUEST; null for other changes.
    pub request: Option<String>,
    /// The toleration that is added or removed, with the fields of the API; null for other changes.
    pub toleration: Option<TolerationView>,
}

/// A request of a claim, where a toleration may be added.
pub(super) struct ClaimRequest<'a> {
    /// The claim.
    pub(super) claim: &'a NamespacedName,
    /// The request, as REQUEST or REQUEST/ALTERNATIVE.
    pub(super) name: String,
    /// The template that the claim was generated from; absent if it was not.
    pub(super) template: Option<&'a ObjectName>,
    /// The field with its tolerations.
    pub(super) tolerations_path: String,
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
            verdict: Some(ExplainedVerdict::new(verdict, input.now)),
            outcome_message: outcome_of(verdict, chain.pod, input.now),
            ..of(change, chain, input)
        }
    }

    /// Without the taint, which stands there if it is a driver's, there would be devices for a pod that waits.
    pub(super) fn releasing(
        owner: &TaintOwner,
        taint: &model::Taint,
        at: Option<FieldReference>,
        snapshot: &Snapshot,
    ) -> Self {
        let rule = |name: &str| Self {
            change_type: ChangeType::WithoutTaint,
            message: format!("without the taint of rule {name}"),
            fix: Some(format!("remove rule {name}{}", whose(name, snapshot))),
            outcome_message: THERE_WOULD_BE.to_owned(),
            field_ref: FieldReference::new("DeviceTaintRule", name, ".spec.taint"),
            rule: Some(name.to_owned()),
            taint: Some(Taint::of_rule(taint, Some(name))),
            ..Self::default()
        };
        match owner {
            TaintOwner::Rule(name) => rule(name.as_str()),
            TaintOwner::Proposed(_) => Self {
                message: "without the proposed taint".to_owned(),
                fix: None,
                field_ref: FieldReference::question(),
                rule: None,
                taint: Some(Taint::of_rule(taint, None)),
                ..rule("")
            },
            TaintOwner::Driver(device, taint) => Self {
                message: format!("without the driver's taint {taint} on {device}"),
                fix: Some(driver_removes(taint, device)),
                field_ref: at,
                rule: None,
                device: Some(device.to_string()),
                taint: Some(Taint::of_driver(taint)),
                ..rule("")
            },
        }
    }

    /// Once the node is uncordoned, there would be devices for a pod that waits.
    pub(super) fn uncordoning(node: &NodeName) -> Self {
        Self {
            change_type: ChangeType::Uncordoned,
            message: format!("once node {node} is uncordoned"),
            fix: Some(format!("kubectl uncordon {node}")),
            outcome_message: THERE_WOULD_BE.to_owned(),
            field_ref: FieldReference::new("Node", node, ".spec.unschedulable"),
            ..Self::default()
        }
    }

    /// With a toleration of what keeps devices out there would be some for a pod that waits.
    pub(super) fn tolerating(request: ClaimRequest<'_>, toleration: &Toleration) -> Self {
        let ClaimRequest {
            claim,
            name,
            template,
            tolerations_path,
        } = request;
        let origin = origin_of(template);
        let field_ref = toleration_field(claim, template, tolerations_path);
        Self {
            change_type: ChangeType::WithToleration,
            message: format!(
                "with toleration {toleration} added to the request {name} of {origin}"
            ),
            fix: Some(format!(
                "add toleration {toleration} to the request {name} of {origin}"
            )),
            outcome_message: THERE_WOULD_BE.to_owned(),
            field_ref,
            claim: Some(claim.into()),
            request: Some(name),
            toleration: Some(TolerationView::from(toleration)),
            ..Self::default()
        }
    }

    /// The changes as steps that are made together, and what that comes to.
    pub(super) fn steps(together: &[Self]) -> Vec<Step> {
        let each = together.iter();
        let each =
            each.map(|one| Step::new(StepType::Change, &*one.message, one.field_ref.clone()));
        let then = together.first();
        let then = then.map(|one| {
            Step::new(
                StepType::Note,
                format!("then: {}", one.outcome_message),
                None,
            )
        });
        each.chain(then).collect()
    }

    /// The change as a step, with the lines of a toleration that comes.
    pub(super) fn step(&self) -> Step {
        let text = format!("{}: {}", self.message, self.outcome_message);
        let toleration = self.toleration.iter();
        let lines = toleration
            .flat_map(TolerationView::lines)
            .map(|line| Step::new(StepType::Note, line, None));
        Step::new(StepType::Change, text, self.field_ref.clone()).with(lines)
    }
}

/// What becomes of the pod after a change, with a subject: unlike elsewhere, the text does not follow the name of the pod.
fn outcome_of(verdict: PodVerdict, pod: &Pod, now: Timestamp) -> String {
    match verdict {
        PodVerdict::Tolerates => {
            "the pod stays, because it tolerates the taints that would evict it".to_owned()
        }
        PodVerdict::Untouched => "the pod stays, because none of its devices is tainted".to_owned(),
        PodVerdict::Evicted { .. } | PodVerdict::Terminating | PodVerdict::NotEvicted(_) => {
            describe(verdict, pod, now)
        }
    }
}

/// User who made the rule, if it notes one, to be asked before the rule is removed.
fn whose(rule: &str, snapshot: &Snapshot) -> String {
    let mut rules = snapshot.rules.iter();
    let Some(rule) = rules.find(|known| known.name.as_str() == rule) else {
        return String::new();
    };
    let user = rule.metadata.annotation(RuleMetadata::CREATED_BY);
    user.map_or_else(String::new, |user| format!(" (created by {user})"))
}

fn driver_removes(taint: &impl Display, device: &DeviceId) -> String {
    format!("repair {device}, so that its driver removes taint {taint}")
}

/// Where a toleration has to be added for a claim like that: in the template that it was generated from, or in a
/// new claim.
fn origin_of(template: Option<&ObjectName>) -> String {
    match template {
        // Its spec cannot be changed.
        Some(template) => format!("a new ResourceClaimTemplate that replaces {template}"),
        None => "a new claim".to_owned(),
    }
}

/// The template that the pod's claim was generated from, if it was.
fn template_of<'c>(claim: &NamespacedName, chain: &Chain<'c>) -> Option<&'c ObjectName> {
    let mut links = chain.links.iter();
    let link = links.find(|link| link.claim.is_some_and(|known| known.name == *claim));
    link?.template()
}

fn of(change: &VerdictChange, chain: &Chain<'_>, input: &ExplainInput<'_>) -> SingleChange {
    let rule = rule_of(change, input).map(ToString::to_string);
    let named = |change_type: ChangeType, message: String| SingleChange {
        change_type,
        message,
        rule: rule.clone(),
        ..SingleChange::default()
    };
    let of_rule = |path: &str| match &rule {
        Some(rule) => FieldReference::new("DeviceTaintRule", rule, path),
        None => FieldReference::question(),
    };
    let whose = rule.as_ref().map_or_else(
        || "the proposed taint".to_owned(),
        |rule| format!("rule {rule}"),
    );
    let of_claim = |claim: &NamespacedName, path: &str| {
        let source = FieldReference::new("ResourceClaim", claim, path);
        (source, Some(ObjectReference::from(claim)))
    };
    match change {
        VerdictChange::WithoutRule(_) => SingleChange {
            field_ref: of_rule(""),
            fix: rule.as_ref().map(|rule| format!("remove rule {rule}")),
            ..named(ChangeType::WithoutTaint, format!("without {whose}"))
        },
        VerdictChange::WithNoExecute(_) => {
            // With this plugin it is so in every version.
            let renewed = if rule.is_some() && !input.semantics.server_renews_time_added {
                " from now on, with a new timeAdded"
            } else {
                ""
            };
            let text = format!("if {whose} had effect NoExecute{renewed}");
            SingleChange {
                field_ref: of_rule(".spec.taint.effect"),
                ..named(ChangeType::WithNoExecute, text)
            }
        }
        VerdictChange::WithoutDriverTaint { device, taint } => SingleChange {
            fix: Some(driver_removes(taint, device)),
            device: Some(device.to_string()),
            taint: Some(Taint::of_driver(taint)),
            ..named(
                ChangeType::WithoutTaint,
                format!("without the driver's taint {taint} on {device}"),
            )
        },
        // Without a fix: it would evict a pod that stays, and only shows what the verdict depends on.
        VerdictChange::WithTaint(device) => SingleChange {
            device: Some(device.to_string()),
            ..named(
                ChangeType::WithTaint,
                format!("with a NoExecute taint on {device} that the pod does not tolerate"),
            )
        },
        VerdictChange::WithToleration(wanted) => SingleChange {
            // The spec of a claim cannot be changed.
            message: format!(
                "for a pod that is created later, with toleration {} added to the request {} of {}",
                wanted.toleration,
                wanted.request,
                origin_of(template_of(&wanted.claim, chain))
            ),
            // Its claim keeps the tolerations that were copied when it was allocated.
            fix: Some(format!(
                "for pods that are created later: add toleration {} to the request {} of {}",
                wanted.toleration,
                wanted.request,
                origin_of(template_of(&wanted.claim, chain))
            )),
            ..with_toleration(
                named(ChangeType::WithToleration, String::new()),
                wanted,
                chain,
            )
        },
        VerdictChange::WithoutToleration(unwanted) => SingleChange {
            message: format!(
                "for a pod that is created later, with toleration {} removed from the request {} of {}",
                unwanted.toleration,
                unwanted.request,
                origin_of(template_of(&unwanted.claim, chain))
            ),
            ..with_toleration(
                named(ChangeType::WithoutToleration, String::new()),
                unwanted,
                chain,
            )
        },
        VerdictChange::Scheduled => SingleChange {
            field_ref: FieldReference::new("Pod", &chain.pod.name, ".spec.nodeName"),
            ..named(ChangeType::Scheduled, "once the pod has a node".to_owned())
        },
        VerdictChange::Reserved(claim) => {
            let (source, claim) = of_claim(claim, ".status.reservedFor");
            SingleChange {
                field_ref: source,
                claim,
                ..named(
                    ChangeType::Reserved,
                    "once the claim is reserved for the pod".to_owned(),
                )
            }
        }
        VerdictChange::Owned(claim) => {
            let (source, claim) = of_claim(claim, ".metadata.ownerReferences");
            SingleChange {
                field_ref: source,
                claim,
                ..named(
                    ChangeType::Owned,
                    "if the claim had been generated for the pod".to_owned(),
                )
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
    // Where the request was not found in the spec of the claim, only the list can be named.
    let path = path.unwrap_or_else(|| ".spec.devices.requests".to_owned());
    let template = template_of(&wanted.claim, chain);
    let field_ref = toleration_field(&wanted.claim, template, path);
    SingleChange {
        field_ref,
        claim: Some((&wanted.claim).into()),
        request: Some(wanted.request.to_string()),
        toleration: Some(TolerationView::from(&wanted.toleration)),
        ..change
    }
}

/// The field of the tolerations at `path` of the claim. What is in a generated claim was copied from its template, and is
/// read there for the next pod.
fn toleration_field(
    claim: &NamespacedName,
    template: Option<&ObjectName>,
    path: String,
) -> Option<FieldReference> {
    match template {
        Some(template) => {
            let template = NamespacedName {
                namespace: claim.namespace.clone(),
                name: template.clone(),
            };
            FieldReference::new("ResourceClaimTemplate", &template, format!(".spec{path}"))
        }
        None => FieldReference::new("ResourceClaim", claim, path),
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
    // The API has no tolerations beside `firstAvailable`, so that a path without the alternative would be wrong.
    let is_told = alternative.is_some() || matches!(kind, RequestKind::Exactly(_));
    is_told.then(|| terms_path(kind, place, alternative))
}
