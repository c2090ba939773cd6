//! Hardware as it is typed: `uuid=GPU-18db…`, or its UUID or PCI address alone.

use std::fmt;

use super::identifying_attributes::{KNOWN, known};
use crate::engine::expression::AttributeCondition;

/// Hardware as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// The attribute that has the number; any that identifies hardware where none was typed.
    attribute: Option<String>,
    /// The number, or the place.
    number: String,
}

impl Hardware {
    /// Reads an argument that can be nothing but hardware: NAME=VALUE of an attribute that identifies it, the name in
    /// any case, a UUID, or a PCI address.
    pub fn parse(argument: &str) -> Option<Self> {
        let Some((name, value)) = argument.split_once('=') else {
            return (is_uuid(argument) || is_pci_address(argument)).then(|| Self {
                attribute: None,
                number: argument.to_owned(),
            });
        };
        let known = known(name).filter(|_| !value.is_empty())?;
        let domain = name.rsplit_once('/').map(|(domain, _)| domain);
        Some(Self {
            attribute: Some(match domain {
                Some(domain) => format!("{domain}/{}", known.name),
                None => known.name.to_owned(),
            }),
            number: value.to_owned(),
        })
    }

    /// Separates the arguments that name hardware from all others.
    pub fn among(arguments: &[String]) -> (Vec<Self>, Vec<String>) {
        let (mut hardware, mut others) = (Vec::new(), Vec::new());
        for argument in arguments {
            match Self::parse(argument) {
                Some(found) => hardware.push(found),
                None => others.push(argument.clone()),
            }
        }
        (hardware, others)
    }

    /// Conditions on a device, one of which is enough.
    pub fn conditions(&self) -> Vec<AttributeCondition> {
        if let Some(name) = &self.attribute {
            return vec![AttributeCondition::is(name, &self.number)];
        }
        let spellings = self.spellings();
        let is_place = is_pci_address(&self.number);
        let names = KNOWN.iter().filter(|known| known.is_place == is_place);
        let pairs = names.flat_map(|known| spellings.iter().map(|number| (known.name, number)));
        pairs
            .map(|(name, number)| AttributeCondition::is(name, number))
            .collect()
    }

    /// The ways in which drivers may write the number: PCI addresses with their domain of four or eight
    /// digits, or without, in lower case.
    fn spellings(&self) -> Vec<String> {
        let mut spellings = vec![self.number.clone()];
        if is_pci_address(&self.number) {
            let lower = self.number.to_lowercase();
            let places: Vec<&str> = lower.rsplitn(3, ':').collect();
            let [device, bus, domain @ ..] = places.as_slice() else {
                return spellings;
            };
            let short = format!("{bus}:{device}");
            let domain = domain.first().copied().unwrap_or_default();
            let domain = domain.trim_start_matches('0');
            spellings.push(format!("{domain:0>4}:{short}"));
            spellings.push(format!("{domain:0>8}:{short}"));
            // Drivers leave out the domain only if it is 0.
            if domain.is_empty() {
                spellings.push(short);
            }
            spellings.dedup();
        }
        spellings
    }
}

impl fmt::Display for Hardware {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.attribute {
            Some(name) => write!(formatter, "{name}={}", self.number),
            None => formatter.write_str(&self.number),
        }
    }
}

/// Hexadecimal digits in groups of these lengths.
fn is_hex(text: &str, separator: char, lengths: &[usize]) -> bool {
    let groups: Vec<&str> = text.split(separator).collect();
    let is_group = |(group, length): (&&str, &usize)| {
        group.len() == *length && group.chars().all(|c| c.is_ascii_hexdigit())
    };
    groups.len() == lengths.len() && groups.iter().zip(lengths).all(is_group)
}

/// Eight, four, four, four and twelve digits, behind a word such as `GPU-` or without one.
fn is_uuid(text: &str) -> bool {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let behind = text
        .split_once('-')
        .filter(|(word, _)| word.chars().all(|c| c.is_ascii_alphabetic()));
    is_hex(text, '-', &LENGTHS) || behind.is_some_and(|(_, rest)| is_hex(rest, '-', &LENGTHS))
}

/// `0000:17:00.0`, also with a longer domain or without one.
fn is_pci_address(text: &str) -> bool {
    let Some((rest, function)) = text.rsplit_once('.') else {
        return false;
    };
    let is_function = matches!(function.as_bytes(), [b'0'..=b'7']);
    let forms: [&[usize]; 3] = [&[2, 2], &[4, 2, 2], &[8, 2, 2]];
    is_function && forms.iter().any(|lengths| is_hex(rest, ':', lengths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_alone_is_told_from_names_and_taints() {
        for (argument, is_hardware) in [
            ("GPU-18dbab44-5c1c-4fd4-8f0f-61c1ba1e2f0a", true),
            ("18dbab44-5c1c-4fd4-8f0f-61c1ba1e2f0a", true),
            ("0000:17:00.0", true),
            ("00000000:17:00.0", true),
            ("17:00.0", true),
            ("uuid=GPU-1", true),
            ("uuid=", false),
            ("gpu.example.com", false),
            ("drain-node-7", false),
            ("1423022041312", false),
            ("maintenance:NoExecute", false),
            ("example.com/x=y:NoExecute", false),
            ("17:00.8", false),
        ] {
            let found = Hardware::parse(argument);
            assert_eq!(found.is_some(), is_hardware, "{argument}");
            if let Some(found) = found {
                assert_eq!(found.to_string(), argument);
            }
        }
    }

    #[test]
    fn hardware_is_named_by_the_attributes_of_drivers_in_any_case() {
        let named = |text: &str| Hardware::parse(text).map(|found| found.to_string());
        for (text, expected) in [
            ("uuid=GPU-1", Some("uuid=GPU-1")),
            ("UUID=GPU-1", Some("uuid=GPU-1")),
            ("gpu.nvidia.com/uuid=A", Some("gpu.nvidia.com/uuid=A")),
            ("slot=3", None),
            ("example.com/maintenance=firmware", None),
        ] {
            assert_eq!(named(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn an_address_is_found_however_its_domain_is_written() {
        let is = |typed: &str, published: &str| {
            let typed = Hardware::parse(typed).expect("an address");
            let conditions = format!("{:?}", typed.conditions());
            conditions.contains(&format!("\"{published}\""))
        };
        for published in ["0000:17:00.0", "00000000:17:00.0", "17:00.0"] {
            for typed in ["0000:17:00.0", "00000000:17:00.0", "17:00.0"] {
                assert!(is(typed, published), "{typed} {published}");
            }
        }
        assert!(is("0001:AF:00.0", "0001:af:00.0"));
        assert!(!is("0001:17:00.0", "0000:17:00.0"));
        assert!(!is("0001:17:00.0", "17:00.0"));
        assert!(!is("17:00.0", "0000:17:00.1"));
    }
}
