//! What was typed to say which devices are meant?

use std::path::PathBuf;

use super::picks::Picks;
use crate::model::DeviceSelector;

/// What was typed to say which devices are meant.
#[derive(Clone, Debug, Default)]
pub struct Typed {
    /// Devices, and perhaps a taint.
    pub arguments: Vec<String>,
    /// `--driver`, `--pool` and `--device`, if any of them was given.
    pub flags: Option<DeviceSelector>,
    /// `--all-devices`
    pub all_devices: bool,
    /// By what they are, and by who uses them.
    pub picks: Picks,
    /// `--rule`
    pub rules: Vec<String>,
    /// `--filename`
    pub filenames: Vec<PathBuf>,
}
