//! The rules of a live cluster: reading them as they are served, and changing them.
//!
//! Every change names the state that it was decided on and is sent once; one whose answer was lost is
//! resolved by reading the rule again.

mod identity;
mod object;
mod store;

pub use identity::user_name;
pub use object::{MANAGER, RuleDraft, RulePatch};
pub use store::{Rules, StoredRule, WriteMode};
