//! Keeps what was read, as a file that `--from` takes: whole or not at all, and redacted on request.

mod file;
mod redact;
mod redaction_rules;

pub use file::{Destination, Existing, SaveError, to_json};
pub use redact::{Redaction, RedactionError};
