//! Who wrote an object, as far as the server noted it.

use jiff::Timestamp;

/// An entry of `metadata.managedFields`: a program, and what it is responsible for.
///
/// Absent from objects that were saved without it, as this plugin's own snapshots are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldManager {
    /// What the program calls itself, such as `kubectl-edit` or `argocd-controller`.
    pub name: String,
    /// How it wrote.
    pub operation: ManagerOperation,
    /// The subresource that it wrote to, such as `status`; absent for the object itself.
    pub subresource: Option<String>,
    /// When it last added, changed or gave up a field; absent when the server did not say.
    pub time: Option<Timestamp>,
    /// Whether it is responsible for at least one field of the spec.
    pub owns_spec: bool,
}

impl FieldManager {
    /// What this plugin calls itself.
    pub const THIS_PLUGIN: &str = "kubectl-devicetaint";
}

/// How a program wrote an object.
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
    #[must_use]
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
