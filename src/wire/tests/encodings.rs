//! One object, two encodings, one value.

use proptest::prelude::*;
use serde_json::Value;

use super::strategy::any_object;
use crate::model::Kind;
use crate::wire::claim::ResourceClaim;
use crate::wire::meta::ObjectMeta;
use crate::wire::object::Converter;
use crate::wire::pod::{Pod, PodSpec};
use crate::wire::protobuf::object;
use crate::wire::shape::WireObject;
use crate::wire::testing::{encode, version_of};
use crate::wire::{Detail, versions_of};

/// Leaves out `null`, as Go does; an absent field and `null` must be the same.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

proptest! {
    /// Files are JSON and servers send protobuf; no answer may depend on which.
    #[test]
    fn both_encodings_of_an_object_decode_to_the_same_value(object in any_object()) {
        let version = version_of(&object);
        let json = serde_json::to_value(&object).expect("JSON");
        let from_json = WireObject::from_fields(version, &json).expect("an object");
        let from_protobuf = WireObject::decode(version, Detail::Terms, &encode(&object)).expect("protobuf");
        let text = json.to_string();
        let from_text = WireObject::from_text(version, &mut serde_json::Deserializer::from_str(&text));
        prop_assert_eq!(&from_text.expect("an object"), &object);
        prop_assert_eq!(&from_json, &object);
        prop_assert_eq!(&from_protobuf, &object);
    }

    /// Live reads leave out what nothing selects by, and what claims ask for.
    #[test]
    fn what_is_read_in_brief_is_the_same_otherwise(object in any_object()) {
        let version = version_of(&object);
        let brief = WireObject::decode(version, Detail::Names, &encode(&object)).expect("protobuf");
        let expected = if let WireObject::ResourceSlice(slice) = object {
            WireObject::ResourceSlice(slice.with(Detail::Names))
        } else if let WireObject::ResourceClaim(claim) = object {
            WireObject::ResourceClaim(ResourceClaim { spec: None, ..claim })
        } else {
            object
        };
        prop_assert_eq!(brief, expected);
    }

    /// Decodes specs of the same bytes once.
    #[test]
    fn claims_that_ask_for_the_same_are_as_each_is_alone(objects in prop::collection::vec(any_object(), 1..24)) {
        let version = versions_of(Kind::ResourceClaim).next().expect("a version");
        let claims = objects.iter().filter(|object| object.kind() == Kind::ResourceClaim);
        let claims: Vec<Vec<u8>> = claims.map(encode).collect();
        let mut together = Converter::default();
        for claim in claims.iter().chain(&claims) {
            let decoded = |converter: &mut Converter| {
                object(converter, version, Detail::Terms, claim, || "a claim".to_owned())
            };
            prop_assert_eq!(decoded(&mut together), decoded(&mut Converter::default()));
        }
    }

    /// Decodes properties of devices on first use, with the same result.
    #[test]
    fn slices_that_are_kept_are_as_those_that_are_decoded(slice in any_object()) {
        let version = version_of(&slice);
        let bytes = encode(&slice);
        let (mut kept, mut decoded) = (Converter::default(), Converter::default());
        let position = || "a slice".to_owned();
        let whole = WireObject::decode(version, Detail::Terms, &bytes).expect("protobuf");
        prop_assert_eq!(
            object(&mut kept, version, Detail::Terms, &bytes, position),
            whole.convert(&mut decoded, position)
        );
        prop_assert_eq!(kept.warnings(), decoded.warnings());
    }

    #[test]
    fn null_is_the_same_as_absent(object in any_object()) {
        let version = version_of(&object);
        let json = without_nulls(serde_json::to_value(&object).expect("JSON"));
        let decoded = WireObject::from_fields(version, &json).expect("an object");
        let again = without_nulls(serde_json::to_value(&decoded).expect("JSON"));
        prop_assert_eq!(json, again);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>(), object in any_object()) {
        let _ = WireObject::decode(version_of(&object), Detail::Attributes, &bytes);
    }
}

#[test]
fn null_is_accepted_wherever_go_accepts_it() {
    let json = serde_json::json!({
        "metadata": {"name": "train-0", "namespace": null, "ownerReferences": null, "creationTimestamp": null},
        "spec": {"resourceClaims": null, "priority": null, "schedulingGroup": null},
        "status": null,
    });
    let pod = Pod {
        metadata: Some(ObjectMeta {
            name: Some("train-0".to_owned()),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec::default()),
        status: None,
    };
    let decoded: Pod = serde_json::from_value(json).expect("a pod");
    assert_eq!(decoded, pod);
}
