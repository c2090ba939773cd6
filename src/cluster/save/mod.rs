//! Keeps what was read, as a file that `--from` takes: whole or not at all.

mod file;

pub use file::{Destination, Existing, SaveError, to_json};
