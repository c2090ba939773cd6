//! Stages of a unit, as reports write them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stage of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UnitStage {
    /// The drain of the unit has not begun. New pods are blocked.
    Waiting,
    /// The drain of the unit has begun, and has not ended. If no `drain` command is running, the drain was
    /// interrupted: run the same command again.
    Draining,
    /// The drain of the unit has ended without success: for example, pods could not be evicted, workloads are not ready
    /// again, or a node of the drain has devices without a rule of the drain. To continue, run the same `drain` command again.
    Blocked,
    /// The drain of the unit is complete: at its end, no claim held the devices, and the workloads of the
    /// evicted pods were ready.
    Idle,
    /// The drain of the unit is complete, but at its end, pods that the drain does not evict still held devices of
    /// the unit, or a pod was force-deleted, so that its node may not have released them. Or the unit was idle, and a claim
    /// now holds its hardware again.
    Held,
    /// A rule was removed or weakened, or the value of its taint was changed: for example by `restore`, by another
    /// program.
    Reversed,
}

impl UnitStage {
    /// The stage in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Draining => "draining",
            Self::Blocked => "blocked",
            Self::Idle => "idle",
            Self::Held => "held",
            Self::Reversed => "reversed",
        }
    }
}
