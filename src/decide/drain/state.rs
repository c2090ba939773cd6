//! Drains of a cluster, as the labels of their rules show them.
//!
//! Rules have the name of their drain and a hash of their unit as labels, and the unit as an annotation. The stage of a
//! unit follows from the pods and claims on its devices.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::facts::{UnitPod, pods_of, unread};
use super::pod_class::{Inclusions, Treatment};
use crate::assess::Basis;
use crate::decide::pending_evictions::awaited_devices;
use crate::engine::ProposedTaint;
use crate::engine::holders::holders;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, RuleMetadata};
use crate::naming::phrase::few;
use crate::naming::{Subject, device, rule};

/// Rules of one unit of a drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainUnit {
    /// Name of the drain.
    pub drain: String,
    /// Name of the unit.
    pub unit: String,
    /// Its rules.
    pub rules: Vec<DeviceTaintRule>,
}

/// Stage of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum UnitStage {
    /// An earlier unit of the drain is not done yet. New pods are kept off the devices.
    Waiting,
    /// Pods are evicted from the devices, or will be when the drain is run again.
    Draining,
    /// No claim holds the devices, admin access aside.
    Idle,
    /// Only claims hold the devices that the drain does not release.
    Held,
}

impl UnitStage {
    /// The stage as tables show it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Draining => "draining",
            Self::Idle => "idle",
            Self::Held => "held",
        }
    }
}

/// Unit of a drain and its stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitStatus {
    /// Name of the drain: a label of its rules, and the value of their taint.
    pub drain: String,
    /// Name of the unit: a node, DRIVER/POOL or DRIVER/POOL/DEVICE.
    pub unit: String,
    /// Stage of the unit; null if unknown (see `incomplete`).
    pub stage: Option<UnitStage>,
    /// The pods that use the devices, as NAMESPACE/NAME, without those that have admin access only; null if unknown.
    pub pods: Option<Vec<String>>,
    /// Seconds since the first rule of the unit was created; null if unknown.
    pub age_seconds: Option<i64>,
    /// Names of the rules of the unit.
    pub rules: Vec<String>,
}

/// Value of the label of a unit, whose name is no label value.
pub fn unit_hash(unit: &str) -> String {
    rule::digest(unit)
}

/// The rules of a unit.
pub fn unit_rules<'a>(
    rules: &'a [DeviceTaintRule],
    drain: &str,
    unit: &str,
) -> impl Iterator<Item = &'a DeviceTaintRule> {
    let labels = [
        (RuleMetadata::DRAIN, drain.to_owned()),
        (RuleMetadata::DRAIN_UNIT, unit_hash(unit)),
    ];
    rules.iter().filter(move |rule| {
        let mut labels = labels.iter();
        labels.all(|(key, value)| rule.metadata.labels.get(*key) == Some(value))
    })
}

/// The drains among `rules`, unit by unit, by name.
pub fn drain_units(rules: &[DeviceTaintRule]) -> Vec<DrainUnit> {
    let mut units: BTreeMap<(&str, String), Vec<DeviceTaintRule>> = BTreeMap::new();
    for rule in rules {
        let Some(drain) = rule.metadata.labels.get(RuleMetadata::DRAIN) else {
            continue;
        };
        let unit = rule.metadata.annotation(RuleMetadata::DRAIN_UNIT);
        let devices = || rule.selector.as_ref().map(device::format);
        let unit = unit.map(str::to_owned).or_else(devices).unwrap_or_default();
        units.entry((drain, unit)).or_default().push(rule.clone());
    }
    let units = units.into_iter();
    units
        .map(|((drain, unit), rules)| DrainUnit {
            drain: drain.to_owned(),
            unit,
            rules,
        })
        .collect()
}

/// The rules of the drains or units that `targets` name: a drain, or all units of that name.
///
/// # Errors
///
/// No drain and no unit has the name.
pub fn restorable(
    targets: &[String],
    rules: &[DeviceTaintRule],
) -> Result<Vec<DeviceTaintRule>, Failure> {
    let units = drain_units(rules);
    let mut found: Vec<DeviceTaintRule> = Vec::new();
    let nodes = Subject::nodes(targets);
    for target in nodes.as_deref().unwrap_or(targets) {
        let of_drain = |unit: &&DrainUnit| unit.drain == *target;
        let of_unit = |unit: &&DrainUnit| unit.unit == *target;
        let mut named: Vec<&DrainUnit> = units.iter().filter(of_drain).collect();
        if named.is_empty() {
            named = units.iter().filter(of_unit).collect();
        }
        if named.is_empty() {
            return Err(no_such_drain(target, &units));
        }
        found.extend(named.into_iter().flat_map(|unit| unit.rules.clone()));
    }
    found.sort_by(|left, right| left.name.cmp(&right.name));
    found.dedup_by(|left, right| left.name == right.name);
    Ok(found)
}

