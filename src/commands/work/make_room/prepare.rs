//! The pod, the pods that use devices which could serve it, and the plan.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::cluster::{
    AccessQuery, NodeDetail, Permission, PodQuery, PodQueryResult, Purpose, WriteMode, evict,
};
use crate::commands::work::access::refuse_missing;
use crate::commands::work::cluster_view::ClusterView;
use crate::commands::work::connect::failed;
use crate::commands::work::mutation_context::MutationContext;
use crate::decide::approval::EvictionMethod;
use crate::decide::explain_targets::{no_such_pod, the_one};
use crate::decide::make_room::{
    Beneficiary, Eligibility, Mechanism, NeededAccess, NothingHelps, Occupants, RoomInput,
    RoomLimits, RoomPlan, RoomTarget, RoomTerms, WaitingPod, action, candidates, eligibility,
    first_drafts, lacking, left_of, needed_access, plan, refuse_lacking, refuse_unread, reserved,
    room_steps, taint, tried_evictions,
};
use crate::decide::proposal::{NamedOwners, ProposedRule};
use crate::decide::{AddStep, Proposal};
use crate::engine::ProposedTaint;
use crate::engine::allocator::room::{RoomQuestion, relevant_devices};
use crate::error::Failure;
use crate::model::{DeviceSelector, DeviceTaintRule, Effect, Kind, NamespacedName, NodeName, Pod};

/// Flags and arguments of the command.
#[derive(Clone, Debug)]
pub(crate) struct RoomRequest {
    pub(crate) target: RoomTarget,
    pub(crate) limits: RoomLimits,
    pub(crate) mechanism: Mechanism,
    pub(crate) timeout: Duration,
}

/// What is found out before anything is changed.
pub(crate) enum Preparation {
    /// The pod has this node already.
    Scheduled(Pod, NodeName),
    /// The scheduler has evicted pods for the pod on this node.
    Nominated(Pod, NodeName),
    /// No set of pods may be chosen.
    Nothing(Pod, Box<NothingHelps>),
    /// A set was chosen.
    Room(Box<Prepared>),
}

/// What is done for the pod.
pub(crate) struct Prepared {
    pub(crate) pod: Pod,
    pub(crate) waiting: WaitingPod,
    pub(crate) plan: RoomPlan,
    pub(crate) terms: RoomTerms,
    /// The rules as they become.
    wanted: Vec<AddStep>,
    /// The rules as they are made first.
    pub(crate) first: Vec<AddStep>,
    /// Who held devices before.
    pub(crate) before: Occupants,
    /// Rules for the same pod that another run has made.
    pub(crate) taken_over: Vec<DeviceTaintRule>,
    /// At what price pods may be evicted.
    limits: RoomLimits,
}

impl RoomRequest {
    /// Finds the pod, and chooses whom to evict.
    ///
    /// # Errors
    ///
    /// There is no such pod, it does not wait for devices, its claims do not tolerate the taint, or something that decides
    /// could not be read. Nothing was changed.
    pub(crate) async fn prepare(&self, mutation: &MutationContext) -> Result<Preparation, Failure> {
        let view = mutation.view.clone().with_places(NodeDetail::Whole).await?;
        let (pod, eligible) = Box::pin(self.find(&view)).await?;
        match eligible {
            Eligibility::Scheduled(node) => Ok(Preparation::Scheduled(pod, node)),
            Eligibility::Nominated(node) => Ok(Preparation::Nominated(pod, node)),
            Eligibility::Waits(waiting) => Box::pin(self.choose(pod, *waiting, view)).await,
        }
    }

