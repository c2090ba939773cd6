//! Lists in protobuf, decoded while they arrive.
//!
//! ```text
//! "k8s\0"  Unknown{ typeMeta=1  raw=2 ┐  contentEncoding=3  contentType=4 }
//!                                     └─ List{ metadata=1  items=2  items=2  … }
//! ```
//!
//! Of the bytes, at most one object is held. Upstream:
//! `k8s.io/apimachinery/pkg/runtime/serializer/protobuf`.

use std::sync::Arc;

use prost::Message;

use super::answer::ServerStatus;
use super::error::DecodeError;
use super::message::{Field, RepeatDetector, Value, complete, malformed, read_field};
use super::meta::ListMeta;
use super::object::{Converter, Item};
use super::properties::{properties_of, spec_of};
use super::shape::{WireObject, bare};
use super::versions::{Detail, Lookup, Version, lookup};
use crate::model::Warning;

/// First bytes of every protobuf body of Kubernetes.
pub(super) const MAGIC: &[u8] = b"k8s\0";
/// Larger objects are not believed: the database behind the API takes a few megabytes at most.
const LARGEST_FIELD: u64 = 16 << 20;
/// Bytes that are taken from a large chunk at a time, so that it is not held twice.
const PORTION: usize = 64 << 10;

/// `runtime.TypeMeta`, whose numbers differ from those in `metav1`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct UnknownType {
    #[prost(string, tag = "1")]
    pub(super) api_version: String,
    #[prost(string, tag = "2")]
    pub(super) kind: String,
}

impl UnknownType {
    pub(super) fn is_status(&self) -> bool {
        self.api_version == "v1" && self.kind == "Status"
    }
}

/// `runtime.Unknown`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Unknown {
    #[prost(message, optional, tag = "1")]
    pub(super) type_meta: Option<UnknownType>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) raw: Vec<u8>,
    #[prost(string, tag = "3")]
    pub(super) content_encoding: String,
}

/// Position in the body of the next byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Magic,
    /// Between the fields of the envelope.
    Envelope,
    /// Between the fields of the list, with its remaining bytes.
    List(u64),
    /// In the middle of what the server sent in place of a list.
    Status(u64),
}

/// Result of parsing the buffered bytes.
enum Step {
    /// Nothing yet: there are too few.
    Starved,
    /// Consumed bytes, which may have completed a fact.
    Done(usize, Option<Box<Item>>),
}

/// Decodes a list in protobuf, as its bytes arrive.
#[derive(Debug)]
pub struct ProtobufList {
    version: &'static Version,
    detail: Detail,
    converter: Converter,
    state: State,
    buffer: Vec<u8>,
    type_seen: bool,
    /// The server sends its account of a failure in place of the list.
    status_announced: bool,
    list_seen: bool,
    objects: usize,
    circle: RepeatDetector,
    metadata: ListMeta,
}

/// Metadata of a list, and warnings about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListEnd {
    /// Its state, and where the next page starts.
    pub metadata: ListMeta,
    /// Number of objects, including those that are of no interest.
    pub objects: usize,
    /// Warnings; their order does not depend on that of the objects.
    pub warnings: Vec<Warning>,
}

impl ProtobufList {
    /// Expects a list of objects at `version`, of which it keeps as much as `detail` says.
    pub fn new(version: &'static Version, detail: Detail) -> Self {
        Self {
            version,
            detail,
            converter: Converter::default(),
            state: State::Magic,
            buffer: Vec::new(),
            type_seen: false,
            status_announced: false,
            list_seen: false,
            objects: 0,
            circle: RepeatDetector::default(),
            metadata: ListMeta::default(),
        }
    }