/// Failure for a name that no drain and no unit has.
pub fn no_such_drain(name: &str, units: &[DrainUnit]) -> Failure {
    let text = format!("no drain, and no unit of a drain, has the name {name:?}");
    let mut drains: Vec<String> = units.iter().map(|unit| unit.drain.clone()).collect();
    drains.dedup();
    Failure::new(ExitStatus::Failed, text).detail(match drains.is_empty() {
        true => "there are no drains".to_owned(),
        false => format!("drains: {}", few(&drains)),
    })
}

/// The stages of `units`, which are in the order in which a drain takes them.
pub fn unit_statuses(units: &[DrainUnit], basis: &Basis<'_>) -> Vec<UnitStatus> {
    let mut open: Option<&str> = None;
    let statuses = units.iter().map(|unit| {
        let mut status = UnitStatus {
            drain: unit.drain.clone(),
            unit: unit.unit.clone(),
            stage: None,
            pods: None,
            age_seconds: unit
                .rules
                .iter()
                .filter_map(|rule| rule.metadata.created)
                .min()
                .map(|created| basis.now.duration_since(created).as_secs()),
            rules: unit
                .rules
                .iter()
                .map(|rule| rule.name.to_string())
                .collect(),
        };
        if !unread(basis.reading).is_empty() {
            return status;
        }
        let proposed = as_evicting(&unit.rules, basis.now);
        let mut pods = pods_of(&basis.impact(&proposed), basis);
        // They hold no device.
        pods.retain(|pod| pod.class.treatment(Inclusions::default()) != Treatment::Ignored);
        status.stage = Some(match stage(&pods, is_held(&proposed, basis)) {
            // A drain takes the units of one name after the other.
            UnitStage::Draining if open == Some(&unit.drain) => UnitStage::Waiting,
            UnitStage::Draining => {
                open = Some(&unit.drain);
                UnitStage::Draining
            }
            stage @ (UnitStage::Waiting | UnitStage::Idle | UnitStage::Held) => stage,
        });
        status.pods = Some(pods.iter().map(|pod| pod.name.to_string()).collect());
        status
    });
    statuses.collect()
}

/// The taints of rules, as if they evicted the pods that the drain evicts.
pub fn as_evicting(rules: &[DeviceTaintRule], now: jiff::Timestamp) -> Vec<ProposedTaint> {
    let rules = rules.iter();
    rules
        .map(|rule| ProposedTaint::of_changed_rule(rule, &Effect::NoExecute, now))
        .collect()
}

fn stage(pods: &[UnitPod], is_held: bool) -> UnitStage {
    let leaves = |pod: &UnitPod| {
        pod.is_terminating
            || match pod.class.treatment(Inclusions::default()) {
                // The drain began, so its --include names them.
                Treatment::Evicted | Treatment::NeedsInclude(_) => true,
                Treatment::Stays | Treatment::Ignored => false,
            }
    };
    if pods.iter().any(leaves) {
        UnitStage::Draining
    } else if is_held {
        UnitStage::Held
    } else {
        UnitStage::Idle
    }
}

