//! Devices, by any of the ways in which they are chosen.

use super::device_filters::DeviceFilterArgs;
use super::devices::SelectorArgs;
use crate::decide::choice::DeviceArguments;
use crate::error::Failure;

/// Flags of the commands that assess devices, whichever way these are chosen.
#[derive(clap::Args, Debug)]
pub(crate) struct DeviceChoiceArgs {
    #[command(flatten)]
    selector: SelectorArgs,

    #[command(flatten)]
    pub(crate) filters: DeviceFilterArgs,

    /// Every device of every driver
    #[arg(long, help_heading = "Devices")]
    all_devices: bool,
}

impl DeviceChoiceArgs {
    /// What was typed, with the arguments that are no flags; `namespace` completes names of pods and claims.
    pub(crate) fn typed(
        &self,
        arguments: &[String],
        namespace: Option<&str>,
    ) -> Result<DeviceArguments, Failure> {
        Ok(DeviceArguments {
            arguments: arguments.to_vec(),
            flags: self.selector.selector()?,
            all_devices: self.all_devices,
            filters: self.filters.filters(namespace),
            ..DeviceArguments::default()
        })
    }
}
