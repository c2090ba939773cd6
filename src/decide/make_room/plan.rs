//! The set of pods that is evicted, or the reason why none would help.

use super::candidates::{CandidatePod, Immovable, Movability, WaitingPod, with_scheduler};
use crate::assess::room::{EvictablePod, RoomCosts};
use crate::assess::{Basis, closed_line};
use crate::decide::RuleDraft;
use crate::decide::add::{AddStep, Existing, Terms, add};
use crate::decide::choice::Choice;
use crate::decide::draft::RuleAnnotations;
use crate::engine::Semantics;
use crate::engine::allocator::room::{RoomQuestion, RoomSearch, RoomSet, RoomTier, room};
use crate::engine::closed_nodes::ClosedNode;
use crate::engine::tolerate::tolerates;
use crate::error::{ExitStatus, Failure};
use crate::model::{
    DeviceId, DeviceSelector, DeviceTaintRule, Effect, NamespacedName, Pod, RequestKind,
    RequestTerms, ResourceClaim, Taint, Toleration, Uid,
};
use crate::naming::duration::parse_duration;
use crate::naming::keys;
use crate::naming::phrase::{counted, few};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::Duration;

/// Pods that are listed; more are counted.
const SHOWN: usize = 10;

/// Options of a search for room.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct RoomOptions {
    /// Allow sets that violate PodDisruptionBudgets
    ///
    /// A pod whose eviction is refused for 60s is deleted.
    #[arg(long, help_heading = "Pods")]
    pub force: bool,

    /// Shorten longer grace periods to this one, such as 10s
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Pods")]
    pub grace: Option<Duration>,

    /// Do not keep the devices by a taint
    ///
    /// The claims of the pod need no toleration then, but another pod may get the devices first.
    #[arg(long)]
    pub without_toleration: bool,

    /// How long to wait until the pod is scheduled
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, help_heading = "Wait")]
    pub timeout: Duration,
}

impl RoomOptions {
    /// The last tier of sets that may be chosen.
    fn most(self) -> RoomTier {
        if self.force {
            RoomTier::BudgetsViolated
        } else {
            RoomTier::WithinBudgets
        }
    }

    /// Grace period of the eviction of a pod, in seconds.
    fn grace_of(self, pod: &Pod) -> i64 {
        let longest = self.grace.map(|grace| grace.as_secs().try_into());
        let own = pod.grace_period_seconds;
        longest.map_or(own, |longest| own.min(longest.unwrap_or(i64::MAX)))
    }
}

/// Facts from which a set is chosen.
#[derive(Clone, Copy, Debug)]
pub struct RoomInput<'a> {
    /// The waiting pod.
    pub waiting: &'a WaitingPod,
    /// The pods that use devices which could serve it.
    pub candidates: &'a [CandidatePod<'a>],
    /// Devices that are kept for other pods.
    pub reserved: &'a BTreeSet<DeviceId>,
    /// The cluster.
    pub basis: &'a Basis<'a>,
}

/// A pod that is evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedEviction {
    /// Name of the pod.
    pub name: NamespacedName,
    /// UID of the pod.
    pub uid: Uid,
    /// Grace period of the eviction, in seconds.
    pub grace_period_seconds: i64,
    /// True if `grace_period_seconds` is shorter than the pod's own.
    pub is_shortened: bool,
    priority: i32,
    owner: Option<String>,
}

/// Pods whose eviction gives a pending pod its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomPlan {
    /// The devices.
    pub set: RoomSet,
    /// The pods that are evicted, by name.
    pub pods: Vec<PlannedEviction>,
    /// Devices that the claims of these pods hold.
    pub held: BTreeSet<DeviceId>,
    /// Budgets that the evictions violate, or may violate.
    violated: Vec<NamespacedName>,
    /// Pods that are terminating, or have ended, and hold devices which could serve.
    leaving: Vec<NamespacedName>,
    /// Nodes and sets that were left out, with the reasons.
    left_out: Vec<String>,
}

/// Room for a pending pod: the pods that are evicted for it, and the devices that it gets then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Room {
    /// Node of the devices; null if they are not local to a node.
    pub node: Option<String>,
    /// Devices that the allocator chooses for the pending pod after the evictions, as DRIVER/POOL/DEVICE.
    pub devices: Vec<String>,
    /// Pods that are evicted, as NAMESPACE/NAME.
    pub evicted_pods: Vec<String>,
    /// PodDisruptionBudgets that the evictions violate, or may violate, as NAMESPACE/NAME.
    pub violated_budgets: Vec<String>,
}

impl From<&RoomPlan> for Room {
    fn from(plan: &RoomPlan) -> Self {
        Self {
            node: plan.set.node.as_ref().map(ToString::to_string),
            devices: texts(&plan.set.devices),
            evicted_pods: texts(plan.pods.iter().map(|pod| &pod.name)),
            violated_budgets: texts(&plan.violated),
        }
    }
}