fn is_held(taints: &[ProposedTaint], basis: &Basis<'_>) -> bool {
    let snapshot = &basis.reading.snapshot;
    let devices = awaited_devices(snapshot, taints, basis.semantics);
    let claims = holders(snapshot, &devices);
    claims.iter().any(|claim| !claim.has_admin_access())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::{Cluster, drain_rule, owned};
    use crate::decide::testing::selector;
    use crate::engine::testing::{claim_in_use, now, published, semantics, slice};
    use crate::model::{ClaimSource, Gap, Kind, Pod, PodClaim, Reading};

    fn rules() -> Vec<DeviceTaintRule> {
        let mut rules = [
            drain_rule("a", "node-1", "NoSchedule"),
            drain_rule("b", "node-2", "NoSchedule"),
        ];
        rules[0].selector = Some(selector("gpu-0"));
        rules[1].selector = Some(selector("gpu-1"));
        rules.into()
    }

    /// The stages of two units; each pod uses the device of its number.
    fn stages(pods: &[Pod], change: impl FnOnce(&mut Reading)) -> Vec<Option<UnitStage>> {
        let mut cluster = Cluster::default();
        cluster.replica_set("web", 2, 2);
        let mut reading = cluster.reading;
        let devices = vec![published("gpu-0", &[]), published("gpu-1", &[])];
        reading.snapshot.slices = vec![slice(devices)];
        for (number, pod) in pods.iter().enumerate() {
            let mut claim = claim_in_use(pod);
            let results = &mut claim.allocation.as_mut().expect("an allocation").results;
            results[0].device.device = format!("gpu-{number}").as_str().into();
            let mut pod = pod.clone();
            pod.claims = vec![PodClaim {
                name: "gpu".into(),
                source: ClaimSource::Template {
                    template: "gpu".into(),
                    generated: Some(claim.name.name.clone()),
                },
            }];
            claim.controller = Some(crate::engine::testing::owner(&pod));
            reading.snapshot.claims.push(claim);
            reading.snapshot.pods.push(pod);
        }
        change(&mut reading);
        let semantics = semantics(37);
        let basis = Basis::new(&reading, &semantics, now());
        let statuses = unit_statuses(&drain_units(&rules()), &basis);
        statuses.into_iter().map(|status| status.stage).collect()
    }

    #[test]
    fn the_stage_of_a_unit_follows_from_the_pods_and_claims_on_its_devices() {
        use UnitStage::{Draining, Held, Idle, Waiting};
        let web = |name| owned(name, Some(("ReplicaSet", "web")));
        let agent = owned("agent", Some(("DaemonSet", "agent")));
        let both = [web("web-0"), web("web-1")];
        assert_eq!(stages(&both, |_| {}), [Some(Draining), Some(Waiting)]);
        assert_eq!(stages(&both[..1], |_| {}), [Some(Draining), Some(Idle)]);
        let held = [agent, web("web-1")];
        assert_eq!(stages(&held, |_| {}), [Some(Held), Some(Draining)]);
        assert_eq!(stages(&[], |_| {}), [Some(Idle), Some(Idle)]);
        // A claim whose pod is not known holds its device.
        let claim_alone = |reading: &mut Reading| reading.snapshot.pods.clear();
        assert_eq!(
            stages(&both[..1], claim_alone),
            [Some(Held), Some(Idle)],
            "a claim alone"
        );
        let admin = |reading: &mut Reading| {
            for claim in &mut reading.snapshot.claims {
                let results = &mut claim.allocation.as_mut().expect("an allocation").results;
                results[0].admin_access = true;
            }
        };
        assert_eq!(stages(&held, admin), [Some(Idle), Some(Idle)], "monitors");
        let unread = |reading: &mut Reading| {
            reading.gaps = vec![Gap::of(Kind::ResourceClaim, "denied")];
        };
        assert_eq!(stages(&[], unread), [None, None], "unknown is not idle");
    }

    #[test]
    fn a_drain_or_the_units_of_a_name_are_restored() {
        let mut rules = rules();
        let mut other = drain_rule("c", "node-2", "NoSchedule");
        let label = (RuleMetadata::DRAIN.to_owned(), "node-1".to_owned());
        other.metadata.labels.extend([label]);
        rules.push(other);
        let names = |targets: &[&str]| {
            let targets: Vec<String> = targets.iter().map(|&name| name.to_owned()).collect();
            let found = restorable(&targets, &rules).ok()?;
            let names: Vec<String> = found.iter().map(|rule| rule.name.to_string()).collect();
            Some(names.join(","))
        };
        assert_eq!(names(&["fw"]).as_deref(), Some("a,b"));
        for typed in [&["node-2"][..], &["node/node-2"], &["nodes", "node-2"]] {
            assert_eq!(names(typed).as_deref(), Some("b,c"));
        }
        // A drain goes before a unit of the same name.
        assert_eq!(names(&["node-1"]).as_deref(), Some("c"));
        assert_eq!(names(&["fw", "node-2"]).as_deref(), Some("a,b,c"));
        assert_eq!(names(&["fw", "absent"]), None);
    }
}
