//! Making room for a pod: what is read, evicted, waited for, and removed again; everything that can be decided without a
//! cluster is in `decide::make_room`.
//!
//! | what | module |
//! |---|---|
//! | The pod, the pods that use devices which could serve it, and the plan | `prepare` |
//! | The stages until the pod is scheduled | `stages` |
//! | Removal of the rules, whatever happened | `removal` |

mod prepare;
mod removal;
mod stages;

pub(crate) use prepare::{Preparation, Prepared, RoomRequest};
pub(crate) use removal::remove_left;
pub(crate) use stages::{RoomOrder, until_scheduled};
