//! Devices, as they are typed.

use crate::completion::Values;
use crate::decide::choice::wrong_name;
use crate::error::Failure;
use crate::model::DeviceSelector;
use crate::naming::device;

/// Flags that name devices, one to one with the API's selector.
#[derive(clap::Args, Debug)]
pub(crate) struct SelectorArgs {
    /// Driver of the devices
    #[arg(long, help_heading = "Devices", hide_short_help = true, add = Values::Drivers)]
    driver: Option<String>,

    /// Pool of the devices
    #[arg(long, help_heading = "Devices", hide_short_help = true, add = Values::Pools)]
    pool: Option<String>,

    /// Name of the devices within their pool
    #[arg(long, help_heading = "Devices", hide_short_help = true, add = Values::DeviceNames)]
    device: Option<String>,
}

impl SelectorArgs {
    /// The selector, if any of the flags was given.
    pub(crate) fn selector(&self) -> Result<Option<DeviceSelector>, Failure> {
        if self.driver.is_none() && self.pool.is_none() && self.device.is_none() {
            return Ok(None);
        }
        let selector = device::from_parts(
            self.driver.as_deref(),
            self.pool.as_deref(),
            self.device.as_deref(),
        );
        Ok(Some(selector.map_err(wrong_name)?))
    }
}
