//! What does the server have? Which kinds, at which versions, and what that leaves out.

mod discover;
pub(in crate::cluster) mod enablement;

pub use discover::{Served, discover};
