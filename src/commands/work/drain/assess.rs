//! What a drain does to pods, and reasons to refuse it before anything is tainted: functions of what was read.

use std::collections::BTreeSet;

use super::look::{recordable, unread};
use super::prepare::DrainRequest;
use super::prepared::{CheckedDrain, Prepared};
use crate::assess::{Basis, Sibling};
use crate::decide::drain::{
    DrainPlan, RestartPlan, Terminations, UnitPod, cordoned_nodes, drain_replacements,
    failing_jobs, grace_time, plan_lines, pods_of, refuse_start, refusing_budgets, rest_of_grace,
    still_to_place, workload_states,
};
use crate::engine::Impact;
use crate::engine::job_fate::job_fates;
use crate::error::Failure;
use crate::model::DeviceTaintRule;

impl DrainRequest {
    /// What the drain does to pods, and the pods that it evicts; `rules` are all rules.
    ///
    /// # Errors
    ///
    /// If the drain cannot succeed, or does more than its limits allow.
    pub(super) fn assess(
        &self,
        prepared: &Prepared,
        rules: &[DeviceTaintRule],
        basis: &Basis<'_>,
    ) -> Result<(CheckedDrain, Vec<UnitPod>), Failure> {
        let limits = &self.limits;
        let (reading, now) = (basis.reading, basis.now);
        let proposed = prepared.hypothetical(now);
        let impact = basis.impact(&proposed);
        let pods = pods_of(&impact, basis);
        let (_, unknown) = workload_states(&reading.snapshot.pods, reading);
        let unread: Vec<String> = unread(reading).into_iter().chain(unknown).collect();
        let leaving: Vec<&UnitPod> = pods
            .iter()
            .filter(|pod| pod.is_evicted(limits.included))
            .collect();
        let uids: BTreeSet<_> = leaving.iter().map(|pod| &pod.uid).collect();
        // Pods that are not evicted need no other device.
        let of_leaving = Impact {
            pods: impact
                .pods
                .iter()
                .filter(|pod| uids.contains(&pod.pod.uid))
                .cloned()
                .collect(),
            ..impact.clone()
        };
        let of_drain = prepared.rules(rules);
        // An earlier run may have restarted their owners.
        let to_place = still_to_place(&of_leaving, reading, &of_drain);
        let raised = prepared.raised(rules);
        let by_taint = raised > 0 || limits.may_evict_by_taint();
        let replacements = drain_replacements(&to_place, &proposed, by_taint, basis);
        let restarts = match limits.restarts {
            true => RestartPlan::of(&of_leaving, reading, &of_drain),
            false => RestartPlan::default(),
        };
        let siblings = Sibling::of(&impact, basis);
        let leaves_partitions = siblings
            .iter()
            .any(|sibling| !sibling.is_shared() && !sibling.is_of_other_driver);
        let siblings: Vec<String> = siblings
            .iter()
            .filter(|sibling| !sibling.is_shared())
            .map(Sibling::line)
            .collect();
        let fates = job_fates(&of_leaving, reading);
        let ending: Vec<&UnitPod> = pods
            .iter()
            .filter(|pod| pod.is_terminating || pod.is_evicted(limits.included))
            .collect();
        let terminations = Terminations::of(&ending, &impact, reading);
        let rest = rest_of_grace(&pods, now);
        let time = |from| grace_time(&prepared.units, &leaving, &of_leaving, from).max(rest);
        let longest = time(by_taint.then_some(now));
        let plan = DrainPlan {
            refusing_budgets: &refusing_budgets(&to_place, basis, &restarts, limits),
            siblings: &siblings,
            failing_jobs: &failing_jobs(&of_leaving, &fates),
            longest,
            tolerates: longest > time(None),
            raised,
            terminations: &terminations,
            name: &prepared.terms.name,
            units: &prepared.units,
            pods: &pods,
            replacements: &replacements,
            cordoned: &cordoned_nodes(&reading.snapshot),
            limits,
            restarts: &restarts,
            unread: &unread,
        };
        refuse_start(&plan)?;
        let lines = plan_lines(&plan);
        let workloads = recordable(&prepared.units, &impact, reading);
        let kept = pods.iter().filter(|pod| !pod.is_evicted(limits.included));
        let checked = CheckedDrain {
            by_taint: limits.evict_by_taint(&leaving),
            kept: kept.map(|pod| pod.uid.clone()).collect(),
            restarts,
            workloads,
            lines,
            leaves_partitions,
        };
        let leaving = leaving.into_iter().cloned().collect();
        Ok((checked, leaving))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::AddStep;
    use crate::decide::drain::testing::{Cluster, budget, drain_rule, limits, owned};
    use crate::decide::drain::{UnitKind, UnitLimits};
    use crate::engine::testing::{
        claim_in_use, device, drawing, node, now, published, semantics, slice,
    };
    use crate::model::{ClaimSource, Controller, Gap, Kind, Pod, PodClaim, Reading};

    fn request(limits: UnitLimits) -> DrainRequest {
        DrainRequest {
            targets: Vec::new(),
            nodes: Vec::new(),
            with_partitions: false,
            kind: UnitKind::Device,
            name: Some("fw".to_owned()),
            reason: None,
            limits,
            mode: None,
        }
    }

    /// Replacements may stay pending.
    fn accepting() -> UnitLimits {
        UnitLimits {
            accepts_unplaceable: true,
            ..limits()
        }
    }

    /// A pod that uses gpu-0 of node-7, where gpu-1 is free.
    fn reading(pod: Pod) -> Reading {
        let mut cluster = Cluster::default();
        cluster.replica_set("web-6d", 2, 2);
        cluster.replica_set("only-6d", 1, 1);
        cluster.job("train", 1);
        let mut reading = cluster.reading;
        let devices = vec![published("gpu-0", &[]), published("gpu-1", &[])];
        reading.snapshot.slices = vec![slice(devices)];
        reading.snapshot.nodes = vec![node("node-7")];
        let mut made = claim_in_use(&pod);
        made.controller = Some(Controller {
            api_version: "v1".into(),
            kind: "Pod".into(),
            name: pod.name.name.clone(),
            uid: pod.uid.clone(),
        });
        reading.snapshot.claims = vec![made];
        let claim = PodClaim {
            name: "gpu".into(),
            source: ClaimSource::Template {
                template: "gpu".into(),
                generated: Some(format!("{}-gpu", pod.name.name).as_str().into()),
            },
        };
        reading.snapshot.pods = vec![Pod {
            claims: vec![claim],
            ..pod
        }];
        reading
    }

    fn web() -> Pod {
        owned("web-0", Some(("ReplicaSet", "web-6d")))
    }

    fn assessed(
        request: &DrainRequest,
        reading: &Reading,
        rules: &[DeviceTaintRule],
    ) -> Result<(CheckedDrain, Vec<String>), String> {
        let semantics = semantics(37);
        let basis = Basis::new(reading, &semantics, now());
        let devices = [device("gpu-0")].into();
        let prepared = request.prepare(&devices, rules, &basis);
        let prepared = prepared.map_err(|failure| failure.to_string())?;
        let (checked, leaving) = request
            .assess(&prepared, rules, &basis)
            .map_err(|failure| format!("{failure:#?}"))?;
        let names = leaving.iter().map(|pod| pod.name.to_string());
        Ok((checked, names.collect()))
    }

    /// A cluster in which both devices are parts of one card, and each has a pod.
    fn with_sibling() -> Reading {
        let mut reading = reading(web());
        let parts = vec![drawing("gpu-0", "40Gi"), drawing("gpu-1", "40Gi")];
        reading.snapshot.slices = vec![slice(parts)];
        let mut other = self::reading(owned("other-0", Some(("ReplicaSet", "web-6d")))).snapshot;
        for claim in &mut other.claims {
            let allocation = claim.allocation.as_mut().expect("an allocation");
            allocation.results[0].device = device("gpu-1");
        }
        reading.snapshot.claims.append(&mut other.claims);
        reading.snapshot.pods.append(&mut other.pods);
        reading
    }

    fn changed(mut reading: Reading, change: impl FnOnce(&mut Reading)) -> Reading {
        change(&mut reading);
        reading
    }

    #[test]
    fn what_a_drain_does_is_a_function_of_what_was_read() {
        let daemon = || reading(owned("agent-x", Some(("DaemonSet", "agent"))));
        let by_taint = UnitLimits {
            force_after: Some(std::time::Duration::ZERO),
            ..accepting()
        };
        let budgets = vec![budget(2, 2, 2)];
        let mut wrong = Vec::new();
        for (name, reading, limits, leaving, kept, is_by_taint, partitions, line) in [
            (
                "a pod",
                reading(web()),
                accepting(),
                1,
                0,
                false,
                false,
                "  evicts pods that their workload recreates: team-a/web-0",
            ),
            (
                "a pod of a DaemonSet",
                daemon(),
                accepting(),
                0,
                1,
                false,
                false,
                "does not evict pods of DaemonSets",
            ),
            (
                "by taint",
                reading(web()),
                by_taint,
                1,
                0,
                true,
                false,
                "with effect NoExecute",
            ),
            (
                "budgets that may not be read",
                changed(reading(web()), |it| {
                    it.gaps.push(Gap::of(Kind::PodDisruptionBudget, "denied"));
                }),
                accepting(),
                1,
                0,
                false,
                false,
                "evicts pods",
            ),
            (
                "a budget that refuses",
                changed(reading(web()), |it| it.snapshot.budgets = budgets.clone()),
                accepting(),
                1,
                0,
                false,
                false,
                "budget",
            ),
            (
                "other devices of the same hardware",
                with_sibling(),
                accepting(),
                1,
                0,
                false,
                true,
                "gpu-1",
            ),
        ] {
            let (checked, evicted) = match assessed(&request(limits), &reading, &[]) {
                Ok(found) => found,
                Err(why) => {
                    wrong.push(format!("{name}: {why}"));
                    continue;
                }
            };
            let found = (
                evicted.len(),
                checked.kept.len(),
                checked.by_taint,
                checked.leaves_partitions,
            );
            let has_line = checked.lines.iter().any(|found| found.contains(line));
            if found != (leaving, kept, is_by_taint, partitions) || !has_line {
                wrong.push(format!(
                    "{name}: {found:?} {:#?} {:?}",
                    checked.lines, checked.workloads
                ));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_drain_that_cannot_succeed_is_refused_by_what_was_read() {
        let placed = UnitLimits {
            accepts_unplaceable: false,
            ..accepting()
        };
        let cordon = |it: &mut Reading| it.snapshot.nodes[0].unschedulable = true;
        let mut wrong = Vec::new();
        for (name, reading, limits, expected) in [
            (
                "pods that may not be read",
                changed(reading(web()), |it| {
                    it.gaps.push(Gap::of(Kind::Pod, "denied"))
                }),
                accepting(),
                "could not be read: pods: denied",
            ),
            (
                "owners that are not known",
                changed(reading(web()), |it| {
                    it.snapshot.replica_sets.clear();
                    it.known.remove(&Kind::ReplicaSet);
                }),
                accepting(),
                "could not be read: ReplicaSet team-a/web-6d",
            ),
            (
                "a pod of a Job",
                reading(owned("train-0", Some(("Job", "train")))),
                accepting(),
                "--include jobs",
            ),
            (
                "no other device",
                with_sibling(),
                placed,
                "--accept-unplaceable",
            ),
            (
                "a cordoned node",
                changed(reading(web()), cordon),
                placed,
                "cordoned nodes are not available for replacements: node-7",
            ),
        ] {
            match assessed(&request(limits), &reading, &[]) {
                Err(why) if why.contains(expected) => {}
                found => wrong.push(format!("{name}: {:#?}", found.map(|found| found.0.lines))),
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn rules_that_an_earlier_run_raised_evict_by_taint() {
        let request = request(accepting());
        let semantics = semantics(37);
        let reading = reading(web());
        let basis = Basis::new(&reading, &semantics, now());
        let planned = request.prepare(&[device("gpu-0")].into(), &[], &basis);
        let planned = planned.expect("a drain of gpu-0");
        let AddStep::Create(draft) = &planned.steps[0] else {
            panic!("{:?}", planned.steps);
        };
        let mut rule = drain_rule(&draft.name, &planned.units[0].name, "NoExecute");
        rule.selector = Some(draft.selector.clone());
        rule.taint.key.clone_from(&draft.taint.key);
        rule.taint.value.clone_from(&draft.taint.value);
        let with_rule = changed(reading.clone(), |it| it.snapshot.rules = vec![rule.clone()]);
        let (checked, leaving) = assessed(&request, &with_rule, &[rule]).expect("a drain");
        assert!(checked.by_taint, "{:#?}", checked.lines);
        assert_eq!(leaving, ["team-a/web-0"]);
        let line = "  1 rule of this drain already has effect NoExecute: it evicts pods regardless of budgets";
        let mut lines = checked.lines.iter();
        assert!(lines.any(|found| found == line), "{:#?}", checked.lines);
    }
}
