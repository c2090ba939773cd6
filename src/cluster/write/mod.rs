//! Changes of objects in a live cluster.
//!
//! A change names the state that it was decided on and is sent once. One whose answer was lost is
//! resolved by reading the object again. When another client was first, the caller decides anew on what
//! is there then, as often as one budget of tries and time allows: see [`Objects::change`].

mod eviction;
mod make;
mod objects;
mod removal;
mod review;

pub use eviction::restart;
pub use eviction::{WriteAnswer, delete_pod, evict};
pub use make::{ChangeDoubt, ChangeResult, ConflictAction, ObjectChange, WriteMode};
pub use objects::{Known, ObjectVersion, Stored, Untyped};
pub use objects::{Listed, Objects, preferred_version};
pub use objects::{Rules, StoredRule, read_devices_with_objects};
pub use removal::Removal;
pub use review::TrialResult;
pub use review::run_uid;
pub use review::user_name;
pub use review::{AccessQuery, is_allowed};
