//! Differences from the approved report that refuse a change.

use std::fmt;

use jiff::SignedDuration;

use crate::naming::duration::exact_duration;

/// Difference between a change and the approved one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalRefusal {
    /// The report was about other taints.
    OtherTaints {
        /// The taints of the report.
        expected: Vec<String>,
        /// The taints of the change.
        found: Vec<String>,
    },
    /// A pod would be evicted that was not in the report as such.
    NewPod {
        /// `NAMESPACE/NAME`.
        pod: String,
    },
    /// A pod would be evicted earlier.
    Earlier {
        /// `NAMESPACE/NAME`.
        pod: String,
        /// In how long it was to be evicted.
        expected: SignedDuration,
        /// In how long it would be now.
        found: SignedDuration,
    },
    /// Something could be read then and cannot be read now.
    LessKnown {
        /// Missing data.
        what: String,
    },
}

impl fmt::Display for ApprovalRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherTaints { expected, found } => write!(
                formatter,
                "the report is for {}, but the change is for {}",
                expected.join(", "),
                found.join(", ")
            ),
            Self::NewPod { pod } => {
                write!(
                    formatter,
                    "pod {pod} would be evicted, but the report does not list that eviction"
                )
            }
            Self::Earlier {
                pod,
                expected,
                found,
            } => write!(
                formatter,
                "pod {pod} would be evicted in {}, earlier than in the report ({})",
                exact_duration(*found),
                exact_duration(*expected)
            ),
            Self::LessKnown { what } => {
                write!(
                    formatter,
                    "{what} could be read when the report was created, but not now"
                )
            }
        }
    }
}

impl ApprovalRefusal {
    /// True if other devices are selected, or tainted otherwise, than approved.
    pub fn is_of_selection(&self) -> bool {
        matches!(self, Self::OtherTaints { .. })
    }
}