fn texts<'t, T: Display + 't>(items: impl IntoIterator<Item = &'t T>) -> Vec<String> {
    items.into_iter().map(ToString::to_string).collect()
}

/// Chooses the set of pods to evict for `pod`.
///
/// # Errors
///
/// No set was found; a set that needs --force is named. Nothing was changed.
pub fn plan(pod: &Pod, input: &RoomInput<'_>, limits: RoomOptions) -> Result<RoomPlan, Failure> {
    let search = Search::new(input, limits);
    let result = search.room(limits.most());
    match &result.best {
        Some(best) => Ok(search.planned(best, &result)),
        None => {
            // Nothing of this search is done: it finds the set that --force would allow, for the refusal.
            let forced = search.room(RoomTier::BudgetsViolated);
            let forced = forced.best.as_ref().filter(|_| !limits.force);
            let forced = forced.map(|set| search.planned(set, &result));
            Err(search.refusal(pod, forced.as_ref(), &result))
        }
    }
}

struct Search<'a> {
    input: &'a RoomInput<'a>,
    limits: RoomOptions,
    /// The pods that may be evicted.
    pods: Vec<&'a CandidatePod<'a>>,
    costs: RoomCosts<'a>,
}

impl<'a> Search<'a> {
    fn new(input: &'a RoomInput<'a>, limits: RoomOptions) -> Self {
        let candidates = input.candidates.iter();
        let pods: Vec<&CandidatePod<'a>> = candidates
            .filter(|candidate| candidate.movability == Movability::Evictable)
            .collect();
        let evictable = pods.iter().map(|candidate| EvictablePod {
            pod: candidate.pod,
            grace_period_seconds: limits.grace_of(candidate.pod),
            devices: candidate.devices.len(),
        });
        let budgets = &input.basis.reading.snapshot.budgets;
        Self {
            input,
            limits,
            costs: RoomCosts::new(evictable.collect(), budgets),
            pods,
        }
    }

    fn room(&self, most: RoomTier) -> RoomSearch {
        let evictable: Vec<Uid> = self.pods.iter().map(|it| it.pod.uid.clone()).collect();
        let leaving: BTreeSet<Uid> = self.leaving().map(|pod| pod.uid.clone()).collect();
        let question = RoomQuestion {
            waiting: self.input.waiting.question(self.input.basis),
            evictable: &evictable,
            leaving: &leaving,
            reserved: self.input.reserved,
        };
        room(&question, most, &|set| self.costs.of(set))
    }

    fn leaving(&self) -> impl Iterator<Item = &'a Pod> {
        let candidates = self.input.candidates.iter();
        let leaving = candidates.filter(|it| it.movability == Movability::Leaving);
        leaving.map(|candidate| candidate.pod)
    }

    fn planned(&self, set: &RoomSet, result: &RoomSearch) -> RoomPlan {
        let found = || set.evicted.iter().filter_map(|index| self.pods.get(*index));
        let pods = found().map(|candidate| {
            let pod = candidate.pod;
            let grace_period_seconds = self.limits.grace_of(pod);
            let owner = pod.controller.as_ref();
            PlannedEviction {
                name: pod.name.clone(),
                uid: pod.uid.clone(),
                grace_period_seconds,
                is_shortened: grace_period_seconds < pod.grace_period_seconds,
                priority: pod.priority,
                owner: owner.map(|owner| format!("{} {}", owner.kind, owner.name)),
            }
        });
        let violated = self.costs.violated(&set.evicted);
        RoomPlan {
            set: set.clone(),
            pods: pods.collect(),
            held: found().flat_map(|it| it.devices.clone()).collect(),
            violated: violated.iter().map(|it| it.name.clone()).collect(),
            leaving: self.leaving().map(|pod| pod.name.clone()).collect(),
            left_out: left_out(result, &self.input.waiting.closed),
        }
    }

    fn refusal(&self, pod: &Pod, forced: Option<&RoomPlan>, result: &RoomSearch) -> Failure {
        let name = &pod.name;
        let mut failure = Failure::new(
            ExitStatus::Failed,
            format!(
                "no set of pods was found whose eviction frees the devices that pod {name} needs; nothing was changed"
            ),
        );
        let staying: Vec<(&NamespacedName, Immovable)> = self
            .input
            .candidates
            .iter()
            .filter_map(|candidate| match candidate.movability {
                Movability::Stays(why) => Some((&candidate.pod.name, why)),
                Movability::Evictable | Movability::Leaving => None,
            })
            .collect();
        for (name, why) in staying.iter().take(SHOWN) {
            failure = failure.detail(format!("pod {name} stays: {}", why.describe()));
        }
        if let Some(more) = more_than_shown(staying.len()) {
            failure = failure.detail(more);
        }
        for why in left_out(result, &self.input.waiting.closed) {
            failure = failure.detail(why);
        }
        let failure = with_scheduler(failure, pod);
        match forced {
            Some(forced) => failure.hint(format!(
                "to violate PodDisruptionBudgets, add --force: evicts {} on {}",
                few(forced.pods.iter().map(|it| &it.name)),
                forced.place()
            )),
            None => failure,
        }
    }
}

