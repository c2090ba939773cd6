//! Which devices are meant?
//!
//! First what was typed, understood without a cluster; then what that is in what was looked at.
//!
//! | question | module |
//! |---|---|
//! | What was typed? | `typed` |
//! | What does it mean by itself? | `parse` |
//! | Which devices are that by what they are, and by who uses them? | [`picks`] |
//! | Which words are numbers of hardware? | `numbers` |
//! | Which taints are that, in what was looked at? | `taints` |
//! | What was probably meant where that is nothing? | `nothing`; is what was named there at all? [`mod@idle`] |
//! | Is a number of hardware that of several? | [`mod@ambiguous`] |
//! | May a pool or driver stand for its devices? | [`collapse`] |
//! | Which devices are shown? | [`mod@shown`] |
//! | Is there such a device? | `unknown` |
//! | Is it missing since its driver is away? | `away` |
//! | Is it every device? | [`wide`] |
//! | What was probably meant by a name that cannot be? | [`wrong`] |

pub mod ambiguous;
mod away;
pub mod collapse;
pub mod idle;
mod nothing;
mod numbers;
mod parse;
pub mod picks;
pub mod shown;
mod taints;
mod typed;
mod unknown;
pub mod wide;
pub mod wrong;

pub use ambiguous::Ambiguous;
pub use away::with_drivers_away;
pub use collapse::{Expansion, collapsed};
pub use idle::Idle;
pub use nothing::{no_such, no_such_node, refuse_empty_names, refuse_unknown_attributes};
pub use numbers::{noted_numbers, numbers};
pub use parse::{By, Choice, Purpose, hardware_among, rule_names};
pub use picks::{Picked, Picker, Picks};
pub use shown::Shown;
pub use typed::Typed;
pub use unknown::{NO_DEVICES, no_such_device, refuse_missing};
pub use wide::refuse_wide;
pub use wrong::wrong_name;
