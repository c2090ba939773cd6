//! What a preview needs from a live cluster, and no more.
//!
//! ```text
//! slices, claims, rules (side by side) ─▶ the claims that hold selected devices ─▶ their pods
//! ```

mod devices;
mod events;
mod everything;
pub(in crate::cluster) mod lists;
mod nodes;
mod pods;

pub use devices::{read_devices, read_for_preview};
pub use events::{ObjectEvent, rule_events};
pub use everything::{Saved, SavedList, read_everything};
pub use nodes::node_health;
pub use pods::read_pods;
