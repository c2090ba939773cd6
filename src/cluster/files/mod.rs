//! Saved state: what `--from` and `-f` name.
//!
//! Takes names of files and gives a [`Reading`](crate::model::Reading), or the rules of manifests.
//! Decoding is `wire`'s; this module gets the bytes and judges the whole.

mod bytes;
mod error;
mod gather;
mod limits;
mod manifest;
mod newest;
pub(in crate::cluster) mod observed;
mod read;
mod sources;
#[cfg(test)]
mod tests;

pub use error::InputError;
pub use limits::Limits;
pub use manifest::{Manifests, read_manifests};
pub use observed::SavedNotes;
pub use read::{read, read_saved, read_with_rules};
pub use sources::FileSource;
