//! What the eviction of a set of pods costs.
//!
//! Source: the design of the Rescheduler (`rescheduling-for-critical-pods.md`), "Evicting pods" for the tiers; then fewest
//! pods, lowest priority, smallest requests (of devices: CPU and memory are not compared), and pods without a controller
//! last.

/// Guarantees of the evictions of a set, the most considerate first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// No PodDisruptionBudget is violated, and every grace period is at most 10 seconds.
    #[default]
    ShortGrace,
    /// No PodDisruptionBudget is violated.
    WithinBudgets,
    /// A PodDisruptionBudget is violated.
    BudgetsViolated,
    /// The budgets or the evicted pods are unknown.
    Unknown,
}

impl Tier {
    /// Every tier, the most considerate first.
    pub const ALL: [Self; 4] = [
        Self::ShortGrace,
        Self::WithinBudgets,
        Self::BudgetsViolated,
        Self::Unknown,
    ];
}

/// What the eviction of a set of pods costs; lower is better, and the order of the fields is the order of the
/// comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoomCost {
    /// What the evictions respect.
    pub tier: Tier,
    /// Pods that are evicted.
    pub pods: usize,
    /// The highest priority among them; the lowest number there is where nobody is evicted.
    pub highest_priority: i32,
    /// All their priorities together.
    pub priorities: i64,
    /// Devices that their claims hold.
    pub devices: usize,
    /// Pods without a controller, which nobody recreates.
    pub unmanaged: usize,
}

impl RoomCost {
    /// No pod is evicted.
    pub const NONE: Self = Self {
        tier: Tier::ShortGrace,
        pods: 0,
        highest_priority: i32::MIN,
        priorities: 0,
        devices: 0,
        unmanaged: 0,
    };
}
