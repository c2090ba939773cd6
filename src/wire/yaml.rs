//! YAML within bounds: no alias bombs, no towers of brackets.

use serde_yaml::budget::BudgetBreach;
use serde_yaml::{Deserializer, Error};

/// Deepest nesting that is read; Kubernetes objects stay far below, and the parser is recursive.
const MAX_DEPTH: usize = 64;
/// Maximum number of values that aliases may repeat; kubectl writes none.
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
/// within a quoted text (YAML 1.2.2, 9.1.2), so that no parser is needed to find it. Directives and
/// comments before it are part of the document.
pub(super) fn documents(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let mut start = 0;
    let mut first_line = 0;
    for (line_end, _) in text.match_indices("\n---") {
        let marker = line_end.saturating_add(1);
        let before = &text[start..marker];
        if is_marker(&text[marker..]) && has_content(before) {
            documents.push(Document {
                text: before,
                first_line,
            });
            start = marker;
            let lines = before.bytes().filter(|byte| *byte == b'\n').count();
            first_line = lines.saturating_add(first_line);
        }
    }
    documents.push(Document {
        text: &text[start..],
        first_line,
    });
    documents
}

/// True if `text` begins with the line that begins a document.
fn is_marker(text: &str) -> bool {
    text.strip_prefix("---")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// True if there is more than directives, comments and blank lines.
fn has_content(text: &str) -> bool {
    text.lines()
        .any(|line| !line.trim_start().is_empty() && !line.starts_with(['%', '#']))
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
        // As for kubectl, `name: yes` names nothing: what needs quotes to be a text must have them.
        no_schema: true,
        emit_comments: false,
        with_snippet: false,
    };
    serde_yaml::with_deserializer_from_str_with_options(text, options, read)
}

/// True if `error` is about the YAML itself and not about its content.
pub(super) fn is_syntax(error: &Error) -> bool {
    !matches!(
        innermost(error),
        Error::Unexpected { .. }
            | Error::SerdeInvalidType { .. }
            | Error::SerdeInvalidValue { .. }
            | Error::InvalidScalar { .. }
            | Error::QuotingRequired { .. }
            | Error::Message { .. }
    )
}

/// `error` in one line. `lines` of the whole text came before the document that it is in.
pub(super) fn describe(error: &Error, lines: usize) -> String {
    of_document(&in_words(innermost(error)), lines)
}

/// Message about a document after `lines` lines of the whole text.
pub(super) fn of_document(text: &str, lines: usize) -> String {
    match lines {
        0 => text.to_owned(),
        lines => format!(
            "{text} of the document that begins at line {}",
            lines.saturating_add(1)
        ),
    }
}

/// The error itself, where it was found by following an alias.
fn innermost(error: &Error) -> &Error {
    if let Error::AliasError { error, .. } = error {
        innermost(error)
    } else {
        error
    }
}

fn in_words(error: &Error) -> String {
    if let Error::Budget { breach, .. } = error {
        return excess(breach);
    }
    if let Error::AliasReplayLimitExceeded { .. } = error {
        return TOO_MANY_ALIASES.to_owned();
    }
    if let Error::DuplicateMappingKey { key, location } = error {
        let key = key.as_deref().unwrap_or_default();
        let (line, column) = (location.line(), location.column());
        return format!("the key `{key}` occurs twice at line {line}, column {column}");
    }
    if let Error::QuotingRequired { value, location } = error {
        let (line, column) = (location.line(), location.column());
        return format!(
            "`{value}` at line {line}, column {column} is not a string unless it is quoted"
        );
    }
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

const TOO_MANY_ALIASES: &str = "its anchors and aliases expand to too much data";

/// Message about the exceeded limit.
fn excess(breach: &BudgetBreach) -> String {
    if matches!(breach, BudgetBreach::Depth { .. }) {
        format!("it is nested deeper than {MAX_DEPTH} levels")
    } else {
        TOO_MANY_ALIASES.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_begin_at_markers() {
        for (text, expected) in [
            ("a", vec![("a", 0)]),
            ("---\na\n", vec![("---\na\n", 0)]),
            ("a\n---\nb", vec![("a\n", 0), ("---\nb", 1)]),
            (
                "# x\n%YAML 1.2\n---\na",
                vec![("# x\n%YAML 1.2\n---\na", 0)],
            ),
            (
                "a: ----\n--- b\n---c",
                vec![("a: ----\n", 0), ("--- b\n---c", 1)],
            ),
            (
                "a\n---\n---\n",
                vec![("a\n", 0), ("---\n", 1), ("---\n", 2)],
            ),
        ] {
            let documents = documents(text);
            let found: Vec<_> = documents
                .iter()
                .map(|document| (document.text, document.first_line))
                .collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
