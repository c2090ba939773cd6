//! How an answer is wanted.

use crate::decide::Strictness;
use crate::render::Format;

/// How an answer is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputRequest {
    /// In which format.
    pub(crate) format: Format,
    /// Whether it is a failure that part of it is missing.
    pub(crate) strictness: Strictness,
}
