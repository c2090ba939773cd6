//! In which order, and by what, are the pods of a report told to people?

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
    /// Every order, in that of the documentation.
    pub const ALL: [Self; 4] = [Self::Severity, Self::Time, Self::Namespace, Self::Workload];

    /// The order as it is written after `--sort-by`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Severity => "severity",
            Self::Time => "time",
            Self::Namespace => "namespace",
            Self::Workload => "workload",
        }
    }
}

/// What pods are told together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
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
    /// Every grouping, in the order of the documentation.
    pub const ALL: [Self; 5] = [
        Self::Workload,
        Self::Namespace,
        Self::Node,
        Self::Device,
        Self::Claim,
    ];

    /// The grouping as it is written after `--by`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workload => "workload",
            Self::Namespace => "namespace",
            Self::Node => "node",
            Self::Device => "device",
            Self::Claim => "claim",
        }
    }
}
