//! How far an answer depends on something unknown.

/// How far an answer depends on something that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Affects {
    /// Who is evicted: counts of pods are lower bounds, and nothing may count as done or free.
    Evictions,
    /// Only what is said beside it, such as other taints, budgets, nodes or events.
    Details,
    /// Nothing of this question.
    Nothing,
}
