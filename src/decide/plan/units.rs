//! Candidate units of a plan: devices, or complete nodes, without excluded ones.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::assess::PlanUnit;
use crate::engine::hardware::Hardware;
use crate::engine::{self, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, Kind, NodeName, Reading, ResourceClaim, Snapshot};
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
    /// The given number.
    #[must_use]
    pub fn number(self) -> usize {
        match self {
            Self::Devices(number) | Self::Nodes(number) => number,
        }
    }

    /// The flag that sets it.
    fn flag(self) -> &'static str {
        match self {
            Self::Devices(_) => "--count",
            Self::Nodes(_) => "--nodes",
        }
    }

    /// What one unit is.
    fn noun(self) -> &'static str {
        match self {
            Self::Devices(_) => "device",
            Self::Nodes(_) => "node",
        }
    }

    /// Refuses zero units; needs no cluster.
    ///
    /// # Errors
    ///
    /// Zero units.
    pub fn check(self) -> Result<(), Failure> {
        if self.number() > 0 {
            return Ok(());
        }
        Err(Failure::usage(format!("{} 0 plans nothing", self.flag()))
            .hint("use a whole number of 1 or more"))
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
    let gaps = reading.gaps.iter();
    let missing: Vec<String> = gaps
        .filter(|gap| gap.kind().is_some_and(|kind| needed.contains(&kind)))
        .map(|gap| format!("{}: {}", gap.what, gap.why))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let failure = Failure::new(
        ExitStatus::Incomplete,
        "cannot compare the devices for a plan, because some objects could not be read",
    );
    Err(missing.into_iter().fold(failure, Failure::detail))
}

/// The command that drains the `units` with these names, including the classes of pods that a drain evicts only if they are
/// named.
#[must_use]
pub fn drain_command(size: PlanSize, units: &[String], inclusions: &[&str]) -> String {
    let flag = match size {
        PlanSize::Devices(_) => "",
        PlanSize::Nodes(_) => "--node ",
    };
    let units = units.iter().map(|unit| format!("{flag}{} ", word(unit)));
    let include = (!inclusions.is_empty()).then(|| format!("--include {} ", inclusions.join(",")));
    let words: String = units.chain(include).collect();
    format!("kubectl devicetaint drain {words}--dry-run")
}

/// Every device of these units, by name.
#[must_use]
pub fn devices_of(units: &[PlanUnit]) -> BTreeSet<DeviceId> {
    units.iter().flat_map(|unit| unit.devices.clone()).collect()
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
    let units = match size {
        PlanSize::Devices(_) => {
            let left = candidates.difference(excluded);
            left.map(|id| PlanUnit {
                name: id.to_string(),
                devices: vec![id.clone()],
            })
            .collect()
        }
        PlanSize::Nodes(_) => whole_nodes(candidates, excluded, snapshot, semantics)?,
    };
    if units.is_empty() {
        return Err(nothing_left(size, candidates.len()));
    }
    let (number, there) = (size.number(), units.len());
    if number > there {
        return Err(Failure::usage(format!(
            "{} {number} exceeds the number of candidates: {}",
            size.flag(),
            counted(there, size.noun())
        )));
    }
    Ok(units)
}

/// The units, those last whose hardware is in use through other devices than theirs, such as partitions: of sets that cost
/// the same, one of units that become idle is better. Slices have to be read with attributes and counters.
#[must_use]
pub fn shared_hardware_last(mut units: Vec<PlanUnit>, snapshot: &Snapshot) -> Vec<PlanUnit> {
    let claims = snapshot.claims.iter();
    let results = claims.flat_map(ResourceClaim::exclusive_results);
    let held: HashSet<&DeviceId> = results.map(|result| &result.device).collect();
    if held.is_empty() {
        return units;
    }
    let hardware = Hardware::of(&snapshot.slices);
    // The order of the others stays: it decides among equal sets.
    units.sort_by_cached_key(|unit| {
        let names = hardware.closure(&unit.devices);
        names
            .iter()
            .any(|name| held.contains(name) && !unit.devices.contains(name))
    });
    units
}

