//! The short digest that identifies a report in a command.

use super::refusal::ApprovalRefusal;
use crate::assess::digest::{ALGORITHM, DIGITS, HARDWARE, named};
use crate::assess::{DeviceFacts, ImpactFacts};

/// More devices than these are not named one by one.
const FEW: usize = 3;

/// What identifies a report, or a part of it: its digest, that of its hardware, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportDigest {
    /// The first digits of the report's digest.
    digest: Option<String>,
    /// The first digits of that of its hardware.
    hardware: Option<String>,
}

impl ReportDigest {
    /// Reads `sha256:…`, `hardware:…`, or both with a comma between them; `None` where it is not meant to
    /// be either, and nothing in it where it is and cannot be.
    pub(super) fn parse(text: &str) -> Option<Option<Self>> {
        let is_meant = text.starts_with(ALGORITHM) || text.starts_with(HARDWARE);
        is_meant.then(|| Self::read(text))
    }

    fn read(text: &str) -> Option<Self> {
        let digits = |text: &str| {
            let is_digit =
                |character: char| character.is_ascii_digit() || ('a'..='f').contains(&character);
            let is_one = (DIGITS..=64).contains(&text.len()) && text.chars().all(is_digit);
            is_one.then(|| text.to_owned())
        };
        let mut report_digest = Self {
            digest: None,
            hardware: None,
        };
        for part in text.split(',') {
            let (place, rest) = match (part.strip_prefix(ALGORITHM), part.strip_prefix(HARDWARE)) {
                (Some(rest), _) => (&mut report_digest.digest, rest),
                (None, Some(rest)) => (&mut report_digest.hardware, rest),
                (None, None) => return None,
            };
            // Two of one kind cannot both be right, and one of them would be approved unread.
            if place.replace(digits(rest)?).is_some() {
                return None;
            }
        }
        Some(report_digest)
    }

    /// What speaks against taking `found` for what the mark stands for. Other hardware makes another
    /// digest, so that it is told alone.
    pub(super) fn objection(&self, found: &ImpactFacts) -> Option<ApprovalRefusal> {
        let fits = |digits: &Option<String>, of: &str, found: Option<&str>| {
            let found = found.and_then(|found| found.strip_prefix(of));
            digits
                .as_ref()
                .is_none_or(|digits| found.is_some_and(|found| found.starts_with(digits)))
        };
        if !fits(&self.hardware, HARDWARE, found.hardware_digest().as_deref()) {
            return Some(ApprovalRefusal::OtherHardware {
                devices: named_devices(found),
            });
        }
        let is_same = fits(&self.digest, ALGORITHM, Some(&found.digest()));
        (!is_same).then(|| ApprovalRefusal::OtherDigest {
            expected: format!("{ALGORITHM}{}", self.digest.as_deref().unwrap_or_default()),
            found: found.short_digest(),
        })
    }
}

/// The devices that are named one by one, each with what it is now.
fn named_devices(found: &ImpactFacts) -> Vec<String> {
    let named = named(&found.taints);
    let one = |name: &String| {
        let mut devices = found.devices.iter();
        let device = devices.find(|device| device.name == *name);
        match device.and_then(what_it_is) {
            Some(identity) => format!("{name} (now {identity})"),
            None => format!("{name} (now unknown)"),
        }
    };
    // They stand in one line of an error, each with all numbers of its hardware.
    let mut shown: Vec<String> = named.iter().take(FEW).map(one).collect();
    let more = named.len().saturating_sub(FEW);
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown
}

fn what_it_is(device: &DeviceFacts) -> Option<String> {
    let attributes: Vec<String> = device
        .identity
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    (!attributes.is_empty()).then(|| attributes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::Example;

    fn with_uuid(uuid: &str) -> ImpactFacts {
        let identity = [("gpu.example.com/uuid".to_owned(), uuid.to_owned())];
        let name = "gpu.example.com/node-7/gpu-0".to_owned();
        let identities = [(name, identity.into())].into();
        Example::new().facts().with_identities(&identities)
    }

    fn report_digest(text: &str) -> ReportDigest {
        ReportDigest::parse(text).unwrap().unwrap()
    }

    #[test]
    fn a_mark_stands_for_its_report_and_for_no_other() {
        let report = with_uuid("GPU-A");
        let hardware = report.short_hardware_digest().unwrap();
        let short = report.short_digest();
        let both = format!("{short},{hardware}");
        for text in [
            &report.digest(),
            &short,
            &hardware,
            &report.hardware_digest().unwrap(),
            &both,
        ] {
            assert_eq!(report_digest(text).objection(&report), None, "{text}");
        }
        let mut less = report;
        less.pods.clear();
        for text in [&short, &both] {
            let objection = report_digest(text).objection(&less);
            assert!(matches!(
                objection,
                Some(ApprovalRefusal::OtherDigest { .. })
            ));
        }
        assert_eq!(report_digest(&hardware).objection(&less), None);
    }

    #[test]
    fn hardware_that_was_exchanged_is_another_report_and_the_device_is_named() {
        let (before, after) = (with_uuid("GPU-A"), with_uuid("GPU-B"));
        let hardware = before.short_hardware_digest().unwrap();
        let both = format!("{},{hardware}", before.short_digest());
        for text in [&hardware, &both] {
            let objection = report_digest(text).objection(&after).unwrap().to_string();
            assert_eq!(
                objection,
                "gpu.example.com/node-7/gpu-0 (now gpu.example.com/uuid=GPU-B) has changed since the preview: it is different hardware or a new device"
            );
        }
        let objection = report_digest(&before.short_digest()).objection(&after);
        assert!(matches!(
            objection,
            Some(ApprovalRefusal::OtherDigest { .. })
        ));
        let unknown = Example::new().facts();
        let objection = report_digest(&hardware)
            .objection(&unknown)
            .unwrap()
            .to_string();
        assert!(objection.contains("(now unknown)"), "{objection}");
    }

    #[test]
    fn what_is_no_mark_is_a_file_or_a_mistake() {
        assert_eq!(ReportDigest::parse("report.json"), None);
        let long = format!("sha256:{}", "a".repeat(65));
        for text in [
            "sha256:",
            "sha256:0123456789abcde",
            "sha256:0123456789ABCDEF",
            "hardware:0123456789abcde",
            "sha256:0123456789abcdef,",
            "sha256:0123456789abcdef,0123456789abcdef",
            "sha256:0123456789abcdef,sha256:0123456789abcdef",
            &long,
        ] {
            assert_eq!(ReportDigest::parse(text), Some(None), "{text}");
        }
    }
}
