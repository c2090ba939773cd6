//! What a set costs: its tier, and what its loss does.
//!
//! Source: the design of the Rescheduler (`rescheduling-for-critical-pods.md`), "Scoring nodes" and "Evicting pods":
//! first by what evictions respect, then fewest pods, smallest requests, and pods without a controller last.

/// What the evictions of a set respect, the gentlest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// No PodDisruptionBudget is violated, and every grace period is at most 10 seconds.
    #[default]
    ShortGrace,
    /// No PodDisruptionBudget is violated.
    WithinBudgets,
    /// A PodDisruptionBudget is violated.
    BudgetsViolated,
    /// What would be evicted, or what protects it, was not read.
    Unknown,
}

impl Tier {
    /// Every tier, the gentlest first.
    pub const ALL: [Self; 4] = [
        Self::ShortGrace,
        Self::WithinBudgets,
        Self::BudgetsViolated,
        Self::Unknown,
    ];

    /// Whether a set of this tier violates no budget.
    #[must_use]
    pub fn respects_budgets(self) -> bool {
        match self {
            Self::ShortGrace | Self::WithinBudgets => true,
            Self::BudgetsViolated | Self::Unknown => false,
        }
    }
}

/// What the loss of a set does, the worst first: the order of the fields is the order of the comparison.
//
// Signed, since a coupling may turn one finding into another, and differences of two burdens are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Burden {
    /// Hazards of severity danger, one for each pod that has it.
    pub danger: i64,
    /// Hazards of severity warning.
    pub warning: i64,
    /// Hazards of severity notice.
    pub notice: i64,
    /// Pods that are evicted.
    pub pods: i64,
    /// Devices that the claims of these pods hold.
    pub devices: i64,
    /// Pods without a controller.
    pub unmanaged: i64,
}

/// The cost of a set; lower is better, and the tier decides first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetCost {
    /// What the evictions respect.
    pub tier: Tier,
    /// What they do.
    pub burden: Burden,
}

impl Burden {
    /// Nothing.
    pub const NONE: Self = Self {
        danger: 0,
        warning: 0,
        notice: 0,
        pods: 0,
        devices: 0,
        unmanaged: 0,
    };

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, i64::saturating_add)
    }

    /// How much more this is than the other.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.with(other, i64::saturating_sub)
    }

    /// So many times as much.
    #[must_use]
    pub fn times(self, factor: usize) -> Self {
        let factor = i64::try_from(factor).unwrap_or(i64::MAX);
        self.map(|number| number.saturating_mul(factor))
    }

    /// The least burden of whole numbers that is not below this one divided by `parts`.
    //
    // Burdens are compared from the worst to the least, and none of what is counted is negative: above the first
    // number that is no whole one, all that follow may be zero.
    #[must_use]
    pub fn divided_up(self, parts: usize) -> Self {
        let parts = i64::try_from(parts).unwrap_or(i64::MAX).max(1);
        let mut is_above = false;
        self.map(|number| {
            if is_above {
                return 0;
            }
            let whole = number.checked_div_euclid(parts).unwrap_or(0);
            is_above = number.checked_rem_euclid(parts).unwrap_or(0) != 0;
            whole.saturating_add(i64::from(is_above))
        })
    }

    fn map(self, mut change: impl FnMut(i64) -> i64) -> Self {
        Self {
            danger: change(self.danger),
            warning: change(self.warning),
            notice: change(self.notice),
            pods: change(self.pods),
            devices: change(self.devices),
            unmanaged: change(self.unmanaged),
        }
    }

    fn with(self, other: Self, both: fn(i64, i64) -> i64) -> Self {
        Self {
            danger: both(self.danger, other.danger),
            warning: both(self.warning, other.warning),
            notice: both(self.notice, other.notice),
            pods: both(self.pods, other.pods),
            devices: both(self.devices, other.devices),
            unmanaged: both(self.unmanaged, other.unmanaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burden(numbers: [i64; 6]) -> Burden {
        let [danger, warning, notice, pods, devices, unmanaged] = numbers;
        Burden {
            danger,
            warning,
            notice,
            pods,
            devices,
            unmanaged,
        }
    }

    #[test]
    fn the_tier_decides_first_and_then_the_worst_number_that_differs() {
        let cost = |tier, numbers| SetCost {
            tier,
            burden: burden(numbers),
        };
        let ascending = [
            cost(Tier::ShortGrace, [9, 9, 9, 9, 9, 9]),
            cost(Tier::WithinBudgets, [0, 0, 0, 0, 0, 0]),
            cost(Tier::WithinBudgets, [0, 0, 0, 0, 0, 1]),
            cost(Tier::WithinBudgets, [0, 0, 0, 0, 1, 0]),
            cost(Tier::WithinBudgets, [0, 0, 0, 1, 0, 0]),
            cost(Tier::WithinBudgets, [0, 0, 1, 0, 0, 0]),
            cost(Tier::WithinBudgets, [0, 1, 0, 0, 0, 0]),
            cost(Tier::WithinBudgets, [1, 0, 0, 0, 0, 0]),
            cost(Tier::BudgetsViolated, [0, 0, 0, 0, 0, 0]),
            cost(Tier::Unknown, [0, 0, 0, 0, 0, 0]),
        ];
        assert!(ascending.is_sorted_by(|left, right| left < right));
        assert_eq!(
            Tier::ALL.map(Tier::respects_budgets),
            [true, true, false, false]
        );
    }

    #[test]
    fn a_burden_is_divided_up_to_the_next_one_of_whole_numbers() {
        for (name, whole, parts, expected) in [
            ("exactly", [4, 2, 0, 0, 0, 0], 2, [2, 1, 0, 0, 0, 0]),
            ("above", [4, 1, 8, 8, 8, 8], 2, [2, 1, 0, 0, 0, 0]),
            ("at the last", [0, 0, 0, 0, 0, 5], 3, [0, 0, 0, 0, 0, 2]),
            ("by one", [1, 2, 3, 4, 5, 6], 1, [1, 2, 3, 4, 5, 6]),
        ] {
            assert_eq!(burden(whole).divided_up(parts), burden(expected), "{name}");
        }
    }

    #[test]
    fn burdens_are_added_subtracted_and_multiplied_number_by_number() {
        let (one, other) = (burden([1, 2, 3, 4, 5, 6]), burden([6, 5, 4, 3, 2, 1]));
        assert_eq!(one.plus(other), burden([7; 6]));
        assert_eq!(one.minus(other), burden([-5, -3, -1, 1, 3, 5]));
        assert_eq!(one.times(3), burden([3, 6, 9, 12, 15, 18]));
        assert_eq!(one.plus(Burden::NONE), one);
    }
}
