//! Changes of objects in a live cluster.
//!
//! A change names the state that it was decided on and is sent once. One whose answer was lost is
//! resolved by reading the object again. When another client was first, the caller decides anew on what
//! is there then, as often as one budget of tries and time allows: see [`Objects::change`].

mod access;
mod answer;
mod budget;
mod contain;
mod eviction;
mod identity;
mod make;
mod objects;
mod removal;
mod restart;
mod review;
mod run;
mod stored;
mod trial;

pub use access::{AccessQuery, is_allowed};
pub use eviction::{EvictionAnswer, delete_pod, evict};
pub use identity::user_name;
pub use make::{ChangeDoubt, ChangeResult, ConflictAction, ObjectChange, WriteMode};
pub use objects::{Listed, Objects, preferred_version};
pub use removal::Removal;
pub use restart::{RestartAnswer, restart};
pub use run::run_uid;
pub use stored::{Known, ObjectVersion, Stored, Untyped};
pub use trial::TrialResult;
