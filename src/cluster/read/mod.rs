//! Inputs of a preview from a live cluster, and no more.
//!
//! ```text
//! slices, claims, rules (side by side) ─▶ the claims that hold selected devices ─▶ their pods
//! ```

mod attributes;
pub(in crate::cluster) mod bodies;
pub(in crate::cluster) mod claim_consumers;
pub(in crate::cluster) mod devices;
mod disruption_inputs;
mod events;
pub(super) mod everything;
pub(in crate::cluster) mod kinds;
pub(in crate::cluster) mod list;
pub(in crate::cluster) mod lists;
mod named;
mod names;
mod nodes;
mod optional;
mod owner_lists;
mod owners;
mod placement_inputs;
pub(in crate::cluster) mod pods;
mod read_result;
mod workloads;

pub use attributes::read_attributes;
pub(in crate::cluster) use devices::read_devices_beside;
pub use devices::{ReadMore, read_devices, read_devices_and, read_for_preview};
pub use disruption_inputs::{EarlyInputs, read_pods_and_disruption_inputs};
pub use events::{eviction_events, rule_events};
pub use everything::{Saved, SavedList, read_everything};
pub use named::{PodQuery, PodQueryResult, find_pods, read_places};
pub use names::read_names;
pub use nodes::{node_health, read_nodes, slices_of_nodes};
pub use optional::read_optional;
pub use placement_inputs::NodeDetail;
pub use pods::read_pods;
pub use read_result::ReadResult;

pub use workloads::read_workloads;
