//! Which devices are meant?
//!
//! First what was typed, understood without a cluster; then what that is in what was looked at.
//!
//! | question | module |
//! |---|---|
//! | What was typed? | `typed` |
//! | What does it mean by itself? | `parse` |
//! | Which devices are that by what they are, and by who uses them? | [`filters`] |
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

pub mod all_devices;
pub mod ambiguous;
pub mod collapse;
mod device_arguments;
pub mod device_filters;
pub mod idle;
pub mod misspelt_name;
mod no_match;
mod numbers;
mod parse;
pub mod shown;
mod taints;
mod unknown;
mod unpublished;

pub use all_devices::refuse_wide;
pub use ambiguous::AmbiguousNumber;
pub use collapse::{Expansion, collapsed};
pub use device_arguments::DeviceArguments;
pub use device_filters::{DeviceFilter, DeviceFilterFlags, FilterResult};
pub use idle::IdleName;
pub use misspelt_name::wrong_name;
pub use no_match::{no_such, no_such_node, refuse_empty_names, refuse_unknown_attributes};
pub use numbers::{noted_numbers, numbers};
pub use parse::{Choice, ChoiceBasis, Purpose, hardware_among, rule_names};
pub use shown::ShownDevices;
pub use unknown::{NO_DEVICES, no_such_device, refuse_missing};
pub use unpublished::with_drivers_away;
