//! Digests, by which two reports are known to have the same answer.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::impact_facts::{ImpactFacts, PodFacts};
use crate::engine::ProposedTaint;
use crate::model::DeviceSelector;

/// What the digest of an answer begins with.
pub const ALGORITHM: &str = "sha256:";

/// What the digest of hardware begins with.
pub const HARDWARE: &str = "hardware:";

/// So many digits of a digest tell two reports apart, and fit in a line with a command.
pub const DIGITS: usize = 16;

impl ImpactFacts {
    /// What is the same for two impacts that are the same.
    #[must_use]
    pub fn digest(&self) -> String {
        digest(self)
    }

    /// What is the same for two impacts on the same hardware; absent where no device is named by itself.
    #[must_use]
    pub fn hardware_digest(&self) -> Option<String> {
        hardware_digest(self)
    }

    /// So much of the digest as fits in a line with a command, and tells it from every other one.
    #[must_use]
    pub fn short_digest(&self) -> String {
        shortened(self.digest(), ALGORITHM)
    }

    /// So much of the digest of its hardware as fits in a line with a command; nothing where no device is named by
    /// itself.
    #[must_use]
    pub fn short_hardware_digest(&self) -> Option<String> {
        Some(shortened(self.hardware_digest()?, HARDWARE))
    }
}

fn shortened(mut digest: String, of: &str) -> String {
    digest.truncate(of.len().saturating_add(DIGITS));
    digest
}

/// `sha256:` and the hash of what would be hit: selectors and taints without their times, what devices
/// are, pods by UID, and their outcomes. The order of the question does not matter.
///
/// What is hashed is text: one line per taint, per device whose hardware is known, and per pod, sorted;
/// in a line, each field with its length in bytes before it (`3:abc`), and `-` for one that is null.
fn digest(facts: &ImpactFacts) -> String {
    let mut lines: Vec<String> = facts.taints.iter().map(taint_line).collect();
    // The order of arguments and of lists of the server decides nothing.
    lines.sort_unstable();
    let known = facts
        .devices
        .iter()
        .filter(|device| !device.identity.is_empty());
    let mut device_lines: Vec<String> = known
        .map(|device| device_line(&device.name, &device.identity))
        .collect();
    device_lines.sort_unstable();
    lines.append(&mut device_lines);
    let mut pod_lines: Vec<String> = facts.pods.iter().map(pod_line).collect();
    pod_lines.sort_unstable();
    lines.append(&mut pod_lines);
    hash(ALGORITHM, &lines)
}

