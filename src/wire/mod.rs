//! From bytes to facts: the Kubernetes API as it is written down.
//!
//! Takes JSON, YAML or protobuf and gives [`model`](crate::model) values. One struct per kind
//! carries both encodings, with only the fields that are used; `versions` is the one table of API
//! versions. Sends no requests and reads no clock.
//!
//! ```text
//! protobuf list, as it arrives ─▶ ProtobufList ─┐
//! JSON or YAML text ────────────▶ Documents ────┴▶ Item (a fact and its resourceVersion)
//! ```
//!
//! Nothing is left out silently: one object that cannot be read is an error for all of them, and
//! values from a newer API are kept, with warnings.

mod answer;
mod attribute;
mod claim;
mod document;
mod error;
mod generated_kinds;
mod message;
mod meta;
mod node;
mod object;
mod pod;
pub mod podresources;
mod portions;
mod properties;
mod protobuf;
mod rule;
mod shape;
mod slice;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod time;
mod unambiguous;
mod versions;
mod walk;
mod watch;
mod workload;
mod yaml;

pub use answer::{Identity, ServerStatus, identity, server_status};
pub use document::{Decoded, Documents};
pub use document::{ListHeader, TypeMeta};
pub use error::DecodeError;
pub use meta::ListMeta;
pub use object::{Fact, Item, Object};
pub use protobuf::{ListEnd, ProtobufList, decode_protobuf_object};
pub use versions::Detail;
pub use versions::{VERSIONS, Version, versions_of};
pub use watch::{Change, WatchDecoder, WatchEvent};
