//! Decoding of lists and objects, while their bodies arrive or at the end.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::list::List;
use crate::cluster::client::body_reader::{BodyReader, hold};
use crate::cluster::client::retry::AttemptFailure;
use crate::model::{Encoding, NamespacedName};
use crate::wire::{
    DecodeError, Decoded, Detail, Documents, Identity, Item, ListMeta, Object, ProtobufList,
    Version, decode_protobuf_object, identity,
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

/// Reader of a JSON list, where fields that this plugin does not know are noticed.
pub(super) struct Texts<'a, F> {
    version: &'static Version,
    body: Vec<u8>,
    choose: &'a F,
}

impl<'a, F> Texts<'a, F> {
    pub(super) fn new(version: &'static Version, choose: &'a F) -> Self {
        Self {
            version,
            body: Vec::new(),
            choose,
        }
    }
}

impl<T, F: Fn(Object) -> Option<T>> BodyReader for Texts<'_, F> {
    type Output = List<T>;

    fn push(&mut self, bytes: &[u8]) -> Result<(), AttemptFailure> {
        hold(&mut self.body, bytes)
    }

    fn finish(self) -> Result<List<T>, AttemptFailure> {
        let kind = self.version.kind;
        let mut decoded = decoded(&self.body)?;
        let others = decoded
            .found
            .keys()
            .any(|found| found.kind != kind.as_str());
        let header = decoded.lists.pop();
        match header {
            // Exactly one list: a second document in the response would otherwise pass for more objects.
            Some(header)
                if decoded.lists.is_empty()
                    && !others
                    && header.type_meta.kind == format!("{kind}List") =>
            {
                let first = decoded.items.first();
                Ok(List {
                    first: first.map(|item| item.object.name()),
                    items: objects(decoded.items).filter_map(self.choose).collect(),
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
}

/// Reader of a list of which only the metadata was requested.
pub(super) struct Metadata<'a, F> {
    texts: Texts<'a, F>,
}

impl<'a, F> Metadata<'a, F> {
    pub(super) fn new(version: &'static Version, choose: &'a F) -> Self {
        Self {
            texts: Texts::new(version, choose),
        }
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

impl<T, F: Fn(Object) -> Option<T>> BodyReader for Metadata<'_, F> {
    type Output = List<T>;

    fn push(&mut self, bytes: &[u8]) -> Result<(), AttemptFailure> {
        self.texts.push(bytes)
    }

    /// The metadata as objects of the kind that was asked for, which they do not say themselves.
    fn finish(mut self) -> Result<List<T>, AttemptFailure> {
        let version = self.texts.version;
        let broken = |reason: String| AttemptFailure::Broken(reason);
        let body: Partial<'_> =
            serde_json::from_slice(&self.texts.body).map_err(|error| broken(error.to_string()))?;
        if body.kind != "PartialObjectMetadataList" || body.api_version != "meta.k8s.io/v1" {
            return Err(broken("it is not a PartialObjectMetadataList".to_owned()));
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
        self.texts.body = list.into_bytes();
        self.texts.finish()
    }
}

/// A single object, which must be the one that was asked for.
pub(super) struct Single<'a> {
    version: &'static Version,
    name: &'a NamespacedName,
    body: Vec<u8>,
}

impl<'a> Single<'a> {
    pub(super) fn new(version: &'static Version, name: &'a NamespacedName) -> Self {
        Self {
            version,
            name,
            body: Vec::new(),
        }
    }

    fn is(&self, found: &Identity) -> bool {
        found.kind == self.version.kind.as_str()
            && found.api_version == self.version.api_version
            && found.namespace == self.name.namespace.as_str()
            && found.name == self.name.name.as_str()
    }
}

impl BodyReader for Single<'_> {
    type Output = List<Object>;

    fn push(&mut self, bytes: &[u8]) -> Result<(), AttemptFailure> {
        hold(&mut self.body, bytes)
    }

    fn finish(self) -> Result<List<Object>, AttemptFailure> {
        let body = &self.body;
        let (items, warnings) = match self.version.kind.encoding() {
            Encoding::Protobuf => {
                let (item, warnings) = decode_protobuf_object(body, Detail::Attributes)
                    .map_err(|error| failure(&error))?;
                (item.into_iter().collect(), warnings)
            }
            Encoding::Json => {
                let decoded = decoded(body)?;
                (decoded.items, decoded.warnings)
            }
        };
        let found = identity(body).unwrap_or_default();
        if !self.is(&found) {
            return Err(AttemptFailure::Unreadable(format!(
                "a {} {}/{}",
                found.kind, found.namespace, found.name
            )));
        }
        Ok(List {
            first: None,
            items: objects(items).collect(),
            metadata: ListMeta::default(),
            warnings,
        })
    }
}

/// One page of a list in JSON, object by object as it is served.
pub(super) struct Served<'a, F> {
    version: &'static Version,
    body: Vec<u8>,
    keep: &'a F,
}

impl<'a, F> Served<'a, F> {
    pub(super) fn new(version: &'static Version, keep: &'a F) -> Self {
        Self {
            version,
            body: Vec::new(),
            keep,
        }
    }
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

impl<F: Fn(&mut Fields) -> bool> BodyReader for Served<'_, F> {
    type Output = List<Box<RawValue>>;

    fn push(&mut self, bytes: &[u8]) -> Result<(), AttemptFailure> {
        hold(&mut self.body, bytes)
    }

    fn finish(self) -> Result<Self::Output, AttemptFailure> {
        let body: Body<'_> = serde_json::from_slice(&self.body).map_err(|error| broken(&error))?;
        if body.kind != format!("{}List", self.version.kind) {
            return Err(AttemptFailure::Broken(format!(
                "it is a {} and not a list",
                body.kind
            )));
        }
        let items = body
            .items
            .unwrap_or_default()
            .into_iter()
            .filter_map(|item| typed(self.version, item, self.keep).transpose())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| broken(&error))?;
        let first = items
            .first()
            .and_then(|item| identity(item.get().as_bytes()));
        Ok(List {
            first: first.map(|found| format!("{}/{}", found.namespace, found.name)),
            items,
            metadata: body.metadata,
            warnings: Vec::new(),
        })
    }
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
    let mut documents = Documents::new();
    documents
        .decode_json(text)
        .map_err(|error| failure(&error))?;
    Ok(documents.finish())
}

fn objects(items: Vec<Item>) -> impl Iterator<Item = Object> {
    items.into_iter().map(|item| item.object)
}

fn broken(error: &serde_json::Error) -> AttemptFailure {
    AttemptFailure::Broken(error.to_string())
}

/// Failure of a response that cannot be decoded, with or without a retry.
pub(in crate::cluster) fn failure(error: &DecodeError) -> AttemptFailure {
    match error {
        DecodeError::Status {
            code: Some(410), ..
        } => AttemptFailure::Expired,
        // A server that fails halfway through a 200 response appends a Status: the next attempt may succeed.
        DecodeError::Truncated { .. }
        | DecodeError::TrailingBytes { .. }
        | DecodeError::Syntax { .. }
        | DecodeError::Status { .. } => AttemptFailure::Broken(error.to_string()),
        DecodeError::Field { .. }
        | DecodeError::Version { .. }
        | DecodeError::NotAnObject { .. }
        | DecodeError::Foreign { .. }
        | DecodeError::ContentEncoding { .. }
        | DecodeError::UnexpectedKind { .. } => AttemptFailure::Unreadable(error.to_string()),
    }
}
