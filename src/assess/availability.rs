//! Availability of devices for new claims.
//!
//! Takes the devices as they are, and gives an [`Availability`] for each; of devices of which that is unknown, none.
//! Admin access uses nothing.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::completeness::{CountSubject, ReportCompleteness};
use crate::engine::allocator::PartitionedPools;
use crate::engine::closed_nodes::{ClosedNode, ClosedReason};
use crate::engine::rule_lifecycle::blocks;
use crate::engine::{DeviceState, Impact};
use crate::model::{DeviceId, Kind, Node, NodeName, Reading, Warning};
use crate::naming::phrase::{counted, few};

/// Availability of a device for new claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Availability {
    /// No claim holds the device, its counters are left, and no taint keeps new claims off.
    Free,
    /// A claim holds the device.
    Used,
    /// Partitions of the device are in use.
    UsedInParts,
    /// A partition whose counters are in use through other devices.
    NoCountersLeft,
    /// Free but for a taint with effect NoSchedule or NoExecute.
    Tainted,
    /// No driver publishes the device.
    NotPublished,
}

impl Availability {
    /// The availability in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Used => "used",
            Self::UsedInParts => "used in parts",
            Self::NoCountersLeft => "no counters left",
            Self::Tainted => "tainted",
            Self::NotPublished => "not published",
        }
    }

    /// Reports whether claims hold the device, or a part of it.
    pub fn is_used(self) -> bool {
        match self {
            Self::Used | Self::UsedInParts => true,
            Self::Free | Self::NoCountersLeft | Self::Tainted | Self::NotPublished => false,
        }
    }
}

/// Holders, counters and gaps from which availabilities follow.
#[derive(Debug)]
pub struct Availabilities<'a> {
    completeness: ReportCompleteness<'a>,
    blocked: BTreeSet<DeviceId>,
    partitions: BTreeSet<DeviceId>,
}

impl<'a> Availabilities<'a> {
    /// Those of the devices of `reading`; counters have to be read for it.
    pub fn new(reading: &'a Reading) -> Self {
        // Claims name the pods for which they are reserved, so that no pod is needed.
        let gaps = reading.gaps.iter();
        let read = gaps.filter(|gap| gap.kind() != Some(Kind::Pod));
        let claims = reading.snapshot.claims.iter();
        let held: BTreeSet<&DeviceId> = claims
            .flat_map(|claim| claim.exclusive_results().map(|result| &result.device))
            .collect();
        let pools = PartitionedPools::new(&reading.snapshot.slices);
        Self {
            completeness: ReportCompleteness::new(read),
            blocked: pools.blocked(|device| held.contains(device)),
            partitions: pools.partitions(),
        }
    }

    /// Gaps that matter for devices.
    pub fn completeness(&self) -> &ReportCompleteness<'a> {
        &self.completeness
    }

    /// Reports whether the device uses counters, and of no set all.
    pub fn is_partition(&self, device: &DeviceId) -> bool {
        self.partitions.contains(device)
    }

    /// The availability of the device, if it is known.
    pub fn of(&self, state: &DeviceState<'_>) -> Option<Availability> {
        let is_complete = |subject| self.completeness.is_complete(subject);
        let mut taints = state.taints.iter();
        if !state.is_free() {
            Some(Availability::Used)
        } else if self.blocked.contains(&state.id) {
            Some(match self.is_partition(&state.id) {
                true => Availability::NoCountersLeft,
                false => Availability::UsedInParts,
            })
        } else if !is_complete(CountSubject::Holders) {
            None
        } else if !state.published {
            is_complete(CountSubject::Inventory).then_some(Availability::NotPublished)
        } else if taints.any(|taint| blocks(&taint.taint.effect)) {
            Some(Availability::Tainted)
        } else {
            is_complete(CountSubject::Taints).then_some(Availability::Free)
        }
    }
}

/// So many nodes are named.
const MOST_NAMED: usize = 3;

