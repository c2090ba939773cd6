//! Differences between an object as it is and as it should be.

use serde_json::{Map, Value};

/// What is different in `found`, one line each with its path: of the spec everything, of the metadata the
/// labels and annotations that `wanted` has.
#[must_use]
pub fn drift(wanted: &Value, found: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    // Of the metadata only what was written: labels and annotations of others do not change what the object
    // does.
    for field in ["labels", "annotations"] {
        let (wanted, found) = (&wanted["metadata"][field], &found["metadata"][field]);
        for (key, value) in wanted.as_object().into_iter().flatten() {
            lines.extend(compared(
                value,
                &found[key],
                &format!("metadata.{field}[{key}]"),
            ));
        }
    }
    // Of the spec everything: a condition that somebody has added lets claims past the policy.
    lines.extend(compared(&wanted["spec"], &found["spec"], "spec"));
    lines
}

fn compared(wanted: &Value, found: &Value, path: &str) -> Vec<String> {
    match (wanted, found) {
        _ if wanted == found => Vec::new(),
        (Value::Object(wanted), Value::Object(found)) => fields(wanted, found)
            .flat_map(|name| {
                let at =
                    |fields: &Map<String, Value>| fields.get(name).cloned().unwrap_or_default();
                compared(&at(wanted), &at(found), &format!("{path}.{name}"))
            })
            .collect(),
        // Lists of different lengths are reported as a whole: which entry is missing is not known.
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => wanted
            .iter()
            .zip(found)
            .enumerate()
            .flat_map(|(place, (wanted, found))| {
                compared(wanted, found, &format!("{path}[{place}]"))
            })
            .collect(),
        (_, Value::Null) => vec![format!("{path} is missing")],
        (Value::Null, _) => vec![format!("{path} is unexpected: {}", shown(found))],
        _ => vec![match (is_short(wanted), is_short(found)) {
            (true, true) => format!("{path} is {}, not {}", shown(found), shown(wanted)),
            _ => format!("{path} is different"),
        }],
    }
}

/// The names of the fields of both, each once, in order.
fn fields<'a>(
    wanted: &'a Map<String, Value>,
    found: &'a Map<String, Value>,
) -> impl Iterator<Item = &'a String> {
    let more = found.keys().filter(|name| !wanted.contains_key(*name));
    wanted.keys().chain(more)
}

fn is_short(value: &Value) -> bool {
    shown(value).len() <= 40
}

fn shown(value: &Value) -> String {
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}

/// The merge patch (RFC 7386) that makes `found` what `wanted` is, for what [`drift`] looks at.
#[must_use]
pub fn merge_patch(wanted: &Value, found: &Value) -> Value {
    let metadata = ["labels", "annotations"].map(|field| {
        let wanted = wanted["metadata"][field].clone();
        (field.to_owned(), wanted)
    });
    let mut patch = Map::new();
    patch.insert(
        "metadata".to_owned(),
        Value::Object(metadata.into_iter().collect()),
    );
    patch.insert("spec".to_owned(), patched(&wanted["spec"], &found["spec"]));
    Value::Object(patch)
}

fn patched(wanted: &Value, found: &Value) -> Value {
    // A merge patch replaces lists as a whole, so that only objects are gone through.
    let (Value::Object(wanted), Value::Object(found)) = (wanted, found) else {
        return wanted.clone();
    };
    let of_field = |name: &String| {
        let value = match (wanted.get(name), found.get(name)) {
            (Some(wanted), Some(found)) => patched(wanted, found),
            (Some(wanted), None) => wanted.clone(),
            // Null removes the field, which would stay if it were left out.
            (None, _) => Value::Null,
        };
        (name.clone(), value)
    };
    Value::Object(fields(wanted, found).map(of_field).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_named_by_their_paths() {
        let wanted = json!({
            "metadata": {"labels": {"a": "1"}},
            "spec": {"failurePolicy": "Fail", "list": ["Deny"], "selector": {}, "long": "x".repeat(50)},
        });
        let found = json!({
            "metadata": {"labels": {"a": "2", "b": "3"}, "uid": "u"},
            "spec": {"failurePolicy": "Ignore", "list": ["Audit"], "long": "y", "more": 1},
        });
        assert_eq!(
            drift(&wanted, &found),
            [
                "metadata.labels[a] is 2, not 1",
                "spec.failurePolicy is Ignore, not Fail",
                "spec.list[0] is Audit, not Deny",
                "spec.long is different",
                "spec.selector is missing",
                "spec.more is unexpected: 1",
            ]
        );
        assert_eq!(drift(&wanted, &wanted), Vec::<String>::new());
    }

    #[test]
    fn a_patch_takes_away_what_should_not_be_there() {
        let wanted = json!({"metadata": {"labels": {"a": "1"}}, "spec": {"x": {"y": 1}, "l": [1]}});
        let found = json!({"spec": {"x": {"y": 2, "z": 3}, "l": [2, 3], "more": {}}});
        assert_eq!(
            merge_patch(&wanted, &found),
            json!({
                "metadata": {"labels": {"a": "1"}, "annotations": null},
                "spec": {"x": {"y": 1, "z": null}, "l": [1], "more": null},
            })
        );
    }
}
