//! Rendering: from reports to text.
//!
//! Takes anything that is a [`View`](crate::report::View) and a [`Format`]; gives one string that
//! ends with a line break (or is empty) and has nothing in it that acts on a terminal. Knows tables
//! and serialisable values, not what they are about. Writes to no stream.

pub mod format;
pub mod html;
pub mod json;
mod lines;
pub mod markdown;
pub mod text;

pub use format::RenderError;
pub use format::{Format, Page, UnknownFormat};
pub use format::{lists_missing_data, marks, render};
