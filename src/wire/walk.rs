//! One pass over a document: finds the objects, and decodes those of interest as what they are.
//!
//! An object is decoded while it is read if its type comes before everything else, as programs write
//! it. Otherwise, or after an error, its fields are read first, in any encoding, and decoded then.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StringDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, IntoDeserializer, MapAccess,
    SeqAccess, Visitor,
};
use serde_json::{Map, Value};

use super::answer::ServerStatus;
use super::document::{ListHeader, ParseContext, ParsePass, TypeMeta, is_list, place, shortened};
use super::error::DecodeError;
use super::object::Item;
use super::shape::WireObject;
use super::unambiguous::{Unambiguous, twice};
use super::versions::{Lookup, Version, lookup, supported};
use crate::model::{Kind, Need};

/// The fields of an object, without `apiVersion` and `kind`.
type Fields = Map<String, Value>;

/// Decodes one object or list, and adds what it finds to what was found.
///
/// Gives back the fields of an object that does not say what it is, because only its list does.
pub(super) struct ObjectSeed<'a> {
    found: &'a mut ParseContext,
    /// Type of the object, where the list gives it for all of its objects.
    inherited: Option<&'a TypeMeta>,
}

impl<'a> ObjectSeed<'a> {
    /// For the object or list that is a whole document.
    pub(super) fn new(found: &'a mut ParseContext) -> Self {
        Self {
            found,
            inherited: None,
        }
    }

