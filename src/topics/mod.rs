//! What `help TOPIC` explains: what reports, guards and exit codes mean.

mod explained;
mod topic;
mod versions;

pub use topic::Topic;
