//! Limits of a set: pools, zones, nodes, and devices that stay allocatable.

use std::collections::{BTreeMap, BTreeSet};

use super::request::{PlanRequest, PlanSize, Spread};
use super::units::devices_of;
use crate::assess::{DeviceBasis, PlanUnit, completeness};
use crate::engine;
use crate::engine::allocator::{AllocatableDevices, SearchBasis, allocatable_devices};
use crate::engine::set_search::{DomainLimits, SetLimits};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, Kind, NodeName};
use crate::naming::phrase::{counted, few};

/// The label that says in which zone a node is.
///
/// Upstream: `LabelTopologyZone` in `k8s.io/api/core/v1`.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The search space of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanSpace {
    /// The units, each with its domain and the devices that can be allocated now.
    pub units: Vec<PlanUnit>,
    /// The limits that a set of units must meet.
    pub limits: SetLimits,
    /// The devices that can be allocated now; absent without `--keep-available`.
    pub allocatable: Option<AllocatableDevices>,
    /// Notes about units that are left out.
    pub notes: Vec<String>,
}

/// The units with the requested limits.
///
/// # Errors
///
/// There are too few units, or data that the limits depend on is unknown.
pub fn plan_space(
    request: &PlanRequest,
    units: Vec<PlanUnit>,
    basis: &DeviceBasis<'_>,
) -> Result<PlanSpace, Failure> {
    let mut space = PlanSpace {
        units,
        ..PlanSpace::default()
    };
    match (request.size, request.spread) {
        (PlanSize::PerPool(number), _) => of_each_pool(&mut space, number)?,
        (PlanSize::Devices(number) | PlanSize::Nodes(number), spread) => {
            refuse_too_few(request.size, &space.units)?;
            space.limits.count = number;
            match spread {
                Some(spread) => spread_over(&mut space, request.size, spread, basis)?,
                None => space.limits.domains = vec![limits(0, usize::MAX)],
            }
        }
    }
    if let Some(floor) = &request.keeps {
        let known = SearchBasis {
            semantics: basis.semantics,
            completeness: completeness(basis.reading),
        };
        let devices = devices_of(&space.units);
        let found = allocatable_devices(&basis.reading.snapshot, &devices, known);
        let Some(found) = found else {
            return Err(Failure::refused(format!(
                "--keep-available {:?} cannot be checked: deviceclasses or resourceslices were not read; \
                 make sure that you can list them, or that the input has them",
                floor.expression()
            )));
        };
        let now = found.devices.len();
        // Unread data may hide more devices, of which a percentage is more, too.
        let least = floor.least(found.whole.most);
        let Some(spare) = now.checked_sub(least) else {
            return Err(too_few_allocatable(floor.expression(), &found));
        };
        let can_be_allocated = |id: &&DeviceId| found.devices.contains(*id);
        for unit in &mut space.units {
            unit.spare = unit.devices.iter().filter(can_be_allocated).count();
        }
        space.limits.spare = Some(spare);
        space.allocatable = Some(found);
    }
    Ok(space)
}

fn limits(least: usize, most: usize) -> DomainLimits {
    DomainLimits { least, most }
}

fn refuse_too_few(size: PlanSize, units: &[PlanUnit]) -> Result<(), Failure> {
    let (number, there) = (size.number(), units.len());
    if number <= there {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} {number} exceeds the number of candidates: {}",
        size.flag(),
        counted(there, size.noun())
    )))
}

/// Limits for the requested number of devices of each pool.
fn of_each_pool(space: &mut PlanSpace, number: usize) -> Result<(), Failure> {
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    let pool_of = |unit: &PlanUnit| {
        let device = unit.devices.first();
        device.map(|id| format!("{}/{}", id.driver, id.pool))
    };
    for pool in space.units.iter().filter_map(pool_of) {
        let size = sizes.entry(pool).or_default();
        *size = size.saturating_add(1);
    }
    let small: Vec<String> = sizes
        .iter()
        .filter(|(_, size)| **size < number)
        .map(|(pool, size)| format!("{pool} has {size}"))
        .collect();
    if !small.is_empty() {
        return Err(Failure::usage(format!(
            "--per-pool {number} exceeds the number of candidates in some pools: {}",
            few(&small)
        )));
    }
    let places: BTreeMap<&String, usize> = sizes.keys().zip(0..).collect();
    for unit in &mut space.units {
        let place = pool_of(unit).and_then(|pool| places.get(&pool).copied());
        unit.domain = place.unwrap_or_default();
    }
    space.limits.count = number.saturating_mul(sizes.len());
    space.limits.domains = vec![limits(number, number); sizes.len()];
    Ok(())
}