    /// Decodes a whole document; an empty one is no error.
    pub(super) fn document<'de, D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let found = &mut *self.found;
        let seed = ObjectSeed::new(found);
        match seed.deserialize(from)? {
            None => Ok(()),
            Some(_) => Err(D::Error::custom("its apiVersion or kind is missing")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_> {
    type Value = Option<Fields>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<Fields>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_> {
    type Value = Option<Fields>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a Kubernetes object")
    }

    /// An empty document, such as what follows the last `---`.
    fn visit_unit<E: Error>(self) -> Result<Option<Fields>, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Fields>, A::Error> {
        let mut head = Head::default();
        while let Some(key) = map.next_key::<String>()? {
            if head.take(&key, &mut map)? {
                continue;
            }
            if key == "items" && head.may_be_list() {
                return self.found.list(head, map);
            }
            let stated = head.stated(self.inherited);
            if let Some((api_version, kind)) = stated
                && is_of_no_interest(api_version, kind)
            {
                // Most objects of a dump are of other kinds: they are skipped without being built in memory.
                let type_meta = head.type_meta(self.inherited);
                map.next_value::<IgnoredAny>()?;
                head.skip_rest(&mut map)?;
                type_meta
                    .into_iter()
                    .for_each(|found| self.found.count(found));
                return Ok(None);
            }
            if let Some(version) = self.found.directly(&head, stated) {
                let type_meta = head.type_meta(self.inherited).unwrap_or_default();
                self.found.direct(version, type_meta, Rest::new(key, map))?;
                return Ok(None);
            }
            let taken = head.put_aside(key, &mut map);
            taken.inspect_err(|_| self.found.unreadable(head.stated(self.inherited)))?;
        }
        match head.type_meta(self.inherited) {
            // Without items, only the name of the kind says that it is a list: kinds of others may end so, too.
            Some(type_meta) if type_meta.is_list() && is_known_list(&type_meta) => {
                self.found.finish_list(type_meta, head.other)
            }
            Some(type_meta) => self.found.object(type_meta, head.other).map(|()| None),
            None => Ok(Some(head.other)),
        }
    }
}

/// Fields of an object that were read so far.
#[derive(Default)]
pub(super) struct Head {
    api_version: Option<String>,
    kind: Option<String>,
    other: Fields,
}

impl Head {
    /// Takes the value of `key` if it is one of the two that say what the object is.
    pub(super) fn take<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> Result<bool, A::Error> {
        let place = match key {
            "apiVersion" => &mut self.api_version,
            "kind" => &mut self.kind,
            _ => return Ok(false),
        };
        if place.is_some() {
            return Err(twice(key));
        }
        *place = map.next_value()?;
        Ok(true)
    }

    /// Puts the value of `key` aside.
    fn put_aside<'de, A: MapAccess<'de>>(
        &mut self,
        key: String,
        map: &mut A,
    ) -> Result<(), A::Error> {
        if self.other.contains_key(&key) {
            return Err(twice(&key));
        }
        let value: Unambiguous = map.next_value()?;
        self.other.insert(key, value.into_value());
        Ok(())
    }

    /// Skips all other fields of an object; it may not become another one.
    pub(super) fn skip_rest<'de, A: MapAccess<'de>>(
        &mut self,
        map: &mut A,
    ) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if !self.take(&key, map)? {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    /// Version and kind of the object: as it says itself, else as its list says.
    fn stated<'s>(&'s self, inherited: Option<&'s TypeMeta>) -> Option<(&'s str, &'s str)> {
        let api_version = self.api_version.as_ref();
        let kind = self.kind.as_ref();
        Some((
            api_version.or(inherited.map(|from| &from.api_version))?,
            kind.or(inherited.map(|from| &from.kind))?,
        ))
    }

    pub(super) fn type_meta(&self, inherited: Option<&TypeMeta>) -> Option<TypeMeta> {
        let (api_version, kind) = self.stated(inherited)?;
        Some(TypeMeta {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        })
    }

    /// True if `items` are a list's: they are, unless the object is known to be something else.
    fn may_be_list(&self) -> bool {
        self.kind.as_deref().is_none_or(is_list)
    }
}

/// True if an object of this type is skipped.
pub(super) fn is_of_no_interest(api_version: &str, kind: &str) -> bool {
    !is_list(kind)
        && !is_status(api_version, kind)
        && matches!(lookup(api_version, kind), Lookup::NotRead)
}

/// A slice of `v1beta1` as one of `v1`, whose devices have no field `basic`; any other object as it is.
///
/// Dumps have such slices still. No server is asked for them: 1.34 serves `v1`.
fn slice_of_v1beta1(type_meta: TypeMeta, mut fields: Fields) -> (TypeMeta, Fields) {
    let group = "resource.k8s.io";
    if type_meta.kind != Kind::ResourceSlice.as_str()
        || type_meta.api_version != format!("{group}/v1beta1")
    {
        return (type_meta, fields);
    }
    let devices = fields
        .get_mut("spec")
        .and_then(|spec| spec.get_mut("devices"));
    let devices = devices.and_then(Value::as_array_mut).into_iter().flatten();
    for device in devices.filter_map(Value::as_object_mut) {
        if let Some(Value::Object(basic)) = device.remove("basic") {
            device.extend(basic);
        }
    }
    let api_version = format!("{group}/v1");
    (
        TypeMeta {
            api_version,
            ..type_meta
        },
        fields,
    )
}

/// Kind and name of an object with these fields, or where it is.
fn name_in(kind: Kind, fields: &Value, position: &[usize]) -> String {
    let text = |key| fields["metadata"][key].as_str().unwrap_or_default();
    match (text("namespace"), text("name")) {
        (_, "") => format!("{kind} at {}", place(position)),
        ("", name) => format!("{kind} {name}"),
        (namespace, name) => format!("{kind} {namespace}/{name}"),
    }
}

/// True if it is a list of any kinds, or of one that is read.
fn is_known_list(list: &TypeMeta) -> bool {
    list.of_items()
        .is_none_or(|items| !matches!(lookup(&items.api_version, &items.kind), Lookup::NotRead))
}

/// True if it is a server's report of a failure.
fn is_status(api_version: &str, kind: &str) -> bool {
    kind == "Status" && api_version == "v1"
}

impl ParseContext {
    /// Decodes an object whose type is known.
    fn object<E: Error>(&mut self, type_meta: TypeMeta, fields: Fields) -> Result<(), E> {
        let (type_meta, fields) = slice_of_v1beta1(type_meta, fields);
        match lookup(&type_meta.api_version, &type_meta.kind) {
            Lookup::Read(&Version { kind, .. }) | Lookup::UnknownVersion(kind)
                if self.reads_only_kept && !self.kept.contains(&kind) => {}
            Lookup::Read(version) => self.read(version, &type_meta, Value::Object(fields))?,
            // Not counted, so that the kind is still missing.
            Lookup::UnknownVersion(kind) if kind.need() == Need::Optional => {
                let object = || format!("{kind} at {}", place(&self.position));
                self.converter.skip(&type_meta.api_version, object);
                return Ok(());
            }
            Lookup::UnknownVersion(kind) => {
                let (at, found) = (place(&self.position), type_meta.api_version);
                let supported = supported(kind);
                return Err(self.fail(DecodeError::Unusable(format!(
                    "{kind} at {at}: apiVersion {found} is not supported, only {supported}"
                ))));
            }
            Lookup::NotRead if is_status(&type_meta.api_version, &type_meta.kind) => {
                let status = ServerStatus::deserialize(Value::Object(fields));
                let status = Box::new(status.map_err(E::custom)?);
                return Err(self.fail(DecodeError::Status(status)));
            }
            Lookup::NotRead => {}
        }
        self.count(type_meta);
        Ok(())
    }

    /// Counts an object.
    fn count(&mut self, type_meta: TypeMeta) {
        let count = self.objects.entry(type_meta).or_default();
        *count = count.saturating_add(1);
    }

    /// Notes that an object of interest could not be read, so that its text is not taken for one that
    /// has nothing to do with Kubernetes.
    fn unreadable(&mut self, stated: Option<(&str, &str)>) {
        let lookup = stated.map(|(api_version, kind)| lookup(api_version, kind));
        if let Some(Lookup::Read(version)) = lookup {
            self.within = Some(version.kind);
        }
    }

    /// At which version an object is that is decoded while it is read, of which nothing but that is read
    /// so far.
    fn directly(&self, head: &Head, stated: Option<(&str, &str)>) -> Option<&'static Version> {
        let (api_version, kind) = stated?;
        match (self.pass, lookup(api_version, kind)) {
            // Fields that came before the type have been read already and cannot be decoded while they are read.
            (ParsePass::Direct, Lookup::Read(version))
                if head.other.is_empty()
                    && !self.reads_only_kept
                    && !self.kept.contains(&version.kind) =>
            {
                Some(version)
            }
            (ParsePass::Direct | ParsePass::Fields, _) => None,
        }
    }

    /// Decodes an object from the rest of its fields.
    fn direct<'de, A: MapAccess<'de>>(
        &mut self,
        version: &Version,
        type_meta: TypeMeta,
        rest: Rest<A>,
    ) -> Result<(), A::Error> {
        let decoded = WireObject::from_text(version, MapAccessDeserializer::new(rest))?;
        self.add(type_meta, Some((version, &decoded)))
    }

    /// Counts an object, and adds the fact that it states; absent where it is of no interest.
    pub(super) fn add<E: Error>(
        &mut self,
        type_meta: TypeMeta,
        object: Option<(&Version, &WireObject)>,
    ) -> Result<(), E> {
        if let Some((version, decoded)) = object {
            self.convert(version, decoded)?;
        }
        self.count(type_meta);
        Ok(())
    }

    /// The fact that an object states, added to those that were found; `None` if it is of no interest.
    fn convert<E: Error>(
        &mut self,
        version: &Version,
        decoded: &WireObject,
    ) -> Result<Option<&mut Item>, E> {
        let position = || format!("{} at {}", version.kind, place(&self.position));
        let converted = decoded.convert(&mut self.converter, position);
        match converted.map_err(|error| self.fail(error))? {
            None => Ok(None),
            Some(item) => {
                self.items.push(item);
                Ok(self.items.last_mut())
            }
        }
    }

    /// Turns an object of a kind of interest into a fact, and keeps it as it is written where that is
    /// asked for, with what it is even where only its list said so.
    fn read<E: Error>(
        &mut self,
        version: &Version,
        type_meta: &TypeMeta,
        mut object: Value,
    ) -> Result<(), E> {
        let decoded = WireObject::from_fields(version, &object).map_err(|error| {
            self.fail(DecodeError::Field {
                object: name_in(version.kind, &object, &self.position),
                field: error.path,
                problem: shortened(&error.problem),
            })
        })?;
        let is_kept = self.kept.contains(&version.kind);
        if let Some(item) = self.convert(version, &decoded)?
            && is_kept
            && let Some(fields) = object.as_object_mut()
        {
            let TypeMeta { api_version, kind } = type_meta.clone();
            fields.insert("apiVersion".to_owned(), api_version.into());
            fields.insert("kind".to_owned(), kind.into());
            item.written = Some(Box::new(object));
        }
        Ok(())
    }

    /// Decodes a list from its `items` on.
    fn list<'de, A: MapAccess<'de>>(
        &mut self,
        mut head: Head,
        mut map: A,
    ) -> Result<Option<Fields>, A::Error> {
        // A list inherits no type from an enclosing list: a nested list states its own.
        let type_of_items = head.type_meta(None).and_then(|list| list.of_items());
        let untyped = map.next_value_seed(ItemsSeed {
            found: self,
            inherited: type_of_items.as_ref(),
        })?;
        while let Some(key) = map.next_key::<String>()? {
            if key == "items" {
                return Err(twice(&key));
            }
            if !head.take(&key, &mut map)? {
                head.put_aside(key, &mut map)?;
            }
        }
        let Some(list) = head.type_meta(None) else {
            // kubectl writes the kind of a list after its items.
            let problem = "it has items, but its apiVersion or kind is missing: it may be cut off";
            return Err(self.untyped(problem));
        };
        self.late_items(&list, untyped)?;
        self.finish_list(list, head.other)
    }

    /// Decodes the objects of a typed list that said only at its end what they are.
    fn late_items<E: Error>(&mut self, list: &TypeMeta, untyped: Vec<Untyped>) -> Result<(), E> {
        let inherited = list.of_items();
        for Untyped { index, fields } in untyped {
            self.position.push(index);
            let Some(type_meta) = &inherited else {
                return Err(self.untyped("its apiVersion or kind is missing"));
            };
            self.object(type_meta.clone(), fields)?;
            self.position.pop();
        }
        Ok(())
    }

    fn finish_list<E: Error>(
        &mut self,
        type_meta: TypeMeta,
        mut fields: Fields,
    ) -> Result<Option<Fields>, E> {
        let metadata = match fields.remove("metadata") {
            Some(value) => Option::deserialize(value).map_err(E::custom)?,
            None => None,
        };
        self.lists.push(ListHeader {
            type_meta,
            metadata: metadata.unwrap_or_default(),
        });
        Ok(None)
    }
}

/// Decodes the `items` of a list.
///
/// Gives back those objects that do not say what they are.
struct ItemsSeed<'a> {
    found: &'a mut ParseContext,
    inherited: Option<&'a TypeMeta>,
}

/// An object of a list that does not say what it is.
struct Untyped {
    index: usize,
    fields: Fields,
}

impl<'de> DeserializeSeed<'de> for ItemsSeed<'_> {
    type Value = Vec<Untyped>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Vec<Untyped>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ItemsSeed<'_> {
    type Value = Vec<Untyped>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of objects")
    }

    /// Null, which Go writes for a list that was never filled.
    fn visit_unit<E: Error>(self) -> Result<Vec<Untyped>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<Untyped>, A::Error> {
        let mut untyped = Vec::new();
        for index in 0.. {
            self.found.position.push(index);
            let seed = ObjectSeed {
                found: self.found,
                inherited: self.inherited,
            };
            let Some(fields) = sequence.next_element_seed(seed)? else {
                break;
            };
            untyped.extend(fields.map(|fields| Untyped { index, fields }));
            self.found.position.pop();
        }
        // Drops the index past the last object. After an error the index stays: `explain` names the object by it.
        self.found.position.pop();
        Ok(untyped)
    }
}

/// The field whose key has been read already, and those behind it.
///
/// An object that says again what it is, or only now, is an error here.
pub(super) struct Rest<A> {
    first: Option<String>,
    map: A,
}

impl<A> Rest<A> {
    /// From the value of `first` on, which comes next in `map`.
    pub(super) fn new(first: String, map: A) -> Self {
        Self {
            first: Some(first),
            map,
        }
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let key = match self.first.take() {
            Some(first) => Some(first),
            None => self.map.next_key::<String>()?,
        };
        let Some(key) = key else {
            return Ok(None);
        };
        // The decoder was chosen by the first occurrence; a second one could contradict it.
        if key == "apiVersion" || key == "kind" {
            return Err(twice(&key));
        }
        let key: StringDeserializer<A::Error> = key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
