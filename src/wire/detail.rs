//! How much of each object is decoded.

/// How much of each device to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Name, node and taints.
    Names,
    /// Attributes and capacities too: for selection by expression or class.
    Attributes,
    /// What the allocator looks at too, and what claims ask for: for the question whether there is a
    /// replacement.
    Terms,
}
