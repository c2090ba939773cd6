//! Why is a pod evicted, or not?
//!
//! The whole chain of one pod, link by link, each judged by what judges it in a preview: nothing is
//! decided a second time here. Which single change would alter the verdict is found by making the change
//! in what is around the pod, and asking again.
//!
//! ```text
//! pod ─▶ entry ─▶ claim ─▶ reservation      ─┐
//!                   └▶ device ─▶ taint ─▶ toleration ─┴▶ fate ─▶ changes
//! ```
//!
//! | question | module |
//! |---|---|
//! | What of a cluster is around a pod? | [`mod@neighbourhood`] |
//! | Which taints are asked about, beside those that are there? | [`inquiry`] |
//! | What leads from the pod to a taint, and what stands in between? | [`chain`] |
//! | What becomes of it? | [`fate`] |
//! | What does it wait for that has no devices yet? | [`pending`] |
//! | Which change of one thing would alter that, and which several where none does? | [`change`] |

pub mod chain;
pub mod change;
pub mod fate;
pub mod inquiry;
pub mod neighbourhood;
pub mod pending;

pub use chain::{Chain, HeldDevice, Link, Place, Publication, Reservation, Weighed, on_device};
pub use change::{Alteration, Change, alterations, together};
pub use fate::Fate;
pub use inquiry::Inquiry;
pub use neighbourhood::{claims_around, neighbourhood};
pub use pending::Wanted;
