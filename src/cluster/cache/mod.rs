//! What is remembered of a server from one run to the next, in the folder that kubectl has for that.
//!
//! Nothing here is ever a fact: it says what to ask for first, and the server's answer decides. A file that is
//! expired, truncated or unreadable is ignored without a message.

mod file;
mod folder;
pub(in crate::cluster) mod store;

pub(in crate::cluster) use store::Cache;
