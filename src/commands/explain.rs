//! `explain`: the reasons for a verdict, link by link.

use std::collections::BTreeSet;

use super::context::Context;
use super::work::cluster_view::{ClusterView, Pods};
use super::work::connect::Source;
use super::work::present::{OutputArgs, present};
use crate::cluster::{Detail, NodeDetail, PodQuery, PodQueryResult};
use crate::completion::Values;
use crate::decide::choice::{
    Choice, DeviceArguments, Purpose, assumed_taint, devices_with, no_device, refuse_unmatched,
};
use crate::decide::explain_targets::{
    ExplainTargets, no_such_pod, the_claim, the_one, unused_claim,
};
use crate::decide::version::require_predictions;
use crate::engine::explain::related_claims;
use crate::engine::{ProposedTaint, claim_names};
use crate::error::{ExitStatus, Failure};
use crate::model::{
    ClaimSource, DeviceId, DeviceSelector, Namespace, NamespacedName, ObjectName, Pod, PodClaim,
    ResourceClaim, Snapshot,
};
use crate::naming::Subject;
use crate::naming::rule::TypedName;
use crate::report::Explanation;
use crate::report::explain::{Explained, explain_device, explain_pod, explain_pod_without_claims};

/// Explain why a pod is evicted or pending, or what uses a device
///
/// For a pod, shows the outcome, the taint and toleration that cause it, and possible fixes. For a pod that waits for
/// devices, shows the root cause, the best node for each request, and what excludes most devices. For a claim, shows
/// the pods that use it. For a device, shows its taints, claims and pods, and the devices that share counters with it.
///
/// `-o wide` also shows the steps that lead to the result, each with the API object and the field that the step is
/// based on: claims and requests, devices and their pools, taints and their times, and tolerations. If many similar
/// steps follow each other, such as the devices of a request, only the first eight are shown; `-o json` has all.
///
/// To explain what a proposed taint would do, add DEVICE and TAINT, as in `preview`. To explain what an
/// existing rule does to a pod or device, add --rule NAME. The effect None of this rule is then treated as NoExecute.
/// --node and --where select the devices of the proposed taint. For the rule itself, use `describe`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExplainArgs {
    /// pod/NAME, claim/NAME, device/DRIVER/POOL/DEVICE, or the hardware ID of a device; then,
    /// optionally, a proposed taint: DEVICE TAINT
    ///
    /// Also accepts NAMESPACE/NAME for a pod, `pod NAME` as two words, and the output of `kubectl get
    /// -o name` for pods and claims. A TARGET without a namespace is looked up in the namespace of --namespace;
    /// without --namespace, in all namespaces. The DEVICE of a proposed taint is
    /// DRIVER/POOL/DEVICE, and the TAINT is KEY[=VALUE][:EFFECT].
    #[arg(value_name = "TARGET|DEVICE|TAINT", add = Values::Devices)]
    targets: Vec<String>,

    #[command(flatten)]
    filters: DeviceArguments,

    /// Existing rule, by name; effect None is treated as NoExecute; repeatable
    #[arg(long, value_name = "NAME", help_heading = "Devices", add = Values::Rules)]
    rule: Vec<String>,

    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Why is this pod evicted, or why not?
  kubectl devicetaint explain pod/train-0 -n training

  # Which pods use this device, and what taints it?
  kubectl devicetaint explain device/gpu.example.com/node-7/gpu-0

  # What happens to the pods of this claim?
  kubectl devicetaint explain claim/train-0-gpus -n training

  # Would this taint evict the pod?
  kubectl devicetaint explain pod/train-0 -n training \\
    'gpu.example.com/node-7/*' example.com/maintenance:NoExecute";

/// The objects that are explained.
#[derive(Default)]
struct ExplainedObjects {
    pods: Vec<Pod>,
    devices: Vec<DeviceId>,
    /// Pods without claims, by name.
    without_claims: BTreeSet<NamespacedName>,
}

impl ExplainArgs {
    /// The devices and the taint of the hypothesis, if there is one.
    fn hypothesis(&self, targets: &ExplainTargets) -> Result<Option<Choice>, Failure> {
        let typed = DeviceArguments {
            rules: self.rule.clone(),
            ..self.filters.with(&targets.rest)
        };
        if typed.is_empty() {
            return Ok(None);
        }
        Choice::parse(&typed, Purpose::Assess).map(Some)
    }
}

pub(super) async fn run(args: ExplainArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let targets = ExplainTargets::parse(&args.targets)?;
    let choice = args.hypothesis(&targets)?;
    let mut view = ClusterView::open(&args.source, context, Detail::Terms).await?;
    let mut hypothesis = Vec::new();
    if let Some(choice) = choice {
        (view, hypothesis) = view.proposed(&choice, &[], context).await?;
        refuse_unmatched(&hypothesis, &view.reading, &view.semantics)?;
    }
    let found = find(&targets, &mut view, context).await?;
    if !hypothesis.is_empty() {
        require_predictions(&view.semantics)?;
    }
    let view = with_related(view, &found).await?;
    let explained = explain(&found, &hypothesis, &view)?;
    let explanation = Explanation::new(explained, &view.basis());
    let format = args.output.output;
    present(&explanation, view.view_warnings(), format, context)
}

