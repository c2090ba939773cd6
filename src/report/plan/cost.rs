//! Cost of a set, as reports show it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::set_search::{Burden, SetCost, Tier};
use crate::naming::phrase::counted;

/// Cost of a set. Sets are compared by costTier, dangerHazardCount, warningHazardCount, noticeHazardCount,
/// evictedPodCount, claimedDeviceCount and barePodCount, in this order: the first field that differs
/// decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Tier of the cost: whether the evictions violate a PodDisruptionBudget, and whether a grace period is
    /// longer than 10 seconds.
    pub cost_tier: CostTier,
    /// Hazards of severity Danger of the evicted pods (see `help hazards`); a pod with two such hazards counts twice.
    pub danger_hazard_count: usize,
    /// Hazards of severity Warning of the evicted pods, except NoReplacement; a pod with two such hazards
    /// counts twice.
    pub warning_hazard_count: usize,
    /// Hazards of severity Notice of the evicted pods; a pod with two such hazards counts twice.
    pub notice_hazard_count: usize,
    /// Pods that would be evicted, now or later.
    pub evicted_pod_count: usize,
    /// Devices that the claims of evicted pods hold.
    pub claimed_device_count: usize,
    /// Evicted pods that have no controller.
    pub bare_pod_count: usize,
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

impl CostTier {
    /// The tier in words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::ShortGrace => "no PodDisruptionBudget violated; grace periods of at most 10s",
            Self::WithinBudgets => "no PodDisruptionBudget violated; grace periods above 10s",
            Self::BudgetsViolated => "PodDisruptionBudgets violated",
            Self::Unknown => {
                "unknown whether PodDisruptionBudgets are violated, because pods, claims or PodDisruptionBudgets were not read"
            }
        }
    }
}

impl From<SetCost> for Cost {
    fn from(cost: SetCost) -> Self {
        let Burden {
            danger,
            warning,
            notice,
            pods,
            devices,
            unmanaged,
        } = cost.burden;
        let count = |number: i64| usize::try_from(number).unwrap_or_default();
        Self {
            cost_tier: cost.tier.into(),
            danger_hazard_count: count(danger),
            warning_hazard_count: count(warning),
            notice_hazard_count: count(notice),
            evicted_pod_count: count(pods),
            claimed_device_count: count(devices),
            bare_pod_count: count(unmanaged),
        }
    }
}

impl Cost {
    /// The cost in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let tier = self.cost_tier.describe();
        if self.evicted_pod_count == 0 {
            return match self.cost_tier {
                CostTier::Unknown => {
                    "unknown, because pods, claims or PodDisruptionBudgets were not read".to_owned()
                }
                CostTier::ShortGrace | CostTier::WithinBudgets | CostTier::BudgetsViolated => {
                    "no pod is evicted".to_owned()
                }
            };
        }
        let hazards: Vec<String> = [
            (self.danger_hazard_count, "danger"),
            (self.warning_hazard_count, "warning"),
            (self.notice_hazard_count, "notice"),
        ]
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, severity)| format!("{count} of severity {severity}"))
        .collect();
        let hazards = if hazards.is_empty() {
            "no hazards (the hazard no-replacement is not counted)".to_owned()
        } else {
            format!("hazards: {}", hazards.join(", "))
        };
        let pods = counted(self.evicted_pod_count, "pod");
        let devices = counted(self.claimed_device_count, "claimed device");
        let bare = match self.bare_pod_count {
            0 => String::new(),
            bare => format!(" ({bare} without a controller)"),
        };
        format!("{pods}{bare} with {devices}; {tier}; {hazards}")
    }
}