/// Limits that spread the units evenly over zones or nodes.
fn spread_over(
    space: &mut PlanSpace,
    size: PlanSize,
    spread: Spread,
    basis: &DeviceBasis<'_>,
) -> Result<(), Failure> {
    let domains = domains(&space.units, spread, basis)?;
    let all = space.units.len();
    let mut kept = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let names: BTreeSet<String> = domains.iter().flatten().cloned().collect();
    places.extend(names.into_iter().zip(0..));
    let mut sizes = vec![0_usize; places.len()];
    for (unit, domain) in std::mem::take(&mut space.units).into_iter().zip(domains) {
        let Some(place) = domain.and_then(|name| places.get(&name).copied()) else {
            continue;
        };
        if let Some(size) = sizes.get_mut(place) {
            *size = size.saturating_add(1);
        }
        kept.push(PlanUnit {
            domain: place,
            ..unit
        });
    }
    space.units = kept;
    let left_out = all.saturating_sub(space.units.len());
    if left_out > 0 {
        let what = match (spread, left_out) {
            (Spread::Zone, _) => "whose zone is unknown",
            (Spread::Node, 1) => "which is not local to a node",
            (Spread::Node, _) => "which are not local to a node",
        };
        let units = counted(left_out, size.noun());
        space
            .notes
            .push(format!("--spread leaves out {units}, {what}"));
    }
    let notes = space.notes.iter().cloned();
    refuse_too_few(size, &space.units).map_err(|failure| notes.fold(failure, Failure::detail))?;
    let most = evenly(&sizes, space.limits.count);
    space.limits.domains = vec![limits(0, most); sizes.len()];
    Ok(())
}

/// The smallest maximum for each domain with which all domains together give `count` units.
fn evenly(sizes: &[usize], count: usize) -> usize {
    let gives = |most: usize| {
        let given = sizes.iter().map(|size| *size.min(&most));
        given.fold(0, usize::saturating_add)
    };
    // The sum grows with the maximum. With `count` each domain gives all that is needed of it, so nothing
    // beyond can help.
    (0..=count)
        .find(|most| gives(*most) >= count)
        .unwrap_or(count)
}

/// The zone or the node of each unit; absent if unknown.
fn domains(
    units: &[PlanUnit],
    spread: Spread,
    basis: &DeviceBasis<'_>,
) -> Result<Vec<Option<String>>, Failure> {
    let snapshot = &basis.reading.snapshot;
    let states = engine::devices(snapshot, basis.semantics).devices;
    let nodes: BTreeMap<&DeviceId, &NodeName> = states
        .iter()
        .filter_map(|state| Some((&state.id, state.node?)))
        .collect();
    let node_of = |unit: &PlanUnit| nodes.get(unit.devices.first()?).copied();
    match spread {
        Spread::Node => {
            let nodes = units
                .iter()
                .map(|unit| node_of(unit).map(ToString::to_string));
            Ok(nodes.collect())
        }
        Spread::Zone => {
            if let Some(gap) = basis.reading.without(Kind::Node) {
                let why = format!("--spread zone needs nodes: {}", gap.why);
                return Err(Failure::new(ExitStatus::Incomplete, why));
            }
            let zones: BTreeMap<&NodeName, &String> = snapshot
                .nodes
                .iter()
                .filter_map(|node| Some((&node.name, node.labels.get(ZONE)?)))
                .collect();
            let zone_of = |unit: &PlanUnit| zones.get(node_of(unit)?).map(|zone| (*zone).clone());
            Ok(units.iter().map(zone_of).collect())
        }
    }
}

/// The classes with their noun.
pub(super) fn classes_line(classes: &[String]) -> String {
    let noun = if classes.len() == 1 {
        "class"
    } else {
        "classes"
    };
    format!("{noun} {}", few(classes))
}

