//! YAML within bounds: no alias bombs, no towers of brackets.

use serde_yaml::{Deserializer, Error, Location};

/// Deepest nesting that is read, as in JSON; Kubernetes objects stay far below.
const MAX_DEPTH: usize = 128;
/// How many values aliases may repeat; kubectl writes none.
const MAX_REPEATED: usize = 100_000;

/// One document of a YAML text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Document<'a> {
    /// With its `---` line.
    pub(super) text: &'a str,
    /// Number of its first line, from zero.
    pub(super) first_line: usize,
}

/// The documents of `text`.
///
/// A line that starts with `---` and a blank or nothing begins a document wherever it stands, even
/// within a quoted text (YAML 1.2.2, 9.1.2), so that no parser is needed to find it.
pub(super) fn documents(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let mut start = 0;
    let mut first_line = 0;
    let mut offset = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if is_marker(line) && offset > start {
            documents.push(Document {
                text: &text[start..offset],
                first_line,
            });
            start = offset;
            first_line = number;
        }
        offset += line.len();
    }
    documents.push(Document {
        text: &text[start..],
        first_line,
    });
    documents
}

fn is_marker(line: &str) -> bool {
    line.strip_prefix("---")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Runs `read` on a deserializer of `text`, which is one document.
pub(super) fn with_deserializer<'de, T>(
    text: &'de str,
    read: impl for<'e> FnOnce(Deserializer<'de, 'e>) -> Result<T, Error>,
) -> Result<T, Error> {
    // A text cannot hold more values or lines than bytes; what aliases add is limited on its own.
    let size = text.len().saturating_add(MAX_REPEATED);
    let options = serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_events: size,
            max_nodes: size,
            max_total_scalar_bytes: size,
            max_total_comment_bytes: size,
            max_recorded_anchor_events: MAX_REPEATED,
        },
        alias_limits: serde_yaml::alias_limits! {
            max_total_replayed_events: MAX_REPEATED,
        },
        with_snippet: false,
    };
    serde_yaml::with_deserializer_from_str_with_options(text, options, read)
}

/// Whether `error` is about the YAML itself and not about what it stands for.
pub(super) fn is_syntax(error: &Error) -> bool {
    !matches!(
        error,
        Error::SerdeInvalidType { .. }
            | Error::SerdeInvalidValue { .. }
            | Error::SerdeMissingField { .. }
            | Error::InvalidScalar { .. }
            | Error::ExternalMessage { .. }
            | Error::NullIntoString { .. }
    )
}

/// `error` in one line, with the line number of the whole text, whose first `lines` came before.
pub(super) fn describe(error: &Error, lines: usize) -> String {
    let text = error.to_string();
    let text = text.lines().next().unwrap_or_default();
    match error.location() {
        Some(location) if location != Location::UNKNOWN && lines > 0 => {
            format!("{text} (of a document that begins at line {})", lines + 1)
        }
        _ => text.to_owned(),
    }
}
