//! Path of the field that cannot be decoded.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

/// Error in the fields of an object, with its path.
#[derive(Debug)]
pub(super) struct FieldsError {
    /// Path of the field, such as `spec.devices[0].name`; `.` for the object itself.
    pub(super) path: String,
    /// The path as a JSON Pointer (RFC 6901).
    pub(super) pointer: String,
    /// Problem with the value.
    pub(super) problem: String,
}

impl fmt::Display for FieldsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.problem)
    }
}

/// Decodes the fields of an object.
pub(super) fn decode<T: DeserializeOwned>(fields: &Value) -> Result<T, FieldsError> {
    // Decoded again only after an error: to note the place all the time costs on every object.
    T::deserialize(fields).or_else(|_| {
        serde_path_to_error::deserialize(fields).map_err(|error| FieldsError {
            path: error.path().to_string(),
            pointer: pointer(error.path()),
            problem: error.inner().to_string(),
        })
    })
}

fn pointer(path: &Path) -> String {
    let steps = path.iter().map(|segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        // `~` first: otherwise the `~` of an escaped `/` would be escaped again.
        Segment::Map { key } | Segment::Enum { variant: key } => {
            format!("/{}", key.replace('~', "~0").replace('/', "~1"))
        }
        Segment::Unknown => String::new(),
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[serde(default)]
        _list: Vec<Inner>,
        #[serde(default)]
        _map: BTreeMap<String, Inner>,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        _name: String,
    }

    #[test]
    fn the_place_of_the_first_wrong_value_is_named() {
        for (fields, path, pointer) in [
            (
                json!({"_list": [{"_name": "a"}, {"_name": 7}]}),
                "_list[1]._name",
                "/_list/1/_name",
            ),
            (
                json!({"_map": {"a/b": {"_name": null}}}),
                "_map.a/b._name",
                "/_map/a~1b/_name",
            ),
            (json!({"_list": [{}]}), "_list[0]", "/_list/0"),
            (json!(7), ".", ""),
        ] {
            let error = decode::<Outer>(&fields).unwrap_err();
            assert_eq!((&*error.path, &*error.pointer), (path, pointer));
        }
    }
}
