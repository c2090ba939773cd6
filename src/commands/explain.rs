//! `explain`: the reasons for a verdict, link by link.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use super::flags::device_filters::DeviceFilterArgs;
use super::flags::output::PageArgs;
use super::flags::source::SourceArgs;
use super::profile::{CommandProfile, NamespaceFilter};
use super::work::cluster_view::{ClusterView, Pods};
use super::work::hypothesis::Hypothesis;
use super::work::present::present;
use crate::cluster::{self, Detail, NodeDetail, PodQuery, PodQueryResult};
use crate::completion::Values;
use crate::decide::choice::{
    Choice, DeviceArguments, Purpose, devices_with, no_device, refuse_unmatched,
};
use crate::decide::explain_targets::{
    ExplainTargets, ambiguous, neither, no_such_pod, pods_denied, refuse_rules_beside, rule_or_pod,
    the_one,
};
use crate::decide::version::require_predictions;
use crate::engine::{self, ProposedTaint};
use crate::error::{ExitStatus, Failure};
use crate::model::{
    ClaimSource, DeviceId, DeviceSelector, DeviceTaintRule, Gap, Kind, Namespace, NamespacedName,
    ObjectName, Pod, PodClaim, Snapshot,
};
use crate::naming::Subject;
use crate::report::Explanation;
use crate::report::explain::{
    Explained, explain_device, explain_pod, explain_pod_without_claims, explain_rule,
    explain_unread_pod,
};

/// Explain why a pod is evicted or pending, what uses a device, or what a rule selects
///
/// For a pod, shows the outcome, the taint and toleration that cause it, and possible fixes. For a pod that waits for
/// devices, shows how many devices match each request, and what excludes the other devices. For a device, shows its
/// taints, claims and pods, and the pending claims that could get it. For a rule, shows which devices its selector
/// matches, and what happens to their pods.
///
/// If a taint or a toleration decides the outcome of a pod, or if the pod waits for devices, a line WHY shows the
/// cause. For other pods, such as terminating ones, and for devices and rules, the steps that lead to the result are
/// shown: claims and requests, devices and their pools, taints and their times, and tolerations. `-o wide` always
/// shows these steps, each with the API object and the field that the step is based on. `-o wide` also shows single
/// changes that would alter the outcome of a pod, including changes for the worse, such as the removal of a
/// toleration. If many similar steps follow each other, such as the devices of a request, only the first eight are
/// shown; `-o json` has all steps.
///
/// To explain what a proposed taint would do, add DEVICE and TAINT, as in `preview`. To explain what an
/// existing rule does to a pod or device, add --rule NAME. The effect None of this rule is then treated as NoExecute.
/// To explain the rule itself, use rule/NAME as TARGET. --node and --where select the devices of the proposed taint.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExplainArgs {
    /// pod/NAME, rule/NAME, device/DRIVER/POOL/DEVICE, or the hardware ID of a device; then,
    /// optionally, a proposed taint: DEVICE TAINT
    ///
    /// Also accepts NAMESPACE/NAME for a pod, `pod NAME` as two words, and the output of `kubectl get
    /// -o name` for pods and rules. A TARGET pod without a namespace is looked up in the namespace of --namespace;
    /// without --namespace, in all namespaces. The DEVICE of a proposed taint is
    /// DRIVER/POOL/DEVICE, and the TAINT is KEY[=VALUE][:EFFECT].
    #[arg(value_name = "TARGET|DEVICE|TAINT", add = Values::Devices)]
    targets: Vec<String>,

    #[command(flatten)]
    filters: DeviceFilterArgs,

    /// Existing rule, by name; effect None is treated as NoExecute; repeatable
    #[arg(long, value_name = "NAME", help_heading = "Devices", add = Values::Rules)]
    rule: Vec<String>,

    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    output: PageArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Why is this pod evicted, or why not?
  kubectl devicetaint explain pod/train-0 -n training

  # Which pod uses this device, what taints it, which claims wait for it?
  kubectl devicetaint explain device/gpu.example.com/node-7/gpu-0

  # What does this rule select, and why?
  kubectl devicetaint explain rule/drain-node-7

  # Would this taint evict the pod?
  kubectl devicetaint explain pod/train-0 -n training \\
    'gpu.example.com/node-7/*' example.com/maintenance:NoExecute";

