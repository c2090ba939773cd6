//! Workloads of a drain, as recorded on its rules.
//!
//! Once a pod was evicted nothing in the cluster says that its workload was ever on the devices. So the workloads of a
//! unit are recorded before its first pod is evicted, each with its number of ready pods. A later run adds those that it
//! does not find recorded, and keeps the earlier numbers: its own are lower.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::facts::{WorkloadState, workload_of};
use crate::decide::RulePatch;
use crate::engine::workloads::Owners;
use crate::model::{DeviceTaintRule, Kind, NamespacedName, Pod, Reading, RuleMetadata, Uid};

/// Most workloads that are recorded: an annotation may not become too long.
const MOST: usize = 200;

/// A workload that had pods on the devices of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedWorkload {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace and name.
    pub name: NamespacedName,
    /// How many of its pods were ready; absent if unknown.
    pub ready: Option<i32>,
}

/// Workloads by their UIDs.
pub type RecordedWorkloads = BTreeMap<Uid, RecordedWorkload>;

/// The workloads of `pods`, as far as they were read.
#[must_use]
pub fn workloads_to_record(pods: &[Pod], reading: &Reading) -> RecordedWorkloads {
    let owners = Owners::new(reading);
    let all = reading.snapshot.workloads();
    let kinds: BTreeMap<&Uid, Kind> = all.iter().map(|(kind, it)| (&it.uid, *kind)).collect();
    let found = pods.iter().filter_map(|pod| {
        let workload = workload_of(pod, &owners)?;
        let record = RecordedWorkload {
            kind: *kinds.get(&workload.uid)?,
            name: workload.name.clone(),
            ready: workload.ready,
        };
        Some((workload.uid.clone(), record))
    });
    found.collect()
}

/// The workloads that these rules record.
#[must_use]
pub fn recorded_workloads(rules: &[DeviceTaintRule]) -> RecordedWorkloads {
    let texts = rules
        .iter()
        .filter_map(|rule| rule.metadata.annotation(RuleMetadata::DRAIN_WORKLOADS));
    // An annotation that another client has changed is skipped: the workload is then not waited for, and the
    // drain goes on.
    let values = texts.filter_map(|text| serde_json::from_str::<Vec<Value>>(text).ok());
    values.flatten().filter_map(|it| parse(&it)).collect()
}

/// The change that records `found` on `rule` beside what the `rules` of its unit record; none if it records it all. Every
/// rule has the whole record: another user may remove any of them.
#[must_use]
pub fn recording_patch(
    rule: &DeviceTaintRule,
    rules: &[DeviceTaintRule],
    found: &RecordedWorkloads,
) -> Option<RulePatch> {
    let mut all = found.clone();
    // The earlier record wins: by now the workload may have fewer ready pods because of the drain.
    all.extend(recorded_workloads(rules));
    let own = recorded_workloads(std::slice::from_ref(rule));
    if all.keys().take(MOST).all(|uid| own.contains_key(uid)) {
        return None;
    }
    let values: Vec<Value> = all.iter().take(MOST).map(text).collect();
    let key = RuleMetadata::DRAIN_WORKLOADS.to_owned();
    Some(RulePatch {
        annotations: [(key, Value::from(values).to_string())].into(),
        ..RulePatch::default()
    })
}

fn text((uid, workload): (&Uid, &RecordedWorkload)) -> Value {
    json!({
        "kind": workload.kind.as_str(),
        "namespace": workload.name.namespace.as_str(),
        "name": workload.name.name.as_str(),
        "uid": uid.as_str(),
        "ready": workload.ready,
    })
}

