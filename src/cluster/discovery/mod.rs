//! Discovery: the kinds and API versions a server has, and what the missing ones leave out.

pub(super) mod discover;
pub(in crate::cluster) mod enablement;
mod resources;

pub use discover::{ServedKinds, discover, served_kinds, with_admission};
