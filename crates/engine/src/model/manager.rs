//! Field managers of an object.

use jiff::Timestamp;

/// An entry of `metadata.managedFields`: a program, and what it is responsible for.
///
/// Absent from objects that were saved without it, as this plugin's own snapshots are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldManager {
    /// Name of the program, such as `kubectl-edit` or `argocd-controller`.
    pub name: String,
    /// Operation of the write.
    pub operation: ManagerOperation,
    /// The subresource that it wrote to, such as `status`; absent for the object itself.
    pub subresource: Option<String>,
    /// Time when it last added, changed or gave up a field; absent when the server did not say.
    pub time: Option<Timestamp>,
    /// True if it is responsible for at least one field of the spec.
    pub owns_spec: bool,
}

impl FieldManager {
    /// Field manager of this plugin.
    pub const THIS_PLUGIN: &str = "kubectl-devicetaint";
}

/// Operation with which a program wrote an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ManagerOperation {
    /// Server-side apply: it means to keep its fields, and conflicts with others who set them.
    Apply,
    /// Create, update or patch.
    Update,
    /// From a newer API; shown as is.
    Unknown(String),
}

impl ManagerOperation {
    /// The operation as it is spelled in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for ManagerOperation {
    fn from(text: &str) -> Self {
        match text {
            "Apply" => Self::Apply,
            "Update" => Self::Update,
            other => Self::Unknown(other.to_owned()),
        }
    }
}
