//! The arguments and flags that name devices.

use std::path::PathBuf;

use super::device_filters::DeviceFilterFlags;

/// What was typed to say which devices are meant.
#[derive(Clone, Debug, Default)]
pub struct DeviceArguments {
    /// Devices, and perhaps a taint.
    pub arguments: Vec<String>,
    /// `--all-devices`
    pub all_devices: bool,
    /// Devices by what they are.
    pub filters: DeviceFilterFlags,
    /// `--rule`
    pub rules: Vec<String>,
    /// `--filename`
    pub filenames: Vec<PathBuf>,
}

impl DeviceArguments {
    /// Whether nothing was typed that says which devices are meant, nor a taint.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arguments.is_empty()
            && !self.all_devices
            && self.filters.is_empty()
            && !self.filters.with_partitions
            && self.rules.is_empty()
            && self.filenames.is_empty()
    }
}