fn too_few_allocatable(expression: &str, found: &AllocatableDevices) -> Failure {
    Failure::refused(format!(
        "--keep-available {expression:?} is not met even if nothing is drained: {} of {} can be \
        allocated now",
        counted(found.devices.len(), "device"),
        classes_line(&found.classes)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceClass, Gap, Pool, Reading, ResourceSlice, SliceNodes};
    use crate::report::testing;

    /// Pools of so many devices, each on a node of its own in a zone: `node-0` in `a`, and so on.
    fn reading(pools: &[(usize, Option<&str>)]) -> Reading {
        let mut reading = testing::reading();
        for (number, (devices, zone)) in pools.iter().enumerate() {
            let name = format!("node-{number}");
            let devices = (0..*devices).map(|device| format!("gpu-{device}"));
            let devices = devices.map(|device| testing::published(&device, &[]));
            reading.snapshot.slices.push(ResourceSlice {
                name: name.as_str().into(),
                nodes: SliceNodes::One(name.as_str().into()),
                pool: Pool {
                    name: name.as_str().into(),
                    generation: 1,
                    slice_count: 1,
                },
                ..testing::slice(devices.collect())
            });
            let mut node = testing::node(&name);
            let zone = zone.map(|zone| (ZONE.to_owned(), zone.to_owned()));
            node.labels.extend(zone);
            reading.snapshot.nodes.push(node);
        }
        reading.snapshot.classes = vec![DeviceClass {
            name: "gpu".into(),
            expressions: Vec::new(),
        }];
        reading
    }

    fn space(request: &PlanRequest, reading: &Reading) -> Result<PlanSpace, Failure> {
        let semantics = testing::semantics(37);
        let basis = DeviceBasis {
            reading,
            semantics: &semantics,
            now: testing::now(),
        };
        let states = engine::devices(&reading.snapshot, &semantics).devices;
        let units = states.into_iter().map(|state| PlanUnit {
            name: state.id.to_string(),
            devices: vec![state.id],
            ..PlanUnit::default()
        });
        plan_space(request, units.collect(), &basis)
    }

    fn request(size: PlanSize, spread: Option<Spread>, keeps: Option<&str>) -> PlanRequest {
        PlanRequest {
            size,
            spread,
            keeps: keeps.map(|text| text.parse().unwrap()),
        }
    }

    fn refused(request: &PlanRequest, reading: &Reading) -> String {
        space(request, reading).unwrap_err().to_string()
    }

    #[test]
    fn more_than_there_is_is_refused_with_what_there_is() {
        let reading = reading(&[(2, None), (3, None)]);
        let of = |size| request(size, None, None);
        assert_eq!(
            refused(&of(PlanSize::Devices(6)), &reading),
            "--count 6 exceeds the number of candidates: 5 devices"
        );
        assert_eq!(
            space(&of(PlanSize::Devices(5)), &reading)
                .unwrap()
                .limits
                .count,
            5
        );
        assert_eq!(
            refused(&of(PlanSize::PerPool(3)), &reading),
            "--per-pool 3 exceeds the number of candidates in some pools: gpu.example.com/node-0 has 2"
        );
        let each = space(&of(PlanSize::PerPool(2)), &reading).unwrap();
        assert_eq!(each.limits.count, 4);
        assert_eq!(each.limits.domains, [limits(2, 2), limits(2, 2)]);
        let domains: Vec<usize> = each.units.iter().map(|unit| unit.domain).collect();
        assert_eq!(domains, [0, 0, 1, 1, 1]);
    }

    #[test]
    fn units_are_spread_over_zones_or_nodes_as_far_as_these_are_known() {
        let reading = reading(&[(2, Some("b")), (2, Some("a")), (2, Some("b")), (1, None)]);
        let over = |spread, count| request(PlanSize::Devices(count), Some(spread), None);
        let zones = space(&over(Spread::Zone, 3), &reading).unwrap();
        let domains: Vec<usize> = zones.units.iter().map(|unit| unit.domain).collect();
        assert_eq!(domains, [1, 1, 0, 0, 1, 1]);
        assert_eq!(zones.limits.domains, [limits(0, 2); 2]);
        assert_eq!(
            zones.notes,
            ["--spread leaves out 1 device, whose zone is unknown"]
        );
        assert_eq!(
            refused(&over(Spread::Zone, 7), &reading),
            "--count 7 exceeds the number of candidates: 6 devices"
        );
        let few = space(&over(Spread::Zone, 7), &reading).unwrap_err();
        assert_eq!(few.details(), zones.notes, "what is left out");
        let nodes = space(&over(Spread::Node, 3), &reading).unwrap();
        assert_eq!(nodes.limits.domains, [limits(0, 1); 4]);
        assert_eq!(nodes.notes, [""; 0]);
        let mut unread = reading;
        unread.known.remove(&Kind::Node);
        unread.gaps.push(Gap::of(Kind::Node, "denied"));
        assert!(
            refused(&over(Spread::Zone, 1), &unread)
                .starts_with("--spread zone needs nodes: denied")
        );
        assert!(space(&over(Spread::Node, 1), &unread).is_ok());
    }

    #[test]
    fn devices_that_have_to_stay_allocatable_limit_what_is_taken() {
        let mut reading = reading(&[(2, None), (2, None)]);
        let keeping = |text| request(PlanSize::Devices(1), None, Some(text));
        let found = space(&keeping("devices.available>=3"), &reading).unwrap();
        assert_eq!(found.limits.spare, Some(1));
        assert!(found.units.iter().all(|unit| unit.spare == 1));
        let found = space(&keeping("devices.available>50%"), &reading).unwrap();
        assert_eq!(found.limits.spare, Some(1));
        assert_eq!(
            refused(&keeping("devices.available>4"), &reading),
            "--keep-available \"devices.available>4\" is not met even if nothing is drained: 4 \
             devices of class gpu can be allocated now"
        );
        // Claims, which may hold any of the devices, were not read: no device is known to be allocatable.
        reading.known.remove(&Kind::ResourceClaim);
        assert!(
            refused(&keeping("devices.available>=1"), &reading).contains("0 devices of class gpu")
        );
        reading.known.remove(&Kind::DeviceClass);
        assert_eq!(
            refused(&keeping("devices.available>=1"), &reading),
            "--keep-available \"devices.available>=1\" cannot be checked: deviceclasses or resourceslices \
             were not read; make sure that you can list them, or that the input has them"
        );
    }

    #[test]
    fn every_domain_gives_no_more_than_it_has_to() {
        for (sizes, count, most) in [
            (&[4, 4, 4][..], 3, 1),
            (&[4, 4, 4], 4, 2),
            (&[1, 4, 4], 7, 3),
            (&[1, 9], 9, 8),
            (&[5], 5, 5),
            (&[2, 2], 1, 1),
        ] {
            assert_eq!(evenly(sizes, count), most, "{sizes:?} {count}");
        }
    }
}
