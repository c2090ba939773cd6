//! Result of making room for a pod: the pods that were evicted for it, and the devices that it got.

use schemars::JsonSchema;
use serde::Serialize;

use super::change::DryRun;
use super::metadata::{API_VERSION, Cluster, Metadata};
use super::reference::ObjectReference;
use super::table::{Section, View};
use crate::engine::allocator::room::{RoomSet, Tier};

/// Report of `make-room`: the evicted pods, the devices, and whether the waiting pod is scheduled.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomReport {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "RoomReport"))]
    pub kind: String,
    /// The cluster of the pod.
    pub metadata: Metadata,
    /// Dry-run mode: None, Client or Server.
    pub dry_run: DryRun,
    /// The pod that waits for devices; null if none was found.
    pub waiting_pod: Option<ObjectReference>,
    /// Outcome of the command.
    pub room_outcome: RoomOutcome,
    /// Node of the waiting pod; null if the pod was not scheduled when the command ended.
    pub node: Option<String>,
    /// Devices that the claims of the waiting pod hold, as DRIVER/POOL/DEVICE; empty if the pod was not
    /// scheduled when the command ended.
    pub devices: Vec<String>,
    /// The set of pods that was chosen for eviction, and the devices that the waiting pod then gets; null if no set
    /// was chosen.
    pub chosen_room: Option<Room>,
    /// Other sets of pods, the cheapest first: the next best set if a set was chosen, otherwise sets that
    /// can be chosen with --force.
    pub other_rooms: Vec<Room>,
    /// Whether it is proved that no other set costs less or, if no set was chosen, that no set exists. Only sets that
    /// the flags of the command allow are considered.
    pub proved: bool,
    /// Claims of other pods that got a device meant for the waiting pod.
    pub competitors: Vec<RoomCompetitor>,
    /// Facts as text, such as what could not be checked, nodes on which the pod cannot be scheduled and,
    /// after a timeout, what the command still waited for; empty if there are none.
    pub messages: Vec<String>,
    /// Why the command failed, as text; null if it did not fail.
    pub error: Option<String>,
}

/// How `make-room` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum RoomOutcome {
    /// In a dry run, a set was chosen, and nothing was changed.
    Planned,
    /// The waiting pod has a node and its devices.
    Scheduled,
    /// Evictions do not help: the waiting pod would not get its devices, whichever of the allowed pods were evicted. Nothing
    /// was changed.
    NothingHelps,
    /// Another pod got a device that was meant for the waiting pod.
    Lost,
    /// The waiting pod was not scheduled before the command's timeout.
    TimedOut,
    /// The waiting pod was deleted while the command ran.
    Deleted,
    /// Another user or program changed or removed a rule.
    Reversed,
    /// The command was refused, or it failed before or while pods were evicted; `error` has the reason.
    Failed,
}

/// Tier of a cost, the lowest cost first.
//
// The tiers are those of the Rescheduler design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum CostTier {
    /// No PodDisruptionBudget is violated, and every grace period is at most 10 seconds.
    ShortGrace,
    /// No PodDisruptionBudget is violated, and a grace period is longer than 10 seconds.
    WithinBudgets,
    /// A PodDisruptionBudget is violated.
    BudgetsViolated,
    /// It is unknown whether a PodDisruptionBudget is violated.
    Unknown,
}

impl From<Tier> for CostTier {
    fn from(tier: Tier) -> Self {
        match tier {
            Tier::ShortGrace => Self::ShortGrace,
            Tier::WithinBudgets => Self::WithinBudgets,
            Tier::BudgetsViolated => Self::BudgetsViolated,
            Tier::Unknown => Self::Unknown,
        }
    }
}

/// A set of pods, and the devices that their eviction gives to the waiting pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Room {
    /// Name of the node of the devices; null if they are not local to a node.
    pub node: Option<String>,
    /// Devices that the allocator chooses for the waiting pod after the evictions, as DRIVER/POOL/DEVICE.
    pub devices: Vec<String>,
    /// Devices that the evicted pods use, as DRIVER/POOL/DEVICE. The command taints them: with effect NoSchedule
    /// while it evicts pods through the Eviction API, and with effect NoExecute to evict the other pods.
    pub emptied_devices: Vec<String>,
    /// Free devices that other pods must not get before the waiting pod is scheduled, as DRIVER/POOL/DEVICE; the
    /// command taints them with effect NoSchedule.
    pub reserved_devices: Vec<String>,
    /// Tier of the cost: whether the evictions violate a PodDisruptionBudget, and whether a grace period is
    /// longer than 10 seconds.
    pub cost_tier: CostTier,
    /// Devices that the claims of evicted pods hold.
    pub claimed_device_count: usize,
    /// Evicted pods that have no controller.
    pub bare_pod_count: usize,
    /// The pods that are evicted, ordered by name.
    pub room_evictions: Vec<RoomEviction>,
}

/// A pod that is evicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomEviction {
    /// The pod.
    pub pod: ObjectReference,
    /// Scheduling priority of the pod.
    pub priority: i32,
    /// Termination grace period of the pod, in seconds.
    pub grace_period_seconds: i64,
    /// Whether a PodDisruptionBudget matches the pod, or may match it. First, `make-room` evicts the pods with
    /// a budget, through the Eviction API. Then it raises the effect of its rules to NoExecute, which evicts the
    /// other pods.
    pub has_budget: bool,
}

/// A claim of another pod that got a device meant for the waiting pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomCompetitor {
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// The claim that got the device; its UID is null.
    pub claim: ObjectReference,
    /// Pods for which the claim is reserved.
    pub pods: Vec<ObjectReference>,
}

impl Room {
    /// The set with the pods that it evicts.
    #[must_use]
    pub fn new(set: &RoomSet, evictions: Vec<RoomEviction>) -> Self {
        let names = |devices: &std::collections::BTreeSet<crate::model::DeviceId>| {
            devices.iter().map(ToString::to_string).collect()
        };
        Self {
            node: set.node.as_ref().map(ToString::to_string),
            devices: names(&set.devices),
            emptied_devices: names(&set.emptied),
            reserved_devices: names(&set.kept_free),
            cost_tier: set.cost.tier.into(),
            claimed_device_count: set.cost.devices,
            bare_pod_count: set.cost.unmanaged,
            room_evictions: evictions,
        }
    }
}

impl RoomReport {
    /// A report of which nothing is known but the outcome.
    #[must_use]
    pub fn new(outcome: RoomOutcome, dry_run: DryRun) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "RoomReport".to_owned(),
            metadata: Metadata::default(),
            dry_run,
            waiting_pod: None,
            room_outcome: outcome,
            node: None,
            devices: Vec::new(),
            chosen_room: None,
            other_rooms: Vec::new(),
            proved: false,
            competitors: Vec::new(),
            messages: Vec::new(),
            error: None,
        }
    }

    /// The report with the cluster that it is from.
    #[must_use]
    pub fn in_cluster(self, cluster: Option<&Cluster>) -> Self {
        Self {
            metadata: Metadata::of_cluster(cluster),
            ..self
        }
    }
}

impl View for RoomReport {
    fn sections(&self) -> Vec<Section> {
        vec![Section::sentences(self.messages.clone())]
    }

    fn names(&self) -> Vec<String> {
        self.devices.clone()
    }
}
