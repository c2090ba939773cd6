//! Which attributes identify hardware?

/// What an attribute stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
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
pub const KNOWN: &[(&str, Means)] = &[
    ("mac", Means::Hardware),
    ("pciAddr", Means::Place),
    ("pciAddress", Means::Place),
    ("pciBusID", Means::Place),
    ("pcieRoot", Means::Place),
    ("serial", Means::Hardware),
    ("serialNumber", Means::Hardware),
    ("uuid", Means::Hardware),
];

/// What the attribute `name`, with its domain or without, stands for; what is not known stands for
/// hardware, since somebody has asked for it.
#[must_use]
pub fn means(name: &str) -> Means {
    known(name).unwrap_or(Means::Hardware)
}

/// Whether the attribute `name` identifies hardware; `more` are names that do, beside those that are known, with
/// their domains or without.
#[must_use]
pub fn identifies(name: &str, more: &[String]) -> bool {
    let asked = more
        .iter()
        .any(|asked| asked == name || (!asked.contains('/') && asked == id(name)));
    asked || known(name).is_some()
}

fn known(name: &str) -> Option<Means> {
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
    fn attributes_identify_by_their_identifier_or_because_somebody_says_so() {
        let more = ["slot".to_owned(), "a.example.com/card".to_owned()];
        for (name, identified, meaning) in [
            ("uuid", true, Means::Hardware),
            ("gpu.nvidia.com/uuid", true, Means::Hardware),
            ("resource.kubernetes.io/pcieRoot", true, Means::Place),
            ("gpu.example.com/slot", true, Means::Hardware),
            ("a.example.com/card", true, Means::Hardware),
            ("b.example.com/card", false, Means::Hardware),
            ("model", false, Means::Hardware),
        ] {
            assert_eq!(identifies(name, &more), identified, "{name}");
            assert_eq!(means(name), meaning, "{name}");
        }
        assert!(!identifies("gpu.example.com/slot", &[]));
    }
}
