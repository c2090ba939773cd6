//! Hardware as it is typed: `uuid=GPU-18db…`, or its UUID, serial number or PCI address alone.

use std::fmt;

use super::identifying_attributes::{AttributeMeaning, KNOWN, identifies, means};
use crate::engine::expression::AttributeCondition;

/// Hardware as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// The attribute that has the number; any that identifies hardware where nobody says which.
    pub attribute: Option<String>,
    /// The number, or the place.
    pub number: String,
}

impl Hardware {
    /// That a certain attribute has this number.
    #[must_use]
    pub fn named(attribute: &str, number: &str) -> Self {
        Self {
            attribute: Some(attribute.to_owned()),
            number: number.to_owned(),
        }
    }

    /// Hardware that has this number, whatever its driver calls that.
    #[must_use]
    pub fn bare(number: &str) -> Self {
        Self {
            attribute: None,
            number: number.to_owned(),
        }
    }

    /// Reads an argument that can be nothing but hardware: NAME=VALUE of an attribute that identifies it,
    /// and what is written like a number of hardware.
    #[must_use]
    pub fn parse(argument: &str) -> Option<Self> {
        match argument.split_once('=') {
            Some((name, value)) => {
                let named = identifies(name) && !value.is_empty();
                named.then(|| Self::named(name, value))
            }
            None => is_number(argument).then(|| Self::bare(argument)),
        }
    }

    /// What it stands for: a place is that of whatever is in it.
    #[must_use]
    pub fn means(&self) -> AttributeMeaning {
        match &self.attribute {
            Some(name) => means(name),
            None if is_place(&self.number) => AttributeMeaning::Place,
            None => AttributeMeaning::Hardware,
        }
    }

    /// Conditions on a device, one of which is enough.
    #[must_use]
    pub fn conditions(&self) -> Vec<AttributeCondition> {
        if let Some(name) = &self.attribute {
            return vec![AttributeCondition::is(name, &self.number)];
        }
        let spellings = self.spellings();
        let pairs = KNOWN
            .iter()
            .flat_map(|(name, _)| spellings.iter().map(move |number| (name, number)));
        pairs
            .map(|(name, number)| AttributeCondition::is(name, number))
            .collect()
    }

    /// Whether an attribute of that name, with its domain, and that value is meant.
    #[must_use]
    pub fn is(&self, name: &str, value: &str) -> bool {
        let last = name.rsplit('/').next().unwrap_or(name);
        match &self.attribute {
            Some(wanted) => (wanted == name || wanted == last) && self.number == value,
            None => self.spellings().iter().any(|number| number == value),
        }
    }

    /// The ways in which drivers may write the number: PCI addresses with their domain of four or eight
    /// digits, or without, in lower case.
    fn spellings(&self) -> Vec<String> {
        let mut spellings = vec![self.number.clone()];
        if is_pci_address(&self.number) {
            let lower = self.number.to_lowercase();
            let short: Vec<&str> = lower
                .rsplit(':')
                .take(2)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect();
            let short = short.join(":");
            let domain = lower.strip_suffix(&short).unwrap_or_default();
            let domain = domain.trim_end_matches(':').trim_start_matches('0');
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

/// A word that may be the number of hardware as well as a name: such as a serial number.
#[must_use]
pub fn may_be_number(word: &str) -> bool {
    !word.is_empty() && !word.contains(['/', '=', ':', '*', '.']) && !word.ends_with('-')
}

/// Whether the text can be no name of a driver, a rule, a pod or a taint, but a number of hardware.
fn is_number(text: &str) -> bool {
    // Names of Kubernetes objects and pools are lower case, so a word with upper case and digits is a serial number.
    let is_mixed = text.contains(|c: char| c.is_ascii_uppercase())
        && text.contains(|c: char| c.is_ascii_digit())
        && may_be_number(text);
    is_mixed || is_uuid(text) || is_pci_address(text) || is_mac(text)
}

/// Whether it says where hardware is, and not which it is.
fn is_place(text: &str) -> bool {
    is_pci_address(text)
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

fn is_mac(text: &str) -> bool {
    is_hex(text, ':', &[2; 6])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_alone_is_told_from_names_and_taints() {
        for (argument, is_hardware) in [
            ("GPU-18dbab44-5c1c-4fd4-8f0f-61c1ba1e2f0a", true),
            ("18dbab44-5c1c-4fd4-8f0f-61c1ba1e2f0a", true),
            ("GPU-0300", true),
            ("0000:17:00.0", true),
            ("00000000:17:00.0", true),
            ("17:00.0", true),
            ("aa:bb:cc:dd:ee:0f", true),
            ("SN0042", true),
            ("uuid=GPU-1", true),
            ("uuid=", false),
            ("gpu.example.com", false),
            ("drain-node-7", false),
            ("GPU.example.com", false),
            ("1423022041312", false),
            ("maintenance:NoExecute", false),
            ("example.com/x=y:NoExecute", false),
            ("17:00.8", false),
            ("GPU/node-7/0", false),
            ("Key7-", false),
        ] {
            let found = Hardware::parse(argument);
            assert_eq!(found.is_some(), is_hardware, "{argument}");
            if let Some(found) = found {
                assert_eq!(found.to_string(), argument);
            }
        }
    }

    #[test]
    fn hardware_is_named_by_what_drivers_call_it() {
        let named = |text: &str| Hardware::parse(text)?.attribute;
        assert_eq!(named("uuid=GPU-1").as_deref(), Some("uuid"));
        assert_eq!(
            named("resource.kubernetes.io/pcieRoot=pci0000:00").as_deref(),
            Some("resource.kubernetes.io/pcieRoot")
        );
        for taint in [
            "uuid",
            "uuid=",
            "slot=3",
            "example.com/maintenance=firmware",
        ] {
            assert_eq!(named(taint), None, "{taint}");
        }
    }

    #[test]
    fn an_address_is_found_however_its_domain_is_written() {
        let is = |typed: &str, published: &str| {
            let typed = Hardware::parse(typed).unwrap();
            assert_eq!(typed.means(), AttributeMeaning::Place);
            typed.is("resource.kubernetes.io/pciBusID", published)
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

    #[test]
    fn a_word_may_be_a_serial_number() {
        assert!(may_be_number("1423022041312"));
        assert!(may_be_number("sn-7f"));
        for word in ["", "gpu.example.com", "a/b", "a=b", "a:b", "*", "key-"] {
            assert!(!may_be_number(word), "{word}");
        }
    }
}
