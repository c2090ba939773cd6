//! Stages of a unit, as reports write them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The stage of rules whose drain was aborted, as the rule records it.
pub(super) const ABORTED: &str = "Aborted";

/// Stage of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UnitStage {
    /// New pods are blocked; no pod has been evicted.
    Waiting,
    /// Its pods are being evicted.
    Draining,
    /// The unit is not done, for example because pods could not be evicted, workloads are not ready again, or a node has
    /// devices that the drain does not taint; the same command tries again.
    Blocked,
    /// When the unit was done, no claim held its devices, and the workloads of its pods were ready.
    Idle,
    /// Pods that the drain does not evict, or that came after the unit was idle, hold its devices.
    Held,
    /// A rule was removed or weakened, such as by `restore`, another program or `--on-abort deescalate`.
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
