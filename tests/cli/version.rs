//! `--version` and `version`: the program's version and build.

use std::fs;

use serde_json::Value;

use super::harness::devicetaint;

#[test]
fn version_as_data_follows_its_schema() {
    let json = devicetaint("version --client -o json").json();
    let schema = fs::read_to_string("schemas/version-report.v1alpha1.schema.json").unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert!(jsonschema::is_valid(&schema, &json), "{json:#}");
    let client = &json["client"];
    assert_eq!(client["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["apiServer"], Value::Null);
    let yaml = devicetaint("version --client -o yaml").stdout;
    assert_eq!(serde_yaml::from_str::<Value>(&yaml).unwrap(), json);
}