/// A workload of an annotation, which others may have changed.
fn parse(value: &Value) -> Option<(Uid, RecordedWorkload)> {
    let text = |field: &str| value.get(field).and_then(Value::as_str);
    let kind = text("kind")?;
    let mut kinds = Kind::WORKLOADS.iter();
    let workload = RecordedWorkload {
        kind: *kinds.find(|known| known.as_str() == kind)?,
        name: NamespacedName {
            namespace: text("namespace")?.into(),
            name: text("name")?.into(),
        },
        ready: value
            .get("ready")
            .and_then(Value::as_i64)
            .and_then(|ready| i32::try_from(ready).ok()),
    };
    Some((Uid::from(text("uid")?), workload))
}

/// What is waited for by the direct owners of these pods, each with its workload: that workload, and the direct owner itself
/// if it is recorded. The run that recorded it may have been unable to read what owns it.
#[must_use]
pub fn workloads_by_maker<'a>(
    pods: impl Iterator<Item = (&'a Pod, &'a Uid)>,
    recorded: &RecordedWorkloads,
) -> BTreeMap<&'a Uid, BTreeSet<&'a Uid>> {
    let mut found: BTreeMap<&Uid, BTreeSet<&Uid>> = BTreeMap::new();
    for (pod, workload) in pods {
        let Some(maker) = pod.controller.as_ref().map(|owner| &owner.uid) else {
            continue;
        };
        let itself = recorded.contains_key(maker).then_some(maker);
        let workloads = found.entry(maker).or_default();
        workloads.extend(itself.into_iter().chain([workload]));
    }
    found
}

/// The names of these workloads by kind, by which they are read.
#[must_use]
pub fn recorded_names(recorded: &RecordedWorkloads) -> BTreeMap<Kind, BTreeSet<NamespacedName>> {
    let mut names: BTreeMap<Kind, BTreeSet<NamespacedName>> = BTreeMap::new();
    for workload in recorded.values() {
        let of_kind = names.entry(workload.kind).or_default();
        of_kind.insert(workload.name.clone());
    }
    names
}

