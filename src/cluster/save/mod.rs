//! Keeps what was read, as a file that `--from` takes: whole or not at all, and redacted on request.

mod apart;
mod file;
mod kept;
mod redact;

pub use file::{Destination, Existing, SaveError, to_json};
pub use redact::{Redaction, RedactionError};