fn left_out(result: &RoomSearch, closed: &[ClosedNode]) -> Vec<String> {
    let unknown = result.unknown.iter().map(ToString::to_string);
    let all = unknown.chain(closed_line(closed));
    all.map(|why| format!("left out: {why}")).collect()
}

fn more_than_shown(count: usize) -> Option<String> {
    let more = count.checked_sub(SHOWN).filter(|more| *more > 0)?;
    Some(format!("and {}", counted(more, "more pod")))
}

impl RoomPlan {
    /// The devices, and their node.
    fn place(&self) -> String {
        let devices = few(&self.set.devices);
        match &self.set.node {
            Some(node) => format!("{devices} on node {node}"),
            None => devices,
        }
    }

    /// The question, without its mark.
    pub fn action(&self, pod: &NamespacedName) -> String {
        let devices = counted(self.set.devices.len(), "device");
        format!("Make room for pod {pod} on {devices}")
    }

    /// The lines above the question: the pods that are evicted, violated budgets, and what is unknown. `rivals` may get
    /// the devices first.
    pub fn lines(&self, pod: &NamespacedName, rivals: &[Pod], has_taint: bool) -> Vec<String> {
        let mut lines = vec![format!("Room for pod {pod}: {}", self.place())];
        if self.pods.is_empty() {
            lines.push("evicts no pod".to_owned());
        }
        lines.extend(self.pods.iter().take(SHOWN).map(PlannedEviction::line));
        lines.extend(more_than_shown(self.pods.len()));
        if !self.leaving.is_empty() {
            lines.push(format!("terminating or ended: {}", few(&self.leaving)));
        }
        if !self.violated.is_empty() {
            let violated = few(&self.violated);
            lines.push(format!("violates PodDisruptionBudgets: {violated}"));
        }
        if !has_taint {
            lines.push("no taint keeps the devices: another pod may get them first".to_owned());
        } else if !rivals.is_empty() {
            let rivals = few(rivals.iter().map(|pod| &pod.name));
            lines.push(format!(
                "pending pods that tolerate the taint may get the devices first: {rivals}"
            ));
        }
        lines.extend(self.left_out.iter().cloned());
        lines.push("not checked: CPU and memory of nodes, affinity to other pods".to_owned());
        lines
    }
}

impl PlannedEviction {
    fn line(&self) -> String {
        let owner = self.owner.as_deref().unwrap_or("nothing recreates it");
        format!(
            "evicts pod {} ({owner}, priority {}, grace period {}s)",
            self.name, self.priority, self.grace_period_seconds
        )
    }
}

/// Key of the taint on devices that are kept for a pod; the value is the pod's UID.
pub const TAINT_KEY: &str = keys::in_group!("make-room");

/// Time by which rules outlive the longest run of their command.
const MARGIN: SignedDuration = SignedDuration::from_mins(2);

/// The taint that keeps a device for the pod with this UID.
pub fn taint(uid: &Uid) -> Taint {
    Taint {
        key: TAINT_KEY.to_owned(),
        value: uid.to_string(),
        effect: Effect::NoSchedule,
        time_added: None,
    }
}

/// The UID of the pod for which `make-room` created the rule; absent for every other rule.
//
// Label, key and manager: a rule that was written by hand with the same key is none.
pub fn kept_for(rule: &DeviceTaintRule) -> Option<&str> {
    let labels = &rule.metadata.labels;
    let is_ours = labels.get(keys::MANAGED_BY).map(String::as_str) == Some(keys::THIS_PROGRAM);
    let uid = labels.get(keys::MAKE_ROOM)?;
    (is_ours && rule.taint.key == TAINT_KEY).then_some(uid)
}

/// Devices that `rules` keep for other pods than the one with this UID.
pub fn reserved(rules: &[DeviceTaintRule], uid: &Uid) -> BTreeSet<DeviceId> {
    let others = rules
        .iter()
        .filter(|rule| kept_for(rule).is_some_and(|kept_for| kept_for != uid.as_str()));
    let devices = others.filter_map(|rule| rule.selector.as_ref()?.device_id());
    devices.collect()
}

