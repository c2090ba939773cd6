//! The question whom to evict for a claim that waits, and the sets that answer it.

use std::collections::BTreeSet;

use super::cost::RoomCost;
use crate::engine::allocator::completeness::Unknown;
use crate::engine::allocator::pending_claim::PendingClaim;
use crate::model::{DeviceId, NodeName, Uid};

/// Whom to evict for a claim that waits.
#[derive(Clone, Copy, Debug)]
pub struct RoomQuestion<'a> {
    /// The claim, and the cluster.
    pub waiting: PendingClaim<'a>,
    /// The pods that may be evicted, each once; sets name them by their places here.
    pub evictable: &'a [Uid],
    /// The pods that are on their way out already, whoever deleted them.
    pub leaving: &'a BTreeSet<Uid>,
    /// Devices that are kept for other pods.
    pub reserved: &'a BTreeSet<DeviceId>,
}

/// Pods after whose eviction the claim can be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomSet {
    /// The node of the devices; absent where none of them is local to one.
    pub node: Option<NodeName>,
    /// The places of the pods that are evicted, in ascending order.
    pub evicted: Vec<usize>,
    /// The devices with which the allocator places the claim then.
    pub devices: BTreeSet<DeviceId>,
    /// The devices that evicted pods leave so that it can: all users of each are evicted.
    pub emptied: BTreeSet<DeviceId>,
    /// Free devices that other pods must not get in the meantime: those of `devices` that nobody has to leave, and those that draw
    /// from the same counters.
    pub kept_free: BTreeSet<DeviceId>,
    /// What the evictions cost.
    pub cost: RoomCost,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoomSearch {
    /// The set that costs least; absent where no set was found.
    pub best: Option<RoomSet>,
    /// The next best that does not contain the best.
    pub runner_up: Option<RoomSet>,
    /// Whether no set can cost less, and none exists where none was found.
    pub is_proved: bool,
    /// What is not known of some nodes or sets, which were left out.
    pub unknown: BTreeSet<Unknown>,
}