    /// The pod, with what to do about it.
    async fn find(&self, view: &ClusterView) -> Result<(Pod, Eligibility), Failure> {
        let RoomTarget { namespace, name } = &self.target;
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
    ) -> Result<Preparation, Failure> {
        let view = view.with_found(std::slice::from_ref(&pod));
        let unallocated = waiting.unallocated(&view.device_basis());
        let lacking = lacking(&unallocated, &pod.uid, &view.semantics);
        refuse_lacking(&lacking, self.mechanism)?;
        let nobody = BTreeSet::new();
        let reserved = reserved(view.rules()?, &pod.uid);
        let relevant = relevant_devices(&RoomQuestion {
            waiting: waiting.question(&view.device_basis()),
            evictable: &[],
            leaving: &nobody,
            reserved: &reserved,
        });
        let proposed: Vec<ProposedTaint> = relevant
            .unwrap_or_default()
            .into_iter()
            .map(|device| {
                let taint = taint(&pod.uid, Effect::NoExecute);
                ProposedTaint::hypothetical(DeviceSelector::from(device), taint, view.now)
            })
            .collect();
        let view = Box::pin(view.with_pods_for(&proposed, &[])).await?;
        let view = view.with_found(std::slice::from_ref(&pod));
        refuse_unread(&view.reading)?;
        let basis = view.basis();
        let impact = view.impact(&proposed);
        let beneficiary = Beneficiary {
            pod: &pod,
            sharing: &waiting.sharing,
        };
        let budgets = &view.snapshot().budgets;
        let pods = candidates(&impact, beneficiary, budgets, view.now);
        let input = RoomInput {
            waiting: &waiting,
            candidates: &pods,
            impact: &impact,
            reserved: &reserved,
            basis: &basis,
        };
        let plan = match plan(&input, self.limits) {
            Ok(plan) => plan,
            Err(nothing) => return Ok(Preparation::Nothing(pod.clone(), nothing)),
        };
        let terms = RoomTerms::new(&pod.name, &pod.uid, view.now, self.timeout);
        let drafts = terms.drafts(&plan.chosen.set)?;
        let steps = |drafts| {
            let semantics = &view.semantics;
            room_steps(drafts, view.rules()?, &pod.uid, semantics, view.now)
        };
        let first = first_drafts(&drafts, plan.chosen.has_budgets());
        Ok(Preparation::Room(Box::new(Prepared {
            wanted: steps(drafts)?,
            first: steps(first)?,
            before: Occupants::of(view.snapshot()),
            taken_over: left_of(view.rules()?, &pod.uid),
            limits: self.limits,
            waiting,
            plan,
            terms,
            pod: pod.clone(),
        })))
    }
}

fn found(pods: PodQueryResult, asked: &str) -> Result<Vec<Pod>, Failure> {
    match pods {
        PodQueryResult::These(pods, _) => Ok(pods),
        PodQueryResult::WithoutClaims => Err(Failure::refused(format!(
            "{asked} uses no claims, so it does not wait for devices; nothing was changed"
        ))),
        PodQueryResult::Gone => Ok(Vec::new()),
        PodQueryResult::Denied(why) => Err(Failure::refused(format!(
            "pods cannot be read: {why}; nothing was changed"
        ))),
    }
}

/// What the server is asked about what is needed.
fn query(needed: NeededAccess) -> AccessQuery {
    let rules = |verb| AccessQuery {
        permission: Permission::new(verb, Kind::DeviceTaintRule),
        namespace: None,
    };
    match needed {
        NeededAccess::CreateRules => rules("create"),
        NeededAccess::PatchRules => rules("patch"),
        NeededAccess::DeleteRules => rules("delete"),
        NeededAccess::EvictPods(namespace) => AccessQuery {
            permission: Permission::evictions(),
            namespace: Some(namespace),
        },
    }
}

impl Prepared {
    /// The rules as they become, and what is asked about them.
    pub(crate) fn proposal(&self) -> Proposal {
        let escalation = self.plan.chosen.escalation(self.limits);
        let rules = self.wanted.iter().zip(&self.first);
        let rules = rules.map(|(wanted, first)| match escalation {
            Some(then) => ProposedRule::from(wanted).beginning(&first.draft().taint.effect, then),
            None => wanted.into(),
        });
        Proposal {
            rules: rules.collect(),
            action: action(&self.pod.name, &self.plan),
            whose: NamedOwners::All,
            is_noted_before: false,
            patience: None,
            drains: None,
            eviction: if self.limits.force {
                EvictionMethod::Forced
            } else {
                EvictionMethod::Taint
            },
        }
    }

    /// The names of the rules.
    pub(crate) fn names(&self) -> Vec<String> {
        let steps = self.first.iter();
        steps.map(|step| step.draft().name.clone()).collect()
    }

    /// Whether the user may do all that is needed until the last rule is removed; and whether an eviction in each namespace
    /// would be accepted by admission, which is asked by one that is not carried out.
    ///
    /// # Errors
    ///
    /// The user may not.
    pub(crate) async fn check_permission(&self, mutation: &MutationContext) -> Result<(), Failure> {
        let needed = needed_access(&self.plan, &self.first, self.limits);
        let queries = needed.into_iter().map(query);
        refuse_missing(queries, Purpose::MakeRoom, &mutation.live.client).await?;
        for pod in tried_evictions(&self.plan.chosen.pods) {
            let client = &mutation.live.client;
            let tried = evict(client, &pod.name, &pod.uid, WriteMode::DryRun).await;
            tried.map_err(|error| failed(error).detail("nothing was changed"))?;
        }
        Ok(())
    }
}
