//! From the wire to facts, one object at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use jiff::Timestamp;
use serde_json::Value;

use super::error::{DecodeError, FieldError};
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
            $(workload: $fill:ident($pods:ident),)?
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
    fn metadata(&self) -> Option<&ObjectMeta>;

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
    /// Specs of claims by their bytes.
    pub(super) specs: HashMap<Box<[u8]>, Arc<ClaimSpec>>,
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
        let absent = ObjectMeta::default();
        let metadata = object.metadata().unwrap_or(&absent);
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
            resource_version: metadata.resource_version().to_owned(),
            written: None,
        }))
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

/// State of the conversion of many objects into facts.
#[derive(Debug, Default)]
pub(super) struct Context {
    interner: Interner,
    specs: HashSet<Arc<ClaimSpec>>,
    oddities: Oddities,
    /// Found in the object at hand, whose name the conversion does not know.
    found: Vec<Oddity>,
    newest: Option<Timestamp>,
}

/// A value that this plugin does not know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Oddity {
    code: &'static str,
    what: String,
}

/// Warnings about all objects, each given once however often it occurs: the first name that has it, and
/// how many have. The order in which the objects come decides nothing.
type Oddities = BTreeMap<Oddity, (String, usize)>;

impl Context {
    /// The shared copy of `text`.
    pub(super) fn intern<Name: From<Arc<str>>>(&mut self, text: &str) -> Name {
        self.interner.intern(text)
    }

    /// The shared copies of `texts`.
    pub(super) fn intern_all<Name: From<Arc<str>>>(&mut self, texts: &[String]) -> Vec<Name> {
        texts.iter().map(|text| self.intern(text)).collect()
    }

    /// The shared copy of `text`, which must not be missing or empty.
    pub(super) fn required<Name: From<Arc<str>>>(
        &mut self,
        text: Option<&str>,
        field: &str,
    ) -> Result<Name, FieldError> {
        match text {
            // Go writes an empty string into protobuf where none is set.
            None | Some("") => Err(FieldError::missing(field)),
            Some(text) => Ok(self.intern(text)),
        }
    }

    /// The shared copy of `text`, unless it is missing or empty.
    pub(super) fn optional<Name: From<Arc<str>>>(&mut self, text: Option<&str>) -> Option<Name> {
        match text {
            None | Some("") => None,
            Some(text) => Some(self.intern(text)),
        }
    }

    /// The shared copy of `spec`: most claims are made from a few templates.
    pub(super) fn share(&mut self, spec: ClaimSpec) -> Arc<ClaimSpec> {
        if let Some(known) = self.specs.get(&spec) {
            return Arc::clone(known);
        }
        let shared = Arc::new(spec);
        self.specs.insert(Arc::clone(&shared));
        shared
    }

    /// Notes a time that had passed when the object was read.
    pub(super) fn saw(&mut self, time: Option<Timestamp>) {
        self.newest = self.newest.max(time);
    }

    /// The newest time that was noted.
    pub(super) fn newest(&self) -> Option<Timestamp> {
        self.newest
    }

    /// Notes that the object at hand has something unknown: `what` continues the sentence
    /// "Pod ml/train-0 has …".
    pub(super) fn odd(&mut self, code: &'static str, what: String) {
        self.found.push(Oddity { code, what });
    }

    /// Notes a `value` that this plugin does not know: `what` and the value continue that sentence.
    pub(super) fn unknown(&mut self, code: &'static str, what: &str, value: &str) {
        self.odd(code, format!("{what} `{}`", value.escape_debug()));
    }

    /// Attributes what was found since the last call to the object called `name`.
    pub(super) fn attribute(&mut self, name: impl FnOnce() -> String) {
        if self.found.is_empty() {
            return;
        }
        let name = name();
        for oddity in self.found.drain(..) {
            let told = self.oddities.entry(oddity);
            let (first, times) = told.or_insert_with(|| (name.clone(), 0));
            *times = times.saturating_add(1);
            // The smallest name, not the first to arrive: concurrent requests complete in any order.
            if name < *first {
                first.clone_from(&name);
            }
        }
    }

    /// The warnings, in an order of their own.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        self.oddities
            .iter()
            .map(|(oddity, (name, times))| {
                let more = match times.saturating_sub(1) {
                    0 => String::new(),
                    others => format!("; more occurrences: {others}"),
                };
                Warning {
                    code: oddity.code,
                    message: format!("{name} has {}{more}", oddity.what),
                    fix: None,
                }
            })
            .collect()
    }
}

/// Hands out shared copies of texts: a cluster repeats a few thousand names millions of times.
#[derive(Debug, Default)]
pub(super) struct Interner {
    texts: HashSet<Arc<str>>,
}

impl Interner {
    /// The shared copy of `text`, as any of the model's names.
    pub(super) fn intern<Name: From<Arc<str>>>(&mut self, text: &str) -> Name {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known).into();
        }
        let shared: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&shared));
        shared.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oddity_is_told_once_with_its_number() {
        let mut context = Context::default();
        for name in ["a", "b", "c"] {
            context.odd("unknown-effect", "the unknown effect `Later`".to_owned());
            context.attribute(|| format!("ResourceSlice {name}"));
        }
        let messages: Vec<_> = context.warnings().into_iter().map(|w| w.message).collect();
        assert_eq!(
            messages,
            ["ResourceSlice a has the unknown effect `Later`; more occurrences: 2"]
        );
    }

    #[test]
    fn equal_texts_share_one_copy() {
        let mut interner = Interner::default();
        let first: Arc<str> = interner.intern("gpu.example.com");
        let second: Arc<str> = interner.intern("gpu.example.com");
        assert!(Arc::ptr_eq(&first, &second));
    }
}
