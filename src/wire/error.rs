//! Errors of decoding.

use crate::model::Kind;

/// Error of decoding.
///
/// One bad object spoils the whole input: an answer that silently leaves something out is worse
/// than none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A needed object has a field that cannot be used.
    #[error("{object}: {field}: {problem}")]
    Field {
        /// Kind and name, or the position when it has none.
        object: String,
        /// Path of the field, such as `spec.pool.name`.
        field: String,
        /// Problem.
        problem: String,
    },
    /// A needed object is at a version of its API that this plugin does not know.
    #[error("{object}: apiVersion {found} is not supported, only {supported}")]
    Version {
        /// Kind and name, or the position when it has none.
        object: String,
        /// Value in the object.
        found: String,
        /// The versions that can be read, separated by commas.
        supported: String,
    },
    /// Something is not an object, or does not say what it is.
    #[error("{object}: {problem}")]
    NotAnObject {
        /// Position in the input.
        object: String,
        /// Actual content.
        problem: String,
    },
    /// A whole document is something else than an object.
    #[error("{document}: {problem}")]
    Foreign {
        /// Name of the document.
        document: String,
        /// Actual content.
        problem: String,
    },
    /// The text is not what it claims to be.
    #[error("not valid {format}: {problem}")]
    Syntax {
        /// `JSON`, `YAML` or `protobuf`.
        format: &'static str,
        /// The parser's words.
        problem: String,
    },
    /// The bytes end too early.
    #[error("the {kind} list ends too early (complete objects: {items})")]
    Truncated {
        /// Kind that was being read.
        kind: Kind,
        /// Complete objects.
        items: usize,
    },
    /// There is more after the end.
    #[error("the {kind} list is followed by other data")]
    TrailingBytes {
        /// Kind that was being read.
        kind: Kind,
    },
    /// The server compressed or encrypted the objects in a way that was not asked for.
    #[error("the {kind} list has the content encoding `{encoding}`, which was not requested")]
    ContentEncoding {
        /// Kind that was being read.
        kind: Kind,
        /// Encoding that the server gives.
        encoding: String,
    },
    /// The bytes hold another kind than was asked for.
    #[error("expected {expected}, found {found}")]
    UnexpectedKind {
        /// Kind of list or object.
        expected: String,
        /// Actual content.
        found: String,
    },
    /// The server reports a failure instead of objects, or after some of them.
    #[error("the server reports {}{reason}: {message}", code.map_or_else(String::new, |code| format!("{code} ")))]
    Status {
        /// HTTP status code; absent when it says none.
        code: Option<i32>,
        /// Reason, such as `Expired`.
        reason: String,
        /// In words.
        message: String,
    },
}

impl DecodeError {
    /// True if the text is well-formed, and has nothing to do with Kubernetes from its beginning on.
    pub fn is_foreign(&self) -> bool {
        matches!(self, Self::Foreign { document, .. } if document == FIRST_DOCUMENT)
    }
}

impl DecodeError {
    /// The object that no server has stored: only that gives it what is missing.
    pub fn unstored(&self) -> Option<&str> {
        let Self::Field { object, field, .. } = self else {
            return None;
        };
        let is_given = ["metadata.uid", "metadata.namespace"].contains(&field.as_str());
        is_given.then_some(object)
    }
}

/// Name of the first document of a text.
const FIRST_DOCUMENT: &str = "document 1";

/// Error in a field, before its object is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldError {
    /// Path from the object, such as `spec.pool.name`.
    pub(super) path: String,
    /// Problem.
    pub(super) problem: String,
}

impl FieldError {
    /// `path` has `problem`.
    pub(super) fn new(path: &str, problem: String) -> Self {
        Self {
            path: path.to_owned(),
            problem,
        }
    }

    /// `path` is not there, or empty.
    pub(super) fn missing(path: &str) -> Self {
        Self::new(path, "is missing".to_owned())
    }

    /// Puts the field `parent`, in which it occurred, in front of its path.
    pub(super) fn under(self, parent: &str) -> Self {
        Self {
            path: format!("{parent}.{}", self.path),
            ..self
        }
    }

    /// Puts the place in the list `parent`, at which it occurred, in front of its path.
    pub(super) fn at(self, parent: &str, index: usize) -> Self {
        self.under(&format!("{parent}[{index}]"))
    }
}

/// Results of `convert` for each entry of the list `field`.
///
/// Takes no more memory than that: a collection of fallible steps has a capacity of four, and
/// most lists of a cluster have one entry.
pub(super) fn each<T, U>(
    entries: &[T],
    field: &str,
    mut convert: impl FnMut(&T) -> Result<U, FieldError>,
) -> Result<Vec<U>, FieldError> {
    let mut converted = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        converted.push(convert(entry).map_err(|error| error.at(field, index))?);
    }
    Ok(converted)
}
