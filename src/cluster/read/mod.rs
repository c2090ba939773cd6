//! What a preview needs from a live cluster, and no more.
//!
//! ```text
//! slices, claims, rules (side by side) ─▶ the claims that hold selected devices ─▶ their pods
//! ```

mod above;
mod attributes;
pub(in crate::cluster) mod bodies;
mod devices;
mod events;
mod everything;
mod kinds;
pub(in crate::cluster) mod list;
pub(in crate::cluster) mod lists;
mod named;
mod names;
mod nodes;
mod optional;
mod places;
pub(in crate::cluster) mod pods;
mod remembered;
mod stakes;
mod told;
pub(in crate::cluster) mod wanted;
mod workloads;

pub use attributes::read_attributes;
pub use devices::{read_devices, read_devices_with_objects, read_for_preview};
pub use events::{eviction_events, rule_events};
pub use everything::{Saved, SavedList, read_everything};
pub use named::{PodsFound, PodsMeant, find_pods, read_places};
pub use names::read_names;
pub use nodes::{node_health, read_nodes, slices_of_nodes};
pub use optional::read_optional;
pub use pods::read_pods;
pub use remembered::read_remembered;
pub use stakes::read_pods_and_stakes;
pub use told::Told;
