//! Selection of devices from what was typed.
//!
//! First what was typed, understood without a cluster; then the devices that it selects in what was read.
//!
//! | what | module |
//! |---|---|
//! | Device arguments and flags, understood without a cluster | `arguments` |
//! | Devices of hardware IDs, `--node` and `--where` in what was read | `resolve` |
//! | The taints a command proposes, from its arguments or by default, and warnings about them | `taints` |
//! | Names that nothing has, with the nearest ones of their kind | `not_found` |
//! | Devices of nodes and rules that are not known, because their driver does not publish them | `unpublished` |

mod arguments;
mod not_found;
mod resolve;

pub use arguments::{
    Choice, ChoiceBasis, DeviceArguments, DeviceFilterFlags, Purpose, other_type, wrong_name,
    wrong_name_or_taint,
};
pub use not_found::{
    NO_DEVICES, no_device, no_node, not_found, refuse_missing, refuse_unknown_columns,
    refuse_unknown_on_node, refuse_unmatched, rules_without_published_devices, unknown_devices,
    unknown_on_node,
};
pub use resolve::{DeviceFilter, ResolvedChoice, assumed_taint, devices_with, refuse_wide};
