//! How much of each object is decoded.

/// How much of each device to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Name, node and taints.
    Names,
    /// Attributes and capacities too: for selection by expression or class, and for the rules of
    /// Kubernetes 1.33 and 1.34.
    Attributes,
    /// What the allocator looks at too, and what claims ask for: for the question whether there is a
    /// replacement.
    Terms,
}