/// Those of them that have devices, with the reason of each; nothing where there are none.
pub fn closed_line(closed: &[ClosedNode]) -> Option<String> {
    let closed: Vec<&ClosedNode> = closed.iter().filter(|node| node.has_devices).collect();
    let named = closed.iter().take(MOST_NAMED).map(|node| {
        let name = &node.name;
        match &node.reason {
            ClosedReason::Cordoned => format!("{name} is cordoned"),
            ClosedReason::Tainted(taint) => format!("{name} has taint {taint}"),
        }
    });
    let more = closed.len().saturating_sub(MOST_NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    let named: Vec<String> = named.chain(more).collect();
    (!named.is_empty()).then(|| {
        format!(
            "nodes on which the pod cannot be scheduled: {}",
            named.join(", ")
        )
    })
}

/// The warning about devices whose partitions are `open`, as [`open_parts`](crate::engine::inventory::open_parts) has
/// found them; absent where there are none.
pub fn open_parts_warning(open: &BTreeMap<DeviceId, BTreeSet<DeviceId>>) -> Option<Warning> {
    let devices: Vec<String> = open.keys().map(ToString::to_string).collect();
    let (first, rest) = devices.split_first()?;
    let parts: BTreeSet<&DeviceId> = open.values().flatten().collect();
    let names: Vec<String> = parts.iter().map(ToString::to_string).collect();
    let wholes = match rest {
        [] => first.clone(),
        _ => counted(devices.len(), "selected device"),
    };
    let have = if parts.len() == 1 { "has" } else { "have" };
    Some(Warning {
        code: "partitions-not-tainted",
        message: format!(
            "{} of {wholes} {have} no taint of effect NoSchedule or NoExecute ({}), so new pods can be scheduled to the same hardware",
            counted(parts.len(), "partition"),
            few(&names)
        ),
        fix: Some(
            "to include them, use `add`, `preview` or `drain` with --with-partitions, or escalate their rules if they have any".to_owned(),
        ),
    })
}

/// The selected devices on whose nodes a device plugin may offer the same hardware, each with the resources.
///
/// Taken for the same hardware are resources that have a word of the driver's name in theirs, such as `nvidia.com/gpu` of
/// `gpu.nvidia.com`; others, such as `rdma/hca`, are beside any driver.
///
/// Upstream: `shouldDelegateResourceToDRA` in `pkg/scheduler/framework/plugins/noderesources/fit.go`: what a node has
/// allocatable is a device plugin's, also where a DeviceClass serves this resource on other nodes.
pub fn device_plugins<'a>(
    impact: &Impact<'_>,
    nodes: &'a [Node],
) -> BTreeMap<DeviceId, (&'a NodeName, Vec<&'a str>)> {
    let nodes: BTreeMap<&NodeName, &Node> = nodes.iter().map(|node| (&node.name, node)).collect();
    let offered = impact.devices.iter().filter_map(|device| {
        let node = nodes.get(device.node?)?;
        let resources = node.extended_resources.iter().map(String::as_str);
        let same: Vec<&str> = resources
            .filter(|name| is_of_driver(name, device.id.driver.as_str()))
            .collect();
        (!same.is_empty()).then(|| (device.id.clone(), (&node.name, same)))
    });
    offered.collect()
}

/// True if a word of the driver's name, beside its top-level domain, is in that of the resource.
fn is_of_driver(resource: &str, driver: &str) -> bool {
    let mut words = driver.rsplit('.').skip(1);
    words.any(|word| word.len() > 2 && resource.contains(word))
}

