//! Whether a plan is still that of the cluster that is drained.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::UnitPod;
use super::pod_class::Inclusions;
use super::unit::{Unit, UnitKind};
use crate::decide::expectation::UnreadableExpectation;
use crate::engine::DeviceState;
use crate::error::Failure;
use crate::model::DeviceId;
use crate::naming::phrase::few;

/// Attributes that identify hardware, by device as DRIVER/POOL/DEVICE.
pub type Hardware = BTreeMap<String, BTreeMap<String, String>>;

/// A plan that `plan -o json` or `-o yaml` wrote, as far as a drain needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFile {
    /// URL of the server that it is of; absent where it was made of files.
    pub server: Option<String>,
    /// What a unit is.
    pub unit_kind: UnitKind,
    /// Names of the units in their order, each with its devices.
    pub units: Vec<(String, BTreeSet<DeviceId>)>,
    /// Attributes that identify the hardware, by device; empty where it publishes none.
    pub hardware: BTreeMap<DeviceId, BTreeMap<String, String>>,
    /// The UIDs of the pods that would be evicted.
    pub evicted: BTreeSet<String>,
}

/// Reads the plan in the file called `name`.
///
/// # Errors
///
/// When the file cannot be read, or holds no plan, or not the plan that was written.
pub fn plan_file(
    name: &str,
    read: impl FnOnce() -> Result<PlanFile, UnreadableExpectation>,
) -> Result<PlanFile, Failure> {
    let named = |problem: String| format!("--plan {name}: {problem}");
    read().map_err(|why| match why {
        UnreadableExpectation::Unread(why) => Failure::usage(named(why)),
        UnreadableExpectation::NoReport(why) => {
            Failure::usage(named(why)).hint("create a plan with `plan … -o json`")
        }
        UnreadableExpectation::Edited(why) => {
            Failure::refused(format!("{}; nothing was changed", named(why)))
                .hint("create a new plan, and review it: `plan … -o json`")
        }
    })
}

/// The devices of a plan as they are now: all devices of its nodes, or those of its devices that are there.
#[must_use]
pub fn planned_devices(file: &PlanFile, inventory: &[DeviceState<'_>]) -> BTreeSet<DeviceId> {
    let names: BTreeSet<&str> = file.units.iter().map(|(name, _)| name.as_str()).collect();
    let planned: BTreeSet<&DeviceId> = file.units.iter().flat_map(|(_, devices)| devices).collect();
    let states = inventory.iter();
    states
        .filter(|state| match file.unit_kind {
            UnitKind::Device | UnitKind::Pool => planned.contains(&state.id),
            // A device that is new on a planned node belongs to the unit, and `moved` refuses the plan
            // because of it.
            UnitKind::Node => state.node.is_some_and(|node| names.contains(node.as_str())),
        })
        .map(|state| state.id.clone())
        .collect()
}

/// The units in the order of the plan.
#[must_use]
pub fn in_planned_order(file: &PlanFile, mut units: Vec<Unit>) -> Vec<Unit> {
    let place = |unit: &Unit| file.units.iter().position(|(name, _)| *name == unit.name);
    units.sort_by_key(place);
    units
}

/// Refuses a plan with units of the same hardware, such as a card and its partitions: one after the other, none of them
/// becomes idle. `together` are the units of its devices by their hardware.
///
/// # Errors
///
/// Units share hardware.
pub fn refuse_shared_hardware(
    name: &str,
    together: &[Unit],
    file: &PlanFile,
) -> Result<(), Failure> {
    for unit in together {
        let shared = file.units.iter();
        let shared = shared.filter(|(_, devices)| !devices.is_disjoint(&unit.devices));
        let shared: Vec<String> = shared.map(|(name, _)| name.clone()).collect();
        if shared.len() > 1 {
            let flag = match file.unit_kind {
                UnitKind::Node => "--node ",
                UnitKind::Device | UnitKind::Pool => "",
            };
            let units = file.units.iter();
            let units: Vec<String> = units.map(|(name, _)| format!("{flag}{name}")).collect();
            return Err(Failure::refused(format!(
                "plan {name}: {} are the same hardware, so they can only be drained together; nothing was changed",
                few(&shared)
            ))
            .hint(format!(
                "to drain the devices without the plan: kubectl devicetaint drain {}",
                units.join(" ")
            )));
        }
    }
    Ok(())
}

/// Refuses a plan of another cluster than that of this `server`.
///
/// # Errors
///
/// The plan is of another server, or of files.
pub fn refuse_other_cluster(name: &str, file: &PlanFile, server: &str) -> Result<(), Failure> {
    let hint =
        "run `plan … -o json` against the cluster that is to be drained, and use the new file";
    match &file.server {
        Some(planned) if planned == server => Ok(()),
        Some(planned) => Err(Failure::refused(format!(
            "plan {name} is for the cluster {planned}, not {server}; nothing was changed"
        ))
        .hint(hint)),
        None => Err(Failure::refused(format!(
            "plan {name} was created from files, not from the cluster {server}; nothing was changed"
        ))
        .hint(hint)),
    }
}

/// What the cluster has now of a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlannedFacts<'a> {
    /// The units, which are those of the plan, as they are now.
    pub units: &'a [Unit],
    /// Names of units that are over or left out: what became of them meanwhile does not matter.
    pub settled: &'a BTreeSet<String>,
    /// The hardware of their devices.
    pub hardware: &'a Hardware,
    /// The pods that use them.
    pub pods: &'a [UnitPod],
    /// Which pods are evicted.
    pub included: Inclusions,
}

