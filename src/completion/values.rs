//! Which words an argument takes, for whoever completes them.

use crate::model::Kind;

/// Words that an argument takes and that clap does not know, said where it is defined: `#[arg(add = Values::Nodes)]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Attributes and capacities of devices, by name.
    AttributeNames,
    /// Attributes and capacities of devices with their values.
    Attributes,
    /// Claims that hold devices, with their namespaces.
    Claims,
    /// Device classes.
    Classes,
    /// Clusters of the kubeconfig.
    Clusters,
    /// Contexts of the kubeconfig.
    Contexts,
    /// Devices, or a taint behind them.
    DevicesThenTaint,
    /// Devices by their whole names.
    Devices,
    /// Devices by their names within pools.
    DeviceNames,
    /// Drivers that publish devices.
    Drivers,
    /// Guards, which begin with a signal.
    Guards,
    /// Labels of rules.
    Labels,
    /// Namespaces in which claims are.
    Namespaces,
    /// Nodes that have devices.
    Nodes,
    /// Pods that claims are reserved for, with their namespaces.
    Pods,
    /// Pools of devices.
    Pools,
    /// Rules by name.
    Rules,
    /// Rules by name, or a device and the key of its taint.
    RulesOrDevices,
    /// As [`Values::RulesOrDevices`], the key with a `-`.
    RulesOrDevicesToRemove,
    /// Pods, rules and devices, which can be explained.
    Subjects,
    /// Topics that `help` explains.
    Topics,
    /// Users of the kubeconfig.
    Users,
}

impl clap::builder::ArgExt for Values {}

impl Values {
    /// Whether such names are those of the kubeconfig.
    #[must_use]
    pub fn are_in_the_kubeconfig(self) -> bool {
        matches!(self, Self::Clusters | Self::Contexts | Self::Users)
    }

    /// Whether such words are in what devices are beside their names.
    #[must_use]
    pub fn are_attributes(self) -> bool {
        matches!(self, Self::Attributes | Self::AttributeNames)
    }

    /// The kinds of objects in which such names are; none where they are elsewhere.
    #[must_use]
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Clusters | Self::Contexts | Self::Users | Self::Guards | Self::Topics => &[],
            Self::Labels | Self::Rules => &[Kind::DeviceTaintRule],
            Self::AttributeNames
            | Self::Attributes
            | Self::Devices
            | Self::DeviceNames
            | Self::Drivers
            | Self::Nodes
            | Self::Pools => &[Kind::ResourceSlice],
            Self::DevicesThenTaint | Self::RulesOrDevices | Self::RulesOrDevicesToRemove => {
                &[Kind::DeviceTaintRule, Kind::ResourceSlice]
            }
            Self::Subjects => &[
                Kind::DeviceTaintRule,
                Kind::ResourceSlice,
                Kind::ResourceClaim,
            ],
            Self::Classes => &[Kind::DeviceClass],
            Self::Claims | Self::Namespaces | Self::Pods => &[Kind::ResourceClaim],
        }
    }
}
