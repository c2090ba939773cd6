//! Selection of devices from what was typed.
//!
//! First what was typed, understood without a cluster; then the devices that it selects in what was read.
//!
//! | what | module |
//! |---|---|
//! | Device arguments and flags, understood without a cluster | `arguments` |
//! | Devices of hardware IDs, `--node` and `--where` in what was read, and the taints that are proposed for them | `resolve` |
//! | Messages about names that nothing has, with the nearest ones of their kind | `not_found` |

mod arguments;
mod not_found;
mod resolve;

pub use arguments::{
    Choice, ChoiceBasis, DeviceArguments, Purpose, other_type, wrong_name, wrong_name_or_taint,
};
pub use not_found::{NO_DEVICES, no_device, no_node, not_found, refuse_unknown_columns};
pub use resolve::{
    DeviceFilter, ResolvedChoice, assumed_taint, devices_with, refuse_missing,
    refuse_unknown_on_node, refuse_unmatched, refuse_wide, rules_without_published_devices,
    unknown_devices, unknown_on_node,
};
