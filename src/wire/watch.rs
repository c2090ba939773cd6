//! Watches: each change of a kind's objects, decoded while it arrives.
//!
//! ```text
//! protobuf   length (4 bytes, big-endian)  WatchEvent{ type=1  object=2{ raw=1 "k8s\0" Unknown } }  …
//! JSON       {"type": …, "object": …} newline  …
//! ```
//!
//! Of the bytes, at most one event is held. A frame that is cut off when the watch ends is dropped:
//! a watch that resumes from the last complete event receives it again.
//!
//! Upstream: `k8s.io/apimachinery/pkg/util/framer`, `pkg/watch`, and
//! `k8s.io/apiserver/pkg/endpoints/handlers/watch.go`.

use prost::Message;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::answer::{identity, server_status};
use super::document::Decoded;
use super::error::DecodeError;
use super::message::malformed;
use super::object::Object;
use super::protobuf::decode_protobuf_object;
use super::versions::{Detail, Version};
use crate::model::Encoding;

/// Larger events are not believed: the database behind the API takes a few megabytes at most.
const LARGEST: usize = 16 << 20;
const TOO_LARGE: &str =
    "the server sent a watch event of more than 16 MiB, the limit of this plugin";
/// The length of a frame's length.
const PREFIX: usize = 4;

/// Event of a watch, and the version of the list up to which all events have been sent by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// Change.
    pub change: Change,
    /// The state from which to resume after this event; opaque.
    pub resource_version: String,
}

/// Change of an object.
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

/// Decodes a watch, as its bytes arrive: in JSON, so that fields that this plugin does not know are noticed, or in
/// protobuf, of which as much is kept as the detail says.
#[derive(Debug)]
pub struct WatchDecoder {
    version: &'static Version,
    detail: Detail,
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

#[derive(Deserialize)]
struct Line<'a> {
    r#type: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

impl WatchDecoder {
    /// Expects the changes of objects at `version`.
    pub fn new(version: &'static Version, detail: Detail) -> Self {
        Self {
            version,
            detail,
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

    /// The first frame of `input` and what follows it, or `None` while it is not complete. So much of it was
    /// looked at before, when it was not.
    fn frame<'a>(&self, input: &'a [u8], looked_at: usize) -> Result<Option<Cut<'a>>, DecodeError> {
        match self.version.kind.encoding() {
            Encoding::Json => {
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
            Encoding::Protobuf => {
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

    fn event(&self, frame: &[u8]) -> Result<WatchEvent, DecodeError> {
        let (kind, body) = match self.version.kind.encoding() {
            Encoding::Protobuf => {
                let frame = Frame::decode(frame).map_err(|error| malformed(&error.to_string()))?;
                (frame.kind, frame.object.unwrap_or_default().raw)
            }
            Encoding::Json => {
                let line = serde_json::from_slice(frame);
                let line: Line<'_> = line.map_err(|error| DecodeError::syntax("JSON", error))?;
                (line.r#type, line.object.get().as_bytes().to_vec())
            }
        };
        // An event of type ERROR carries a Status in place of the object, whose code tells an expired state (410).
        if let Some(status) = server_status(&body) {
            return Err(DecodeError::Status(Box::new(status)));
        }
        let found = identity(&body);
        let found = found.ok_or_else(|| malformed("an event of the watch holds no object"))?;
        let version = self.version;
        if found.kind != version.kind.as_str() || found.api_version != version.api_version {
            return Err(DecodeError::Unusable(format!(
                "expected {} {}, found {} {}",
                version.api_version, version.kind, found.api_version, found.kind
            )));
        }
        let present = match kind.as_str() {
            "ADDED" | "MODIFIED" => self.object(&body)?,
            "DELETED" => None,
            "BOOKMARK" => {
                return Ok(WatchEvent {
                    change: Change::Nothing,
                    resource_version: found.resource_version,
                });
            }
            // A type of a newer server may mean anything, even that the object is gone.
            other => return Err(malformed(&format!("{other:?} is an unknown event type"))),
        };
        let change = match present {
            Some(object) => Change::Present(Box::new(object)),
            // An object that conversion drops, such as a pod without claims, is removed: it may have been kept before.
            None if found.namespace.is_empty() => Change::Absent(found.name),
            None => Change::Absent(format!("{}/{}", found.namespace, found.name)),
        };
        Ok(WatchEvent {
            change,
            resource_version: found.resource_version,
        })
    }

    fn object(&self, body: &[u8]) -> Result<Option<Object>, DecodeError> {
        let item = match self.version.kind.encoding() {
            Encoding::Protobuf => decode_protobuf_object(body, self.detail)?.0,
            Encoding::Json => {
                let decoded = Decoded::of_json(&String::from_utf8_lossy(body))?;
                decoded.items.into_iter().next_back()
            }
        };
        Ok(item.map(|item| item.object))
    }
}
