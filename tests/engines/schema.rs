//! Schemas of others, and what no schema says.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// What is wrong with a document by a schema.
pub fn errors(schema: &Value, document: &Value) -> Vec<String> {
    let validator = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .build(schema)
        .expect("a schema");
    let errors = validator.iter_errors(document);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// The schema without tolerance for fields that it does not name: engines leave those out silently.
pub fn closed(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let is_open = [
                "additionalProperties",
                "x-kubernetes-preserve-unknown-fields",
            ]
            .iter()
            .any(|field| fields.contains_key(*field));
            if fields.get("properties").is_some_and(Value::is_object) && !is_open {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
            // Says "string" where the API takes numbers too.
            if fields.get("x-kubernetes-int-or-string").is_some() {
                fields.remove("type");
            }
            fields.values_mut().for_each(closed);
        }
        Value::Array(items) => items.iter_mut().for_each(closed),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The documents of an example.
pub fn example(name: &str) -> Vec<Value> {
    let path = format!("{}/examples/engines/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("an example");
    let documents = text.split("\n---\n");
    documents
        .map(|text| serde_yaml::from_str(text).expect("YAML"))
        .collect()
}

/// What stands between `begin` and `end` anywhere in a value, such as `{{` and `}}`.
pub fn references(value: &Value, begin: &str, end: &str) -> BTreeSet<String> {
    let text = value.to_string();
    let parts = text.split(begin).skip(1);
    parts
        .filter_map(|part| part.split_once(end))
        .map(|(reference, _)| reference.to_owned())
        .collect()
}

/// The names in a list of things that have one.
pub fn names(list: &Value) -> BTreeSet<String> {
    let things = list.as_array().into_iter().flatten();
    things
        .filter_map(|thing| Some(thing["name"].as_str()?.to_owned()))
        .collect()
}
