//! The bill of materials of the program, beside it.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::support::{pack, root, succeeded};

/// The list beside the program.
pub fn bill() -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bill.json");
    succeeded(&pack(root(), &["sbom", file.to_str().unwrap()]));
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `NAME VERSION` of all that it lists.
pub fn listed(bill: &Value) -> BTreeSet<String> {
    let components = bill["components"].as_array().unwrap().iter();
    components
        .map(|component| {
            format!(
                "{} {}",
                text(&component["name"]),
                text(&component["version"])
            )
        })
        .collect()
}

#[test]
fn what_only_tests_need_is_on_no_list() {
    let listed = listed(&bill());
    let has = |name: &str| {
        listed
            .iter()
            .any(|entry| entry.starts_with(&format!("{name} ")))
    };
    assert!(has("kube-client") && has("rustls"));
    for test in ["criterion", "insta", "proptest", "jsonschema", "rexpect"] {
        assert!(!has(test), "{test}");
    }
}

#[test]
fn every_entry_has_licence_checksum_and_name_and_leads_to_others_on_the_list() {
    let bill = bill();
    let components = bill["components"].as_array().unwrap();
    let mut known: BTreeSet<&str> =
        BTreeSet::from([text(&bill["metadata"]["component"]["bom-ref"])]);
    for component in components {
        let name = text(&component["purl"]);
        assert!(name.starts_with("pkg:cargo/"), "{component}");
        // The engine is a folder of this repository.
        let is_own = name.starts_with("pkg:cargo/device-taint-engine@");
        let checksum = text(&component["hashes"][0]["content"]).len();
        assert_eq!(checksum, if is_own { 0 } else { 64 }, "{name}");
        assert!(
            !text(&component["licenses"][0]["expression"]).contains('/'),
            "{name}"
        );
        assert!(known.insert(name), "{name} is there twice");
    }
    for dependency in bill["dependencies"].as_array().unwrap() {
        assert!(known.contains(text(&dependency["ref"])), "{dependency}");
        for needed in dependency["dependsOn"].as_array().unwrap() {
            assert!(known.contains(text(needed)), "{needed}");
        }
    }
    assert_eq!(
        bill["dependencies"].as_array().unwrap().len(),
        components.len() + 1
    );
}