/// The rules for the pod with this UID, by name.
pub fn left_of(rules: &[DeviceTaintRule], uid: &Uid) -> Vec<DeviceTaintRule> {
    let is_for_pod = |rule: &&DeviceTaintRule| kept_for(rule) == Some(uid.as_str());
    let mut left: Vec<DeviceTaintRule> = rules.iter().filter(is_for_pod).cloned().collect();
    left.sort_by(|one, other| one.name.cmp(&other.name));
    left
}

/// The rules that keep `devices` for a pod, made `now` by a command that takes at most `timeout`: they expire soon after
/// it, also if it is killed.
///
/// # Errors
///
/// A device cannot be named by a rule.
pub fn drafts(
    devices: &BTreeSet<DeviceId>,
    pod: &Pod,
    now: Timestamp,
    timeout: Duration,
) -> Result<Vec<RuleDraft>, Failure> {
    let length = SignedDuration::try_from(timeout).unwrap_or(SignedDuration::MAX);
    let expires = now
        .saturating_add(length.saturating_add(MARGIN))
        .unwrap_or(Timestamp::MAX);
    // The API has times to the second.
    let expires = Timestamp::from_second(expires.as_second()).unwrap_or(expires);
    let selectors = devices.iter().cloned().map(DeviceSelector::from);
    let choice = Choice::of_selectors(selectors.collect(), Some(taint(&pod.uid)));
    let notes = RuleAnnotations {
        reason: Some(format!("room for pod {}", pod.name)),
        labels: vec![(keys::MAKE_ROOM.to_owned(), pod.uid.to_string())],
        ..RuleAnnotations::default()
    };
    let mut drafts = notes.drafts(&choice, Vec::new())?;
    for draft in &mut drafts {
        let expires = (keys::EXPIRES.to_owned(), expires.to_string());
        draft.annotations.extend([expires]);
    }
    Ok(drafts)
}

/// The steps that create or update the rules for the pod with this UID. An existing rule of the same name is updated only
/// if an earlier run created it for this pod.
///
/// # Errors
///
/// An existing rule cannot become the wanted one.
pub fn room_steps(
    drafts: Vec<RuleDraft>,
    rules: &[DeviceTaintRule],
    uid: &Uid,
    semantics: &Semantics,
    now: Timestamp,
) -> Result<Vec<AddStep>, Failure> {
    let mut steps = Vec::new();
    for draft in drafts {
        let existing = rules.iter().find(|rule| rule.name.as_str() == draft.name);
        let is_ours = existing.and_then(kept_for) == Some(uid.as_str());
        let terms = Terms {
            existing: if is_ours {
                Existing::Overwritten
            } else {
                Existing::Kept
            },
            semantics,
            now,
        };
        steps.extend(add(vec![draft], rules, &terms)?);
    }
    Ok(steps)
}

/// The requests of `claim` that do not tolerate the taint for the pod, with its name.
pub fn lacking(claim: &ResourceClaim, uid: &Uid) -> Vec<String> {
    let covered = |terms: &RequestTerms| covers(&terms.tolerations, uid);
    let requests = claim.spec.iter().flat_map(|spec| &spec.requests);
    let names = requests.flat_map(|request| match &request.kind {
        RequestKind::Exactly(terms) if covered(terms) => Vec::new(),
        RequestKind::FirstAvailable(all) => all
            .iter()
            .filter(|(_, terms)| !covered(terms))
            .map(|(name, _)| format!("{}/{name}", request.name))
            .collect(),
        // A request of a newer API may have tolerations that were not read. The taint could keep out the pod
        // itself, so it counts as lacking.
        RequestKind::Exactly(_) | RequestKind::Unknown => vec![request.name.to_string()],
    });
    names
        .map(|request| format!("claim {}: request {request}", claim.name))
        .collect()
}

/// True if one of the tolerations covers the taint for the pod with this UID.
pub fn covers(tolerations: &[Toleration], uid: &Uid) -> bool {
    let taint = taint(uid);
    tolerations.iter().any(|it| tolerates(it, &taint))
}

/// Refuses claims that do not tolerate the taint.
///
/// # Errors
///
/// There are such requests.
pub fn refuse_lacking(lacking: &[String]) -> Result<(), Failure> {
    if lacking.is_empty() {
        return Ok(());
    }
    let refused = Failure::refused(
        "the pod's claims do not tolerate the taint that would keep devices for it; nothing was changed",
    );
    let refused = lacking.iter().fold(refused, Failure::detail);
    let snippet = format!(
        "in the ResourceClaimTemplate, add to `exactly` of each request, or to each entry of `firstAvailable`: \
        tolerations: [{{key: {TAINT_KEY}, operator: Exists, effect: {}}}]",
        Effect::NoSchedule
    );
    Err(refused.detail(snippet).hint(
        "to evict pods without keeping their devices, so that another pod may get them first: --without-toleration",
    ))
}
