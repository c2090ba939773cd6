//! Texts of `help TOPIC`: reports, guards and exit codes.

mod explained;
mod topic;
mod versions;

pub use topic::Topic;