/// Refuses a plan that was overtaken: a device is other hardware, a device moved to another unit or is gone, or a pod
/// would be evicted that the plan does not have. Pods that are gone meanwhile make a plan smaller, not another.
///
/// # Errors
///
/// What has changed, a line each.
pub fn refuse_outdated(
    name: &str,
    file: &PlanFile,
    facts: &PlannedFacts<'_>,
) -> Result<(), Failure> {
    let open: Vec<&(String, BTreeSet<DeviceId>)> = file
        .units
        .iter()
        // A drain that is resumed has itself changed the units that it finished.
        .filter(|(unit, _)| !facts.settled.contains(unit))
        .collect();
    let mut changes = moved(&open, facts.units);
    changes.extend(replaced(file, &open, facts.hardware));
    let pods = facts.pods.iter();
    let unplanned: Vec<String> = pods
        .filter(|pod| {
            pod.is_evicted(facts.included) && !file.evicted.contains(&pod.uid.to_string())
        })
        .map(|pod| pod.name.to_string())
        .collect();
    if !unplanned.is_empty() {
        changes.push(format!("the drain would also evict {}", few(&unplanned)));
    }
    if changes.is_empty() {
        return Ok(());
    }
    let failure = Failure::refused(format!("plan {name} is outdated; nothing was changed"));
    Err(changes
        .into_iter()
        .fold(failure, Failure::detail)
        .hint("create a new plan, and review it: `plan … -o json`"))
}

/// Devices that are no longer in the unit of the plan, and devices that are new in it.
fn moved(open: &[&(String, BTreeSet<DeviceId>)], units: &[Unit]) -> Vec<String> {
    let now: BTreeMap<&str, &BTreeSet<DeviceId>> = units
        .iter()
        .map(|unit| (unit.name.as_str(), &unit.devices))
        .collect();
    let mut lines = Vec::new();
    for (unit, planned) in open {
        let none = BTreeSet::new();
        let found = now.get(unit.as_str()).copied().unwrap_or(&none);
        let names = |devices: Vec<&DeviceId>| -> Vec<String> {
            devices.into_iter().map(ToString::to_string).collect()
        };
        let gone = names(planned.difference(found).collect());
        let new = names(found.difference(planned).collect());
        if !gone.is_empty() {
            lines.push(format!("unit {unit} no longer has {}", few(&gone)));
        }
        if !new.is_empty() {
            lines.push(format!("unit {unit} also has {}", few(&new)));
        }
    }
    lines
}

