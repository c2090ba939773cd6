//! Decoding of lists and objects, while their bodies arrive or at the end.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::lists::List;
use crate::cluster::client::api::AttemptFailure;
use crate::cluster::client::exchange::BodyReader;
use crate::model::{Encoding, NamespacedName};
use crate::wire::{
    DecodeError, Decoded, Detail, Item, ListMeta, Object, ProtobufList, Version,
    decode_protobuf_object, identity,
};

/// More objects than these are not kept of one list: Kubernetes stops at 150,000 pods.
const MOST_OBJECTS: usize = 1_000_000;

/// The fields of an object.
pub(super) type Fields = Map<String, Value>;

/// Reader of a protobuf list, item by item.
pub(super) struct Objects<'a, T, F> {
    list: ProtobufList,
    first: Option<String>,
    items: Vec<T>,
    choose: &'a F,
}

impl<'a, T, F> Objects<'a, T, F> {
    pub(super) fn new(version: &'static Version, detail: Detail, choose: &'a F) -> Self {
        Self {
            list: ProtobufList::new(version, detail),
            first: None,
            items: Vec::new(),
            choose,
        }
    }
}

impl<T, F: Fn(Object) -> Option<T>> BodyReader for Objects<'_, T, F> {
    type Output = List<T>;

    fn push(&mut self, bytes: &[u8]) -> Result<(), AttemptFailure> {
        let items = self.list.push(bytes).map_err(|error| failure(&error))?;
        for object in objects(items) {
            // Before `choose` drops the object: `Listing::pages` tells pages apart by their first object.
            self.first.get_or_insert_with(|| object.name());
            self.items.extend((self.choose)(object));
        }
        bounded(&self.items)
    }

    fn finish(self) -> Result<List<T>, AttemptFailure> {
        let end = self.list.finish().map_err(|error| failure(&error))?;
        Ok(List {
            first: self.first,
            items: self.items,
            metadata: end.metadata,
            warnings: end.warnings,
        })
    }
}

/// The facts of a JSON list, where fields that this plugin does not know are noticed.
pub(super) fn text_list<T>(
    version: &Version,
    body: &[u8],
    choose: &impl Fn(Object) -> Option<T>,
) -> Result<List<T>, AttemptFailure> {
    let kind = version.kind;
    let mut decoded = decoded(body)?;
    let mut found = decoded.found.keys();
    let has_others = found.any(|found| found.kind != kind.as_str());
    match decoded.lists.pop() {
        // Exactly one list: a second document in the response would otherwise pass for more objects.
        Some(header)
            if decoded.lists.is_empty()
                && !has_others
                && header.type_meta.kind == format!("{kind}List") =>
        {
            let first = decoded.items.first();
            Ok(List {
                first: first.map(|item| item.object.name()),
                items: objects(decoded.items).filter_map(choose).collect(),
                metadata: header.metadata,
                warnings: decoded.warnings,
            })
        }
        _ => Err(AttemptFailure::Broken(format!(
            "it is not a single list of {}",
            kind.plural()
        ))),
    }
}

/// A list of `metav1.PartialObjectMetadata`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Partial<'b> {
    kind: String,
    api_version: String,
    #[serde(borrow)]
    metadata: &'b RawValue,
    #[serde(borrow)]
    items: Option<Vec<PartialItem<'b>>>,
}

#[derive(Deserialize)]
struct PartialItem<'b> {
    #[serde(borrow)]
    metadata: &'b RawValue,
}

