//! Files in the repository that are made from the code, compared with what the code makes now.
//!
//! `UPDATE_GENERATED=1 cargo test --test generated` writes them anew.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test or benchmark, not the program"
)]

use std::env;
use std::fs;
use std::path::Path;

use kubectl_devicetaint::report::schema;

fn assert_current(path: &str, generated: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&file, generated).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == generated,
        "{path} is out of date; write it anew: UPDATE_GENERATED=1 cargo test --test generated"
    );
}

#[test]
fn schemas_are_those_of_the_report_types() {
    for (name, schema) in schema::files() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        assert_current(&format!("schemas/{name}"), &text);
    }
}
