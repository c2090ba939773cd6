//! Where facts come from: saved files.
//!
//! Takes names of files and gives a [`Reading`](crate::model::Reading): the facts, their time and
//! version as far as they show, oddities, and what is missing. Decoding is `wire`'s; this module
//! gets the bytes and judges the whole. Prints nothing and reads no clock.

mod bytes;
mod error;
mod files;
mod gather;
mod manifest;
mod observed;
mod sources;
#[cfg(test)]
mod tests;

pub use error::InputError;
pub use files::{Limits, read};
pub use manifest::read_rules;
pub use sources::FileSource;
