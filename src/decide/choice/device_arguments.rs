//! The arguments and flags that name devices.

use std::path::PathBuf;

use super::comparison_limit::ComparisonLimit;
use super::device_filters::DeviceFilterFlags;
use crate::model::DeviceSelector;

/// What was typed to say which devices are meant.
#[derive(Clone, Debug, Default)]
pub struct DeviceArguments {
    /// Devices, and perhaps a taint.
    pub arguments: Vec<String>,
    /// `--driver`, `--pool` and `--device`, if any of them was given.
    pub flags: Option<DeviceSelector>,
    /// `--all-devices`
    pub all_devices: bool,
    /// By what they are, and by who uses them.
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
        // A namespace alone means no device: it only completes the names of pods and claims. Nor does what is offered.
        let filters = DeviceFilterFlags {
            namespace: None,
            limit: ComparisonLimit::default(),
            ..self.filters.clone()
        };
        self.arguments.is_empty()
            && self.flags.is_none()
            && !self.all_devices
            && filters == DeviceFilterFlags::default()
            && self.rules.is_empty()
            && self.filenames.is_empty()
    }
}
