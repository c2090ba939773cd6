//! The pod, the pods that use devices which could serve it, and the plan.

use std::collections::BTreeSet;

use crate::cluster::{AccessQuery, NodeDetail, Permission, PodQuery, PodQueryResult, Purpose};
use crate::commands::work::cluster_view::{ClusterView, ReadState};
use crate::commands::work::connect::{refuse_missing, try_evictions};
use crate::commands::work::mutation_context::MutationContext;
use crate::decide::explain_targets::{no_such_pod, the_one};
use crate::decide::make_room::{
    Beneficiary, Eligibility, RoomInput, RoomOptions, RoomPlan, WaitingPod, allocated, candidates,
    drafts, eligibility, lacking, left_of, plan, refuse_lacking, refuse_unread, reserved, rivals,
    room_steps, taint,
};
use crate::decide::proposal::{EvictedPods, Evictions, ProposedRule};
use crate::decide::{AddStep, Proposal};
use crate::engine::ProposedTaint;
use crate::engine::allocator::room::{RoomQuestion, relevant_devices};
use crate::error::Failure;
use crate::model::{
    DeviceId, DeviceSelector, DeviceTaintRule, Effect, Kind, Namespace, NamespacedName, NodeName,
    Pod, Taint, Uid,
};
use crate::naming::phrase::few;
use crate::naming::rule::TypedName;

/// A request for room.
#[derive(Clone, Debug)]
pub(crate) struct RoomRequest {
    pub(crate) target: TypedName,
    pub(crate) options: RoomOptions,
    pub(crate) yes: bool,
}

/// Result of the first look, before anything is changed.
pub(crate) enum Preparation {
    /// The pod has this node already.
    Scheduled(Pod, NodeName),
    /// The scheduler has evicted pods for the pod on this node.
    Nominated(Pod, NodeName),
    /// A set of pods was chosen.
    Room(Box<Prepared>),
}

/// A chosen set, with the rules that keep its devices.
pub(crate) struct Prepared {
    pub(crate) pod: Pod,
    pub(crate) waiting: WaitingPod,
    pub(crate) plan: RoomPlan,
    pub(crate) steps: Vec<AddStep>,
    /// Claims that held devices before the first eviction.
    pub(crate) before: BTreeSet<Uid>,
    /// Rules for the same pod that another run has made.
    pub(crate) taken_over: Vec<DeviceTaintRule>,
    /// Taints by which the evictions are assessed, and the pods that use the devices read.
    pub(crate) taints: Vec<ProposedTaint>,
    /// Lines above the question.
    lines: Vec<String>,
    force: bool,
}

impl RoomRequest {
    /// Finds the pod, and chooses the pods to evict.
    ///
    /// # Errors
    ///
    /// The pod does not wait for devices, its claims do not tolerate the taint, no set was found, or data is missing that
    /// decides. Nothing was changed.
    pub(crate) async fn prepare(&self, mutation: &MutationContext) -> Result<Preparation, Failure> {
        let view = mutation.view.clone().with_places(NodeDetail::Whole).await?;
        let (pod, eligible) = Box::pin(self.find(&view)).await?;
        match eligible {
            Eligibility::Scheduled(node) => Ok(Preparation::Scheduled(pod, node)),
            Eligibility::Nominated(node) => Ok(Preparation::Nominated(pod, node)),
            Eligibility::Waits(waiting) => {
                let prepared = Box::pin(self.choose(pod, *waiting, view)).await?;
                Ok(Preparation::Room(Box::new(prepared)))
            }
        }
    }

    /// The pod, with its state.
    async fn find(&self, view: &ClusterView) -> Result<(Pod, Eligibility), Failure> {
        let TypedName { namespace, name } = &self.target;
        let pod = match namespace {
            Some(namespace) => {
                let name = NamespacedName {
                    namespace: namespace.clone(),
                    name: name.clone(),
                };
                let pods = view.find_pods(PodQuery::One(&name)).await?;
                found(pods, &format!("pod {name}"))?.into_iter().next()
            }
            None => {
                let pods = found(view.find_pods(PodQuery::Called(name)).await?, "the pod")?;
                the_one(name.as_str(), pods)?
            }
        };
        let Some(pod) = pod else {
            return Err(no_such_pod(namespace.as_ref(), name, &view.reading));
        };
        let view = view.clone().with_found(std::slice::from_ref(&pod));
        let eligible = eligibility(&pod, &view.device_basis())?;
        Ok((pod, eligible))
    }

