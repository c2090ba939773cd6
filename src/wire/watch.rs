//! Watches: each change of a kind's objects as the server tells it, decoded while it arrives.
//!
//! ```text
//! protobuf   length (4 bytes, big-endian)  WatchEvent{ type=1  object=2{ raw=1 "k8s\0" Unknown } }  …
//! JSON       {"type": …, "object": …} newline  …
//! ```
//!
//! Of the bytes, at most one event is held. A frame that is cut off when the watch ends is dropped:
//! whoever resumes from the last complete event is told of it again.
//!
//! Upstream: `k8s.io/apimachinery/pkg/util/framer`, `pkg/watch`, and
//! `k8s.io/apiserver/pkg/endpoints/handlers/watch.go`.

use std::collections::BTreeSet;

use prost::Message;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::detail::Detail;
use super::document::Documents;
use super::error::DecodeError;
use super::field::malformed;
use super::object::{Converter, Object};
use super::protobuf::{MAGIC, Unknown, object, status};
use super::versions::Version;
use crate::model::Warning;

/// Larger events are not believed: the database behind the API takes a few megabytes at most.
const LARGEST: usize = 16 << 20;
const TOO_LARGE: &str =
    "the server sent a watch event of more than 16 MiB, the limit of this plugin";
/// The length of a frame's length.
const PREFIX: usize = 4;

/// What a watch tells, and up to which state of the list everything has been told by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// What has changed.
    pub change: Change,
    /// The state from which to resume after this event; opaque.
    pub resource_version: String,
}

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The object is there, and is so now.
    Present(Box<Object>),
    /// The object of this name, with its namespace where there is one, is gone or is of no interest
    /// any more.
    Absent(String),
    /// Nothing.
    Nothing,
}

/// How a watch is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEncoding {
    /// Frames with a length, of which as much is kept as the detail says.
    Protobuf(Detail),
    /// Lines of JSON, so that fields that this plugin does not know are noticed.
    Json,
}

/// Decodes a watch, as its bytes arrive.
#[derive(Debug)]
pub struct WatchDecoder {
    version: &'static Version,
    encoding: WatchEncoding,
    converter: Converter,
    /// Oddities of objects in JSON.
    told: BTreeSet<Warning>,
    buffer: Vec<u8>,
}

/// A frame, and what follows it.
type Cut<'a> = (&'a [u8], &'a [u8]);

/// `metav1.WatchEvent`.
#[derive(Clone, PartialEq, Message)]
struct Frame {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(message, optional, tag = "2")]
    object: Option<RawExtension>,
}

/// `runtime.RawExtension`.
#[derive(Clone, PartialEq, Message)]
struct RawExtension {
    #[prost(bytes = "vec", tag = "1")]
    raw: Vec<u8>,
}

/// An object, reduced to its name and its state.
#[derive(Clone, PartialEq, Message, Deserialize)]
struct Stated {
    #[prost(message, optional, tag = "1")]
    #[serde(default)]
    metadata: Option<StatedMeta>,
}

/// What every object says about itself.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StatedMeta {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    namespace: String,
    #[prost(string, tag = "6")]
    resource_version: String,
}

#[derive(Deserialize)]
struct Line<'a> {
    r#type: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

impl WatchDecoder {
    /// Expects the changes of objects at `version`.
    #[must_use]
    pub fn new(version: &'static Version, encoding: WatchEncoding) -> Self {
        Self {
            version,
            encoding,
            converter: Converter::default(),
            told: BTreeSet::new(),
            buffer: Vec::new(),
        }
    }

