//! Single changes that keep a pod, or give it devices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::step::FieldReference;
use super::verdict::ExplainedVerdict;
use crate::engine::allocator::TaintOwner;
use crate::engine::explain::{
    Alteration, Chain, ExplainInput, RequestOrigin, RequestToleration, VerdictChange,
};
use crate::model::{
    self, DeviceId, NamespacedName, NodeName, ObjectName, RequestKind, RuleMetadata, Snapshot,
    Toleration,
};
use crate::report::taint::ObjectReference;
use crate::report::taint::Taint;
use crate::report::taint::TolerationView;

/// Type of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ChangeType {
    /// A taint is removed.
    #[default]
    WithoutTaint,
    /// A toleration is added to a request.
    WithToleration,
    /// A node is uncordoned.
    Uncordoned,
}

/// A single change that keeps the pod, or delays its eviction, or gives devices to a pending pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SingleChange {
    /// Type of the change.
    #[serde(rename = "type")]
    pub change_type: ChangeType,
    /// The change as text.
    pub message: String,
    /// Outcome of the pod after the change, with all other taints. Null for a change that makes devices available to a
    /// pending pod.
    pub verdict: Option<ExplainedVerdict>,
    /// Object and field of the change; null if unknown.
    pub field_ref: Option<FieldReference>,
    /// Name of the rule that is removed; null for other changes.
    pub rule: Option<String>,
    /// Device of the driver's taint that is removed, as DRIVER/POOL/DEVICE; null for other changes.
    pub device: Option<String>,
    /// The driver's taint that is removed; null for other changes.
    pub taint: Option<Taint>,
    /// The pod's claim to which a toleration is added. The spec of a claim cannot be changed: `message` names what to
    /// change instead, such as a new claim. Null for other changes, and for extended resources.
    pub claim: Option<ObjectReference>,
    /// The request to which a toleration is added, as REQUEST or REQUEST/SUBREQUEST; null for other changes.
    pub request: Option<String>,
    /// The toleration that is added, with the fields of the API; null for other changes.
    pub toleration: Option<TolerationView>,
}

impl SingleChange {
    /// The change that alters the verdict on the pod of the chain.
    pub(super) fn altering(
        alteration: &Alteration,
        chain: &Chain<'_>,
        input: &ExplainInput<'_>,
        snapshot: &Snapshot,
    ) -> Option<Self> {
        let change = match &alteration.change {
            VerdictChange::WithoutRule(index) => {
                let rule = input.taints.get(*index)?.rule.as_ref()?;
                Self::without_rule(rule, snapshot)
            }
            VerdictChange::WithoutDriverTaint { device, taint } => {
                Self::without_driver_taint(device, taint)
            }
            VerdictChange::WithToleration(wanted) => tolerating_later(wanted, chain, snapshot),
        };
        Some(Self {
            verdict: Some(ExplainedVerdict::new(alteration.verdict, input.now)),
            ..change
        })
    }

    /// The change as a line of text, with the later eviction if it only delays it.
    pub(super) fn line(&self) -> String {
        let verdict = self.verdict.as_ref();
        match verdict.and_then(|verdict| verdict.eviction_time) {
            Some(at) => format!("{} (then evicted at {at})", self.message),
            None => self.message.clone(),
        }
    }

    /// Removal of a taint that keeps devices from a pending pod; absent for a taint that is only proposed.
    pub(super) fn releasing(owner: &TaintOwner, snapshot: &Snapshot) -> Option<Self> {
        match owner {
            TaintOwner::Rule(name) => Some(Self::without_rule(name, snapshot)),
            TaintOwner::Driver(device, taint) => Some(Self::without_driver_taint(device, taint)),
            TaintOwner::Proposed(_) => None,
        }
    }

    fn without_rule(rule: &ObjectName, snapshot: &Snapshot) -> Self {
        let known = snapshot.rules.iter().find(|known| known.name == *rule);
        let user = known.and_then(|known| known.metadata.annotation(RuleMetadata::CREATED_BY));
        // The one who created it knows why it is there.
        let user = user.map_or_else(String::new, |user| format!(" (created by {user})"));
        Self {
            message: format!("remove rule {rule}{user}"),
            field_ref: FieldReference::new("DeviceTaintRule", rule, ""),
            rule: Some(rule.to_string()),
            ..Self::default()
        }
    }

    fn without_driver_taint(device: &DeviceId, taint: &model::Taint) -> Self {
        Self {
            message: format!("repair {device}, so that its driver removes taint {taint}"),
            device: Some(device.to_string()),
            taint: Some(Taint::of_driver(taint)),
            ..Self::default()
        }
    }

