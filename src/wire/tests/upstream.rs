//! The golden files of Kubernetes itself.

use std::fs;
use std::path::PathBuf;

use prost::Message;
use serde::Deserialize;

use crate::model::{DeviceTaintRule, Encoding};
use crate::wire::protobuf::Unknown;
use crate::wire::shape::WireObject;
use crate::wire::unambiguous::Unambiguous;
use crate::wire::versions::{Lookup, Version, lookup};
use crate::wire::{Decoded, Detail, Fact, yaml};

struct Golden {
    name: String,
    path: PathBuf,
}

/// All golden files in protobuf, of all releases.
fn golden() -> Vec<Golden> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/upstream");
    let releases = fs::read_dir(root)
        .expect("releases")
        .map(|entry| entry.expect("a release").path());
    let files = releases
        .filter(|path| path.is_dir())
        .flat_map(|release| fs::read_dir(release).expect("files"))
        .map(|entry| entry.expect("a file").path());
    let is_protobuf = |path: &PathBuf| path.extension().is_some_and(|end| end == "pb");
    let golden = files.filter(is_protobuf).map(|path| Golden {
        name: path.display().to_string(),
        path,
    });
    // Of some kinds only the JSON is read.
    let is_read = |golden: &Golden| golden.version().kind.encoding() == Encoding::Protobuf;
    let mut golden: Vec<_> = golden.filter(is_read).collect();
    golden.sort_by(|left, right| left.name.cmp(&right.name));
    assert!(golden.len() > 5, "{}", golden.len());
    golden
}

impl Golden {
    fn unknown(&self) -> Unknown {
        let bytes = fs::read(&self.path).expect("bytes");
        Unknown::decode(&bytes[4..]).expect(&self.name)
    }

    fn version(&self) -> &'static Version {
        let found = self.unknown().type_meta.expect("a type");
        match lookup(&found.api_version, &found.kind) {
            Lookup::Read(version) => version,
            other @ (Lookup::UnknownVersion(_) | Lookup::NotRead) => {
                panic!("{}: {other:?}", self.name)
            }
        }
    }

    fn protobuf(&self) -> WireObject {
        WireObject::decode(self.version(), Detail::Terms, &self.unknown().raw).expect(&self.name)
    }

    fn json(&self) -> WireObject {
        let text = fs::read_to_string(self.path.with_extension("json")).expect("text");
        let fields: Unambiguous = serde_json::from_str(&text).expect(&self.name);
        WireObject::from_fields(self.version(), &fields.into_value()).expect(&self.name)
    }

    fn yaml(&self) -> WireObject {
        let text = fs::read_to_string(self.path.with_extension("yaml")).expect("text");
        let fields = yaml::with_deserializer(&text, |from| Unambiguous::deserialize(from));
        let fields = fields.expect(&self.name);
        WireObject::from_fields(self.version(), &fields.into_value()).expect(&self.name)
    }
}

#[test]
fn golden_files_are_the_same_in_every_encoding() {
    for golden in golden() {
        let object = golden.protobuf();
        assert_eq!(object, golden.json(), "{}", golden.name);
        assert_eq!(object, golden.yaml(), "{}", golden.name);
    }
}

/// The golden files set every field, so that a forgotten or misspelt one shows as a missing value.
#[test]
fn golden_files_leave_no_field_empty() {
    for golden in golden() {
        let json = serde_json::to_value(golden.json()).expect("JSON");
        let newest = golden.name.contains("HEAD");
        let mut empty = Vec::new();
        find_empty(&json, "", &mut empty);
        // Fields that came later than the release.
        empty.retain(|_| newest);
        assert!(empty.is_empty(), "{}: {empty:?}", golden.name);
    }
}

fn find_empty(value: &serde_json::Value, path: &str, empty: &mut Vec<String>) {
    match value {
        serde_json::Value::Null => empty.push(path.to_owned()),
        serde_json::Value::Array(items) if items.is_empty() => empty.push(path.to_owned()),
        serde_json::Value::Array(items) => {
            items.iter().for_each(|item| find_empty(item, path, empty))
        }
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                find_empty(value, &format!("{path}.{name}"), empty);
            }
        }
        serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => {}
    }
}

#[test]
fn slices_without_attributes_are_the_same_otherwise() {
    let mut slices = 0;
    for golden in golden() {
        let WireObject::ResourceSlice(slice) = golden.protobuf() else {
            continue;
        };
        let brief = WireObject::decode(golden.version(), Detail::Names, &golden.unknown().raw);
        let expected = WireObject::ResourceSlice(slice.with(Detail::Names));
        assert_eq!(brief, Ok(expected), "{}", golden.name);
        slices += 1;
    }
    assert!(slices > 1, "{slices}");
}

#[test]
fn rules_are_read_in_every_version_with_fields_that_are_unknown_by_name() {
    for (path, unknown) in [
        ("HEAD/resource.k8s.io.v1.DeviceTaintRule", &[][..]),
        ("HEAD/resource.k8s.io.v1beta2.DeviceTaintRule", &[]),
        ("HEAD/resource.k8s.io.v1alpha3.DeviceTaintRule", &[]),
        (
            "v1.34.0/resource.k8s.io.v1alpha3.DeviceTaintRule",
            &["deviceClassName", "selectors"],
        ),
    ] {
        let file = format!("tests/data/upstream/{path}.json");
        let text = fs::read_to_string(&file).expect(path);
        let decoded = Decoded::of_json(&text).expect("a rule");
        let rule = decoded.items.into_iter().next().expect("a rule").object;
        let rule = DeviceTaintRule::of(rule).expect("a rule");
        let selector = rule.selector.expect("a selector");
        assert_eq!(selector.unknown_fields, unknown, "{path}");
        assert!(selector.driver.is_some() && selector.device.is_some());
        assert!(!rule.managers.is_empty() && !rule.metadata.owners.is_empty());
    }
}
