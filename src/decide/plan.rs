//! Candidate units of a plan, and the command that drains the chosen ones.

use std::collections::{BTreeMap, BTreeSet};

use super::drain::{UnitPod, needed_inclusions};
use crate::assess::{Plan, PlanUnit};
use crate::engine::{self, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, Effect, Kind, NodeName, Reading, Snapshot, Taint};
use crate::naming::keys;
use crate::naming::phrase::counted;
use crate::naming::shell::word;

/// Number and kind of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanSize {
    /// Any devices (`--count`).
    Devices(usize),
    /// Any nodes, with all of their devices (`--nodes`).
    Nodes(usize),
}

impl PlanSize {
    /// The number of units.
    pub fn number(self) -> usize {
        match self {
            Self::Devices(number) | Self::Nodes(number) => number,
        }
    }
}

/// Taint on which the pods of a plan are judged: that of a drain, with the effect of its evictions.
pub fn drain_taint() -> Taint {
    Taint {
        key: keys::in_group!("drain").to_owned(),
        value: String::new(),
        effect: Effect::NoExecute,
        time_added: None,
    }
}

/// Refuses a plan whose costs are unknown: without claims and pods every device looks unused, and without slices devices
/// are missing.
///
/// # Errors
///
/// One of these lists could not be read, or the input does not have it.
pub fn refuse_unread(reading: &Reading) -> Result<(), Failure> {
    let needed = [Kind::ResourceSlice, Kind::ResourceClaim, Kind::Pod];
    let missing: Vec<String> = reading
        .gaps_of(&needed)
        .map(|gap| format!("{}: {}", gap.what, gap.why))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let failure = Failure::new(
        ExitStatus::Incomplete,
        "cannot compare the devices for a plan, because some objects could not be read",
    );
    Err(failure.with_details(missing))
}

/// The command that drains the units of `plan`, with the classes of `pods` that it has to include, and the flag to accept
/// claims that are `unplaced`.
pub fn drain_command(size: PlanSize, plan: &Plan, pods: &[UnitPod], unplaced: &[String]) -> String {
    let flag = match size {
        PlanSize::Devices(_) => "",
        PlanSize::Nodes(_) => "--node ",
    };
    let units = plan.planned_units.iter();
    let units = units.map(|unit| format!("{flag}{}", word(&unit.unit)));
    let classes = needed_inclusions(pods);
    let include = (!classes.is_empty()).then(|| format!("--include {}", classes.join(",")));
    let accept = (!unplaced.is_empty()).then(|| "--accept-unplaceable".to_owned());
    let words: Vec<String> = units.chain(include).chain(accept).collect();
    format!("kubectl devicetaint drain {}", words.join(" "))
}

