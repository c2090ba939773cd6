//! Does a name still stand for the hardware that a rule was made for?
//!
//! Rules name devices, and drivers number them anew after a reboot or a swap. So a rule notes what its
//! device was when it was made, and that is compared with what is published now.
//!
//! | question | module |
//! |---|---|
//! | Which attributes identify hardware? | [`known`] |
//! | Is an argument a number of hardware? | [`hardware`] |
//! | What is noted of a device? | `noted` |
//! | What are the devices that are looked at, and which rules were made for hardware? | `seen` |
//! | Is it the same hardware? | `standing` |
//! | What is said about it, and what is refused? | `words` |

pub mod hardware;
mod hardware_drift;
pub mod identifying_attributes;
mod noted_hardware;
mod observed_hardware;
mod words;

pub use hardware::Hardware;
pub use hardware_drift::{DeviceIdentity, HardwareDrift, identity};
pub use noted_hardware::{NotedHardware, with_identities};
pub use observed_hardware::{identities, made_for};
pub use words::{OtherHardware, refuse_exchanged, refuse_other_hardware, warnings};
