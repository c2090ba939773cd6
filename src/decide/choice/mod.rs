//! Selection of devices from what was typed.
//!
//! First what was typed, understood without a cluster; then what that is in what was looked at.
//!
//! | what | module |
//! |---|---|
//! | The arguments and flags that name devices | `device_arguments` |
//! | Parsing of device arguments, without a cluster | `parse` |
//! | Devices selected by what they are: `--where`, `--node`, hardware IDs | [`device_filters`] |
//! | Hardware numbers among the arguments, resolved in a cluster | `numbers` |
//! | The taints a command proposes, from its arguments or by default, and warnings about them | `taints` |
//! | Explanations and suggestions when no device matches | `no_match`; named nodes without devices: [`mod@idle`] |
//! | Hardware numbers that match more than one device | [`mod@ambiguous`] |
//! | Devices to be listed, from arguments | [`mod@shown`] |
//! | Devices that do not exist, with similar names | `unknown` |
//! | Names that match nothing because their driver publishes no devices | `unpublished` |
//! | Refusal of selectors that match every device | [`all_devices`] |
//! | Suggestions for names that are malformed | [`misspelt_name`] |

pub mod all_devices;
pub mod ambiguous;
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
pub use ambiguous::{AmbiguousNumber, NumberUse, SharedNumber};
pub use device_arguments::DeviceArguments;
pub use device_filters::{DeviceFilter, DeviceFilterFlags, FilterResult};
pub use idle::IdleNode;
pub use misspelt_name::wrong_name;
pub use no_match::{no_such, no_such_node, refuse_empty_names, refuse_unknown_attributes};
pub use numbers::{noted_numbers, numbers};
pub use parse::{Choice, ChoiceBasis, Purpose, ResolvedChoice, hardware_among, incomplete_taint};
pub use shown::ShownDevices;
pub use unknown::{NO_DEVICES, no_such_device, refuse_missing, refuse_unmatched};
pub use unpublished::{
    refuse_unknown_on_node, rules_without_published_devices, unknown_devices, unknown_on_node,
};