/// Finds the objects that are explained.
async fn find(
    targets: &ExplainTargets,
    view: &mut ClusterView,
    context: &Context,
) -> Result<ExplainedObjects, Failure> {
    let mut found = ExplainedObjects::default();
    if !targets.hardware.is_empty() {
        *view = Box::pin(view.clone().with_attributes(&[])).await?;
        let devices = devices_with(&targets.hardware, &view.reading, &view.semantics)?;
        found.devices.extend(devices);
    }
    let typed = context.namespace.as_deref().map(Namespace::from);
    for subject in &targets.named {
        match subject {
            Subject::Device(id) => found.devices.push(id.clone()),
            Subject::Pod(TypedName { namespace, name }) => {
                let namespace = namespace.as_ref().or(typed.as_ref());
                found.pod(namespace, name, view).await?;
            }
            Subject::Claim(TypedName { namespace, name }) => {
                let namespace = namespace.as_ref().or(typed.as_ref());
                let claim = the_claim(namespace, name, &view.reading)?.clone();
                found.users(&claim, view).await?;
            }
            // Refused when the arguments were parsed.
            Subject::Rule(_) | Subject::Node(_) => {}
        }
    }
    Ok(found)
}

impl ExplainedObjects {
    /// Adds the pod of that name, in any namespace without one.
    async fn pod(
        &mut self,
        namespace: Option<&Namespace>,
        name: &ObjectName,
        view: &mut ClusterView,
    ) -> Result<(), Failure> {
        let whole = namespace.map(|namespace| NamespacedName {
            namespace: namespace.clone(),
            name: name.clone(),
        });
        let query = match &whole {
            Some(whole) => PodQuery::One(whole),
            None => PodQuery::Called(name),
        };
        match (view.find_pods(query).await?, whole) {
            (PodQueryResult::These(pods, warnings), whole) => {
                view.reading.warnings.extend(warnings);
                if whole.is_some() {
                    self.pods.extend(pods);
                    return Ok(());
                }
                let pod = the_one(name.as_str(), pods)?;
                let pod = pod.ok_or_else(|| no_such_pod(None, name, &view.reading))?;
                self.pods.push(pod);
            }
            (PodQueryResult::WithoutClaims, Some(whole)) => {
                self.without_claims.insert(whole);
            }
            (PodQueryResult::WithoutClaims, None) | (PodQueryResult::Gone, _) => {
                return Err(no_such_pod(namespace, name, &view.reading));
            }
        }
        Ok(())
    }

    /// Adds the pods that use the claim.
    async fn users(
        &mut self,
        claim: &ResourceClaim,
        view: &mut ClusterView,
    ) -> Result<(), Failure> {
        let ResourceClaim {
            name, reserved_for, ..
        } = claim;
        // The name of a generated claim may be missing in the status of its pod.
        let uses = |pod: &Pod| {
            pod.name.namespace == name.namespace
                && (claim_names(pod).any(|of_pod| of_pod == name.name.as_str())
                    || reserved_for.iter().any(|user| user.uid == pod.uid))
        };
        let query = PodQuery::Chosen(Some(name.namespace.as_str()), &uses);
        match view.find_pods(query).await? {
            PodQueryResult::These(pods, warnings) if !pods.is_empty() => {
                view.reading.warnings.extend(warnings);
                self.pods.extend(pods);
                Ok(())
            }
            PodQueryResult::These(..) | PodQueryResult::WithoutClaims | PodQueryResult::Gone => {
                Err(unused_claim(name, &view.reading))
            }
        }
    }

    /// The devices that are explained, and those of the pods.
    fn devices_in(&self, snapshot: &Snapshot) -> BTreeSet<DeviceId> {
        let claims = self
            .pods
            .iter()
            .flat_map(|pod| related_claims(snapshot, pod));
        let results = claims.filter_map(|claim| claim.allocation.as_ref());
        let results = results.flat_map(|allocation| &allocation.results);
        let held = results.map(|result| result.device.clone());
        held.chain(self.devices.iter().cloned()).collect()
    }
}

/// Reads the objects around those that were found: other pods on the devices, and for pods that wait classes, nodes and
/// templates.
async fn with_related(
    view: ClusterView,
    found: &ExplainedObjects,
) -> Result<ClusterView<Pods>, Failure> {
    let now = view.now;
    let devices = found.devices_in(view.snapshot()).into_iter();
    // Assumed so that the pods on these devices are read; no taint of these is reported.
    let selectors = devices.map(DeviceSelector::from);
    let named = ProposedTaint::hypothetical_for(selectors, &assumed_taint(), now);
    let mut view = view.with_pods_of(&named).await?.with_found(&found.pods);
    let waits = |pod: &Pod| {
        let mut own = related_claims(view.snapshot(), pod);
        own.any(|claim| claim.allocation.is_none()) || !pod.extended_resources.is_empty()
    };
    // Classes and nodes are needed for pending claims alone, and may be many.
    // A pod may not terminate because of its node.
    let needs_nodes = |pod: &Pod| waits(pod) || pod.deletion.is_some();
    if found.pods.iter().any(needs_nodes) {
        view = view.with_places(NodeDetail::Whole).await?;
    }
    let has_template = |claim: &PodClaim| match claim.source {
        ClaimSource::Template { .. } => true,
        ClaimSource::Claim(_) | ClaimSource::Unknown => false,
    };
    let mut claims = found.pods.iter().flat_map(|pod| &pod.claims);
    // The absence of a claim may be that of its template, and a template may have been replaced since.
    if claims.any(has_template) {
        return view.with_templates().await;
    }
    Ok(view)
}

/// Explains the objects that were found.
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
    let without_claims = found.without_claims.iter();
    explained.extend(without_claims.map(explain_pod_without_claims));
    for id in &found.devices {
        let one = explain_device(id, hypothesis, &basis);
        explained.push(one.ok_or_else(|| {
            let selector = DeviceSelector::from(id.clone());
            no_device(&selector, &view.reading, &view.semantics)
        })?);
    }
    Ok(explained)
}