    /// Takes the next bytes and gives the facts that they complete, without objects that are of no
    /// interest.
    ///
    /// # Errors
    ///
    /// If the bytes are no such list, or hold an object that cannot be read, or a failure of the
    /// server.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Item>, DecodeError> {
        let mut items = Vec::new();
        for portion in bytes.chunks(PORTION) {
            self.buffer.extend_from_slice(portion);
            // Taken out because `step` needs `&mut self` while it borrows the bytes.
            let buffer = std::mem::take(&mut self.buffer);
            let mut used = 0;
            while let Step::Done(length, item) = self.step(&buffer[used..])? {
                used = used.saturating_add(length);
                items.extend(item.map(|item| *item));
            }
            self.buffer = buffer;
            self.buffer.drain(..used);
        }
        Ok(items)
    }

    /// Ends the list.
    ///
    /// # Errors
    ///
    /// If the bytes ended too early.
    pub fn finish(self) -> Result<ListEnd, DecodeError> {
        let complete = matches!(self.state, State::Envelope | State::List(0));
        if !complete || !self.buffer.is_empty() || !self.list_seen || !self.type_seen {
            return Err(DecodeError::Broken(format!(
                "the {} list ends too early (complete objects: {})",
                self.version.kind, self.objects
            )));
        }
        Ok(ListEnd {
            metadata: self.metadata,
            objects: self.objects,
            warnings: self.converter.warnings(),
        })
    }

    fn step(&mut self, input: &[u8]) -> Result<Step, DecodeError> {
        match self.state {
            State::Magic => self.magic(input),
            // After the last byte of the list the envelope continues: contentEncoding and contentType may follow.
            State::Envelope | State::List(0) => self.envelope(input),
            State::List(left) => self.list(input, left),
            State::Status(length) => match complete(input, 0, length) {
                None => Ok(Step::Starved),
                Some(raw) => Err(status(raw)),
            },
        }
    }

    fn magic(&mut self, input: &[u8]) -> Result<Step, DecodeError> {
        let length = input.len().min(MAGIC.len());
        if input[..length] != MAGIC[..length] {
            return Err(malformed(
                "it is not in Kubernetes' protobuf encoding: it does not begin with k8s",
            ));
        }
        if length < MAGIC.len() {
            return Ok(Step::Starved);
        }
        self.state = State::Envelope;
        Ok(Step::Done(length, None))
    }

    fn envelope(&mut self, input: &[u8]) -> Result<Step, DecodeError> {
        let Some(field) = self.after_list(input, read_field(input))? else {
            return Ok(Step::Starved);
        };
        let Value::Length(length) = field.value else {
            return Err(self.trailing());
        };
        if field.number == 2 {
            return self.begin_list(field.header, length);
        }
        if length > LARGEST_FIELD {
            return Err(malformed(
                "a field of the response, other than the list of objects, has more than 16 MiB",
            ));
        }
        let Some(bytes) = complete(input, field.header, length) else {
            return Ok(Step::Starved);
        };
        match field.number {
            1 if !self.list_seen => self.check_type(bytes)?,
            3 => check_encoding(self.version, bytes)?,
            4 => {}
            _ => return Err(self.trailing()),
        }
        Ok(Step::Done(field.header.saturating_add(bytes.len()), None))
    }

    /// Passes `field` on, or tells what else follows a complete list.
    fn after_list(
        &self,
        input: &[u8],
        field: Result<Option<Field>, DecodeError>,
    ) -> Result<Option<Field>, DecodeError> {
        if !self.list_seen {
            return field;
        }
        // Neither another body nor JSON begins like one of the two fields that may follow.
        match input.first() {
            None => Ok(None),
            Some(0x1a | 0x22) => field,
            Some(_) => Err(self.trailing()),
        }
    }

    fn begin_list(&mut self, header: usize, length: u64) -> Result<Step, DecodeError> {
        if !self.type_seen {
            return Err(malformed("apiVersion and kind are missing before the list"));
        }
        if self.list_seen {
            return Err(self.trailing());
        }
        self.list_seen = true;
        self.state = if self.status_announced {
            // Unlike a list, a Status is buffered whole, so its length has to be bounded.
            State::Status(length.min(LARGEST_FIELD))
        } else {
            State::List(length)
        };
        Ok(Step::Done(header, None))
    }

    fn check_type(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let found = UnknownType::decode(bytes).map_err(|error| malformed(&error.to_string()))?;
        let expected = format!("{}List", self.version.kind);
        if found.is_status() {
            self.status_announced = true;
        } else if found.kind != expected || found.api_version != self.version.api_version {
            return Err(DecodeError::Unusable(format!(
                "expected {} {expected}, found {} {}",
                self.version.api_version, found.api_version, found.kind
            )));
        }
        self.type_seen = true;
        Ok(())
    }

    fn list(&mut self, input: &[u8], left: u64) -> Result<Step, DecodeError> {
        let Some(field) = read_field(input)? else {
            return Ok(Step::Starved);
        };
        let length = match field.value {
            Value::Inline => 0,
            Value::Length(length) => length,
        };
        let whole = length.saturating_add(field.header as u64);
        if whole > left || length > LARGEST_FIELD {
            return Err(malformed(
                "the length of an object exceeds the length of its list",
            ));
        }
        let Some(bytes) = complete(input, field.header, length) else {
            return Ok(Step::Starved);
        };
        self.state = State::List(left.saturating_sub(whole));
        let item = match (field.number, field.value) {
            (1, Value::Length(_)) => self.list_metadata(bytes)?,
            (2, Value::Length(_)) => self.object(bytes)?,
            // Fields that a newer server has added are skipped, as protobuf requires.
            _ => None,
        };
        let length = field.header.saturating_add(bytes.len());
        Ok(Step::Done(length, item.map(Box::new)))
    }

    fn list_metadata(&mut self, bytes: &[u8]) -> Result<Option<Item>, DecodeError> {
        let metadata = ListMeta::decode(bytes);
        self.metadata = metadata.map_err(|error| malformed(&error.to_string()))?;
        Ok(None)
    }

    fn object(&mut self, bytes: &[u8]) -> Result<Option<Item>, DecodeError> {
        let index = self.objects;
        self.objects = self.objects.saturating_add(1);
        if self.circle.goes_on(bytes) {
            return Err(malformed("it does not end: the same objects are repeated"));
        }
        let (version, detail) = (self.version, self.detail);
        object(&mut self.converter, version, detail, bytes, || {
            format!("{} at items[{index}]", version.kind)
        })
    }

    fn trailing(&self) -> DecodeError {
        let kind = self.version.kind;
        DecodeError::Broken(format!("the {kind} list is followed by other data"))
    }
}