/// Readiness of these workloads in `reading`, by UID; those that were deleted are left out.
///
/// # Errors
///
/// Some could not be read: a line for each reason.
pub fn recorded_states(
    recorded: &RecordedWorkloads,
    reading: &Reading,
) -> Result<BTreeMap<Uid, WorkloadState>, Vec<String>> {
    let kinds: BTreeSet<Kind> = recorded.values().map(|it| it.kind).collect();
    let unread = kinds.iter().filter_map(|kind| reading.without(*kind));
    let unread: BTreeSet<String> = unread
        .map(|gap| format!("{}: {}", gap.what, gap.why))
        .collect();
    // A workload that is missing from a complete list was deleted. From an incomplete one nothing follows, so
    // it is checked first.
    if !unread.is_empty() {
        return Err(unread.into_iter().collect());
    }
    let all = reading.snapshot.workloads().into_iter();
    let found = all.filter(|(_, workload)| recorded.contains_key(&workload.uid));
    Ok(found
        .map(|(kind, workload)| (workload.uid.clone(), WorkloadState::of(kind, workload)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::{Cluster, owned};
    use crate::decide::testing::named;
    use crate::model::Gap;

    fn recorded(cluster: &Cluster) -> RecordedWorkloads {
        let pods = [
            owned("web-1", Some(("ReplicaSet", "web-6d"))),
            owned("train", Some(("Job", "train"))),
            owned("bare", None),
        ];
        workloads_to_record(&pods, &cluster.reading)
    }

    fn cluster() -> Cluster {
        let mut cluster = Cluster::default();
        cluster.deployment("web", 4);
        cluster.job("train", 1);
        cluster
    }

    #[test]
    fn a_replica_set_is_waited_for_beside_its_deployment_if_it_is_recorded() {
        let pod = owned("web-1", Some(("ReplicaSet", "web-6d")));
        let maker = pod.controller.as_ref().expect("an owner").uid.clone();
        let deployment = Uid::from("web");
        let by_maker = |recorded: &RecordedWorkloads| -> BTreeSet<Uid> {
            let pods = [(&pod, &deployment)].into_iter();
            let found = workloads_by_maker(pods, recorded);
            assert_eq!(found.len(), 1);
            found[&maker].iter().map(|uid| (*uid).clone()).collect()
        };
        let mut recorded = recorded(&cluster());
        recorded.retain(|uid, _| *uid != maker);
        assert_eq!(by_maker(&recorded), [deployment.clone()].into());
        let set = RecordedWorkload {
            kind: Kind::ReplicaSet,
            name: pod.name.clone(),
            ready: Some(4),
        };
        recorded.insert(maker.clone(), set);
        assert_eq!(
            by_maker(&recorded),
            [deployment.clone(), maker.clone()].into()
        );
    }

    #[test]
    fn what_is_recorded_on_a_rule_is_read_back_and_earlier_numbers_stay() {
        let cluster = cluster();
        let found = recorded(&cluster);
        assert_eq!(found.len(), 2);
        let mut rule = named("a", "NoSchedule");
        let patch = recording_patch(&rule, &[], &found).expect("news");
        rule.metadata.annotations.extend(patch.annotations);
        let rules = [rule];
        assert_eq!(recorded_workloads(&rules), found);
        let mut later = found.clone();
        for workload in later.values_mut() {
            workload.ready = Some(0);
        }
        assert_eq!(recording_patch(&rules[0], &rules, &later), None);
        let mut new = found.values().next().expect("one").clone();
        new.ready = None;
        later.insert("new".into(), new.clone());
        assert!(recording_patch(&rules[0], &rules, &later).is_some());
        // Another rule of the unit, whose first rule may be removed.
        let mut rule = named("b", "NoSchedule");
        let copied = recording_patch(&rule, &rules, &RecordedWorkloads::new()).expect("a copy");
        assert_eq!(copied.annotations, rules[0].metadata.annotations);
        let patch = recording_patch(&rule, &rules, &later).expect("news");
        rule.metadata.annotations.extend(patch.annotations);
        let mut all = found;
        all.insert("new".into(), new);
        assert_eq!(recorded_workloads(&[rule]), all);
    }

    #[test]
    fn an_annotation_that_somebody_changed_records_what_is_left_of_it() {
        let mut rule = named("a", "NoSchedule");
        let key = RuleMetadata::DRAIN_WORKLOADS.to_owned();
        for (text, count) in [
            ("", 0),
            ("no", 0),
            ("{}", 0),
            (
                r#"[{"kind":"Widget","namespace":"a","name":"b","uid":"c"},
                   {"kind":"Job","namespace":"a","name":"b","uid":"c","ready":"x"}]"#,
                1,
            ),
        ] {
            let note = (key.clone(), text.to_owned());
            rule.metadata.annotations.extend([note]);
            assert_eq!(recorded_workloads(&[rule.clone()]).len(), count, "{text}");
        }
    }

    #[test]
    fn workloads_that_could_not_be_read_have_no_state() {
        let mut cluster = cluster();
        let found = recorded(&cluster);
        assert_eq!(recorded_names(&found).len(), 2);
        cluster.reading.known.remove(&Kind::Deployment);
        cluster.reading.gaps = vec![Gap::of(Kind::Deployment, "denied")];
        let unread = recorded_states(&found, &cluster.reading).unwrap_err();
        assert!(unread[0].starts_with("deployments: denied"), "{unread:?}");
    }

    #[test]
    fn recorded_workloads_are_read_by_their_names() {
        let cluster = cluster();
        let names: Vec<(Kind, Vec<String>)> = recorded_names(&recorded(&cluster))
            .into_iter()
            .map(|(kind, names)| (kind, names.iter().map(ToString::to_string).collect()))
            .collect();
        let of = |kind, name: &str| (kind, vec![name.to_owned()]);
        let web = of(Kind::Deployment, "team-a/web");
        let train = of(Kind::Job, "team-a/train");
        assert_eq!(names.len(), 2, "{names:?}");
        assert!(names.contains(&web) && names.contains(&train), "{names:?}");
    }
}