/// Devices that are other hardware than planned, or of which that is not known any more. One number of the hardware
/// that is as it was is enough, unless another differs.
fn replaced(
    file: &PlanFile,
    open: &[&(String, BTreeSet<DeviceId>)],
    now: &Hardware,
) -> Vec<String> {
    let nothing = BTreeMap::new();
    let line = |(device, planned): (&DeviceId, &BTreeMap<String, String>)| {
        let name = device.to_string();
        let found = now.get(&name).unwrap_or(&nothing);
        let differs = |(attribute, was): &(&String, &String)| {
            found.get(*attribute).is_some_and(|is| is != *was)
        };
        if let Some((attribute, was)) = planned.iter().find(differs) {
            let is = found.get(attribute).map_or("", String::as_str);
            return Some(format!(
                "{name} is other hardware than in the plan: {attribute} was {was} and is now {is}"
            ));
        }
        let is_same = |(attribute, was): (&String, &String)| found.get(attribute) == Some(was);
        let is_unknown = !planned.is_empty() && !planned.iter().any(is_same);
        is_unknown.then(|| format!("cannot tell whether {name} is still the hardware of the plan"))
    };
    let planned: BTreeSet<&DeviceId> = open.iter().flat_map(|(_, devices)| devices).collect();
    let hardware = file.hardware.iter();
    hardware
        .filter(|(device, _)| planned.contains(device))
        .filter_map(line)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::pod_class::PodClass;
    use crate::decide::drain::testing::unit_pod;
    use crate::error::ExitStatus;
    use crate::report::plan;
    use crate::report::testing::{device_state, pod as running};

    fn device(name: &str) -> DeviceId {
        DeviceId {
            driver: "gpu.example.com".into(),
            pool: "node-1".into(),
            device: name.into(),
        }
    }

    fn numbers(numbers: &[(&str, &str)]) -> BTreeMap<String, String> {
        let numbers = numbers.iter();
        numbers
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn unit(devices: &[&str]) -> Unit {
        Unit {
            name: "node-1".to_owned(),
            devices: devices.iter().map(|name| device(name)).collect(),
        }
    }

    fn pod(name: &str, class: PodClass) -> UnitPod {
        unit_pod(&running("team-a", name), class)
    }

    fn planned() -> PlanFile {
        let uid = pod("web-1", PodClass::Replicated).uid.to_string();
        PlanFile {
            server: Some("https://one:6443".to_owned()),
            unit_kind: UnitKind::Node,
            units: vec![("node-1".to_owned(), unit(&["a"]).devices)],
            hardware: [(device("a"), numbers(&[("uuid", "1"), ("serial", "2")]))].into(),
            evicted: [uid].into(),
        }
    }

    fn outdated(units: &[Unit], found: &[(&str, &str)], pods: &[UnitPod]) -> Vec<String> {
        outdated_but(&[], units, found, pods)
    }

    fn outdated_but(
        settled: &[&str],
        units: &[Unit],
        found: &[(&str, &str)],
        pods: &[UnitPod],
    ) -> Vec<String> {
        let settled = settled.iter().map(|&name| name.to_owned()).collect();
        let hardware = [(device("a").to_string(), numbers(found))].into();
        let facts = PlannedFacts {
            units,
            settled: &settled,
            hardware: &hardware,
            pods,
            included: Inclusions::default(),
        };
        match refuse_outdated("p.json", &planned(), &facts) {
            Ok(()) => Vec::new(),
            Err(failure) => {
                assert_eq!(failure.status(), ExitStatus::Refused);
                assert_eq!(
                    failure.to_string(),
                    "plan p.json is outdated; nothing was changed"
                );
                failure.details().to_vec()
            }
        }
    }

    #[test]
    fn units_of_the_same_hardware_are_not_drained_one_after_the_other() {
        let id = |name: &str| crate::report::testing::device(name);
        let unit = |names: &[&str]| Unit {
            name: id(names[0]).to_string(),
            devices: names.iter().map(|name| id(name)).collect(),
        };
        let file = |names: &[&str]| {
            let units = names
                .iter()
                .map(|name| (id(name).to_string(), [id(name)].into()));
            PlanFile {
                unit_kind: UnitKind::Device,
                units: units.collect(),
                ..planned()
            }
        };
        let both = file(&["card", "half"]);
        let apart = [unit(&["card"]), unit(&["half"])];
        assert!(refuse_shared_hardware("p", &apart, &both).is_ok());
        let failure = refuse_shared_hardware("p", &[unit(&["card", "half"])], &both).unwrap_err();
        let (card, half) = (id("card"), id("half"));
        assert!(
            failure
                .to_string()
                .contains(&format!("{card}, {half} are the same hardware"))
        );
        assert!(failure.hints()[0].ends_with(&format!("drain {card} {half}")));
        let nodes = PlanFile {
            unit_kind: UnitKind::Node,
            units: ["node-1", "node-2"]
                .map(|name| (name.to_owned(), [id("card")].into()))
                .into(),
            ..planned()
        };
        let failure = refuse_shared_hardware("p", &[unit(&["card"])], &nodes).unwrap_err();
        assert!(failure.hints()[0].ends_with("drain --node node-1 --node node-2"));
        let one = file(&["card"]);
        assert!(refuse_shared_hardware("p", &[unit(&["card", "half"])], &one).is_ok());
    }

    #[test]
    fn a_plan_holds_while_hardware_units_and_evicted_pods_are_those_of_it() {
        let same = [("uuid", "1"), ("serial", "2")];
        let web = pod("web-1", PodClass::Replicated);
        let other = pod("web-2", PodClass::Replicated);
        let kept = pod("agent", PodClass::DaemonSet);
        let one = [unit(&["a"])];
        let none: [String; 0] = [];
        assert_eq!(outdated(&one, &same, std::slice::from_ref(&web)), none);
        assert_eq!(outdated(&one, &same, &[]), none, "pods that are gone");
        assert_eq!(outdated(&one, &same, &[kept]), none, "pods that stay");
        assert_eq!(outdated(&one, &[("uuid", "1")], &[]), none, "one number");
        assert_eq!(
            outdated(&one, &same, &[web, other]),
            ["the drain would also evict team-a/web-2"]
        );
        assert_eq!(
            outdated(&one, &[("uuid", "1"), ("serial", "3")], &[]),
            [
                "gpu.example.com/node-1/a is other hardware than in the plan: serial was 2 and is now 3"
            ]
        );
        assert_eq!(
            outdated(&one, &[], &[]),
            ["cannot tell whether gpu.example.com/node-1/a is still the hardware of the plan"]
        );
        assert_eq!(
            outdated(&[unit(&["a", "b"])], &same, &[]),
            ["unit node-1 also has gpu.example.com/node-1/b"]
        );
        assert_eq!(
            outdated(&[], &same, &[]),
            ["unit node-1 no longer has gpu.example.com/node-1/a"]
        );
        assert_eq!(
            outdated_but(&["node-1"], &[], &[], &[]),
            none,
            "what became of a unit that is over"
        );
    }

    #[test]
    fn a_unit_of_a_node_has_all_of_its_devices_and_the_plan_gives_the_order() {
        let node = crate::model::NodeName::from("node-1");
        let ids = [device("a"), device("b"), device("c")];
        let states: Vec<DeviceState<'_>> = ids
            .iter()
            .map(|id| DeviceState {
                node: (id.device.as_str() != "c").then_some(&node),
                ..device_state(id.clone())
            })
            .collect();
        let mut file = planned();
        let names = |file: &PlanFile| -> Vec<String> {
            let found = planned_devices(file, &states).into_iter();
            found.map(|id| id.device.to_string()).collect()
        };
        assert_eq!(names(&file), ["a", "b"]);
        file.unit_kind = UnitKind::Device;
        assert_eq!(names(&file), ["a"]);
        file.units.insert(0, ("node-2".to_owned(), BTreeSet::new()));
        let other = Unit {
            name: "node-2".to_owned(),
            devices: BTreeSet::new(),
        };
        let ordered = in_planned_order(&file, vec![unit(&["a"]), other]);
        let ordered: Vec<String> = ordered.into_iter().map(|unit| unit.name).collect();
        assert_eq!(ordered, ["node-2", "node-1"]);
    }

    #[test]
    fn a_plan_of_another_cluster_or_of_files_is_refused_by_name() {
        let mut file = planned();
        assert!(refuse_other_cluster("p", &file, "https://one:6443").is_ok());
        let other = refuse_other_cluster("p", &file, "https://two:6443").unwrap_err();
        assert_eq!(
            other.to_string(),
            "plan p is for the cluster https://one:6443, not https://two:6443; nothing was changed"
        );
        file.server = None;
        let files = refuse_other_cluster("p", &file, "https://two:6443").unwrap_err();
        assert_eq!(files.status(), ExitStatus::Refused);
        assert!(files.to_string().contains("created from files"));
    }

    #[test]
    fn what_is_no_plan_is_a_usage_error_by_the_name_of_its_file() {
        let parsed = |text: &str| plan::parse(text).map_err(UnreadableExpectation::from);
        let refused = |text: &str| plan_file("p.json", || parsed(text)).unwrap_err();
        for (text, message) in [
            ("{}", "--plan p.json: it is of kind \"\", not PlanReport"),
            (
                "kind: PlanReport\napiVersion: v9",
                "--plan p.json: its apiVersion is \"v9\"",
            ),
            ("{", "--plan p.json: it is not a plan: "),
        ] {
            let failure = refused(text);
            assert_eq!(failure.status(), ExitStatus::Usage, "{text}");
            assert!(failure.to_string().starts_with(message), "{failure}");
        }
        let yaml = refused("plan: of: node-1").to_string();
        assert!(
            yaml.starts_with("--plan p.json: it is not a plan: line 1") && !yaml.contains('\n'),
            "{yaml}"
        );
        let unread = UnreadableExpectation::Unread("no such file".to_owned());
        let missing = plan_file("p.json", || Err(unread)).unwrap_err();
        assert_eq!(missing.to_string(), "--plan p.json: no such file");
        let edited = UnreadableExpectation::Edited("it was modified".to_owned());
        let edited = plan_file("p.json", || Err(edited)).unwrap_err();
        assert_eq!(edited.status(), ExitStatus::Refused);
    }

    #[test]
    fn a_device_on_a_node_that_is_not_planned_is_no_device_of_the_plan() {
        let nodes = ["node-1", "node-9"].map(crate::model::NodeName::from);
        let states = [("a", &nodes[0]), ("d", &nodes[1])].map(|(name, node)| DeviceState {
            node: Some(node),
            ..device_state(device(name))
        });
        assert_eq!(planned_devices(&planned(), &states), [device("a")].into());
    }
}
