//! Current hardware of devices that rules name one by one.

use std::collections::{BTreeMap, BTreeSet};

use super::hardware::Hardware;
use super::identifying_attributes::{AttributeMeaning, means};
use super::noted_hardware::{NotedHardware, named};
use crate::engine::ProposedTaint;
use crate::model::{Device, DeviceId, DeviceTaintRule, ResourceSlice, Snapshot};

/// What identifies the devices that the `proposed` taints name one by one, by DRIVER/POOL/DEVICE, as far
/// as that is published: attributes of the hardware itself, or of its place where there are none of
/// these.
#[must_use]
pub fn identities(
    proposed: &[ProposedTaint],
    snapshot: &Snapshot,
) -> BTreeMap<String, BTreeMap<String, String>> {
    let selectors = proposed.iter().filter_map(|taint| taint.selector.as_ref());
    let ids: BTreeSet<DeviceId> = selectors.filter_map(named).collect();
    let pools = pools(snapshot, &ids);
    let identity = |id: &DeviceId| {
        let device = published(id, pools.get(&(id.driver.as_str(), id.pool.as_str()))?)?;
        let noted = NotedHardware::of(&id.driver, device)?;
        Some((id.to_string(), noted.decisive()))
    };
    ids.iter().filter_map(identity).collect()
}

/// Those of `rules` that note one of these numbers of `hardware`: they were made for
/// it, whatever it is called by now. A place says nothing, for it is that of many machines.
#[must_use]
pub fn made_for<'a>(
    rules: &'a [DeviceTaintRule],
    hardware: &[Hardware],
) -> Vec<&'a DeviceTaintRule> {
    let is_it = |rule: &&DeviceTaintRule| {
        let noted = NotedHardware::on(rule).unwrap_or_default();
        let mut numbers = hardware
            .iter()
            .filter(|number| number.means() == AttributeMeaning::Hardware);
        numbers.any(|number| noted.has(number))
    };
    rules.iter().filter(is_it).collect()
}

impl NotedHardware {
    /// Whether an attribute that identifies hardware was this.
    #[must_use]
    pub fn has(&self, hardware: &Hardware) -> bool {
        let mut attributes = self.attributes.iter();
        attributes.any(|(found, was)| hardware.is(found, was))
    }

    /// Its attributes without those of the place, where any is of the hardware itself: cards move.
    fn decisive(self) -> BTreeMap<String, String> {
        let about = self.means();
        let attributes = self.attributes.into_iter();
        attributes
            .filter(|(name, _)| means(name) == about)
            .collect()
    }
}

/// The slices of the pools of these devices, by name.
fn pools<'a>(
    snapshot: &'a Snapshot,
    ids: &BTreeSet<DeviceId>,
) -> BTreeMap<(&'a str, &'a str), Vec<&'a ResourceSlice>> {
    let wanted: BTreeSet<(&str, &str)> = ids
        .iter()
        .map(|id| (id.driver.as_str(), id.pool.as_str()))
        .collect();
    let mut pools: BTreeMap<_, Vec<&ResourceSlice>> = BTreeMap::new();
    for slice in &snapshot.slices {
        let pool = (slice.driver.as_str(), slice.pool.name.as_str());
        if wanted.contains(&pool) {
            pools.entry(pool).or_default().push(slice);
        }
    }
    for slices in pools.values_mut() {
        slices.sort_by_key(|slice| &slice.name);
    }
    pools
}

/// The device as the newest generation of its pool has it; if that has the name twice, in the slice that
/// comes first by name.
fn published<'a>(id: &DeviceId, slices: &[&'a ResourceSlice]) -> Option<&'a Device> {
    // The driver is replacing slices of older generations, and the controller and the allocator skip them.
    let newest = slices.iter().map(|slice| slice.pool.generation).max()?;
    let current = slices
        .iter()
        .filter(|slice| slice.pool.generation == newest);
    let mut devices = current.flat_map(|slice| &slice.devices);
    devices.find(|device| device.name == id.device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{selector, taint};
    use crate::model::DeviceSelector;
    use crate::report::testing;

    fn slice(name: &str, generation: i64, attributes: &[(&str, &str)]) -> ResourceSlice {
        let mut slice = testing::slice(vec![testing::published("gpu-0", attributes)]);
        slice.name = name.into();
        slice.pool.generation = generation;
        slice
    }

    /// What is known of gpu-0, which is named by itself, as `name=value`.
    fn known(slices: Vec<ResourceSlice>, selector: DeviceSelector) -> Vec<String> {
        let proposed = ProposedTaint {
            rule: None,
            selector: Some(selector),
            taint: taint("NoExecute"),
        };
        let snapshot = Snapshot {
            slices,
            ..Snapshot::default()
        };
        let found = identities(&[proposed], &snapshot);
        let attributes = found.values().flatten();
        attributes
            .map(|(name, value)| format!("{name}={value}"))
            .collect()
    }

    #[test]
    fn what_is_published_of_a_device_that_is_named_identifies_it() {
        let gpu = || selector("gpu-0");
        let place = ("resource.kubernetes.io/pciBusID", "0000:01:00.0");
        for (name, attributes, expected) in [
            (
                "its number",
                &[("uuid", "A"), place][..],
                &["gpu.example.com/uuid=A"][..],
            ),
            (
                "its place",
                &[place],
                &["resource.kubernetes.io/pciBusID=0000:01:00.0"],
            ),
            ("nothing", &[("model", "H100")], &[]),
        ] {
            assert_eq!(
                known(vec![slice("s", 1, attributes)], gpu()),
                *expected,
                "{name}"
            );
        }
        assert_eq!(
            known(vec![slice("s", 1, &[("uuid", "A")])], selector("gpu-9")),
            [""; 0]
        );
        let pool = DeviceSelector {
            device: None,
            ..gpu()
        };
        assert_eq!(known(vec![slice("s", 1, &[("uuid", "A")])], pool), [""; 0]);
    }

    #[test]
    fn a_rule_was_made_for_the_hardware_that_it_notes() {
        let noting = |name: &str, note: &str| {
            let mut rule = crate::decide::testing::named(name, "None");
            let key = crate::model::RuleMetadata::IDENTITY.to_owned();
            rule.metadata.annotations.insert(key, note.to_owned());
            rule
        };
        let rules = [
            noting("a", r#"{"d/uuid":"A","r/pciBusID":"0"}"#),
            noting("b", r#"{"d/uuid":"B","r/pciBusID":"0"}"#),
            noting("odd", "{"),
            crate::decide::testing::named("none", "None"),
        ];
        for (name, value, expected) in [
            ("uuid", "A", &["a"][..]),
            ("d/uuid", "B", &["b"]),
            ("e/uuid", "B", &[]),
            ("uuid", "C", &[]),
            // Of one machine or another.
            ("pciBusID", "0", &[]),
        ] {
            let found = made_for(&rules, &[Hardware::named(name, value)]);
            let found: Vec<&str> = found.iter().map(|rule| rule.name.as_str()).collect();
            assert_eq!(found, expected, "{name}={value}");
        }
    }

    #[test]
    fn the_newest_generation_says_what_a_device_is() {
        let slices = vec![
            slice("a", 1, &[("uuid", "old")]),
            slice("c", 2, &[("uuid", "second")]),
            slice("b", 2, &[("uuid", "first")]),
        ];
        assert_eq!(
            known(slices, selector("gpu-0")),
            ["gpu.example.com/uuid=first"]
        );
    }
}