/// The facts of a list of which only the metadata was requested: objects of the kind that was asked for, which they do
/// not say themselves.
pub(super) fn metadata_list<T>(
    version: &Version,
    body: &[u8],
    choose: &impl Fn(Object) -> Option<T>,
) -> Result<List<T>, AttemptFailure> {
    let body: Partial<'_> = serde_json::from_slice(body).map_err(|error| broken(&error))?;
    if body.kind != "PartialObjectMetadataList" || body.api_version != "meta.k8s.io/v1" {
        let problem = "it is not a PartialObjectMetadataList".to_owned();
        return Err(AttemptFailure::Broken(problem));
    }
    // The items do not state their kind: rewritten as a typed list, they go through the usual decoder.
    let mut list = format!(
        r#"{{"apiVersion":"{}","kind":"{}List","metadata":{},"items":["#,
        version.api_version, version.kind, body.metadata,
    );
    let mut comma = "";
    for item in body.items.unwrap_or_default() {
        list.push_str(&format!(r#"{comma}{{"metadata":{}}}"#, item.metadata));
        comma = ",";
    }
    list.push_str("]}");
    text_list(version, list.as_bytes(), choose)
}

/// A single object, which must be the one that was asked for.
pub(super) fn single(
    version: &Version,
    name: &NamespacedName,
    body: &[u8],
) -> Result<List<Object>, AttemptFailure> {
    let (items, warnings) = match version.kind.encoding() {
        Encoding::Protobuf => {
            let decoded = decode_protobuf_object(body, Detail::Attributes);
            let (item, warnings) = decoded.map_err(|error| failure(&error))?;
            (item.into_iter().collect(), warnings)
        }
        Encoding::Json => {
            let decoded = decoded(body)?;
            (decoded.items, decoded.warnings)
        }
    };
    let found = identity(body).unwrap_or_default();
    let is_same = found.kind == version.kind.as_str()
        && found.api_version == version.api_version
        && found.namespace == name.namespace.as_str()
        && found.name == name.name.as_str();
    if !is_same {
        return Err(AttemptFailure::Unreadable(format!(
            "a {} {}/{}",
            found.kind, found.namespace, found.name
        )));
    }
    Ok(List {
        items: objects(items).collect(),
        warnings,
        ..List::default()
    })
}

#[derive(Deserialize)]
struct Body<'a> {
    kind: String,
    metadata: ListMeta,
    #[serde(borrow, deserialize_with = "present")]
    items: Option<Vec<&'a RawValue>>,
}

/// An empty list may have null for its items; one without any says nothing about them.
fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<&'de RawValue>>, D::Error> {
    Option::deserialize(deserializer)
}

/// One page of a list in JSON, object by object as it is served.
pub(super) fn served_list(
    version: &Version,
    body: &[u8],
    keep: &impl Fn(&mut Fields) -> bool,
) -> Result<List<Box<RawValue>>, AttemptFailure> {
    let body: Body<'_> = serde_json::from_slice(body).map_err(|error| broken(&error))?;
    if body.kind != format!("{}List", version.kind) {
        let problem = format!("it is a {} and not a list", body.kind);
        return Err(AttemptFailure::Broken(problem));
    }
    let items = body.items.unwrap_or_default().into_iter();
    let items = items.filter_map(|item| typed(version, item, keep).transpose());
    let items: Result<Vec<_>, _> = items.collect();
    let items = items.map_err(|error| broken(&error))?;
    let first = items.first();
    let first = first.and_then(|item| identity(item.get().as_bytes()));
    Ok(List {
        first: first.map(|found| format!("{}/{}", found.namespace, found.name)),
        items,
        metadata: body.metadata,
        warnings: Vec::new(),
    })
}

/// The object as it can stand alone, if it is to be kept: objects of a list do not say what they are.
fn typed(
    version: &Version,
    item: &RawValue,
    keep: impl Fn(&mut Fields) -> bool,
) -> Result<Option<Box<RawValue>>, serde_json::Error> {
    let mut object: Fields = serde_json::from_str(item.get())?;
    if !keep(&mut object) {
        return Ok(None);
    }
    object.insert("apiVersion".to_owned(), version.api_version.into());
    object.insert("kind".to_owned(), version.kind.as_str().into());
    serde_json::value::to_raw_value(&object).map(Some)
}

/// Checks that there are no more objects than a cluster can have.
///
/// # Errors
///
/// When there are.
pub(super) fn bounded<T>(items: &[T]) -> Result<(), AttemptFailure> {
    if items.len() <= MOST_OBJECTS {
        return Ok(());
    }
    Err(AttemptFailure::Unreadable(format!(
        "the list does not end: the server sent more than {MOST_OBJECTS} objects; check the API server, and \
         proxies in front of it"
    )))
}

fn decoded(body: &[u8]) -> Result<Decoded, AttemptFailure> {
    let text = std::str::from_utf8(body)
        .map_err(|_| AttemptFailure::Broken("it is not UTF-8".to_owned()))?;
    Decoded::of_json(text).map_err(|error| failure(&error))
}

fn objects(items: Vec<Item>) -> impl Iterator<Item = Object> {
    items.into_iter().map(|item| item.object)
}

fn broken(error: &serde_json::Error) -> AttemptFailure {
    AttemptFailure::Broken(error.to_string())
}

/// Failure of a response that cannot be decoded, with or without a retry.
pub(crate) fn failure(error: &DecodeError) -> AttemptFailure {
    match error {
        DecodeError::Status(status) if status.http_code() == Some(410) => AttemptFailure::Expired,
        // A server that fails halfway through a 200 response appends a Status: the next attempt may succeed.
        DecodeError::Broken(_) | DecodeError::Status(_) => {
            AttemptFailure::Broken(error.to_string())
        }
        DecodeError::Field { .. } | DecodeError::Foreign(_) | DecodeError::Unusable(_) => {
            AttemptFailure::Unreadable(error.to_string())
        }
    }
}
