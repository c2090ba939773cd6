//! Hash of lines of fields.

use sha2::{Digest, Sha256};

/// The hash of some lines, behind the name of its algorithm.
#[must_use]
pub fn hash(algorithm: &str, lines: &[String]) -> String {
    let hash = Sha256::digest(lines.join("\n"));
    let hexadecimal: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{algorithm}{hexadecimal}")
}

/// A line of fields, each with its length before it.
#[must_use]
pub fn fields<'a>(fields: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let field = |field: Option<&str>| match field {
        // Without the length, the fields `a` and `bc` would be hashed like `ab` and `c`.
        Some(text) => format!("{}:{text}", text.len()),
        None => "-".to_owned(),
    };
    fields.into_iter().map(field).collect()
}
