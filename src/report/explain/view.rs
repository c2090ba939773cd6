//! The document of an explanation.

use schemars::JsonSchema;
use serde::Serialize;

use super::step::{ExplainedVerdict, Step, lines};
use super::waiting::{RootCauseCode, WaitingRequest};
use crate::assess::{Basis, ReportCompleteness};
use crate::engine::allocator::TaintOwner;
use crate::engine::explain::{
    Alteration, Chain, ExplainInput, RequestOrigin, RequestToleration, VerdictChange,
};
use crate::model::{self, DeviceId, NodeName, ObjectName, RequestKind, Snapshot, Toleration};
use crate::naming::keys;
use crate::naming::shell::pod_arguments;
use crate::report::metadata::{API_VERSION, Incomplete, Metadata, Warning, views};
use crate::report::table::{Body, ChainLine, Section, Shown, View};
use crate::report::taint::{ObjectReference, Taint, TolerationView};

/// Report of `explain`: why a pod is evicted, stays or waits for devices; what tainted or allocated a device. Each result
/// has the steps that lead to it.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExplanationList")]
pub struct Explanation {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Kind of the report.
    #[schemars(extend("const" = "ExplanationList"))]
    pub kind: String,
    /// The cluster, and the data that was read.
    pub metadata: Metadata,
    /// The explained objects, in the order of the arguments.
    pub items: Vec<Explained>,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read or evaluated.
    pub incomplete: Vec<Incomplete>,
}

/// One pod or device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// The pod; null for devices.
    pub pod: Option<ObjectReference>,
    /// The device, as DRIVER/POOL/DEVICE; null for pods.
    pub device: Option<String>,
    /// The result in one sentence.
    pub message: String,
    /// The facts that decide the outcome of the pod. For a pod that is evicted or that tolerates a taint: the taint
    /// and the toleration. For a pod that waits for devices: what the pod waits for. Otherwise empty.
    pub messages: Vec<String>,
    /// Outcome of the pod; null for devices.
    pub verdict: Option<ExplainedVerdict>,
    /// Why the pod waits for devices: the root cause. Null if the explained object is not a pod that waits
    /// for devices.
    pub blocked_by: Option<RootCauseCode>,
    /// Steps that lead to the result; each step has the steps that follow from it.
    pub steps: Vec<Step>,
    /// Single changes after which an evicted pod stays, then those that only delay its eviction; for a pod that waits,
    /// those that make devices available. Empty for other pods and for devices.
    pub fixes: Vec<SingleChange>,
    /// The requests of the pod, each with its usable and excluded devices. Empty if the explained object is
    /// not a pod that waits for devices.
    pub waiting_requests: Vec<WaitingRequest>,
}

/// Number of fixes in text.
const FIXES: usize = 3;

impl Explanation {
    /// The report.
    pub fn new(subjects: Vec<Explained>, basis: &Basis<'_>) -> Self {
        let completeness = ReportCompleteness::new(&basis.reading.gaps);
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "ExplanationList".to_owned(),
            metadata: Metadata::new(basis),
            items: subjects,
            warnings: views(&[&basis.reading.warnings]),
            incomplete: Incomplete::all(&completeness),
        }
    }
}

impl Explained {
    /// The name, as `-o name` prints it.
    pub fn name(&self) -> String {
        let pod = self.pod.as_ref();
        let pod = pod.map(|pod| pod_arguments(&pod.namespace, &pod.name));
        let name = pod.or_else(|| self.device.clone());
        name.unwrap_or_default()
    }

