//! Errors of decoding, with the object and the path of the field.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answer::ServerStatus;

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
    /// The text is well-formed, and has nothing to do with Kubernetes from its beginning on.
    #[error("{0}")]
    Foreign(String),
    /// The bytes are complete, and hold something else than objects that can be read.
    #[error("{0}")]
    Unusable(String),
    /// The bytes are not what they claim to be: cut off, continued, or damaged.
    #[error("{0}")]
    Broken(String),
    /// The server reports a failure instead of objects, or after some of them.
    #[error("the server reports {0}")]
    Status(Box<ServerStatus>),
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

    /// Text that is not in its `format`, in the parser's words.
    pub(super) fn syntax(format: &str, problem: impl std::fmt::Display) -> Self {
        Self::Broken(format!("not valid {format}: {problem}"))
    }
}

/// Error in a field, before its object is known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
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

/// Decodes the fields of an object.
pub(super) fn decode<T: DeserializeOwned>(fields: &Value) -> Result<T, FieldError> {
    // Decoded again only after an error: to note the place all the time costs on every object.
    T::deserialize(fields).or_else(|_| {
        serde_path_to_error::deserialize(fields)
            .map_err(|error| FieldError::new(&error.path().to_string(), error.inner().to_string()))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_place_of_the_first_wrong_value_is_named() {
        type Names = BTreeMap<String, Vec<String>>;
        for (fields, path) in [
            (json!({"list": ["a", 7]}), "list[1]"),
            (json!({"a/b": null}), "a/b"),
            (json!(7), "."),
        ] {
            assert_eq!(decode::<Names>(&fields).unwrap_err().path, path);
        }
    }
}
