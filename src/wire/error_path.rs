//! Path of the field that cannot be decoded.
//!
//! Runs only after an error, which serde gives without a place: decodes the object again with less and
//! less of it. A decoder that notes where it is all the time would be a good part of the program, for
//! each kind of object.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::locate::Step;

/// Why the fields of an object cannot be decoded, and where.
#[derive(Debug)]
pub(super) struct FieldsError {
    /// The way to the value that is not what belongs there; empty for the object itself.
    pub(super) way: Vec<Step>,
    /// What is wrong with it.
    pub(super) problem: String,
}

impl FieldsError {
    /// Path of the field, such as `spec.devices[0].name`; `.` for the object itself.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.way {
            let dot = if path.is_empty() { "" } else { "." };
            match step {
                Step::Key(key) => path.extend([dot, key]),
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        if path.is_empty() {
            path.push('.');
        }
        path
    }
}

impl fmt::Display for FieldsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path(), self.problem)
    }
}

/// Decodes the fields of an object.
pub(super) fn decode<T: DeserializeOwned>(fields: &Value) -> Result<T, FieldsError> {
    let problem_of = |fields: &Value| T::deserialize(fields).err().map(|error| error.to_string());
    T::deserialize(fields).map_err(|error| {
        let problem = error.to_string();
        FieldsError {
            way: way(fields, &problem, &problem_of),
            problem,
        }
    })
}

/// The way to the value for which decoding `fields` ends with that `problem`.
///
/// serde reads entries in their order and stops at the first that is wrong: it is the last of the
/// fewest with which decoding ends in the same way. Where none of them are enough for that, something
/// is wrong with what they are in.
fn way(fields: &Value, problem: &str, problem_of: &dyn Fn(&Value) -> Option<String>) -> Vec<Step> {
    let mut way = Vec::new();
    let is_enough = |way: &[Step], entries: usize| {
        // The same error, not just any: cutting entries off may cause others, such as a missing field.
        problem_of(&cut(fields, way, entries)).as_deref() == Some(problem)
    };
    loop {
        let all = entries(fields, &way);
        let needed = needed(all, |entries| is_enough(&way, entries));
        let Some(last) = needed.checked_sub(1) else {
            return way;
        };
        let Some(step) = step(fields, &way, last) else {
            return way;
        };
        way.push(step);
    }
}

/// The fewest of `all` that are enough, of which more are enough too.
fn needed(all: usize, is_enough: impl Fn(usize) -> bool) -> usize {
    let (mut too_few, mut enough) = (None, all);
    // Binary search, because every probe decodes the object again and a list may have thousands of entries.
    while too_few.map_or(0, |few: usize| few.saturating_add(1)) < enough {
        let least = too_few.map_or(0, |few| few.saturating_add(1));
        let middle = least.midpoint(enough);
        let middle = middle.min(enough.saturating_sub(1));
        if is_enough(middle) {
            enough = middle;
        } else {
            too_few = Some(middle);
        }
    }
    enough
}

/// The way as a JSON Pointer (RFC 6901).
pub(super) fn pointer(way: &[Step]) -> String {
    let steps = way.iter().map(|step| match step {
        // `~` first: otherwise the `~` of an escaped `/` would be escaped again.
        Step::Key(key) => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
        Step::Index(index) => format!("/{index}"),
    });
    steps.collect()
}

/// How many entries the value at the end of the way has.
fn entries(fields: &Value, way: &[Step]) -> usize {
    match fields.pointer(&pointer(way)) {
        Some(Value::Object(object)) => object.len(),
        Some(Value::Array(array)) => array.len(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => 0,
    }
}

/// The step to one of these entries.
fn step(fields: &Value, way: &[Step], entry: usize) -> Option<Step> {
    match fields.pointer(&pointer(way))? {
        Value::Object(object) => object.keys().nth(entry).cloned().map(Step::Key),
        Value::Array(_) => Some(Step::Index(entry)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The fields with no more than so many entries at the end of the way.
fn cut(fields: &Value, way: &[Step], entries: usize) -> Value {
    let mut fields = fields.clone();
    match fields.pointer_mut(&pointer(way)) {
        Some(Value::Object(object)) => {
            let beyond: Vec<String> = object.keys().skip(entries).cloned().collect();
            for key in beyond {
                object.remove(&key);
            }
        }
        Some(Value::Array(array)) => array.truncate(entries),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => {}
    }
    fields
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
        _first: Option<Inner>,
        #[serde(default)]
        _list: Vec<Inner>,
        #[serde(default)]
        _map: BTreeMap<String, Inner>,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        _name: String,
        #[serde(default)]
        _number: i64,
    }

    #[test]
    fn the_value_that_does_not_belong_there_is_found() {
        let good = json!({"_name": "a", "_number": 1});
        for (fields, path) in [
            (
                json!({"_first": {"_name": "a", "_number": "x"}}),
                "_first._number",
            ),
            (json!({"_first": {"_number": 1}}), "_first"),
            (json!({"_first": 7}), "_first"),
            (json!([1, 2, 3, 4]), "[0]"),
            (json!("text"), "."),
            (
                json!({"_list": [good, good, {"_name": 5}, {"_name": 5}]}),
                "_list[2]._name",
            ),
            (json!({"_list": [good, {}, {}]}), "_list[1]"),
            (json!({"_list": {"a": 1}}), "_list"),
            (
                json!({"_list": [good], "_map": {"a": good, "b": {"_name": "b", "_number": 1.5}}}),
                "_map.b._number",
            ),
            (
                json!({"_first": good, "_list": [{"_name": "a", "_number": []}], "_map": 1}),
                "_list[0]._number",
            ),
        ] {
            let error = decode::<Outer>(&fields).expect_err("not what belongs there");
            assert_eq!(error.path(), path, "{fields}");
        }
        assert!(decode::<Outer>(&json!({"_first": good, "_list": [good]})).is_ok());
    }

    #[test]
    fn keys_are_found_whatever_is_in_them() {
        let fields = json!({"_map": {"example.com/~a.b": {"_name": 1}, "0": {"_name": "a"}}});
        let error = decode::<Outer>(&fields).expect_err("not what belongs there");
        assert_eq!(error.path(), "_map.example.com/~a.b._name");
    }

    #[test]
    fn the_fewest_that_are_enough_are_found() {
        for all in 0..20 {
            for fewest in 0..=all {
                assert_eq!(needed(all, |entries| entries >= fewest), fewest, "{all}");
            }
        }
    }
}