    async fn choose(
        &self,
        pod: Pod,
        waiting: WaitingPod,
        view: ClusterView,
    ) -> Result<Prepared, Failure> {
        let view = view.with_found(std::slice::from_ref(&pod));
        if !self.options.without_toleration {
            let unallocated = waiting.unallocated(&view.device_basis());
            let lacking = unallocated.iter().flat_map(|it| lacking(it, &pod.uid));
            refuse_lacking(&lacking.collect::<Vec<_>>())?;
        }
        let reserved = reserved(view.rules()?, &pod.uid);
        let relevant = relevant_devices(&RoomQuestion {
            waiting: waiting.question(&view.device_basis()),
            evictable: &[],
            leaving: &BTreeSet::new(),
            reserved: &reserved,
        });
        let relevant = relevant.unwrap_or_default();
        let taints = |devices: &BTreeSet<DeviceId>| -> Vec<ProposedTaint> {
            let taint = Taint {
                effect: Effect::NoExecute,
                ..taint(&pod.uid)
            };
            let selectors = devices.iter().cloned().map(DeviceSelector::from);
            ProposedTaint::hypothetical_for(selectors, &taint, view.now)
        };
        let of_relevant = taints(&relevant);
        let view = Box::pin(view.clone().with_pods_for(&of_relevant, &[])).await?;
        let view = view.with_found(std::slice::from_ref(&pod));
        refuse_unread(&view.reading)?;
        let beneficiary = Beneficiary {
            pod: &pod,
            sharing: &waiting.sharing,
            has_taint: !self.options.without_toleration,
        };
        let input = RoomInput {
            waiting: &waiting,
            candidates: &candidates(view.snapshot(), &relevant, beneficiary),
            reserved: &reserved,
            basis: &view.basis(),
        };
        let plan = plan(&pod, &input, self.options)?;
        let rivals = Box::pin(self.rivals(&pod, &plan, &view)).await?;
        let rules = view.rules()?;
        let steps = if !self.options.without_toleration {
            let drafts = drafts(&plan.set.tainted, &pod, view.now, self.options.timeout)?;
            room_steps(drafts, rules, &pod.uid, &view.semantics, view.now)?
        } else {
            Vec::new()
        };
        let lines = plan.lines(&pod.name, &rivals, !self.options.without_toleration);
        Ok(Prepared {
            before: allocated(view.snapshot()),
            taken_over: left_of(rules, &pod.uid),
            taints: taints(&plan.held),
            force: self.options.force,
            lines,
            steps,
            waiting,
            plan,
            pod: pod.clone(),
        })
    }

    /// Pending pods that may get the devices although they are kept for this pod.
    async fn rivals(
        &self,
        pod: &Pod,
        plan: &RoomPlan,
        view: &ClusterView<impl ReadState>,
    ) -> Result<Vec<Pod>, Failure> {
        if self.options.without_toleration {
            return Ok(Vec::new());
        }
        let waits = |other: &Pod| other.node.is_none() && !other.claims.is_empty();
        let pending = view.find_pods(PodQuery::Chosen(None, &waits)).await?;
        let pending = found(pending, "a pending pod")?;
        let rivals = rivals(pod, &pending, &plan.set.devices, &view.device_basis());
        if self.yes && !self.options.force && !rivals.is_empty() {
            let why = "pending pods that tolerate the taint may get the devices first";
            let why = format!(
                "{why}: {}; nothing was changed",
                few(rivals.iter().map(|it| &it.name))
            );
            return Err(Failure::refused(why).hint("to evict pods nevertheless: --force"));
        }
        Ok(rivals)
    }
}

fn found(pods: PodQueryResult, subject: &str) -> Result<Vec<Pod>, Failure> {
    match pods {
        PodQueryResult::These(pods, _) => Ok(pods),
        PodQueryResult::WithoutClaims => Err(Failure::refused(format!(
            "{subject} uses no claims, so it does not wait for devices; nothing was changed"
        ))),
        PodQueryResult::Gone => Ok(Vec::new()),
    }
}

impl Prepared {
    /// The rules and the evictions, for approval.
    pub(crate) fn proposal(&self) -> Proposal {
        let rules = self.steps.iter().map(ProposedRule::from).collect();
        let pods = self.plan.pods.iter().map(|pod| pod.uid.clone());
        Proposal {
            evictions: Some(Evictions {
                lines: self.lines.clone(),
                is_forced: self.force,
                pods: EvictedPods::Only(pods.collect(), self.taints.clone()),
            }),
            ..Proposal::new(rules, self.plan.action(&self.pod.name))
        }
    }

    /// Refuses to begin without the permissions for all steps until the last rule is removed, or where admission would
    /// refuse an eviction, which a dry run of one eviction in each namespace shows.
    ///
    /// # Errors
    ///
    /// A permission is missing. Nothing was changed.
    pub(crate) async fn check_permission(&self, mutation: &MutationContext) -> Result<(), Failure> {
        let pods = &self.plan.pods;
        let namespaces: BTreeSet<&Namespace> = pods.iter().map(|pod| &pod.name.namespace).collect();
        let verbs = match self.steps.as_slice() {
            [] => &[][..],
            _ => &["create", "patch", "delete"],
        };
        let rules = verbs.iter().map(|verb| AccessQuery {
            permission: Permission::new(verb, Kind::DeviceTaintRule),
            namespace: None,
        });
        let evictions = namespaces.into_iter().flat_map(|namespace| {
            let deletion = self.force.then(|| Permission::new("delete", Kind::Pod));
            let needed = [Permission::evictions()].into_iter().chain(deletion);
            needed.map(|permission| AccessQuery {
                permission,
                namespace: Some(namespace.clone()),
            })
        });
        let client = &mutation.live()?.client;
        refuse_missing(rules.chain(evictions), Purpose::MakeRoom, client).await?;
        try_evictions(pods.iter().map(|pod| (&pod.name, &pod.uid)), client).await
    }
}
