//! Admission policies, their bindings, and namespaces: metadata alone.
//!
//! Their content is compared on the object as it is served.

use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny};

use super::context::Context;
use super::error::FieldError;
use super::generated_kinds::{GeneratedKind, ToFact};
use super::meta::ObjectMeta;
use super::object::Object;
use super::time::Time;
use crate::model;

/// An object that becomes a fact of the kind `K`, whatever its fields are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named<K>(PhantomData<K>);

impl<'de, K> Deserialize<'de> for Named<K> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // The value is not needed, but serde requires it to be consumed.
        IgnoredAny::deserialize(from)?;
        Ok(Self(PhantomData))
    }
}

/// A kind whose facts are names and notes.
pub(super) trait Known: Sized {
    /// The fact as one of its kind.
    fn object(object: model::ClusterObject) -> Object;
}

impl<K: Known> ToFact for Named<K> {
    fn to_fact(
        self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let deletion = metadata.deletion_timestamp;
        Ok(Some(K::object(model::ClusterObject {
            name: metadata.object_name(context)?,
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            labels: metadata.labels.clone(),
            annotations: metadata.annotations.clone(),
            deletion: Time::to_timestamp(deletion, "metadata.deletionTimestamp", context),
        })))
    }
}

macro_rules! named {
    ($($kind:ident),*) => {
        $(
            #[doc = concat!("`", stringify!($kind), "`")]
            pub(super) type $kind = GeneratedKind<Named<model::$kind>>;

            impl Known for model::$kind {
                fn object(object: model::ClusterObject) -> Object {
                    Object::$kind(Self(object))
                }
            }
        )*
    };
}

named!(
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    NamespaceObject
);
