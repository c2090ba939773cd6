//! Objects of kinds that need no decoder of our own: as k8s-openapi describes them.
//!
//! They are few, or read seldom, and always JSON or YAML. A time that this plugin cannot represent is
//! reported with a warning and counts as the last one that it can; everything else is read as it is, or is an
//! error that names the object.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error};
use serde_json::Value;

use super::context::Context;
use super::decode::Decode;
use super::detail::Detail;
use super::error::FieldError;
use super::error_path::{self, FieldsError};
use super::meta::ObjectMeta;
use super::object::{Object, ToObject};
use super::time::Time;
use super::unambiguous::Unambiguous;

/// Maximum number of unrepresentable times that are replaced; an object with more is refused.
// Each replacement decodes the object again, so an object full of such times would take quadratic time.
const MOST: usize = 100;

/// A kind as k8s-openapi describes it.
pub(super) trait ToFact: DeserializeOwned {
    /// The fact, unless the object is of no interest.
    fn to_fact(
        self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError>;
}

/// Metadata of an object.
#[derive(serde::Deserialize)]
struct Metadata {
    metadata: Option<ObjectMeta>,
}

/// The fields of an object that `T` describes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GeneratedKind<T> {
    metadata: ObjectMeta,
    fields: Value,
    description: PhantomData<T>,
}

impl<T> GeneratedKind<T> {
    fn of(fields: Value) -> Result<Self, FieldsError> {
        let read: Metadata = error_path::decode(&fields)?;
        Ok(Self {
            metadata: read.metadata.unwrap_or_default(),
            fields,
            description: PhantomData,
        })
    }
}

impl<T: ToFact> Decode for GeneratedKind<T> {
    fn from_fields(fields: &Value) -> Result<Self, FieldsError> {
        Self::of(fields.clone())
    }

    fn from_text<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = Unambiguous::deserialize(from)?.into_value();
        Self::of(fields).map_err(D::Error::custom)
    }

    fn from_protobuf(_: Detail, _: &[u8]) -> Result<Self, String> {
        Err("this kind is supported only as JSON, not as Protobuf".to_owned())
    }

    #[cfg(test)]
    fn to_protobuf(&self) -> Vec<u8> {
        panic!("objects of this kind are read as JSON")
    }
}

impl<T: ToFact> ToObject for GeneratedKind<T> {
    fn metadata(&self) -> Option<Cow<'_, ObjectMeta>> {
        Some(Cow::Borrowed(&self.metadata))
    }

    fn to_object(
        &self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        // Copied only if a time has to be replaced, which is rare.
        let mut object = Cow::Borrowed(&self.fields);
        // One time per round, because serde stops at the first error.
        for _ in 0..MOST {
            let error = match error_path::decode::<T>(&object) {
                Ok(described) => return described.to_fact(metadata, context),
                Err(error) => error,
            };
            let wrong = FieldError::new(&error.path, error.problem);
            let Some(Value::String(text)) = object.to_mut().pointer_mut(&error.pointer) else {
                return Err(wrong);
            };
            *text = Time::replaced(text, &error.path, context).ok_or(wrong)?;
        }
        let problem = "has more than 100 timestamps that are out of range".to_owned();
        Err(FieldError::new("the object", problem))
    }
}

#[cfg(test)]
impl<T> serde::Serialize for GeneratedKind<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields.serialize(serializer)
    }
}
