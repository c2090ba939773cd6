//! Limits of a unit.

use std::time::Duration;

use super::facts::UnitPod;
use super::pod_class::Inclusions;

/// Limits of a unit: which pods it evicts, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct UnitLimits {
    /// Whether Deployments are restarted that start new pods first, instead of evicting their pods.
    pub restarts: bool,
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
    /// Whether effect NoExecute evicts pods, too, of those that are `leaving`: as this run may set it, or as rules of the
    /// drain have it already.
    #[must_use]
    pub fn evict_by_taint(&self, leaving: &[&UnitPod]) -> bool {
        self.may_evict_by_taint() || leaving.iter().any(|pod| pod.is_evicted_by_rule)
    }

    /// Whether the rules of a unit may get effect NoExecute.
    #[must_use]
    pub fn may_evict_by_taint(&self) -> bool {
        self.force_after.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::pod_class::PodClass;
    use super::super::testing::{owned, unit_pod};
    use super::*;

    #[test]
    fn effect_no_execute_evicts_where_this_run_may_set_it_or_a_rule_has_it() {
        let limits = |force_after| UnitLimits {
            restarts: false,
            included: Inclusions::default(),
            force_after,
            timeout: Duration::ZERO,
            accepts_unplaceable: false,
        };
        let pod = unit_pod(&owned("web-0", None), PodClass::Replicated);
        let mut by_rule = pod.clone();
        by_rule.is_evicted_by_rule = true;
        let evicts = |force_after| {
            let limits = limits(force_after);
            (
                limits.evict_by_taint(&[&pod]),
                limits.evict_by_taint(&[&pod, &by_rule]),
            )
        };
        let force = Some(Duration::from_secs(60));
        assert_eq!(evicts(None), (false, true));
        assert_eq!(evicts(force), (true, true));
    }
}
