//! Inputs of a preview from a live cluster, and no more.
//!
//! ```text
//! slices, claims, rules (side by side) ─▶ the claims that hold selected devices ─▶ their pods
//! ```

pub(crate) mod bodies;
pub(crate) mod devices;
pub(super) mod everything;
pub(crate) mod kinds;
pub(crate) mod lists;
mod nodes;
pub(crate) mod pods;
mod workloads;

pub(crate) use devices::read_devices_beside;
pub use devices::{
    EarlyInputs, ReadMore, read_devices, read_devices_and, read_for_preview,
    read_pods_and_disruption_inputs,
};
pub use everything::{Saved, SavedList, read_everything};
pub use kinds::ReadResult;
pub use kinds::read_attributes;
pub use kinds::read_names;
pub use kinds::read_optional;
pub use kinds::{eviction_events, rule_events};
pub use nodes::NodeDetail;
pub use nodes::node_of_pod;
pub use nodes::{PodQuery, PodQueryResult, find_pods, read_places};
pub use nodes::{node_health, read_nodes, slices_of_nodes};
pub use pods::read_pods;

pub use workloads::read_workloads;
