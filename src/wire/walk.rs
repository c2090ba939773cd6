//! One pass over a document: finds the objects and decodes each as what it is.
//!
//! Objects normally say what they are before anything else, so that their fields go straight into
//! the struct of their kind. Where they do not, what comes before is put aside.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

use super::error::DecodeError;
use super::found::{Failure, Found, ListHeader, TypeMeta, place};
use super::object::Item;
use super::remaining::Remaining;
use super::shape::WireObject;
use super::status::Status;
use super::unambiguous::{Unambiguous, twice};
use super::versions::{Lookup, Version, lookup, supported};

/// Fields that were read before it was known whose they are.
type Fields = Vec<(String, Value)>;

/// Fields that were read before, and nothing after them.
type ReadFields = Remaining<
    MapDeserializer<'static, std::iter::Empty<(&'static str, &'static str)>, serde_json::Error>,
>;

fn read_fields(fields: Fields) -> ReadFields {
    Remaining::new(fields, None, MapDeserializer::new(std::iter::empty()))
}

/// Decodes one object or list, and adds what it finds to what was found.
///
/// Gives back the fields of an object that does not say what it is, because only its list does.
pub(super) struct ObjectSeed<'a> {
    found: &'a mut Found,
    /// What the object is, where the list has said so for all of its objects.
    inherited: Option<&'a TypeMeta>,
}

impl<'a> ObjectSeed<'a> {
    /// For the object or list that is a whole document.
    pub(super) fn new(found: &'a mut Found) -> Self {
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
            Some(_) => {
                let document = place(&found.position);
                Err(found.fail(DecodeError::Foreign {
                    document,
                    problem: "it has no apiVersion and kind".to_owned(),
                }))
            }
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
            match head.type_meta(self.inherited) {
                Some(type_meta) if !type_meta.is_list() => {
                    let complete = head.is_complete();
                    let mut fields = Remaining::new(head.other, Some(key), map);
                    if complete {
                        fields = fields.typed();
                    }
                    return self.found.object(type_meta, fields).map(|()| None);
                }
                _ => head.put_aside(key, &mut map)?,
            }
        }
        match head.type_meta(self.inherited) {
            Some(type_meta) if type_meta.is_list() => self.found.finish_list(type_meta, head.other),
            Some(type_meta) => {
                let fields = Remaining::new(head.other, None, map);
                self.found.object(type_meta, fields).map(|()| None)
            }
            None => Ok(Some(head.other)),
        }
    }
}

/// What has been read of an object before it is known what it is.
#[derive(Default)]
struct Head {
    api_version: Option<String>,
    kind: Option<String>,
    other: Fields,
}

impl Head {
    /// Takes the value of `key` if it is one of the two that say what the object is.
    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
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
        if self.other.iter().any(|(known, _)| *known == key) {
            return Err(twice(&key));
        }
        let value: Unambiguous = map.next_value()?;
        self.other.push((key, value.into_value()));
        Ok(())
    }

    /// Whether the object has said itself what it is.
    fn is_complete(&self) -> bool {
        self.api_version.is_some() && self.kind.is_some()
    }

    /// What the object is: as it says itself, else as its list says.
    fn type_meta(&self, inherited: Option<&TypeMeta>) -> Option<TypeMeta> {
        let api_version = self.api_version.as_ref();
        let kind = self.kind.as_ref();
        Some(TypeMeta {
            api_version: api_version
                .or(inherited.map(|from| &from.api_version))?
                .clone(),
            kind: kind.or(inherited.map(|from| &from.kind))?.clone(),
        })
    }

    /// Whether `items` are a list's: they are, unless the object is known to be something else.
    fn may_be_list(&self) -> bool {
        self.kind.as_ref().is_none_or(|kind| kind.ends_with("List"))
    }
}

