//! Flags that choose devices by what they are.

use crate::completion::Values;
use crate::decide::choice::DeviceFilterFlags;

/// Flags that choose devices by what they are. Several have to be met at once.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct DeviceFilterArgs {
    /// Devices for which this CEL expression is true
    ///
    /// An expression of at most 10 KiB about `device`, such as 'device.attributes["gpu.example.com"].model ==
    /// "H100"'. If the expression cannot be evaluated for a device, for example because an attribute is missing,
    /// the command fails and names the device. Repeatable; all must be true.
    #[arg(long = "where", value_name = "CEL", help_heading = "Devices")]
    expressions: Vec<String>,

    /// Devices that are local to this node
    #[arg(long, help_heading = "Devices", add = Values::Nodes)]
    pub(crate) node: Option<String>,

    /// Devices that this DeviceClass selects
    #[arg(
        long,
        value_name = "DEVICECLASS",
        help_heading = "Devices",
        hide_short_help = true,
        add = Values::Classes
    )]
    class: Option<String>,

    /// Devices that this pod uses, as [NAMESPACE/]NAME
    ///
    /// Without NAMESPACE/, the namespace is `default`. The commands `devices` and `explain` use
    /// the namespace of --namespace instead, if this flag is set.
    #[arg(long, value_name = "POD", help_heading = "Devices", add = Values::Pods)]
    pod: Option<String>,

    /// Devices allocated to this claim, as [NAMESPACE/]NAME
    ///
    /// Without NAMESPACE/, the namespace is `default`. The commands `devices` and `explain` use
    /// the namespace of --namespace instead, if this flag is set.
    #[arg(
        long,
        value_name = "CLAIM",
        help_heading = "Devices",
        hide_short_help = true,
        add = Values::Claims
    )]
    claim: Option<String>,

    /// Devices with this attribute or capacity: model=H100
    ///
    /// For numbers, versions and quantities, also >=, <=, > and <: 'memory>=40Gi'. A name without a domain
    /// matches any domain. Repeatable; all must match.
    #[arg(
        long = "attribute",
        value_name = "NAME=VALUE",
        help_heading = "Devices",
        hide_short_help = true,
        add = Values::Attributes
    )]
    attributes: Vec<String>,

    /// Additional attribute that identifies hardware, besides built-in ones such as uuid
    ///
    /// For example, `--identity-attribute slot` makes the argument slot=3 a hardware ID: it selects the devices
    /// whose attribute slot is 3. A command that creates rules for single devices also records this attribute
    /// on each rule, to detect replaced hardware. Repeatable.
    #[arg(
        long = "identity-attribute",
        value_name = "NAME",
        help_heading = "Devices",
        hide_short_help = true,
        add = Values::AttributeNames
    )]
    pub(crate) identity_attributes: Vec<String>,

    /// Skip devices for which --where, --class or --attribute cannot be evaluated
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    skip_errors: bool,

    /// Also select devices that use the same counter sets, such as the partitions of a GPU
    ///
    /// That is, devices that consume counters of the same counter set as a selected device, according to their
    /// ResourceSlices.
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    with_partitions: bool,
}

impl DeviceFilterArgs {
    /// What was typed.
    pub(crate) fn filters(&self) -> DeviceFilterFlags {
        DeviceFilterFlags {
            expressions: self.expressions.clone(),
            node: self.node.clone(),
            ..DeviceFilterFlags::default()
        }
    }
}
