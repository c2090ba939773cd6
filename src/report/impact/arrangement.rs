//! Order and grouping of pods in a report.

/// How the pods of a report are told; what the report says does not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// Which pod is told first.
    pub order: Order,
    /// What pods are told together.
    pub by: Option<Grouping>,
}

/// Which pod is told first; among equals, by namespace and name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Whom it hits worst.
    #[default]
    Severity,
    /// Who goes first.
    Time,
    /// By namespace and name.
    Namespace,
    /// By the top of its owners.
    Workload,
}

impl Order {
    /// Every order, by the word after `--sort-by`.
    pub const ALL: [(&str, Self); 4] = [
        ("severity", Self::Severity),
        ("time", Self::Time),
        ("namespace", Self::Namespace),
        ("workload", Self::Workload),
    ];
}

/// What pods are told together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// None: a row a pod, however many there are.
    Pod,
    /// Those of one workload.
    Workload,
    /// Those of one namespace.
    Namespace,
    /// Those on one node.
    Node,
    /// Those that use one device.
    Device,
    /// Those that use one claim.
    Claim,
}

impl Grouping {
    /// Every grouping, by the word after `--by`.
    pub const ALL: [(&str, Self); 6] = [
        ("pod", Self::Pod),
        ("workload", Self::Workload),
        ("namespace", Self::Namespace),
        ("node", Self::Node),
        ("device", Self::Device),
        ("claim", Self::Claim),
    ];
}
