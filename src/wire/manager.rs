//! `metav1.ManagedFieldsEntry`: who wrote an object.

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny};

use super::message::message;
use super::time::Time;
use crate::model;

message! {
    /// One program and the fields that it is responsible for.
    pub struct ManagedFieldsEntry {
        /// The program.
        manager: optional string = 1,
        /// `Apply` or `Update`.
        operation: optional string = 2,
        /// Time of the last change of its fields, or their values.
        time: optional Time = 4,
        /// The fields.
        fields_v1: optional FieldsV1 = 7,
        /// Empty for the object itself.
        subresource: optional string = 8,
    }
}

/// `metav1.FieldsV1`: a set of fields as a tree of JSON objects, whose keys are `f:NAME` and the
/// like. Protobuf carries it as JSON too.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FieldsV1 {
    /// The JSON.
    #[prost(bytes = "vec", tag = "1")]
    pub raw: Vec<u8>,
}

impl<'de> Deserialize<'de> for FieldsV1 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let raw = serde_json::to_vec(&value).map_err(D::Error::custom)?;
        Ok(Self { raw })
    }
}

#[cfg(test)]
impl serde::Serialize for FieldsV1 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: serde_json::Value =
            serde_json::from_slice(&self.raw).map_err(serde::ser::Error::custom)?;
        value.serialize(serializer)
    }
}

/// The only branch of the tree that is read.
#[derive(Default, Deserialize)]
struct Branches {
    #[serde(default, rename = "f:spec")]
    spec: Option<IgnoredAny>,
}

impl ManagedFieldsEntry {
    /// The entry as a fact. What cannot be understood of it is left out: nothing that is decided
    /// depends on it.
    pub(super) fn to_model(&self) -> model::FieldManager {
        let raw = self.fields_v1.as_ref().map(|fields| fields.raw.as_slice());
        let branches: Branches = raw
            .and_then(|raw| serde_json::from_slice(raw).ok())
            .unwrap_or_default();
        model::FieldManager {
            name: self.manager.clone().unwrap_or_default(),
            operation: self.operation.as_deref().unwrap_or_default().into(),
            subresource: self.subresource.clone().filter(|name| !name.is_empty()),
            time: Time::instant(self.time),
            owns_spec: branches.spec.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::model::ManagerOperation;

    const JSON: &str = r#"{"manager":"kubectl-patch","operation":"Update","apiVersion":"resource.k8s.io/v1","time":"2026-11-20T06:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:taint":{"f:effect":{}}}}}"#;

    fn entry(json: &str) -> ManagedFieldsEntry {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_manager_of_the_spec_is_told_from_others() {
        let of_spec = entry(JSON).to_model();
        assert_eq!(of_spec.name, "kubectl-patch");
        assert_eq!(of_spec.operation, ManagerOperation::Update);
        assert!(of_spec.owns_spec);
        let time = of_spec.time.map(|time| time.to_string());
        assert_eq!(time.as_deref(), Some("2026-11-20T06:00:00Z"));

        let of_labels = entry(r#"{"operation":"Apply","fieldsV1":{"f:metadata":{}}}"#).to_model();
        assert_eq!(of_labels.operation, ManagerOperation::Apply);
        assert!(!of_labels.owns_spec);

        let of_status = entry(r#"{"subresource":"status","fieldsV1":{"f:status":{}}}"#).to_model();
        assert_eq!(of_status.subresource.as_deref(), Some("status"));
        assert!(!of_status.owns_spec);
    }

    #[test]
    fn both_encodings_say_the_same_and_what_is_not_understood_owns_nothing() {
        let from_json = entry(JSON);
        let from_protobuf =
            ManagedFieldsEntry::decode(from_json.encode_to_vec().as_slice()).unwrap();
        assert_eq!(from_protobuf.to_model(), from_json.to_model());

        let odd = ManagedFieldsEntry {
            time: Some(Time {
                seconds: Some(i64::MAX),
            }),
            fields_v1: Some(FieldsV1 {
                raw: b"no JSON".to_vec(),
            }),
            ..from_json
        };
        let odd = odd.to_model();
        assert_eq!((odd.time, odd.owns_spec), (None, false));
    }
}
