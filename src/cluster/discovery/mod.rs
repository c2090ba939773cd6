//! What does the server have? Which kinds, at which versions, and what that leaves out.

mod discover;
pub(in crate::cluster) mod enablement;
mod resources;

pub use discover::{ServedKinds, discover, remembered, survey, with_admission};
pub(in crate::cluster) use discover::{forget, git_version};