/// What is explained, found in what was looked at.
#[derive(Default)]
struct ExplainedObjects {
    pods: Vec<Pod>,
    devices: Vec<DeviceId>,
    rules: Vec<DeviceTaintRule>,
    /// Pods of which little can be said, by name.
    others: BTreeMap<NamespacedName, LimitedAnswer>,
}

/// Why little can be said of a pod.
enum LimitedAnswer {
    WithoutClaims,
    Denied(String),
}

impl ExplainArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(cluster::Purpose::Explain).with_namespace(NamespaceFilter::Narrows)
    }
}

pub(super) async fn run(args: ExplainArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let subjects = ExplainTargets::parse(&args.targets)?;
    let choice = args.choice(&subjects)?;
    refuse_rules_beside(&subjects, choice.is_some())?;
    let rules_alone = subjects.hardware.is_empty()
        && subjects
            .named
            .iter()
            .all(|subject| matches!(subject, Subject::Rule(_)));
    // What a rule selects needs only the names of devices, which are the smallest part of slices.
    let detail = if rules_alone {
        Detail::Names
    } else {
        Detail::Terms
    };
    let mut view = ClusterView::open(&args.source.source(), context, detail).await?;
    let mut hypothesis = Vec::new();
    if let Some(choice) = choice {
        let found = Hypothesis::new(view, &choice, &[], context).await?;
        refuse_unmatched(&found.proposed, &found.view.reading, &found.view.semantics)?;
        (view, hypothesis) = (found.view, found.proposed);
    }
    let found = find(&subjects, &mut view, context).await?;
    if !hypothesis.is_empty() || !found.rules.is_empty() {
        require_predictions(&view.semantics)?;
    }
    let view = with_everything(view, &found).await?;
    let explained = explain(&found, &hypothesis, &view)?;
    let answer = Explanation::new(explained, &view.basis());
    present(&answer, view.view_warnings(), args.output.wanted(), context)
}

impl ExplainArgs {
    /// The taint that is asked about, if there is one.
    fn choice(&self, subjects: &ExplainTargets) -> Result<Option<Choice>, Failure> {
        let typed = DeviceArguments {
            arguments: subjects.rest.clone(),
            filters: self.filters.filters(),
            rules: self.rule.clone(),
            ..DeviceArguments::default()
        };
        if typed.is_empty() {
            return Ok(None);
        }
        Choice::parse(&typed, Purpose::Assess).map(Some)
    }
}

/// What is explained, as far as it is there.
async fn find(
    subjects: &ExplainTargets,
    view: &mut ClusterView,
    context: &Context,
) -> Result<ExplainedObjects, Failure> {
    let mut found = ExplainedObjects::default();
    if !subjects.hardware.is_empty() {
        *view = Box::pin(view.clone().with_attributes(&[])).await?;
        let devices = devices_with(&subjects.hardware, &view.reading, &view.semantics)?;
        found.devices.extend(devices);
    }
    for subject in &subjects.named {
        match subject {
            Subject::Device(id) => found.devices.push(id.clone()),
            Subject::Rule(name) => found.rules.push(view.rule(name)?.clone()),
            Subject::Pod(name) => found.pod(name, view).await?,
            Subject::PodSomewhere(name) => match found.pod_called(name, view, context).await? {
                PodSearch::Found => {}
                PodSearch::Denied(why) => found.denied(name, why, view, context)?,
                PodSearch::Missing => {
                    let namespace = context.namespace.as_deref().map(Namespace::from);
                    return Err(no_such_pod(namespace.as_ref(), name, &view.reading));
                }
            },
            Subject::Either(name) => {
                let mut rules = view
                    .snapshot()
                    .rules
                    .iter()
                    .filter(|rule| rule.name.as_str() == name);
                let rule = rules.next().cloned();
                let called = ObjectName::from(name.as_str());
                let search = found.pod_called(&called, view, context).await?;
                match (rule, search) {
                    (Some(_), PodSearch::Found) => return Err(ambiguous(name)),
                    (Some(_), PodSearch::Denied(why)) => return Err(rule_or_pod(name, why)),
                    (Some(rule), PodSearch::Missing) => found.rules.push(rule),
                    (None, PodSearch::Found) => {}
                    (None, PodSearch::Denied(why)) => found.denied(&called, why, view, context)?,
                    (None, PodSearch::Missing) => return Err(neither(name, &view.reading)),
                }
            }
        }
    }
    Ok(found)
}

