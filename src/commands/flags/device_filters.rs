//! Flags that choose devices by their properties.

use crate::completion::Values;
use crate::decide::choice::DeviceFilterFlags;

/// Flags that choose devices by their properties. Several have to be met at once.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct DeviceFilterArgs {
    /// Devices for which this CEL expression is true
    ///
    /// For example 'device.attributes["gpu.example.com"].model == "H100"'. A device for which it cannot be evaluated is an
    /// error. Repeatable; all must be true.
    #[arg(long = "where", value_name = "CEL", help_heading = "Devices")]
    expressions: Vec<String>,

    /// Devices that are local to this node
    #[arg(long, help_heading = "Devices", add = Values::Nodes)]
    node: Option<String>,
}

impl DeviceFilterArgs {
    /// The filters of the command line.
    pub(crate) fn filters(&self) -> DeviceFilterFlags {
        DeviceFilterFlags {
            expressions: self.expressions.clone(),
            node: self.node.clone(),
            ..DeviceFilterFlags::default()
        }
    }
}
