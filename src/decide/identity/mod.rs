//! Hardware identity: whether a device name still stands for the hardware a rule was made for.
//!
//! | what | module |
//! |---|---|
//! | Attributes that identify hardware, such as UUIDs and serial numbers | `identifying_attributes` |
//! | Hardware as it is typed: `uuid=GPU-18db…`, or its UUID or PCI address alone | `hardware` |
//! | Hardware that is noted on a rule when it is made, compared with what its device is now | `noted_hardware` |

mod hardware;
mod identifying_attributes;
mod noted_hardware;

pub use hardware::Hardware;
pub use noted_hardware::{
    NotedHardware, is_noted, on_other_hardware, other_hardware, refuse_other_hardware,
    with_identities,
};
