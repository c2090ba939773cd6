//! Saved state: what `--from` and `-f` name.
//!
//! Takes names of files and gives a [`Reading`](crate::model::Reading), or the rules of manifests.
//! Decoding is `wire`'s; this module gets the bytes and judges the whole.

mod bytes;
pub(crate) mod gather;
mod read;
mod sources;
#[cfg(test)]
mod tests;

pub use gather::SavedNotes;
pub use read::{Manifests, read, read_manifests, read_policies, read_with_rules};
pub use sources::FileSource;
pub use sources::InputError;
pub use sources::Limits;
