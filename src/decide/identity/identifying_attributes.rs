//! Attributes that identify hardware, such as UUIDs and serial numbers.

use crate::naming::nearest::nearest;

/// What an attribute stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeMeaning {
    /// A piece of hardware, wherever it is.
    Hardware,
    /// A place for hardware within its machine, whatever is in it.
    Place,
}

/// Identifiers of attributes that identify hardware, as known drivers publish them in their domains.
///
/// `uuid` is NVIDIA's, Intel's and the example driver's; `pciBusID` and `pcieRoot` are Kubernetes' own;
/// `pciAddress` is that of drivers of network interfaces, `pciAddr` AMD's; `serial` and `serialNumber` are
/// those of accelerators, `mac` that of interfaces.
pub const KNOWN: &[(&str, AttributeMeaning)] = &[
    ("mac", AttributeMeaning::Hardware),
    ("pciAddr", AttributeMeaning::Place),
    ("pciAddress", AttributeMeaning::Place),
    ("pciBusID", AttributeMeaning::Place),
    ("pcieRoot", AttributeMeaning::Place),
    ("serial", AttributeMeaning::Hardware),
    ("serialNumber", AttributeMeaning::Hardware),
    ("uuid", AttributeMeaning::Hardware),
];

/// What the attribute `name`, with its domain or without, stands for; an unknown one, which only a note on a rule
/// has, stands for hardware.
#[must_use]
pub fn means(name: &str) -> AttributeMeaning {
    known(name).unwrap_or(AttributeMeaning::Hardware)
}

/// Whether the attribute `name`, with its domain or without, identifies hardware.
#[must_use]
pub fn identifies(name: &str) -> bool {
    known(name).is_some()
}

/// An argument that names hardware by a name that is not quite right, as it is spelt: `UUID=GPU-1` as
/// `uuid=GPU-1`.
#[must_use]
pub fn misspelt(argument: &str) -> Option<String> {
    let (name, value) = argument.split_once('=')?;
    // With a colon it is a taint, and with a slash a name that has its domain.
    if name.contains('/') || value.is_empty() || value.contains([':', '=']) {
        return None;
    }
    let lower = |(name, _): &(&str, AttributeMeaning)| name.to_lowercase();
    let near = nearest(&name.to_lowercase(), KNOWN.iter().map(lower));
    let found = near.first()?;
    let known = KNOWN.iter().find(|known| lower(known) == *found)?;
    let meant = known.0;
    (meant != name).then(|| format!("{meant}={value}"))
}

fn known(name: &str) -> Option<AttributeMeaning> {
    let mut known = KNOWN.iter();
    let found = known.find(|(known, _)| *known == id(name));
    found.map(|(_, means)| *means)
}

fn id(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_quite_right_is_told_as_it_is_spelt() {
        for (argument, meant) in [
            ("UUID=GPU-1", Some("uuid=GPU-1")),
            ("uid=GPU-1", Some("uuid=GPU-1")),
            ("pcibusid=0", Some("pciBusID=0")),
            ("uuid=GPU-1", None),
            ("UUID=", None),
            ("UUID=a:NoExecute", None),
            ("example.com/uid=a", None),
            ("maintenance=firmware", None),
        ] {
            assert_eq!(misspelt(argument).as_deref(), meant, "{argument}");
        }
    }

    #[test]
    fn attributes_identify_by_their_identifier() {
        for (name, identified, meaning) in [
            ("uuid", true, AttributeMeaning::Hardware),
            ("gpu.nvidia.com/uuid", true, AttributeMeaning::Hardware),
            (
                "resource.kubernetes.io/pcieRoot",
                true,
                AttributeMeaning::Place,
            ),
            ("b.example.com/card", false, AttributeMeaning::Hardware),
            ("model", false, AttributeMeaning::Hardware),
        ] {
            assert_eq!(identifies(name), identified, "{name}");
            assert_eq!(means(name), meaning, "{name}");
        }
    }
}
