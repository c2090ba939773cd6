//! Rendering: from reports to text.
//!
//! Takes anything that is a [`View`](crate::report::View) and a [`Format`]; gives one string that
//! ends with a line break (or is empty) and has nothing in it that acts on a terminal. Knows tables
//! and serialisable values, not what they are about. Writes to no stream.
//!
//! | format | module |
//! |---|---|
//! | `table`, `wide` | [`text`] |
//! | `markdown` | [`markdown`] |
//! | `html` | [`html`], a chart in it: `chart`, foreign text in it: `markup` |
//! | tables in groups | `grouped` |
//! | what follows from what | `chain` |
//! | words and cells in lines | `lines` |
//! | `json` | [`json`] |
//! | `yaml` | [`yaml`] |
//! | `name` | [`answer`], which chooses among them |

pub mod answer;
mod chain;
mod chart;
pub mod error;
pub mod format;
mod grouped;
pub mod html;
pub mod json;
mod lines;
pub mod markdown;
mod markup;
pub mod text;
pub mod yaml;

#[cfg(test)]
#[cfg(test)]
pub use answer::at_80_columns;
pub use answer::{marks, render, unsaid};
pub use error::RenderError;
pub use format::{Format, Page, UnknownFormat};
