//! Detail in which objects are decoded.

/// Detail in which devices are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Name, node and taints.
    Names,
    /// Attributes and capacities too: for selection by expression or class.
    Attributes,
    /// The facts for the allocator too, and the requests of claims: for the question whether there is a
    /// replacement.
    Terms,
}
