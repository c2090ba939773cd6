//! Parts of an answer that depend on something unknown.

/// Parts of an answer that depend on something unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Affects {
    /// Evictions: counts of pods are lower bounds, and nothing may count as done or free.
    Evictions,
    /// Only what is said beside it, such as other taints, budgets, nodes or events.
    Details,
    /// Nothing of this question.
    Nothing,
}
