//! Could claims that lose their devices be placed again?
//!
//! What the scheduler's structured allocator would say, with the considered taints in place: for each
//! claim alone, with everybody else's allocations kept, and for all of them together as a bound. Where
//! something is not known (a class that is gone, an expression that fails, nodes that nobody has read)
//! the answer is that, never "no" and never "there is one".
//!
//! ```text
//! slices ─▶ pools of a node ─┐
//! claims ─▶ what is in use  ─┼▶ one claim alone ─▶ outlook ─▶ all of them together
//! classes ▶ which devices fit┘
//! ```
//!
//! | question | module |
//! |---|---|
//! | Which devices are there, tainted how, and what is known of them? | `scene` |
//! | What does an amount come to? | `quantity` |
//! | Which nodes does a selector mean? | `nodes` |
//! | Which pools does the allocator see on a node? | `pool` |
//! | Who holds what? | `usage` |
//! | Does a device fit class and expressions? | `fit` |
//! | How much of a shared device is taken? | `capacity` |
//! | Is enough left of what partitions share? | `counters` |
//! | Are the devices of a claim alike, or different, as it asks? | `constraint` |
//! | What exactly does a claim ask for on a node? | `demand` |
//! | Can one claim be placed on a node? | `search` |
//! | What becomes of every affected claim? | `office` |
//! | What is said of it? | [`outlook`] |
//! | What do claims have in common that ask for the same? | `group` |
//! | What is known, and how much of it? | [`sight`] |
//! | How many devices could serve a request? | `candidates` |
//! | How many claims can be placed together, at the most? | `together` |
//! | How much of the same class stays allocatable? | `available` |
//! | Which pools does the allocator pass over for now? | `unfinished` |
//! | Which claim waits, and is there a place for it? | `waiting` |
//! | What speaks against each device for it? | `survey` |
//! | What keeps it waiting? | `blame` |
//! | What is there for it, all in all? | [`mod@prospect`] |
//! | Who could get a device next? | [`mod@suitors`] |
//! | Whose is a taint that keeps a device back? | `owner` |
//! | Who else sits on the same hardware? | [`mod@siblings`] |
//! | What can nobody get although nobody holds it? | [`kept_back()`] |
//!
//! Upstream: `k8s.io/dynamic-resource-allocation/structured/internal/incubating`, which is the allocator
//! of 1.36 and 1.37 with their default feature gates.

mod available;
mod beyond;
mod blame;
mod candidates;
mod capacity;
mod constraint;
mod counters;
mod demand;
mod fit;
mod group;
mod kept_back;
mod nodes;
mod office;
pub mod outlook;
mod owner;
mod pool;
pub mod prospect;
mod quantity;
mod scene;
mod search;
pub mod siblings;
pub mod sight;
pub mod suitors;
mod survey;
mod together;
mod unfinished;
mod usage;
mod waiting;

#[cfg(test)]
mod tests;

pub use available::Available;
pub use beyond::Beyond;
pub use blame::Blame;
pub use kept_back::kept_back;
pub use office::replacement;
pub use outlook::{Alone, ClaimOutlook, Replacement, RequestOutlook};
pub use owner::TaintOwner;
pub use prospect::{Prospect, prospect};
pub use siblings::{Sibling, siblings, users_beside};
pub use sight::{Range, Sight, Unknown};
pub use suitors::{Suitor, suitors};
pub use survey::{ChoiceProspect, Exclusion};
pub use together::Together;
pub use unfinished::UnfinishedPool;
pub use waiting::{Waiting, is_placeable};