/// The candidate units: each of the `candidates`, or each node that has one of them, with all of its devices. A unit
/// with an `excluded` device is left out.
///
/// # Errors
///
/// Fewer candidate units are left than wanted.
pub fn plan_units(
    size: PlanSize,
    candidates: &BTreeSet<DeviceId>,
    excluded: &BTreeSet<DeviceId>,
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Result<Vec<PlanUnit>, Failure> {
    let (flag, noun) = match size {
        PlanSize::Devices(_) => ("--count", "device"),
        PlanSize::Nodes(_) => ("--nodes", "node"),
    };
    let units: Vec<PlanUnit> = match size {
        PlanSize::Devices(_) => {
            let left = candidates.difference(excluded);
            let unit = |id: &DeviceId| PlanUnit {
                name: id.to_string(),
                devices: vec![id.clone()],
            };
            left.map(unit).collect()
        }
        PlanSize::Nodes(_) => whole_nodes(candidates, excluded, snapshot, semantics),
    };
    let (number, found) = (size.number(), units.len());
    if number > found {
        return Err(Failure::usage(format!(
            "{flag} {number} exceeds the number of candidates: {}",
            counted(found, noun)
        )));
    }
    Ok(units)
}

fn whole_nodes(
    candidates: &BTreeSet<DeviceId>,
    excluded: &BTreeSet<DeviceId>,
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Vec<PlanUnit> {
    let mut nodes: BTreeMap<&NodeName, Vec<DeviceId>> = BTreeMap::new();
    for state in engine::devices(snapshot, semantics) {
        if let Some(node) = state.node {
            nodes.entry(node).or_default().push(state.id);
        }
    }
    // One selected device selects its node, and one excluded device excludes it, with all of its devices.
    nodes.retain(|_, devices| {
        let is_selected = devices.iter().any(|id| candidates.contains(id));
        is_selected && !devices.iter().any(|id| excluded.contains(id))
    });
    let units = nodes.into_iter().map(|(node, devices)| PlanUnit {
        name: node.to_string(),
        devices,
    });
    units.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    fn snapshot() -> Snapshot {
        let slice = |node: &str| crate::model::ResourceSlice {
            name: node.into(),
            nodes: crate::model::SliceNodes::One(node.into()),
            pool: crate::model::Pool {
                name: node.into(),
                generation: 1,
                slice_count: 1,
            },
            ..testing::slice(vec![
                testing::published("gpu-0", &[]),
                testing::published("gpu-1", &[]),
            ])
        };
        Snapshot {
            slices: vec![slice("node-1"), slice("node-2")],
            ..Snapshot::default()
        }
    }

    fn id(pool: &str, device: &str) -> DeviceId {
        DeviceId {
            pool: pool.into(),
            ..testing::device(device)
        }
    }

    fn names(
        size: PlanSize,
        candidates: &[DeviceId],
        excluded: &[DeviceId],
    ) -> Result<Vec<String>, String> {
        let set = |ids: &[DeviceId]| ids.iter().cloned().collect();
        let units = plan_units(
            size,
            &set(candidates),
            &set(excluded),
            &snapshot(),
            &testing::semantics(37),
        );
        let names = |unit: PlanUnit| format!("{} ({})", unit.name, unit.devices.len());
        let units = units.map_err(|failure| failure.to_string())?;
        Ok(units.into_iter().map(names).collect())
    }

    #[test]
    fn a_unit_is_a_device_or_a_node_with_all_of_its_devices() {
        let (one, two) = (id("node-1", "gpu-0"), id("node-2", "gpu-1"));
        let both = [one.clone(), two];
        assert_eq!(
            names(PlanSize::Devices(1), &both, &[]).unwrap(),
            [
                "gpu.example.com/node-1/gpu-0 (1)",
                "gpu.example.com/node-2/gpu-1 (1)"
            ]
        );
        assert_eq!(
            names(PlanSize::Devices(1), &both, &[one]).unwrap(),
            ["gpu.example.com/node-2/gpu-1 (1)"]
        );
        assert_eq!(
            names(PlanSize::Nodes(1), &both, &[]).unwrap(),
            ["node-1 (2)", "node-2 (2)"]
        );
        // Another device of the node than the one that was selected.
        assert_eq!(
            names(PlanSize::Nodes(1), &both, &[id("node-1", "gpu-1")]).unwrap(),
            ["node-2 (2)"]
        );
    }

    #[test]
    fn more_units_than_there_are_are_refused() {
        let one = [id("node-1", "gpu-0")];
        let elsewhere = [id("elsewhere", "gpu-0")];
        for (size, candidates, excluded) in [
            (PlanSize::Devices(2), &one, &[][..]),
            (PlanSize::Nodes(2), &one, &[]),
            (PlanSize::Devices(1), &one, &one),
            (PlanSize::Nodes(1), &one, &one),
            (PlanSize::Nodes(1), &elsewhere, &[]),
        ] {
            assert!(names(size, candidates, excluded).is_err(), "{size:?}");
        }
        assert!(names(PlanSize::Devices(1), &one, &[]).is_ok());
    }

    #[test]
    fn without_slices_claims_or_pods_there_is_no_plan() {
        assert!(refuse_unread(&testing::reading()).is_ok());
        for (kind, refused) in [
            (Kind::ResourceSlice, true),
            (Kind::ResourceClaim, true),
            (Kind::Pod, true),
            (Kind::Node, false),
        ] {
            let mut reading = testing::reading();
            reading.gaps = vec![crate::model::Gap::of(kind, "denied")];
            let found = refuse_unread(&reading);
            let status = found.err().map(|failure| failure.status());
            assert_eq!(status, refused.then_some(ExitStatus::Incomplete), "{kind}");
        }
    }
}