/// What became of the search for a pod.
enum PodSearch {
    Found,
    Missing,
    /// Pods may not be read, for this reason.
    Denied(String),
}

impl ExplainedObjects {
    async fn pod(&mut self, name: &NamespacedName, view: &mut ClusterView) -> Result<(), Failure> {
        match self.one_pod(name, view).await? {
            PodSearch::Found => {}
            PodSearch::Denied(why) => self.unread(name.clone(), why, view),
            PodSearch::Missing => {
                let NamespacedName { namespace, name } = name;
                return Err(no_such_pod(Some(namespace), name, &view.reading));
            }
        }
        Ok(())
    }

    /// Looks for the pod, and adds what is found of it.
    async fn one_pod(
        &mut self,
        name: &NamespacedName,
        view: &mut ClusterView,
    ) -> Result<PodSearch, Failure> {
        match view.find_pods(PodQuery::One(name)).await? {
            PodQueryResult::Gone => return Ok(PodSearch::Missing),
            PodQueryResult::Denied(why) => return Ok(PodSearch::Denied(why)),
            PodQueryResult::WithoutClaims => {
                self.others
                    .insert(name.clone(), LimitedAnswer::WithoutClaims);
            }
            these @ PodQueryResult::These(..) => self.add(these, view)?,
        }
        Ok(PodSearch::Found)
    }

    /// Adds a pod that may not be read.
    fn unread(&mut self, name: NamespacedName, why: String, view: &mut ClusterView) {
        view.reading.gaps.push(Gap::of(Kind::Pod, &why));
        self.others.insert(name, LimitedAnswer::Denied(why));
    }

    /// The pod of that name may not be read: what is known without it is explained where the user says in which namespace
    /// it is.
    ///
    /// # Errors
    ///
    /// Without a namespace, the pod is not known at all.
    fn denied(
        &mut self,
        name: &ObjectName,
        why: String,
        view: &mut ClusterView,
        context: &Context,
    ) -> Result<(), Failure> {
        match typed_namespace(name, context) {
            Some(name) => self.unread(name, why, view),
            None => return Err(pods_denied(why)),
        }
        Ok(())
    }

    /// Looks for the pod of that name, where the user says or anywhere.
    async fn pod_called(
        &mut self,
        name: &ObjectName,
        view: &mut ClusterView,
        context: &Context,
    ) -> Result<PodSearch, Failure> {
        if let Some(name) = typed_namespace(name, context) {
            return self.one_pod(&name, view).await;
        }
        match view.find_pods(PodQuery::Called(name)).await? {
            PodQueryResult::These(pods, warnings) => {
                view.reading.warnings.extend(warnings);
                let pod = the_one(name.as_str(), pods)?;
                let search = match pod {
                    Some(_) => PodSearch::Found,
                    None => PodSearch::Missing,
                };
                self.pods.extend(pod);
                Ok(search)
            }
            PodQueryResult::WithoutClaims | PodQueryResult::Gone => Ok(PodSearch::Missing),
            PodQueryResult::Denied(why) => Ok(PodSearch::Denied(why)),
        }
    }

    /// The devices that are explained, and those of the pods.
    fn devices_in(&self, snapshot: &Snapshot) -> BTreeSet<DeviceId> {
        let pods = self.pods.iter();
        let claims = pods.flat_map(|pod| engine::explain::related_claims(snapshot, pod));
        let results = claims.filter_map(|claim| claim.allocation.as_ref());
        let results = results.flat_map(|allocation| &allocation.results);
        let held = results.map(|result| result.device.clone());
        held.chain(self.devices.iter().cloned()).collect()
    }