impl Found {
    /// Decodes an object whose type is known.
    fn object<'de, A: MapAccess<'de>>(
        &mut self,
        type_meta: TypeMeta,
        mut fields: Remaining<A>,
    ) -> Result<(), A::Error> {
        match lookup(&type_meta.api_version, &type_meta.kind) {
            Lookup::Read(version) if self.kept.contains(&version.kind) => {
                self.keep(version, &type_meta, fields)?;
            }
            Lookup::Read(version) => {
                self.read(version, fields)?;
            }
            Lookup::UnknownVersion(kind) => {
                return Err(self.fail(DecodeError::Version {
                    object: format!("{kind} at {}", place(&self.position)),
                    found: type_meta.api_version,
                    supported: supported(kind),
                }));
            }
            Lookup::NotRead if type_meta.kind == "Status" && type_meta.api_version == "v1" => {
                let status = Status::deserialize(MapAccessDeserializer::new(fields))?;
                return Err(self.fail(status.into()));
            }
            Lookup::NotRead => while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {},
        }
        let count = self.objects.entry(type_meta).or_default();
        *count = count.saturating_add(1);
        Ok(())
    }

    /// Decodes an object of a kind of interest and turns it into a fact.
    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        version: &Version,
        fields: A,
    ) -> Result<Option<&mut Item>, A::Error> {
        let mut track = serde_path_to_error::Track::new();
        let fields = MapAccessDeserializer::new(fields);
        let fields = serde_path_to_error::Deserializer::new(fields, &mut track);
        let object = match WireObject::deserialize(version, fields) {
            Ok(object) => object,
            Err(error) => {
                self.failure = Some(Failure::Field {
                    kind: version.kind,
                    field: track.path().to_string(),
                });
                return Err(error);
            }
        };
        let position = || format!("{} at {}", version.kind, place(&self.position));
        match object.convert(&mut self.converter, position) {
            Ok(None) => Ok(None),
            Ok(Some(item)) => {
                self.items.push(item);
                Ok(self.items.last_mut())
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Decodes an object and keeps it as it is written, with what it is even where only its list said so.
    ///
    /// All of it is read before it is decoded: the code that decodes objects is a tenth of the program for
    /// every way in which fields can come.
    fn keep<'de, A: MapAccess<'de>>(
        &mut self,
        version: &Version,
        type_meta: &TypeMeta,
        mut fields: A,
    ) -> Result<(), A::Error> {
        let mut object = serde_json::Map::new();
        while let Some((key, value)) = fields.next_entry::<String, Unambiguous>()? {
            if object.insert(key.clone(), value.into_value()).is_some() {
                return Err(twice(&key));
            }
        }
        let fields = object.clone().into_iter().collect();
        let item = self.read(version, read_fields(fields));
        let Some(item) = item.map_err(A::Error::custom)? else {
            return Ok(());
        };
        let TypeMeta { api_version, kind } = type_meta.clone();
        object.insert("apiVersion".to_owned(), api_version.into());
        object.insert("kind".to_owned(), kind.into());
        item.written = Some(Box::new(Value::Object(object)));
        Ok(())
    }

    /// Decodes a list from its `items` on.
    fn list<'de, A: MapAccess<'de>>(
        &mut self,
        mut head: Head,
        mut map: A,
    ) -> Result<Option<Fields>, A::Error> {
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
            return Err(self.untyped("it has items, but no apiVersion and kind: is it cut off?"));
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
                return Err(self.untyped("it has no apiVersion and kind"));
            };
            let fields = read_fields(fields);
            self.object(type_meta.clone(), fields).map_err(E::custom)?;
            self.position.pop();
        }
        Ok(())
    }

    fn finish_list<E: Error>(
        &mut self,
        type_meta: TypeMeta,
        fields: Fields,
    ) -> Result<Option<Fields>, E> {
        let metadata = fields.into_iter().find(|(key, _)| key == "metadata");
        let metadata = match metadata {
            Some((_, value)) => Option::deserialize(value).map_err(E::custom)?,
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
    found: &'a mut Found,
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

    /// What Go writes for a list that was never filled.
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
        self.found.position.pop();
        Ok(untyped)
    }
}
