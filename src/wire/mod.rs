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
mod budget;
mod capacity;
pub mod checkpoint;
mod claim;
mod claim_status;
mod class;
mod cluster_object;
mod container;
mod context;
mod counter;
mod decode;
mod detail;
mod document;
mod error;
mod error_path;
mod event;
mod field;
mod generated_kinds;
mod interned_specs;
mod interner;
mod manager;
mod message;
mod meta;
mod node;
mod node_selector;
mod nullable;
mod object;
mod parse_context;
mod pod;
pub mod podresources;
mod portions;
mod properties;
mod protobuf;
mod quantity;
mod repeat_detector;
mod request;
mod rest;
mod rollout;
mod rule;
mod selector;
mod shape;
mod slice;
mod slice_bare;
mod status;
mod taint;
mod template;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod time;
mod unambiguous;
mod versions;
mod walk;
mod watch;
pub mod weight;
mod workload;
mod yaml;

pub use answer::{Identity, ServerStatus, identity, server_status};
pub use detail::Detail;
pub use document::{Decoded, Documents};
pub use error::DecodeError;
pub use meta::{ListMeta, ObjectMeta, OwnerReference};
pub use object::{Fact, Item, Object};
pub use parse_context::{ListHeader, TypeMeta};
pub use protobuf::{ListEnd, ProtobufList, decode_protobuf_object};
pub use quantity::Quantity;
pub use selector::DeviceTaintSelector;
pub use taint::{DeviceTaint, DeviceToleration};
pub use time::Time;
pub use versions::{VERSIONS, Version, versions_of};
pub use watch::{Change, WatchDecoder, WatchEvent};
