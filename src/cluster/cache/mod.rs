//! What is remembered of a server from one run to the next, in the folder that kubectl has for that.
//!
//! Nothing here is ever a fact: it says what to ask for first, and the server's answer decides. What is
//! old, cut short, foreign or in the way is as good as nothing, and nobody is told.

mod file;
mod folder;
pub(in crate::cluster) mod store;

pub(in crate::cluster) use store::Cache;
