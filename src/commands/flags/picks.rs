//! Devices, by what they are and who uses them.

use crate::decide::choice::Picks;

/// Flags that choose devices by what they are, and by who uses them. Several have to be met at once.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct PickArgs {
    /// Devices for which this CEL expression holds
    ///
    /// An expression of at most 10 KiB about `device`, such as
    /// 'device.attributes["gpu.example.com"].model == "H100"'. Where it fails for a device, as for an
    /// attribute that the device does not have, nothing is chosen and these devices are named;
    /// --skip-errors leaves them out. Repeatable; all have to hold.
    #[arg(long = "where", value_name = "CEL", help_heading = "Devices")]
    expressions: Vec<String>,

    /// Devices that are local to this node
    #[arg(long, help_heading = "Devices")]
    pub(crate) node: Option<String>,

    /// Devices that this DeviceClass selects
    #[arg(
        long,
        value_name = "DEVICECLASS",
        help_heading = "Devices",
        hide_short_help = true
    )]
    class: Option<String>,

    /// Devices that this pod uses, as [NAMESPACE/]NAME
    #[arg(long, value_name = "POD", help_heading = "Devices")]
    pod: Option<String>,

    /// Devices that this claim holds, as [NAMESPACE/]NAME
    #[arg(
        long,
        value_name = "CLAIM",
        help_heading = "Devices",
        hide_short_help = true
    )]
    claim: Option<String>,

    /// Devices with this attribute or capacity: model=H100
    ///
    /// Also with >=, <=, > and < for numbers, versions and quantities: 'memory>=40Gi'. A name without a
    /// domain is that of any domain. Repeatable; all have to hold.
    #[arg(
        long = "attribute",
        value_name = "NAME=VALUE",
        help_heading = "Devices",
        hide_short_help = true
    )]
    attributes: Vec<String>,

    /// Another attribute that identifies hardware, beside uuid and its like
    ///
    /// An argument NAME=VALUE then names hardware, and rules note it of their device. Repeatable.
    #[arg(
        long = "identity-attribute",
        value_name = "NAME",
        help_heading = "Devices",
        hide_short_help = true
    )]
    pub(crate) identity_attributes: Vec<String>,

    /// Leave out devices for which --where, --class or --attribute fail
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    skip_errors: bool,

    /// And all devices that share hardware with them
    ///
    /// Devices that consume the same counters are parts of the same hardware.
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    with_partitions: bool,
}

impl PickArgs {
    /// What was typed; `namespace` is that of names that have none.
    pub(crate) fn picks(&self, namespace: Option<&str>) -> Picks {
        Picks {
            expressions: self.expressions.clone(),
            node: self.node.clone(),
            class: self.class.clone(),
            pod: self.pod.clone(),
            claim: self.claim.clone(),
            attributes: self.attributes.clone(),
            identities: Vec::new(),
            identity_attributes: self.identity_attributes.clone(),
            skips_errors: self.skip_errors,
            with_partitions: self.with_partitions,
            namespace: namespace.map(str::to_owned),
        }
    }
}
