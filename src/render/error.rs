//! Errors of rendering.

/// A report that cannot be written as data; not to be expected of reports made of plain fields.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// JSON has no such value.
    #[error("cannot write the report as JSON")]
    Json(#[from] serde_json::Error),
    /// YAML has no such value.
    #[error("cannot write the report as YAML")]
    Yaml(#[from] serde_yaml::SerializeError),
}
