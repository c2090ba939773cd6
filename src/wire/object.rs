//! From the wire to facts, one object at a time.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::context::Context;
use super::error::{DecodeError, FieldError};
use super::interned_specs::InternedSpecs;
use super::meta::ObjectMeta;
use super::properties::Properties;
use crate::model::kind::for_each_kind;
use crate::model::{
    self, ClaimSpec, Kind, NamespacedName, NodeName, ObjectName, Snapshot, Warning,
};

macro_rules! objects {
    ($(
        $(#[$facts:meta])*
        $kind:ident in $field:ident {
            versions: [ $($version:tt)* ],
            $(workload: $fill:ident($pods:ident),)? $(redacted: $redacted:expr,)?
            spelled: $($columns:tt)*
        }
    )*) => {
        /// A fact of any kind.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Object {
            $(
                #[doc = concat!("`", stringify!($kind), "`")]
                $kind(model::$kind),
            )*
        }

        impl Object {
            /// The workload that it is, if it is one.
            pub fn workload(&self) -> Option<&model::Workload> {
                match self { $(Self::$kind(_fact) => objects!(@workload _fact $($fill)?),)* }
            }

            /// Its kind.
            pub fn kind(&self) -> Kind {
                match self { $(Self::$kind(_) => Kind::$kind,)* }
            }

            /// Its name, with the namespace where there is one.
            pub fn name(&self) -> String {
                match self { $(Self::$kind(fact) => fact.name.to_string(),)* }
            }

            /// Adds it to the facts of its kind.
            pub fn add_to(self, snapshot: &mut Snapshot) {
                match self { $(Self::$kind(fact) => snapshot.$field.push(fact),)* }
            }
        }

        $(
            impl Fact for model::$kind {
                const KIND: Kind = Kind::$kind;

                fn of(object: Object) -> Option<Self> {
                    if let Object::$kind(fact) = object { Some(fact) } else { None }
                }

                fn key(&self) -> (&str, &str) {
                    Name::key(&self.name)
                }

                fn all(snapshot: &mut Snapshot) -> &mut Vec<Self> {
                    &mut snapshot.$field
                }
            }
        )*
    };
    (@workload $fact:ident) => {
        None
    };
    (@workload $fact:ident $fill:ident) => {
        Some(&**$fact)
    };
}

for_each_kind!(objects);

/// A fact of one kind, which a list of that kind is made of.
pub trait Fact: Sized {
    /// The kind.
    const KIND: Kind;

    /// The fact, if `object` is one of this kind.
    fn of(object: Object) -> Option<Self>;

    /// Namespace and name; the namespace of an object of the cluster is empty.
    fn key(&self) -> (&str, &str);

    /// All facts of the kind.
    fn all(snapshot: &mut Snapshot) -> &mut Vec<Self>;
}

/// Name of a fact.
trait Name {
    fn key(&self) -> (&str, &str);
}

impl Name for ObjectName {
    fn key(&self) -> (&str, &str) {
        ("", self.as_str())
    }
}

impl Name for NodeName {
    fn key(&self) -> (&str, &str) {
        ("", self.as_str())
    }
}

impl Name for NamespacedName {
    fn key(&self) -> (&str, &str) {
        (self.namespace.as_str(), self.name.as_str())
    }
}

/// A fact, with what is needed to choose between two states of the same object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The fact.
    pub object: Object,
    /// Version of the object; opaque, but a growing number in practice.
    pub resource_version: String,
    /// The object with all its fields, where it is kept as it is written.
    pub written: Option<Box<Value>>,
}

impl Item {
    /// Spec of a claim; absent for other objects, or where it is unknown.
    pub(super) fn asks_for(&self) -> Option<&Arc<ClaimSpec>> {
        if let Object::ResourceClaim(claim) = &self.object {
            claim.spec.as_ref()
        } else {
            None
        }
    }

    /// The slice, with what its devices have.
    pub(super) fn having(mut self, properties: Vec<Properties<'_>>) -> Self {
        if let Object::ResourceSlice(slice) = &mut self.object {
            // Both come from the same bytes, so `zip` pairs every device with its own properties.
            for (device, properties) in slice.devices.iter_mut().zip(properties) {
                device.attributes = properties.attributes();
                device.capacity = properties.capacity();
            }
        }
        self
    }

    /// The claim, with what it asks for.
    pub(super) fn asking_for(mut self, spec: Arc<ClaimSpec>) -> Self {
        if let Object::ResourceClaim(claim) = &mut self.object {
            claim.spec = Some(spec);
        }
        self
    }
}

/// A wire object that can become a fact.
pub(super) trait ToObject {
    /// Metadata.
    fn metadata(&self) -> Option<Cow<'_, ObjectMeta>>;

    /// The fact, unless the object is of no interest. Adds warnings and times to `context`.
    fn to_object(
        &self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError>;
}

/// Turns wire objects into facts; names that repeat are kept once for all of them.
#[derive(Debug, Default)]
pub(super) struct Converter {
    context: Context,
    specs: InternedSpecs,
}

impl Converter {
    /// The fact that `object` states, or `None` if it is of no interest.
    ///
    /// `position` says where the object is, for an error about one without a name.
    pub(super) fn convert(
        &mut self,
        kind: Kind,
        object: &impl ToObject,
        position: impl Fn() -> String,
    ) -> Result<Option<Item>, DecodeError> {
        let metadata = object.metadata().unwrap_or_default();
        let metadata = metadata.as_ref();
        // Lazy: only objects with an error or a warning need their name as text.
        let name = || describe(kind, metadata).unwrap_or_else(&position);
        // Before the conversion, which drops pods without claims: their times, too, show when the list was read.
        metadata.note_deletion(&mut self.context);
        let converted = object
            .to_object(metadata, &mut self.context)
            .map_err(|error| DecodeError::Field {
                object: name(),
                field: error.path,
                problem: error.problem,
            })?;
        self.context.attribute(name);
        Ok(converted.map(|object| Item {
            object,
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            written: None,
        }))
    }

    /// Specs of claims so far.
    pub(super) fn specs(&mut self) -> &mut InternedSpecs {
        &mut self.specs
    }

    /// Notes that the object was skipped because of its version.
    pub(super) fn skip(&mut self, api_version: &str, name: impl FnOnce() -> String) {
        let what = format!("apiVersion {api_version}, which is not supported: it was skipped");
        self.context.odd("unsupported-version", what);
        self.context.attribute(name);
    }

    /// Warnings about the objects so far; their order does not depend on that of the objects.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        self.context.warnings()
    }

    /// The newest time of the objects so far that had passed when they were read.
    pub(super) fn newest(&self) -> Option<Timestamp> {
        self.context.newest()
    }
}

/// Kind and name of an object, if it has a name.
fn describe(kind: Kind, metadata: &ObjectMeta) -> Option<String> {
    let name = metadata.name.as_deref().filter(|name| !name.is_empty())?;
    Some(match metadata.namespace.as_deref() {
        None | Some("") => format!("{kind} {name}"),
        Some(namespace) => format!("{kind} {namespace}/{name}"),
    })
}
