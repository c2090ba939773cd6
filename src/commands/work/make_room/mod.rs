//! Making room for a pod: what is read, evicted, waited for, and removed again. Decisions are in `decide::make_room`.

mod prepare;
mod run;

pub(crate) use prepare::{Preparation, Prepared, RoomRequest};
pub(crate) use run::{RoomEvictions, remove_left, until_scheduled};