/// `hardware:` and the hash of the devices that are named one by one, with what they are; nothing where
/// none is named so.
fn hardware_digest(facts: &ImpactFacts) -> Option<String> {
    let known: BTreeMap<&str, &BTreeMap<String, String>> = facts
        .devices
        .iter()
        .map(|device| (device.name.as_str(), &device.identity))
        .collect();
    let unknown = BTreeMap::new();
    let lines = named(&facts.taints).into_iter().map(|name| {
        let identity = known.get(name.as_str()).copied();
        device_line(&name, identity.unwrap_or(&unknown))
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| hash(HARDWARE, &lines))
}

/// The devices that the taints name one by one, as DRIVER/POOL/DEVICE.
#[must_use]
pub fn named(taints: &[ProposedTaint]) -> BTreeSet<String> {
    let selectors = taints.iter().filter_map(|taint| taint.selector.as_ref());
    let name = |selector: &DeviceSelector| {
        let parts = [
            selector.driver.as_ref().map(|name| name.as_str()),
            selector.pool.as_ref().map(|name| name.as_str()),
            selector.device.as_ref().map(|name| name.as_str()),
        ];
        let parts: Option<Vec<&str>> = parts.into_iter().collect();
        // What else is asked of the device may exclude it, so that its name alone does not say that it is selected.
        let is_plain = selector.device_class.is_none()
            && selector.expressions.is_empty()
            && selector.unknown_fields.is_empty();
        parts.filter(|_| is_plain).map(|parts| parts.join("/"))
    };
    selectors.filter_map(name).collect()
}

/// The hash of some lines, behind the name of its algorithm.
#[must_use]
pub fn hash(algorithm: &str, lines: &[String]) -> String {
    let hash = Sha256::digest(lines.join("\n"));
    let hexadecimal: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{algorithm}{hexadecimal}")
}

fn device_line(name: &str, identity: &BTreeMap<String, String>) -> String {
    let attributes = identity
        .iter()
        .flat_map(|(name, value)| [name, value])
        .map(|text| Some(text.as_str()));
    fields([Some("device"), Some(name)].into_iter().chain(attributes))
}

fn taint_line(proposed: &ProposedTaint) -> String {
    let taint = &proposed.taint;
    let selector = proposed.selector.as_ref().map(selector_line);
    // Without timeAdded: of a rule that does not exist yet it is the time of the preview, and never the same.
    fields([
        Some("taint"),
        selector.as_deref(),
        Some(&taint.key),
        Some(&taint.value),
        Some(taint.effect.as_str()),
    ])
}

fn selector_line(selector: &DeviceSelector) -> String {
    let names = [
        selector.driver.as_ref().map(|name| name.as_str()),
        selector.pool.as_ref().map(|name| name.as_str()),
        selector.device.as_ref().map(|name| name.as_str()),
        selector.device_class.as_ref().map(|name| name.as_str()),
    ];
    fields(
        names
            .into_iter()
            .chain(selector.expressions.iter().map(|text| Some(text.as_str()))),
    )
}

fn pod_line(pod: &PodFacts) -> String {
    fields([
        Some("pod"),
        Some(pod.uid.as_str()),
        Some(pod.outcome.as_str()),
    ])
}

/// A line of fields, each with its length before it.
#[must_use]
pub fn fields<'a>(fields: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let field = |field: Option<&str>| match field {
        // Without the length, the fields `a` and `bc` would be hashed like `ab` and `c`.
        Some(text) => format!("{}:{text}", text.len()),
        None => "-".to_owned(),
    };
    fields.into_iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::impact_facts::DeviceFacts;
    use crate::model::Effect;
    use crate::report::testing::{self, Example};

    fn digest_after(change: impl FnOnce(&mut Example)) -> String {
        let mut example = Example::new();
        change(&mut example);
        example.report().digest
    }

    #[test]
    fn a_digest_is_stable() {
        insta::assert_snapshot!(Example::new().report().digest, @"sha256:4298e0c95cb494cbafa0fd1de5fd1d934e6c9e9c4e0db2232095be662c740e61");
    }

    #[test]
    fn what_is_hit_changes_the_digest_and_nothing_else_does() {
        let digest = digest_after(|_| ());
        let same = [
            (
                "time",
                digest_after(|example| example.proposed.taint.time_added = None),
            ),
            (
                "rule",
                digest_after(|example| example.proposed.rule = Some("named".into())),
            ),
            (
                "reading",
                digest_after(|example| example.reading.resource_versions.clear()),
            ),
        ];
        for (name, other) in same {
            assert_eq!(other, digest, "{name}");
        }
        let different = [
            (
                "key",
                digest_after(|example| example.proposed.taint.key.push('x')),
            ),
            (
                "value",
                digest_after(|example| example.proposed.taint.value.push('x')),
            ),
            (
                "effect",
                digest_after(|example| example.proposed.taint.effect = Effect::NoSchedule),
            ),
            (
                "no selector",
                digest_after(|example| example.proposed.selector = None),
            ),
            (
                "selector",
                digest_after(|example| {
                    example.proposed.selector = testing::proposed(None).selector;
                    example.proposed.selector.as_mut().unwrap().device = None;
                }),
            ),
        ];
        for (name, other) in different {
            assert_ne!(other, digest, "{name}");
        }
    }

    #[test]
    fn who_is_hit_and_how_changes_the_digest() {
        let whole = Example::new().facts();
        let mut other = whole.clone();
        other.pods.remove(0);
        assert_ne!(other.digest(), whole.digest());
        other.clone_from(&whole);
        other.pods[0].outcome = crate::assess::Outcome::NotEvicted;
        assert_ne!(other.digest(), whole.digest());
        other.clone_from(&whole);
        other.pods.reverse();
        assert_eq!(other.digest(), whole.digest());
    }

    #[test]
    fn what_the_hardware_is_changes_both_digests_and_only_where_a_device_is_named() {
        let report = Example::new().report();
        let name = report.selected_devices[0].device.clone();
        let identified = |uuid: &str| {
            let identity = [("gpu.example.com/uuid".to_owned(), uuid.to_owned())];
            let identities = [(name.clone(), identity.into())].into();
            Example::new().report().with_identities(&identities)
        };
        let (first, other) = (identified("GPU-A"), identified("GPU-B"));
        assert_eq!(first.digest, identified("GPU-A").digest);
        assert_ne!(first.digest, other.digest);
        assert_ne!(first.hardware_digest, other.hardware_digest);
        // What nothing identifies has the digest that it had in earlier releases.
        assert_eq!(
            report.clone().with_identities(&Default::default()).digest,
            report.digest
        );
        assert!(report.hardware_digest.is_some());
        let mut pool = Example::new();
        pool.proposed.selector.as_mut().unwrap().device = None;
        assert_eq!(pool.report().hardware_digest, None);
    }

    #[test]
    fn the_order_of_taints_and_devices_does_not_change_the_digest() {
        let whole = Example::new().facts();
        let device = |name: &str| DeviceFacts {
            name: name.to_owned(),
            identity: [("gpu.example.com/uuid".to_owned(), name.to_owned())].into(),
        };
        let mut facts = ImpactFacts {
            devices: ["a", "b"].map(device).into(),
            ..whole
        };
        let mut second = facts.taints[0].clone();
        second.taint.value = "other".to_owned();
        facts.taints.push(second);
        let digest = facts.digest();
        facts.devices.reverse();
        assert_eq!(facts.digest(), digest, "devices");
        facts.taints.reverse();
        assert_eq!(facts.digest(), digest, "taints");
    }

    #[test]
    fn a_selector_that_asks_for_more_than_a_name_names_no_device() {
        let plain = testing::proposed(None);
        assert_eq!(named(std::slice::from_ref(&plain)).len(), 1);
        type Change = fn(&mut DeviceSelector);
        let changes: [Change; 3] = [
            |selector| selector.device_class = Some("gpu".into()),
            |selector| selector.expressions.push("true".to_owned()),
            |selector| selector.unknown_fields.push("share".to_owned()),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut narrow = plain.clone();
            change(narrow.selector.as_mut().unwrap());
            assert!(named(&[narrow]).is_empty(), "{number}");
        }
    }
}
