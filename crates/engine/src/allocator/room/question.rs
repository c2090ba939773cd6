//! The question which pods to evict for a claim that waits, and the set that answers it.

use std::collections::BTreeSet;

use crate::allocator::pending_claim::PendingClaim;
use crate::allocator::pool::Unknown;
use crate::model::{DeviceId, NodeName, Uid};

/// Limit that the evictions of a set respect, the gentlest first.
///
/// Source: the design of the Rescheduler (`rescheduling-for-critical-pods.md`), "Evicting pods".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoomTier {
    /// No PodDisruptionBudget is violated, and every grace period is at most 10 seconds.
    ShortGrace,
    /// No PodDisruptionBudget is violated.
    WithinBudgets,
    /// A PodDisruptionBudget is violated, or it is unknown whether one is.
    BudgetsViolated,
}

impl RoomTier {
    /// All tiers, the gentlest first.
    pub const ALL: [Self; 3] = [Self::ShortGrace, Self::WithinBudgets, Self::BudgetsViolated];
}

/// Cost of evicting a set of pods. The order of the fields is the order of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoomCost {
    /// Limit that the evictions respect.
    pub tier: RoomTier,
    /// Number of pods.
    pub pods: usize,
    /// The highest priority of a pod.
    pub highest_priority: i32,
    /// Devices that the claims of the pods hold.
    pub devices: usize,
    /// The longest grace period, in seconds.
    pub grace_period_seconds: i64,
}

impl RoomCost {
    /// Cost of evicting no pod.
    pub const NONE: Self = Self {
        tier: RoomTier::ShortGrace,
        pods: 0,
        highest_priority: i32::MIN,
        devices: 0,
        grace_period_seconds: 0,
    };
}

/// Question which pods to evict for a claim that waits.
#[derive(Clone, Copy, Debug)]
pub struct RoomQuestion<'a> {
    /// The claim, and the cluster.
    pub waiting: PendingClaim<'a>,
    /// Pods that may be evicted, in the order in which equal sets are chosen; sets name them by their index.
    pub evictable: &'a [Uid],
    /// Pods that are terminating already.
    pub leaving: &'a BTreeSet<Uid>,
    /// Devices that are reserved for other pods.
    pub reserved: &'a BTreeSet<DeviceId>,
}

/// Pods after whose eviction the claim can be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomSet {
    /// Node of the devices; absent where none of them is local to one.
    pub node: Option<NodeName>,
    /// Indices of the evicted pods, ascending.
    pub evicted: Vec<usize>,
    /// Devices with which the allocator places the claim then.
    pub devices: BTreeSet<DeviceId>,
    /// Devices that other pods must not get in the meantime: `devices`, and those that draw from the same counters
    /// and are free then.
    pub tainted: BTreeSet<DeviceId>,
    /// Cost of the evictions.
    pub cost: RoomCost,
}

/// Result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoomSearch {
    /// The cheapest set that was found.
    pub best: Option<RoomSet>,
    /// Data that is missing about nodes or sets, which were left out for it.
    pub unknown: BTreeSet<Unknown>,
}
