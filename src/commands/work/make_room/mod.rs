//! Making room for a pod: reads, evictions, waits, and the removal of rules. Decisions are in `decide::make_room`.

mod prepare;
mod run;

pub(crate) use prepare::{Preparation, Prepared, RoomRequest};
pub(crate) use run::{RoomEvictions, remove_left, until_scheduled};