    /// Uncordoning of a node that has devices for a pending pod.
    pub(super) fn uncordoning(node: &NodeName) -> Self {
        Self {
            change_type: ChangeType::Uncordoned,
            message: format!("kubectl uncordon {node}"),
            field_ref: FieldReference::new("Node", node, ".spec.unschedulable"),
            ..Self::default()
        }
    }

    /// One more toleration of a request of a pending pod; absent for extended resources, which have none.
    pub(super) fn tolerating(
        origin: &RequestOrigin,
        request: &str,
        toleration: &Toleration,
    ) -> Option<Self> {
        let claim = origin.claim.as_ref()?;
        let template = origin.template.as_ref();
        let place = new_origin(template);
        Some(Self {
            change_type: ChangeType::WithToleration,
            message: format!("add toleration {toleration} to the request {request} of {place}"),
            field_ref: toleration_field(claim, template),
            claim: Some(claim.into()),
            request: Some(request.to_owned()),
            toleration: Some(TolerationView::from(toleration)),
            ..Self::default()
        })
    }
}

/// A toleration for pods that are created later: a claim keeps the tolerations that were copied when it was allocated.
fn tolerating_later(
    wanted: &RequestToleration,
    chain: &Chain<'_>,
    snapshot: &Snapshot,
) -> SingleChange {
    let mut links = chain.links.iter();
    let link = links.find(|link| link.claim.is_some_and(|claim| claim.name == wanted.claim));
    let template = link.and_then(|link| link.template());
    let RequestToleration {
        request,
        toleration,
        ..
    } = wanted;
    let message = match template {
        Some(template) if tolerates_already(template, wanted, snapshot) => format!(
            "delete the pod: pods that are created later tolerate the taint, by ResourceClaimTemplate {template}"
        ),
        Some(_) | None => format!(
            "for pods that are created later: add toleration {toleration} to the request {request} of {}",
            new_origin(template)
        ),
    };
    SingleChange {
        change_type: ChangeType::WithToleration,
        message,
        field_ref: toleration_field(&wanted.claim, template),
        claim: Some((&wanted.claim).into()),
        request: Some(request.to_string()),
        toleration: Some(TolerationView::from(toleration)),
        ..SingleChange::default()
    }
}

/// True if the template has the toleration already, since it was replaced after the claim was generated.
fn tolerates_already(
    template: &ObjectName,
    wanted: &RequestToleration,
    snapshot: &Snapshot,
) -> bool {
    let mut templates = snapshot.templates.iter();
    let found = templates.find(|known| {
        known.name.namespace == wanted.claim.namespace && known.name.name == *template
    });
    let covers = |toleration: &Toleration| {
        let Toleration { effect, .. } = &wanted.toleration;
        toleration.effect == *effect
            && toleration.seconds.is_none()
            && toleration.key == wanted.toleration.key
            && (toleration.operator == model::Operator::Exists
                || toleration.value == wanted.toleration.value)
    };
    let (name, alternative) = match wanted.request.split_once('/') {
        Some((name, alternative)) => (name, Some(alternative)),
        None => (&*wanted.request, None),
    };
    let requests = found.into_iter().flat_map(|found| &found.spec.requests);
    let terms =
        requests
            .filter(|request| &*request.name == name)
            .flat_map(|request| match &request.kind {
                RequestKind::Exactly(terms) => vec![terms],
                RequestKind::FirstAvailable(all) => all
                    .iter()
                    .filter(|(name, _)| Some(&**name) == alternative)
                    .map(|(_, terms)| terms)
                    .collect(),
                RequestKind::Unknown => Vec::new(),
            });
    terms.flat_map(|terms| &terms.tolerations).any(covers)
}

/// The object to which a toleration is added: a claim's own spec cannot be changed.
fn new_origin(template: Option<&ObjectName>) -> String {
    match template {
        Some(template) => format!("a new ResourceClaimTemplate that replaces {template}"),
        None => "a new claim".to_owned(),
    }
}

/// The requests of the claim, or of the template that it was generated from.
fn toleration_field(
    claim: &NamespacedName,
    template: Option<&ObjectName>,
) -> Option<FieldReference> {
    let requests = ".spec.devices.requests";
    match template {
        Some(template) => {
            let name = format!("{}/{template}", claim.namespace);
            FieldReference::new("ResourceClaimTemplate", name, format!(".spec{requests}"))
        }
        None => FieldReference::new("ResourceClaim", claim, requests),
    }
}
