//! Discovery: the kinds and API versions a server has, and what the missing ones leave out.

pub(super) mod discover;
pub(in crate::cluster) mod enablement;
mod resources;

pub use discover::{ServedKinds, discover, remembered, served_kinds, with_admission};
pub(in crate::cluster) use discover::{forget, git_version};
