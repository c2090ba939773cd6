//! Validation of the program's data by its schemas.
//!
//! Every document of the program's own API group that a test sees is validated, in JSON and YAML, and each line of
//! events.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::Value;

/// Beginning of the program's documents.
const GROUP: &str = "devicetaint.dev/";

/// Panics when a document in `printed`, which the program has written when it was run with `words`, does not follow
/// the schema of its kind.
pub fn check(words: &[String], printed: &str) {
    for document in documents(printed) {
        if let Err(errors) = validated(&document) {
            panic!("{words:?}: {errors:#?} in {document:#}");
        }
    }
}

/// Faults of a document by the schema of its kind.
pub fn validated(document: &Value) -> Result<(), Vec<String>> {
    let kind = document["kind"].as_str().unwrap_or_default();
    let Some(schema) = schemas().get(kind) else {
        return Err(vec![format!("no schema of kind {kind:?}")]);
    };
    let errors: Vec<String> = schema
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// The program's own documents in a text.
pub fn documents(text: &str) -> Vec<Value> {
    let all: Vec<Value> = if !text.contains(GROUP) {
        Vec::new()
    } else if text.starts_with('{') {
        let stream = serde_json::Deserializer::from_str(text).into_iter();
        // A document may be followed by anything, such as a line of a pipe that was closed.
        stream.map_while(Result::ok).collect()
    } else if text.starts_with("apiVersion:") {
        serde_yaml::from_multiple(text).unwrap_or_default()
    } else {
        Vec::new()
    };
    let own = all.into_iter().filter(|document| {
        let version = document["apiVersion"].as_str();
        version.is_some_and(|version| version.starts_with(GROUP))
    });
    own.collect()
}

/// The schemas of the repository, by kind.
fn schemas() -> &'static BTreeMap<String, Validator> {
    static SCHEMAS: OnceLock<BTreeMap<String, Validator>> = OnceLock::new();
    SCHEMAS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
        let files = fs::read_dir(folder).expect("the schemas");
        files
            .map(|file| {
                let text = fs::read_to_string(file.expect("a file").path()).expect("a schema");
                let schema: Value = serde_json::from_str(&text).expect("JSON");
                let kind = schema["title"].as_str().expect("a title").to_owned();
                let validator = jsonschema::validator_for(&schema).expect("a JSON Schema");
                (kind, validator)
            })
            .collect()
    })
}