/// The warning about what [`device_plugins`] has found; absent where that is nothing.
pub fn device_plugin_warning(
    found: &BTreeMap<DeviceId, (&NodeName, Vec<&str>)>,
) -> Option<Warning> {
    let nodes: BTreeMap<&NodeName, &Vec<&str>> =
        found.values().map(|(node, names)| (*node, names)).collect();
    let (first, _) = nodes.first_key_value()?;
    let offered = nodes
        .iter()
        .map(|(node, names)| format!("{node}: {}", names.join(", ")));
    Some(Warning {
        code: "device-plugin-too",
        message: format!(
            "a device plugin may offer the same hardware to pods without claims, which no taint evicts ({})",
            few(offered.collect::<Vec<String>>())
        ),
        fix: Some(format!(
            "to list the pods of a node, use `kubectl get pods --all-namespaces --field-selector spec.nodeName={first}`"
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Effect, Gap, Taint};
    use crate::report::testing;

    #[test]
    fn a_resource_is_of_the_driver_if_its_name_has_one_of_its_words() {
        for (resource, driver, expected) in [
            ("nvidia.com/gpu", "gpu.nvidia.com", true),
            ("nvidia.com/mig-1g.10gb", "gpu.nvidia.com", true),
            ("volcano.sh/vgpu-number", "gpu.nvidia.com", true),
            ("habana.ai/gaudi", "gaudi.intel.com", true),
            ("rdma/hca_shared", "gpu.nvidia.com", false),
            ("smarter-devices/fuse", "gpu.nvidia.com", false),
            ("amd.com/gpu", "dra.net", false),
        ] {
            assert_eq!(is_of_driver(resource, driver), expected, "{resource}");
        }
    }

    /// A card in two parts, a device of its own, and one with a taint of this effect; a claim holds `held`.
    fn reading(held: Option<&str>, admin_access: bool, effect: Effect) -> Reading {
        let mut tainted = testing::published("tainted", &[]);
        tainted.taints = vec![Taint {
            effect,
            ..testing::TAINT.clone()
        }];
        let mut slice = testing::slice(vec![
            testing::drawing("card", "80Gi"),
            testing::drawing("half-0", "40Gi"),
            testing::drawing("most", "60Gi"),
            testing::published("other", &[]),
            tainted,
        ]);
        slice.terms = testing::card("80Gi");
        let mut reading = testing::reading();
        reading.snapshot.slices = vec![slice];
        if let Some(held) = held {
            let mut claim = testing::claim(&testing::pod("ml", "train"));
            let result = &mut claim.allocation.as_mut().expect("allocated").results[0];
            result.device = testing::device(held);
            result.admin_access = admin_access;
            reading.snapshot.claims = vec![claim];
        }
        reading
    }

    /// Words of the devices by name.
    fn found(reading: &Reading) -> String {
        let devices = crate::engine::devices(&reading.snapshot, &testing::semantics(37));
        let availabilities = Availabilities::new(reading);
        let words = devices.iter().map(|state| {
            let partition = match availabilities.is_partition(&state.id) {
                true => "*",
                false => "",
            };
            let found = availabilities.of(state).map_or("?", Availability::as_str);
            format!("{}{partition}: {found}", state.id.device)
        });
        words.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn free_is_what_a_new_claim_can_have() {
        let free = "half-0*: free, most*: free, other: free, tainted: tainted";
        let used = "half-0*: used, most*: no counters left, other: free, tainted: free";
        let gone = format!("gone: not published, {free}");
        for (held, admin_access, effect, card, rest) in [
            (None, false, Effect::NoSchedule, "free", free),
            (Some("half-0"), false, Effect::None, "used in parts", used),
            (Some("half-0"), true, Effect::NoSchedule, "free", free),
            (Some("gone"), true, Effect::NoSchedule, "free", &gone),
        ] {
            let found = found(&reading(held, admin_access, effect));
            assert_eq!(found, format!("card: {card}, {rest}"), "{held:?}");
        }
    }

    #[test]
    fn unknown_is_not_free() {
        for (kind, expected) in [
            (
                Kind::ResourceClaim,
                "?, half-0*: used, most*: no counters left, other: ?, tainted: ?",
            ),
            (Kind::DeviceTaintRule, "other: ?, tainted: tainted"),
            (Kind::Pod, "other: free, tainted: tainted"),
        ] {
            let mut reading = reading(Some("half-0"), false, Effect::NoExecute);
            reading.gaps = vec![Gap::of(kind, "denied")];
            let found = found(&reading).replace("card: used in parts", "?");
            assert!(found.ends_with(expected), "{kind}: {found}");
        }
    }
}
