//! Limits of a unit.

use std::time::Duration;

use super::means::Means;
use super::pod_class::Inclusions;

/// Limits of a unit: which pods it evicts, by which mechanism, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct UnitLimits {
    /// Mechanism by which pods are evicted.
    pub means: Means,
    /// Classes of pods that are evicted only with a flag.
    pub included: Inclusions,
    /// When pods that could not be evicted are evicted with effect NoExecute; absent if never.
    pub force_after: Option<Duration>,
    /// When the unit ends as blocked.
    pub timeout: Duration,
    /// Whether replacements may stay pending because no device is available.
    pub accepts_unplaceable: bool,
}

impl UnitLimits {
    /// Whether the rules of a unit may get effect NoExecute.
    #[must_use]
    pub fn may_evict_by_taint(&self) -> bool {
        self.force_after.is_some()
            || match self.means {
                Means::Taint => true,
                Means::Auto | Means::Restart | Means::Eviction => false,
            }
    }
}
