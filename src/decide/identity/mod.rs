//! Hardware identity: whether a device name still stands for the hardware a rule was made for.
//!
//! Rules name devices, and drivers number them anew after a reboot or a swap. So a rule notes what its
//! device was when it was made, and that is compared with what is published now.
//!
//! | what | module |
//! |---|---|
//! | Attributes that identify hardware, such as UUIDs and serial numbers | [`identifying_attributes`] |
//! | Hardware as it is typed: `uuid=GPU-18db…`, or its UUID, serial number or PCI address alone | [`hardware`] |
//! | Identifying attributes that are noted on a rule when it is made | `noted_hardware` |
//! | Current hardware of devices that rules name one by one | `observed_hardware` |
//! | Whether a device name still stands for the hardware noted on a rule | `hardware_drift` |
//! | Warnings and refusals about rules whose hardware has another name | `words` |

pub mod hardware;
mod hardware_drift;
pub mod identifying_attributes;
mod noted_hardware;
mod observed_hardware;
mod words;

pub use hardware::Hardware;
pub use hardware_drift::{
    DeviceIdentity, HardwareDrift, NewNames, identity, new_names, with_new_names,
};
pub use noted_hardware::{NotedHardware, unrecorded, with_identities};
pub use observed_hardware::{identities, made_for};
pub use words::{
    ChangedIdentity, IDENTITY_CHANGED, changed_identities, refuse_other_hardware, refuse_replaced,
    warnings, warnings_among,
};