    fn add(&mut self, found: PodQueryResult, view: &mut ClusterView) -> Result<(), Failure> {
        match found {
            PodQueryResult::These(pods, warnings) => {
                view.reading.warnings.extend(warnings);
                self.pods.extend(pods);
            }
            PodQueryResult::Denied(why) => return Err(pods_denied(why)),
            PodQueryResult::WithoutClaims | PodQueryResult::Gone => {}
        }
        Ok(())
    }
}

/// The pod of that name in the namespace that was typed, if one was.
fn typed_namespace(name: &ObjectName, context: &Context) -> Option<NamespacedName> {
    let namespace = context.namespace.as_deref()?;
    Some(NamespacedName {
        namespace: Namespace::from(namespace),
        name: name.clone(),
    })
}

/// Reads what is around what was found: who else uses these devices, where claims that wait could be
/// placed, and whether devices are still the hardware for which rules were made.
async fn with_everything(
    view: ClusterView,
    found: &ExplainedObjects,
) -> Result<ClusterView<Pods>, Failure> {
    let now = view.now;
    let mut rules = ProposedTaint::of_rules(&found.rules, now);
    let devices = found.devices_in(view.snapshot());
    // Assumed so that the pods on these devices are read; no taint of these is reported.
    let named = devices.iter().map(|id| {
        let selector = DeviceSelector::from(id.clone());
        ProposedTaint::hypothetical(
            selector,
            engine::explain::alterations::placeholder_taint(),
            now,
        )
    });
    rules.extend(named);
    let view = view.with_pods_of(&rules).await?.with_found(&found.pods);
    let waits = |pod: &Pod| {
        let mut own = engine::explain::related_claims(view.snapshot(), pod);
        own.any(|claim| claim.allocation.is_none())
    };
    // Classes and nodes are needed for pending claims alone, and may be many.
    // Why a pod does not terminate may be its node.
    let is_terminating = |pod: &Pod| pod.deletion.is_some();
    let view = if found
        .pods
        .iter()
        .any(|pod| waits(pod) || is_terminating(pod))
    {
        view.with_places(NodeDetail::Whole).await?
    } else if !found.devices.is_empty() {
        view.with_places(NodeDetail::Metadata).await?
    } else {
        view
    };
    let lacks_a_claim = |pod: &Pod| pod.node.is_none() && pod.claims.iter().any(is_ungenerated);
    if found.pods.iter().any(lacks_a_claim) {
        return view.with_templates().await;
    }
    Ok(view)
}

/// Whether no claim is made from the template that it names.
fn is_ungenerated(claim: &PodClaim) -> bool {
    match &claim.source {
        ClaimSource::Template { generated, .. } => generated.is_none(),
        ClaimSource::Claim(_) | ClaimSource::Unknown => false,
    }
}

/// Explains everything that was found.
fn explain(
    found: &ExplainedObjects,
    hypothesis: &[ProposedTaint],
    view: &ClusterView<Pods>,
) -> Result<Vec<Explained>, Failure> {
    let basis = view.basis();
    let pods = found.pods.iter();
    let mut explained: Vec<_> = pods
        .map(|pod| explain_pod(pod, hypothesis, &basis))
        .collect();
    explained.extend(found.others.iter().map(|(name, other)| match other {
        LimitedAnswer::WithoutClaims => explain_pod_without_claims(name),
        LimitedAnswer::Denied(why) => explain_unread_pod(name, why, &basis),
    }));
    for id in &found.devices {
        let one = explain_device(id, hypothesis, &basis);
        explained.push(one.ok_or_else(|| {
            let selector = DeviceSelector::from(id.clone());
            no_device(&selector, &view.reading, &view.semantics)
        })?);
    }
    let rules = found.rules.iter();
    explained.extend(rules.map(|rule| explain_rule(rule, &basis)));
    Ok(explained)
}
