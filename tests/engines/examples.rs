//! The examples for engines.

use serde_json::Value;

/// The documents of an example.
pub fn example(name: &str) -> Vec<Value> {
    let path = format!("{}/examples/engines/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("an example");
    let documents = text.split("\n---\n");
    documents
        .map(|text| serde_yaml::from_str(text).expect("YAML"))
        .collect()
}
