//! The document of an explanation.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fixes::SingleChange;
use super::step::{Step, lines};
use super::verdict::{ExplainedVerdict, PodOutcome};
use super::waiting::{RootCauseCode, WaitingRequest};
use crate::assess::{Basis, ReportCompleteness};
use crate::model::DeviceId;
use crate::naming::phrase::counted;
use crate::naming::shell::pod_arguments;
use crate::report::answer::{Answer, beside};
use crate::report::metadata::{API_VERSION, Incomplete, Metadata, Warning, views};
use crate::report::reference::ObjectReference;
use crate::report::table::{ChainLine, Heading, Section, Shown, Tone, View};

/// Report of `explain`: why a pod is evicted, stays or waits for devices; what tainted or allocated a device. Each result
/// has the steps that lead to it.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// The tone of the result on a pod: only a pod that is known to stay and to run is good.
    fn tone(&self) -> Option<Tone> {
        let verdict = self.verdict.as_ref()?;
        Some(match verdict.outcome {
            PodOutcome::EvictedNow | PodOutcome::EvictedLater => Tone::Bad,
            PodOutcome::Terminating | PodOutcome::Waiting | PodOutcome::Unknown => Tone::Doubtful,
            PodOutcome::Tolerates | PodOutcome::NotEvicted | PodOutcome::Untouched => {
                // A pod that keeps some devices and waits for others is not evicted, and does not run either.
                match self.blocked_by {
                    Some(_) => Tone::Doubtful,
                    None => Tone::Good,
                }
            }
        })
    }

    fn empty() -> Self {
        Self {
            pod: None,
            device: None,
            message: String::new(),
            messages: Vec::new(),
            verdict: None,
            blocked_by: None,
            steps: Vec::new(),
            fixes: Vec::new(),
            waiting_requests: Vec::new(),
        }
    }

    /// An explanation of a pod without content.
    pub(super) fn of_pod(pod: ObjectReference) -> Self {
        Self {
            pod: Some(pod),
            ..Self::empty()
        }
    }

    /// An explanation of a device without content.
    pub(super) fn of_device(device: &DeviceId) -> Self {
        Self {
            device: Some(device.to_string()),
            ..Self::empty()
        }
    }

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

    /// The result and its reasons; in a page below this title.
    fn sections(&self, title: Option<&str>) -> Vec<Section> {
        let headline = format!("{}: {}", self.name(), self.message);
        let chain = lines(&self.steps, 0);
        let without_fields = chain.iter().map(|line| ChainLine {
            source: None,
            ..line.clone()
        });
        // The reasons are the part of the chain that decides.
        let is_short = !self.messages.is_empty();
        let without_fields = without_fields.filter(|_| !is_short).collect();
        vec![
            Section::sentences(vec![headline]).shown(Shown::Unpaged),
            Section {
                title: title.map(|title| Cow::Owned(title.to_owned())),
                shown: Shown::Page,
                ..Section::sentences(vec![self.message.clone()]).toned(self.tone())
            },
            Section::chain(self.short()).captioned("In short"),
            Section::chain(without_fields).shown(Shown::Narrow),
            Section::chain(chain)
                .captioned("Explanation")
                .shown(Shown::Wide),
        ]
    }
}

impl View for Explanation {
    fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = beside(&self.warnings, &self.incomplete).into();
        // The heading of a page names a single subject.
        let is_one_of_many = self.items.len() > 1;
        sections.extend(self.items.iter().flat_map(|subject| {
            let title = is_one_of_many.then(|| subject.name());
            subject.sections(title.as_deref())
        }));
        let warnings = self.warnings.iter().map(Warning::line).collect();
        let incomplete = self.incomplete.iter().map(Incomplete::line).collect();
        sections.push(Section::list("Warnings", warnings).shown(Shown::Document));
        sections.push(Section::list("Incomplete", incomplete).shown(Shown::Unpaged));
        sections
    }

    fn heading(&self) -> Heading {
        let title = match self.items.as_slice() {
            [only] => format!("Why: {}", only.name()),
            several => format!("Why: {}", counted(several.len(), "subject")),
        };
        Heading {
            title,
            origin: self.metadata.origin(),
        }
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(Explained::name).collect()
    }
}

impl Answer for Explanation {
    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Allocation, AllocationResult, ClaimSource, ConsumerReference, Gap, Kind, Pod, PodClaim,
        Reading, ResourceClaim, Snapshot,
    };
    use crate::report::explain::explain_pod;
    use crate::report::schema::files;
    use crate::report::testing;

    /// A pod with gpu-0, without the kinds that were not read.
    fn explained(unread: &[Kind]) -> Explanation {
        let mut pod: Pod = testing::pod("ml", "train-0");
        pod.claims = vec![PodClaim {
            name: "gpu".into(),
            source: ClaimSource::Claim("claim".into()),
        }];
        let claim = ResourceClaim {
            name: testing::name("ml", "claim"),
            uid: "claim".into(),
            controller: None,
            spec: None,
            allocation: Some(Allocation {
                node: None,
                results: vec![AllocationResult {
                    request: "gpu".into(),
                    device: testing::device("gpu-0"),
                    admin_access: false,
                    share_id: None,
                    tolerations: Vec::new(),
                    consumed_capacity: None,
                }],
            }),
            reserved_for: vec![ConsumerReference {
                api_group: "".into(),
                resource: "pods".into(),
                name: "train-0".into(),
                uid: pod.uid.clone(),
            }],
        };
        let mut reading: Reading = testing::reading();
        reading.snapshot = Snapshot {
            pods: vec![pod.clone()],
            claims: vec![claim],
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
    fn an_explanation_follows_its_schema_and_can_be_read_back() {
        let (_, schema) = files()
            .into_iter()
            .find(|(file, _)| file.starts_with("explanation-list."))
            .expect("its schema");
        let explanation = explained(&[]);
        let json = serde_json::to_value(&explanation).expect("JSON");
        let validator = jsonschema::validator_for(&schema.to_value()).expect("a schema");
        let errors: Vec<String> = validator
            .iter_errors(&json)
            .map(|one| one.to_string())
            .collect();
        assert_eq!(errors, Vec::<String>::new());
        let read: Explanation = serde_json::from_value(json).expect("it can be read");
        assert_eq!(read, explanation);
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

    #[test]
    fn only_a_pod_that_is_known_to_stay_and_does_not_wait_is_well() {
        let explained = |code: Option<PodOutcome>, blame| Explained {
            verdict: code.map(|code| ExplainedVerdict {
                outcome: code,
                ..ExplainedVerdict::UNKNOWN
            }),
            blocked_by: blame,
            ..Explained::of_pod(testing::reference("b/a"))
        };
        for (code, blame, tone) in [
            (Some(PodOutcome::EvictedNow), None, Some(Tone::Bad)),
            (Some(PodOutcome::Terminating), None, Some(Tone::Doubtful)),
            (Some(PodOutcome::Unknown), None, Some(Tone::Doubtful)),
            (Some(PodOutcome::Waiting), None, Some(Tone::Doubtful)),
            (Some(PodOutcome::Tolerates), None, Some(Tone::Good)),
            (Some(PodOutcome::NotEvicted), None, Some(Tone::Good)),
            (Some(PodOutcome::Untouched), None, Some(Tone::Good)),
            (
                Some(PodOutcome::Untouched),
                Some(RootCauseCode::Devices),
                Some(Tone::Doubtful),
            ),
            (None, None, None),
        ] {
            assert_eq!(explained(code, blame).tone(), tone, "{code:?}");
        }
    }
}
