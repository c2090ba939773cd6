//! By what pods leave a unit.

/// By what pods leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Restarts of Deployments that bring new pods up first, where budgets allow it; else the Eviction API.
    Auto,
    /// Restarts of Deployments, and nothing else.
    Restart,
    /// The Eviction API, which respects budgets.
    Eviction,
    /// Effect NoExecute, which respects nothing.
    Taint,
}
