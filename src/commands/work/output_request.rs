//! Requested form of a report.

use crate::decide::Strictness;
use crate::render::Format;

/// Requested form of a report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputRequest {
    /// In which format.
    pub(crate) format: Format,
    /// Decides if missing parts are a failure.
    pub(crate) strictness: Strictness,
}
