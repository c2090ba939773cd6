//! Which words an argument takes, for whoever completes them.

/// Words that an argument takes and that its definition does not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    Clusters,
    Contexts,
    /// Devices, or a taint behind them.
    DevicesThenTaint,
    Devices,
    DeviceNames,
    Drivers,
    Guards,
    Labels,
    /// Namespaces in which claims are.
    Namespaces,
    Nodes,
    Pools,
    Rules,
    /// Rules by name, or a device and the key of its taint.
    RulesOrDevices,
    /// As [`Values::RulesOrDevices`], the key with a `-`.
    RulesOrDevicesToRemove,
    Topics,
    Users,
}

impl Values {
    /// What the argument of that name takes; nothing where that is anybody's guess, or in the
    /// definition of the argument already.
    pub(crate) fn of(command: &str, argument: &str) -> Option<Self> {
        Some(match (command, argument) {
            ("preview" | "add", "targets") => Self::DevicesThenTaint,
            ("remove", "targets") => Self::RulesOrDevicesToRemove,
            (_, "targets") => Self::RulesOrDevices,
            ("list", "names") | ("preview", "rule") => Self::Rules,
            ("devices", "devices") => Self::Devices,
            ("help", "topic") => Self::Topics,
            (_, "driver") => Self::Drivers,
            (_, "pool") => Self::Pools,
            (_, "device") => Self::DeviceNames,
            (_, "node") => Self::Nodes,
            (_, "selector") => Self::Labels,
            (_, "abort_if") => Self::Guards,
            (_, "context") => Self::Contexts,
            (_, "cluster") => Self::Clusters,
            (_, "user") => Self::Users,
            (_, "namespace") => Self::Namespaces,
            _ => return None,
        })
    }
}
