//! Attributes that identify hardware, such as UUIDs and serial numbers.

/// Attribute by which known drivers publish a number of the hardware, or its place.
#[derive(Debug)]
pub struct IdentifyingAttribute {
    /// The name without its domain.
    pub name: &'static str,
    /// True if the value is a place within the machine, whatever hardware is there.
    pub is_place: bool,
}

const fn number(name: &'static str) -> IdentifyingAttribute {
    IdentifyingAttribute {
        name,
        is_place: false,
    }
}

const fn place(name: &'static str) -> IdentifyingAttribute {
    IdentifyingAttribute {
        name,
        is_place: true,
    }
}

/// Identifying attributes, those first that tell most: `uuid` is NVIDIA's, Intel's and the example driver's; `serial`
/// and `serialNumber` are those of accelerators, `mac` that of network interfaces; `pciBusID` is Kubernetes' own,
/// `pciAddress` that of drivers of network interfaces, `pciAddr` AMD's.
pub const KNOWN: &[IdentifyingAttribute] = &[
    number("uuid"),
    number("serial"),
    number("serialNumber"),
    number("mac"),
    place("pciBusID"),
    place("pciAddress"),
    place("pciAddr"),
];

/// The identifying attribute of that name, with its domain or without, in any case.
pub fn known(name: &str) -> Option<&'static IdentifyingAttribute> {
    let id = name.rsplit('/').next().unwrap_or(name);
    KNOWN
        .iter()
        .find(|known| known.name.eq_ignore_ascii_case(id))
}
