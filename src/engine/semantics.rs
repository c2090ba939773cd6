//! Which Kubernetes version behaves how?

use crate::model::Minor;

/// How one Kubernetes version treats device taints, where versions differ.
///
/// The one place that knows versions; everything else asks for a behaviour by name. Chosen once per
/// run: from the server's version, from what the files show, or by the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Semantics {
    /// The version this describes.
    pub version: Minor,
}

impl Semantics {
    /// The newest version that is known.
    pub const NEWEST: Minor = Minor {
        minor: 37,
        patch: None,
    };
    /// The oldest version that is known.
    pub const OLDEST: Minor = Minor {
        minor: 33,
        patch: None,
    };
}
