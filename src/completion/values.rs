//! Words that arguments take, for completion.

use crate::model::Kind;

/// Words that an argument takes and that clap does not know, named where it is defined: `#[arg(add = Values::Nodes)]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Devices by their whole names.
    Devices,
    /// Devices, or the key of a taint behind them.
    DevicesThenTaint,
    /// Namespaces that have claims.
    Namespaces,
    /// Nodes that have devices.
    Nodes,
    /// Rules by name.
    Rules,
    /// Rules by name, or a device and the key of its taint.
    RulesOrDevices,
}

impl clap::builder::ArgExt for Values {}

impl Values {
    /// The kinds of objects that have such names.
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Rules => &[Kind::DeviceTaintRule],
            Self::Devices | Self::Nodes => &[Kind::ResourceSlice],
            Self::DevicesThenTaint | Self::RulesOrDevices => {
                &[Kind::DeviceTaintRule, Kind::ResourceSlice]
            }
            Self::Namespaces => &[Kind::ResourceClaim],
        }
    }
}
