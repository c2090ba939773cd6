//! Counts of devices: all, allocated, tainted, free.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::assess::{CountSubject, ReportCompleteness};
use crate::engine::DeviceState;
use crate::model::{Count, DeviceId, NamespacedName};
use crate::naming::phrase::counted;
use crate::report::bounds::Bounds;

/// Counts of the listed devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceCounts {
    /// Number of listed devices.
    pub device_count: usize,
    /// Devices that a claim holds, ignoring admin access. Such devices are not free.
    pub allocated_device_count: usize,
    /// Devices that no claim holds, although pods use partitions of them. These devices are not free.
    #[serde(default)]
    pub partly_used_device_count: usize,
    /// Devices with a taint, of any effect.
    pub tainted_device_count: usize,
    /// Bounds of the counts in this object that are not exact; absent if all are exact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bounds>,
    /// The counts from which these were written, for words.
    #[serde(skip)]
    known: Known,
    /// Whether there may be other devices, which arguments and flags leave out.
    #[serde(skip)]
    is_selection: bool,
}

/// How many devices there are, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Known {
    devices: Count,
    allocated: Count,
    in_parts: Count,
    tainted: Count,
}

/// Counts of the listed devices of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeCounts {
    /// The node; null for devices that are not local to a node, and for devices whose node is unknown.
    pub node: Option<String>,
    /// Whether the node of the counted devices is known; false if their ResourceSlices could not be read.
    pub node_known: bool,
    /// How many.
    #[serde(flatten)]
    pub counts: DeviceCounts,
}

/// The pods that use devices through parts of them, by device.
pub(super) type Parts = BTreeMap<DeviceId, BTreeSet<NamespacedName>>;

impl DeviceCounts {
    fn of(
        devices: &[&DeviceState<'_>],
        parts: &Parts,
        completeness: &ReportCompleteness<'_>,
    ) -> Self {
        let number = |wanted: fn(&DeviceState<'_>) -> bool| {
            devices.iter().filter(|state| wanted(state)).count()
        };
        // Only of those that no claim holds, so that each device is counted once.
        let in_parts = devices
            .iter()
            .filter(|state| state.is_free() && parts.contains_key(&state.id));
        let allocated = number(|state| !state.is_free());
        let tainted = number(|state| !state.taints.is_empty());
        let known = Known {
            devices: completeness.count(CountSubject::Inventory, devices.len()),
            allocated: completeness.count(CountSubject::Holders, allocated),
            in_parts: completeness.count(CountSubject::Holders, in_parts.count()),
            tainted: completeness.count(CountSubject::Taints, tainted),
        };
        Self {
            device_count: known.devices.counted(),
            allocated_device_count: known.allocated.counted(),
            partly_used_device_count: known.in_parts.counted(),
            tainted_device_count: known.tainted.counted(),
            bounds: Bounds::of(&[
                ("deviceCount", known.devices),
                ("allocatedDeviceCount", known.allocated),
                ("partlyUsedDeviceCount", known.in_parts),
                ("taintedDeviceCount", known.tainted),
            ]),
            known,
            is_selection: false,
        }
    }

    /// The counts as those of a selection: the words must not read like all devices of a node.
    pub(super) fn of_selection(self) -> Self {
        Self {
            is_selection: true,
            ..self
        }
    }

    /// How many devices, how many of them allocated, and how many tainted, as far as that is known.
    pub(super) fn known(&self) -> [Count; 3] {
        let Known {
            devices,
            allocated,
            tainted,
            ..
        } = self.known;
        [devices, allocated, tainted]
    }

    /// Such as `40 devices, 32 allocated, 6 tainted`, or `3 selected devices, …`.
    pub(super) fn in_words(&self) -> String {
        let Known {
            devices,
            allocated,
            in_parts,
            tainted,
        } = self.known;
        let words = |count: Count| match count.exact() {
            Some(number) => number.to_string(),
            None if count.is_unknown() => "an unknown number".to_owned(),
            None => in_bounds(count),
        };
        let noun = if self.is_selection {
            "selected device"
        } else {
            "device"
        };
        let devices = match devices.exact() {
            Some(number) => counted(number, noun),
            // Only slices that were not read make this number uncertain, and these can only add devices.
            None => format!("at least {}", counted(devices.least(), noun)),
        };
        // What is not known is said of those that are allocated.
        let in_parts = match in_parts.counted() {
            0 => String::new(),
            _ => format!(", {} in use through partitions", words(in_parts)),
        };
        format!(
            "{devices}, {} allocated{in_parts}, {} tainted",
            words(allocated),
            words(tainted)
        )
    }
}

fn in_bounds(count: Count) -> String {
    match count.most() {
        None => format!("at least {}", count.least()),
        Some(most) => format!("{} to {most}", count.least()),
    }
}

impl NodeCounts {
    /// The node, and whether it is known where these devices are.
    pub(super) fn place(&self) -> (Option<&str>, bool) {
        (self.node.as_deref(), self.node_known)
    }

    /// The node in words.
    pub(super) fn named(&self) -> &str {
        match self.place() {
            (Some(node), _) => node,
            (None, true) => "not local to a node",
            (None, false) => "on an unknown node",
        }
    }

    /// What stands above the devices of the node.
    pub(super) fn title(&self) -> String {
        format!("{}: {}", self.named(), self.counts.in_words())
    }
}

/// All of `devices` together, and node by node: by name, those that are local to none last.
pub(super) fn counts(
    devices: &[&DeviceState<'_>],
    parts: &Parts,
    completeness: &ReportCompleteness<'_>,
) -> (DeviceCounts, Vec<NodeCounts>) {
    let inventory = completeness.is_complete(CountSubject::Inventory);
    let mut places: BTreeMap<(bool, Option<String>, bool), Vec<&DeviceState<'_>>> = BTreeMap::new();
    for state in devices {
        let node = state.node.map(ToString::to_string);
        // The slice of an unpublished device may be one that was not read, and would name its node.
        let known = state.published || inventory;
        // The flag sorts devices without a node behind all nodes; an absent name alone would come first.
        let place = (node.is_none(), node, known);
        places.entry(place).or_default().push(state);
    }
    let nodes = places
        .into_iter()
        .map(|((_, node, known), devices)| NodeCounts {
            node,
            node_known: known,
            counts: DeviceCounts::of(&devices, parts, completeness),
        });
    (
        DeviceCounts::of(devices, parts, completeness),
        nodes.collect(),
    )
}