    /// The reasons and the fixes, a line each.
    fn short(&self) -> Vec<ChainLine> {
        let labelled = |label: &'static str, lines: Vec<String>| {
            let lines = lines.into_iter().enumerate();
            lines.map(move |(place, line)| {
                // As wide as a label, and as far as the second line of a long one is indented.
                let label = if place == 0 { label } else { "   " };
                ChainLine {
                    depth: 0,
                    text: format!("{label} {line}"),
                    source: None,
                }
            })
        };
        let fixes = self.fixes.iter().map(SingleChange::line).take(FIXES);
        let more = self.fixes.len().saturating_sub(FIXES);
        let more = (more > 0).then(|| format!("{more} more (all: -o json)"));
        let fixes = fixes.chain(more).enumerate();
        let fixes = fixes.map(|(place, fix)| match place {
            0 => fix,
            _ => format!("or {fix}"),
        });
        let why = labelled("WHY", self.messages.clone());
        why.chain(labelled("FIX", fixes.collect())).collect()
    }

    /// The result and its reasons.
    fn sections(&self) -> Vec<Section> {
        let chain = lines(&self.steps, 0);
        let without_fields = chain.iter().map(|line| ChainLine {
            source: None,
            ..line.clone()
        });
        // The reasons are the part of the chain that decides.
        let is_short = !self.messages.is_empty();
        let without_fields = without_fields.filter(|_| !is_short).collect();
        vec![
            Section::sentences(vec![format!("{}: {}", self.name(), self.message)]),
            Section::of(Body::Chain(self.short())),
            Section::of(Body::Chain(without_fields)).shown(Shown::Narrow),
            Section::of(Body::Chain(chain)).shown(Shown::Wide),
        ]
    }
}

impl View for Explanation {
    fn sections(&self) -> Vec<Section> {
        self.items.iter().flat_map(Explained::sections).collect()
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(Explained::name).collect()
    }

    fn doubts(&self) -> (&[Warning], &[Incomplete]) {
        (&self.warnings, &self.incomplete)
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// Type of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
        let user = known.and_then(|known| known.metadata.annotation(keys::CREATED_BY));
        // The one who created it knows why it is there.
        let user = user.map_or_else(String::new, |user| format!(" (created by {user})"));
        Self {
            message: format!("remove rule {rule}{user}"),
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
        let place = new_origin(origin.template.as_ref());
        Some(Self {
            change_type: ChangeType::WithToleration,
            message: format!("add toleration {toleration} to the request {request} of {place}"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Gap, Kind, Pod, Reading, Snapshot};
    use crate::report::explain::{PodOutcome, explain_pod};
    use crate::report::testing;

    /// A pod with gpu-0, without the kinds that were not read.
    fn explained(unread: &[Kind]) -> Explanation {
        let mut pod: Pod = testing::pod("ml", "train-0");
        pod.claims = testing::uses("train-0-gpu");
        let mut reading: Reading = testing::reading();
        reading.snapshot = Snapshot {
            pods: vec![pod.clone()],
            claims: vec![testing::claim_in_use(&pod)],
            ..Snapshot::default()
        };
        reading.gaps = unread.iter().map(|kind| Gap::of(*kind, "denied")).collect();
        let semantics = testing::semantics(37);
        let basis = Basis::new(&reading, &semantics, testing::now());
        Explanation::new(vec![explain_pod(&pod, &[], &basis)], &basis)
    }

    fn verdict(explanation: &Explanation) -> PodOutcome {
        let verdict = explanation.items[0].verdict.as_ref();
        verdict.expect("of a pod").outcome
    }

    #[test]
    fn what_was_not_read_makes_it_unknown_whether_a_pod_stays() {
        assert_eq!(verdict(&explained(&[])), PodOutcome::Untouched);
        for kind in [
            Kind::ResourceClaim,
            Kind::DeviceTaintRule,
            Kind::ResourceSlice,
        ] {
            let unknown = explained(&[kind]);
            assert_eq!(verdict(&unknown), PodOutcome::Unknown, "{kind}");
            assert_eq!(unknown.items[0].fixes, [], "{kind}");
        }
        assert_eq!(verdict(&explained(&[Kind::Node])), PodOutcome::Untouched);
    }
}