/// Decodes a single object of any needed kind and version, with this detail.
///
/// Gives no fact for a pod that uses no claim.
///
/// # Errors
///
/// If the bytes are no such object, or a failure of the server.
pub fn decode_protobuf_object(
    bytes: &[u8],
    detail: Detail,
) -> Result<(Option<Item>, Vec<Warning>), DecodeError> {
    let body = bytes.strip_prefix(MAGIC).ok_or_else(|| {
        malformed("it is not in Kubernetes' protobuf encoding: it does not begin with k8s")
    })?;
    let unknown = Unknown::decode(body).map_err(|error| malformed(&error.to_string()))?;
    let found = unknown.type_meta.unwrap_or_default();
    if found.is_status() {
        return Err(status(&unknown.raw));
    }
    let version = match lookup(&found.api_version, &found.kind) {
        Lookup::Read(version) => version,
        Lookup::UnknownVersion(_) | Lookup::NotRead => {
            return Err(DecodeError::Unusable(format!(
                "{} {} is not a kind and version that this command uses",
                found.api_version, found.kind
            )));
        }
    };
    check_encoding(version, unknown.content_encoding.as_bytes())?;
    let mut converter = Converter::default();
    let item = object(&mut converter, version, detail, &unknown.raw, || {
        version.kind.to_string()
    })?;
    Ok((item, converter.warnings()))
}

/// Objects may be compressed or encrypted in a way that was not asked for.
fn check_encoding(version: &Version, encoding: &[u8]) -> Result<(), DecodeError> {
    if encoding.is_empty() {
        return Ok(());
    }
    let (kind, encoding) = (version.kind, String::from_utf8_lossy(encoding));
    Err(DecodeError::Unusable(format!(
        "{kind} has the content encoding `{encoding}`, which was not requested"
    )))
}

/// Decodes one object and turns it into a fact.
pub(super) fn object(
    converter: &mut Converter,
    version: &Version,
    detail: Detail,
    bytes: &[u8],
    position: impl Fn() -> String,
) -> Result<Option<Item>, DecodeError> {
    if let Some(properties) = properties_of(version, detail, bytes) {
        // Attributes and capacities are most of a slice and stay undecoded until they are asked for.
        let slice = bare(bytes)
            .map_err(|error| undecodable(version, bytes, &error, &position))?
            .convert(converter, position)?;
        return Ok(slice.map(|slice| slice.having(properties)));
    }
    let Some(spec) = spec_of(version, detail, bytes) else {
        return fact(converter, version, detail, bytes, position);
    };
    // The same bytes were decoded before: only the rest of the claim is left to decode.
    if let Some(known) = converter.specs.get(spec).cloned() {
        let claim = fact(converter, version, Detail::Names, bytes, position)?;
        return Ok(claim.map(|claim| claim.asking_for(known)));
    }
    let claim = fact(converter, version, detail, bytes, position)?;
    if let Some(known) = claim.as_ref().and_then(Item::asks_for) {
        converter.specs.insert(spec.into(), Arc::clone(known));
    }
    Ok(claim)
}

fn fact(
    converter: &mut Converter,
    version: &Version,
    detail: Detail,
    bytes: &[u8],
    position: impl Fn() -> String,
) -> Result<Option<Item>, DecodeError> {
    WireObject::decode(version, detail, bytes)
        .map_err(|error| undecodable(version, bytes, &error, &position))?
        .convert(converter, position)
}

/// An object, reduced to its name.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Named {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<NamedMeta>,
}

/// The name alone, so that nothing else of the metadata can be in the way.
#[derive(Clone, PartialEq, prost::Message, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NamedMeta {
    #[prost(string, optional, tag = "1")]
    pub(super) name: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub(super) namespace: Option<String>,
    #[prost(string, optional, tag = "6")]
    pub(super) resource_version: Option<String>,
}

/// The error for an object that is no protobuf, with its name as far as that can be read.
fn undecodable(
    version: &Version,
    bytes: &[u8],
    error: &str,
    position: &impl Fn() -> String,
) -> DecodeError {
    let metadata = Named::decode(bytes).ok().and_then(|named| named.metadata);
    let object = metadata.map_or_else(position, |metadata| match metadata.namespace() {
        "" => format!("{} {}", version.kind, metadata.name()),
        namespace => format!("{} {namespace}/{}", version.kind, metadata.name()),
    });
    // prost puts the path before the problem: "…: Pod.spec: PodSpec.priority: invalid wire type".
    let text = error
        .strip_prefix("failed to decode Protobuf message: ")
        .unwrap_or(error);
    let (field, problem) = text.rsplit_once(": ").unwrap_or(("protobuf", text));
    DecodeError::Field {
        object,
        field: field.to_owned(),
        problem: problem.to_owned(),
    }
}

/// The failure that the server reports.
pub(super) fn status(raw: &[u8]) -> DecodeError {
    match ServerStatus::decode(raw) {
        Ok(status) => DecodeError::Status(Box::new(status)),
        Err(error) => malformed(&error.to_string()),
    }
}