fn whole_nodes(
    candidates: &BTreeSet<DeviceId>,
    excluded: &BTreeSet<DeviceId>,
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Result<Vec<PlanUnit>, Failure> {
    let mut nodes: BTreeMap<&NodeName, Vec<DeviceId>> = BTreeMap::new();
    for state in engine::devices(snapshot, semantics) {
        if let Some(node) = state.node {
            nodes.entry(node).or_default().push(state.id);
        }
    }
    // One selected device selects its node. The node's other devices belong to the unit as well.
    nodes.retain(|_, devices| devices.iter().any(|id| candidates.contains(id)));
    if nodes.is_empty() {
        return Err(Failure::usage(match candidates.len() {
            1 => "--nodes: the selected device is not local to a node".to_owned(),
            many => format!("--nodes: none of the {many} selected devices is local to a node"),
        })
        .hint("plan devices instead of nodes: --count"));
    }
    // A node is chosen with all of its devices, so that one excluded device excludes the node.
    nodes.retain(|_, devices| !devices.iter().any(|id| excluded.contains(id)));
    let units = nodes.into_iter().map(|(node, devices)| PlanUnit {
        name: node.to_string(),
        devices,
    });
    Ok(units.collect())
}

fn nothing_left(size: PlanSize, candidates: usize) -> Failure {
    let devices = counted(candidates, "selected device");
    Failure::usage(match size {
        PlanSize::Devices(_) => {
            format!("--exclude excludes all of {devices}")
        }
        PlanSize::Nodes(_) => format!("--exclude excludes all nodes of {devices}"),
    })
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

    #[test]
    fn units_whose_hardware_is_in_use_through_partitions_come_last() {
        let mut snapshot = Snapshot {
            slices: vec![testing::slice(vec![
                crate::engine::testing::drawing("card-0", "80Gi"),
                crate::engine::testing::drawing("part-0", "40Gi"),
                testing::published("card-1", &[]),
            ])],
            ..Snapshot::default()
        };
        let unit = |name: &str| PlanUnit {
            name: name.to_owned(),
            devices: vec![testing::device(name)],
        };
        let order = |snapshot: &Snapshot| -> Vec<String> {
            let units = vec![unit("card-0"), unit("card-1"), unit("part-0")];
            let units = shared_hardware_last(units, snapshot).into_iter();
            units.map(|unit| unit.name).collect()
        };
        assert_eq!(order(&snapshot), ["card-0", "card-1", "part-0"]);
        let mut claim = testing::claim_in_use(&testing::pod("ml", "one"));
        let allocation = claim.allocation.as_mut().expect("an allocation");
        allocation.results[0].device = testing::device("part-0");
        snapshot.claims = vec![claim];
        // The partition itself is lost with its own pod, which counts.
        assert_eq!(order(&snapshot), ["card-1", "part-0", "card-0"]);
        let allocation = snapshot.claims[0]
            .allocation
            .as_mut()
            .expect("an allocation");
        allocation.results[0].admin_access = true;
        assert_eq!(order(&snapshot), ["card-0", "card-1", "part-0"]);
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
        assert!(names(PlanSize::Devices(1), &one, &[]).is_ok());
        assert!(names(PlanSize::Devices(2), &one, &[]).is_err());
        assert!(names(PlanSize::Nodes(2), &one, &[]).is_err());
        assert!(PlanSize::Devices(0).check().is_err());
    }

    #[test]
    fn the_drain_of_a_plan_names_its_units_and_the_classes_that_it_needs() {
        let units = ["node-1".to_owned(), "node-2".to_owned()];
        assert_eq!(
            drain_command(PlanSize::Nodes(2), &units, &["jobs", "unmanaged"]),
            "kubectl devicetaint drain --node node-1 --node node-2 --include jobs,unmanaged --dry-run"
        );
        assert_eq!(
            drain_command(PlanSize::Devices(1), &["a/b/c".to_owned()], &[]),
            "kubectl devicetaint drain a/b/c --dry-run"
        );
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

    #[test]
    fn nothing_to_choose_from_is_told_as_that() {
        let one = id("node-1", "gpu-0");
        for (size, candidates, said) in [
            (
                PlanSize::Devices(1),
                one.clone(),
                "--exclude excludes all of 1 selected device",
            ),
            (
                PlanSize::Nodes(1),
                one.clone(),
                "--exclude excludes all nodes of 1 selected device",
            ),
            (
                PlanSize::Nodes(1),
                id("elsewhere", "gpu-0"),
                "--nodes: the selected device is not local to a node",
            ),
        ] {
            let found = names(size, &[candidates], std::slice::from_ref(&one));
            assert_eq!(found.unwrap_err(), said);
        }
    }
}