    /// Takes the next bytes and gives the events that they complete.
    ///
    /// # Errors
    ///
    /// If the bytes are no watch of this kind, hold an object that cannot be read, or the server's
    /// account of a failure: [`DecodeError::Status`] with code 410 when it no longer knows the state
    /// to resume from.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<WatchEvent>, DecodeError> {
        let mut looked_at = self.buffer.len();
        self.buffer.extend_from_slice(bytes);
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut rest = &buffer[..];
        let mut events = Vec::new();
        while let Some((frame, after)) = self.frame(rest, looked_at)? {
            if !frame.is_empty() {
                events.push(self.event(frame)?);
            }
            rest = after;
            looked_at = 0;
        }
        let done = buffer.len().saturating_sub(rest.len());
        buffer.drain(..done);
        self.buffer = buffer;
        Ok(events)
    }

    /// What was odd in the objects so far; the order does not depend on theirs.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.converter.warnings();
        warnings.extend(self.told.iter().cloned());
        warnings
    }

    /// The first frame of `input` and what follows it, or `None` while it is not complete. So much of it was
    /// looked at before, when it was not.
    fn frame<'a>(&self, input: &'a [u8], looked_at: usize) -> Result<Option<Cut<'a>>, DecodeError> {
        match self.encoding {
            WatchEncoding::Json => {
                // Only new bytes: rescanning a long event that arrives in many pieces would take quadratic time.
                let news = input.get(looked_at..).unwrap_or_default();
                let end = news
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .map(|end| looked_at.saturating_add(end));
                match end.and_then(|end| input.split_at_checked(end)) {
                    Some((line, rest)) => {
                        let rest = rest.strip_prefix(b"\n").unwrap_or(rest);
                        Ok(Some((line.trim_ascii(), rest)))
                    }
                    None if input.len() > LARGEST => Err(malformed(TOO_LARGE)),
                    None => Ok(None),
                }
            }
            WatchEncoding::Protobuf(_) => {
                let Some((prefix, rest)) = input.split_first_chunk::<PREFIX>() else {
                    return Ok(None);
                };
                let length = usize::try_from(u32::from_be_bytes(*prefix)).unwrap_or(usize::MAX);
                if length > LARGEST {
                    return Err(malformed(TOO_LARGE));
                }
                Ok(rest.split_at_checked(length))
            }
        }
    }

    fn event(&mut self, frame: &[u8]) -> Result<WatchEvent, DecodeError> {
        match self.encoding {
            WatchEncoding::Json => self.event_in_json(frame),
            WatchEncoding::Protobuf(detail) => self.event_in_protobuf(frame, detail),
        }
    }

    fn event_in_protobuf(
        &mut self,
        frame: &[u8],
        detail: Detail,
    ) -> Result<WatchEvent, DecodeError> {
        let frame = Frame::decode(frame).map_err(|error| malformed(&error.to_string()))?;
        let raw = frame.object.unwrap_or_default().raw;
        let body = raw.strip_prefix(MAGIC).ok_or_else(|| {
            malformed("an event of the watch is not in Kubernetes' protobuf encoding: it does not begin with k8s")
        })?;
        let unknown = Unknown::decode(body).map_err(|error| malformed(&error.to_string()))?;
        let found = unknown.type_meta.unwrap_or_default();
        // An event of type ERROR carries a Status in place of the object.
        if found.is_status() {
            return Err(status(&unknown.raw));
        }
        self.check_type(&found.api_version, &found.kind)?;
        if !unknown.content_encoding.is_empty() {
            return Err(DecodeError::ContentEncoding {
                kind: self.version.kind,
                encoding: unknown.content_encoding,
            });
        }
        let stated =
            Stated::decode(&unknown.raw[..]).map_err(|error| malformed(&error.to_string()))?;
        let version = self.version;
        let what = What::of(&frame.kind)?;
        let present = match what {
            What::Present => object(&mut self.converter, version, detail, &unknown.raw, || {
                format!("{} in a watch", version.kind)
            })?,
            What::Absent | What::Nothing => None,
        };
        Ok(stated.describe(what, present.map(|item| item.object)))
    }

    fn event_in_json(&mut self, frame: &[u8]) -> Result<WatchEvent, DecodeError> {
        let line: Line<'_> = serde_json::from_slice(frame).map_err(|error| not_json(&error))?;
        let text = line.object.get();
        if line.r#type == ERROR {
            // Returns the Status as an error, whose code tells an expired resourceVersion (410) from others.
            Documents::new().decode_json(text)?;
            return Err(malformed(
                "the server sent an error event without a Status object",
            ));
        }
        let what = What::of(&line.r#type)?;
        let stated: Stated = serde_json::from_str(text).map_err(|error| not_json(&error))?;
        let present = match what {
            What::Present => self.decoded(text)?,
            What::Absent | What::Nothing => None,
        };
        Ok(stated.describe(what, present))
    }

    fn decoded(&mut self, text: &str) -> Result<Option<Object>, DecodeError> {
        let mut documents = Documents::new();
        documents.decode_json(text)?;
        let mut decoded = documents.finish();
        for found in decoded.found.keys() {
            self.check_type(&found.api_version, &found.kind)?;
        }
        self.told.extend(decoded.warnings);
        Ok(decoded.items.pop().map(|item| item.object))
    }

    fn check_type(&self, api_version: &str, kind: &str) -> Result<(), DecodeError> {
        let version = self.version;
        if kind == version.kind.as_str() && api_version == version.api_version {
            return Ok(());
        }
        Err(DecodeError::UnexpectedKind {
            expected: format!("{} {}", version.api_version, version.kind),
            found: format!("{api_version} {kind}"),
        })
    }
}

/// What the server calls its account of a failure.
const ERROR: &str = "ERROR";

/// What an event says of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Present,
    Absent,
    Nothing,
}

impl What {
    fn of(kind: &str) -> Result<Self, DecodeError> {
        match kind {
            "ADDED" | "MODIFIED" => Ok(Self::Present),
            "DELETED" => Ok(Self::Absent),
            "BOOKMARK" => Ok(Self::Nothing),
            // A type of a newer server may mean anything, even that the object is gone.
            other => Err(malformed(&format!(
                "{other:?} is not an event type that this plugin knows"
            ))),
        }
    }
}

impl Stated {
    fn describe(self, what: What, present: Option<Object>) -> WatchEvent {
        let metadata = self.metadata.unwrap_or_default();
        let change = match (what, present) {
            (What::Nothing, _) => Change::Nothing,
            (What::Present, Some(object)) => Change::Present(Box::new(object)),
            // An object that conversion drops, such as a pod without claims, is removed: it may have been
            // kept before.
            (What::Present | What::Absent, _) => Change::Absent(metadata.full_name()),
        };
        WatchEvent {
            change,
            resource_version: metadata.resource_version,
        }
    }
}

impl StatedMeta {
    /// As [`Object::name`] spells it.
    fn full_name(&self) -> String {
        if self.namespace.is_empty() {
            self.name.clone()
        } else {
            format!("{}/{}", self.namespace, self.name)
        }
    }
}

fn not_json(error: &serde_json::Error) -> DecodeError {
    DecodeError::Syntax {
        format: "JSON",
        problem: error.to_string(),
    }
}
