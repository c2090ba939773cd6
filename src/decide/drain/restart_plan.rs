//! Which owners a drain is going to restart, and what it is refused for.
//!
//! A restart replaces all pods of its owner, also those whose devices are not drained. While it lasts, one more pod needs
//! devices than before, and those that are given back are drained or taken at once: that many have to be free.

use std::collections::{BTreeMap, BTreeSet};

use super::means::Means;
use super::restart::{
    RestartBlocker, RestartProgress, RestartState, deployment_of, restart_states, tainted_since,
};
use crate::assess::{Basis, Replacements};
use crate::engine::workloads::Owners;
use crate::engine::{Impact, PodImpact};
use crate::error::Failure;
use crate::model::{DeviceTaintRule, DriverName, NamespacedName, Pod, Reading, Uid};
use crate::naming::phrase::{counted, few};

/// Which owners a drain is going to restart.
#[derive(Clone, Debug, Default)]
pub struct RestartPlan {
    /// Those that are going to be restarted, by UID.
    pub owners: BTreeMap<Uid, PlannedRestart>,
    /// Pods whose owners are not, each with why.
    pub others: Vec<(NamespacedName, RestartBlocker)>,
}

/// An owner that is going to be restarted.
#[derive(Clone, Debug)]
pub struct PlannedRestart {
    /// How it is now.
    pub state: RestartState,
    /// Its pods that have to leave.
    pub pods: BTreeSet<Uid>,
}

/// What restarts are planned from.
#[derive(Clone, Copy, Debug)]
pub struct RestartFacts<'a> {
    /// The pods that leave, and nothing else.
    pub impact: &'a Impact<'a>,
    /// What was read.
    pub basis: &'a Basis<'a>,
    /// Where the claims of these pods could be placed again.
    pub replacements: &'a Replacements,
    /// The rules of the drain; none where not all of them are there.
    pub rules: &'a [DeviceTaintRule],
}

impl RestartPlan {
    /// Whether restarts alone are a way: every pod that leaves has an owner that is restarted, and there are such pods.
    #[must_use]
    pub fn replaces_evictions(&self) -> bool {
        !self.owners.is_empty() && self.others.is_empty()
    }

    /// What is restarted of the owners of the pods that leave by `means`.
    #[must_use]
    pub fn of(means: Means, facts: &RestartFacts<'_>) -> Self {
        let mut plan = Self::default();
        match means {
            Means::Eviction | Means::Taint => return plan,
            Means::Auto | Means::Restart => {}
        }
        let reading = facts.basis.reading;
        let owners = Owners::new(reading);
        let pods: Vec<Pod> = facts.impact.pods.iter().map(|it| it.pod.clone()).collect();
        let states = restart_states(&pods, reading, tainted_since(facts.rules));
        let mut blocked: BTreeMap<&Uid, RestartBlocker> = BTreeMap::new();
        let mut members: BTreeMap<&Uid, Vec<&PodImpact<'_>>> = BTreeMap::new();
        for impact in &facts.impact.pods {
            let found = deployment_of(impact.pod, &owners);
            match found.map(|deployment| states.get_key_value(&deployment.uid)) {
                Ok(Some((uid, _))) => members.entry(uid).or_default().push(impact),
                // A Deployment gets no state if its number of replicas is unknown.
                Ok(None) => drop(blocked.insert(&impact.pod.uid, RestartBlocker::OwnerUnknown)),
                Err(blocker) => drop(blocked.insert(&impact.pod.uid, blocker)),
            }
        }
        for (uid, impacts) in members {
            let Some(state) = states.get(uid) else {
                continue;
            };
            let blocker = facts.blocker(state, &impacts);
            match blocker.filter(|blocker| blocker.applies(means)) {
                Some(blocker) => {
                    let pods = impacts.iter().map(|impact| &impact.pod.uid);
                    blocked.extend(pods.map(|pod| (pod, blocker.clone())));
                }
                // Its pods leave without another restart.
                None if state.progress != RestartProgress::NotBegun => {}
                None => {
                    let restart = PlannedRestart {
                        state: state.clone(),
                        pods: impacts.iter().map(|it| it.pod.uid.clone()).collect(),
                    };
                    plan.owners.insert(uid.clone(), restart);
                }
            }
        }
        let impacts = facts.impact.pods.iter();
        plan.others = impacts
            .filter_map(|it| Some((it.pod.name.clone(), blocked.remove(&it.pod.uid)?)))
            .collect();
        plan
    }

    /// How many pods the restarts replace, on these devices and on others.
    #[must_use]
    pub fn replaced(&self) -> usize {
        let owners = self.owners.values();
        let pods =
            owners.map(|restart| usize::try_from(restart.state.replicas).unwrap_or_default());
        pods.fold(0, usize::saturating_add)
    }

    /// Whether the pod leaves by a restart.
    #[must_use]
    pub fn restarts(&self, pod: &Uid) -> bool {
        let mut owners = self.owners.values();
        owners.any(|restart| restart.pods.contains(pod))
    }

    /// A line for each owner that is going to be restarted.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let owners = self.owners.values();
        let mut lines: Vec<String> = owners.map(PlannedRestart::line).collect();
        lines.sort();
        lines
    }

    /// Refuses a drain by restarts alone, where pods would stay.
    ///
    /// # Errors
    ///
    /// The owners of pods cannot be restarted.
    pub fn refuse_others(&self, means: Means) -> Result<(), Failure> {
        if means != Means::Restart || self.others.is_empty() {
            return Ok(());
        }
        let mut reasons: BTreeMap<&RestartBlocker, Vec<String>> = BTreeMap::new();
        for (pod, blocker) in &self.others {
            reasons.entry(blocker).or_default().push(pod.to_string());
        }
        let failure = Failure::refused(
            "`--by restart` cannot replace some pods, for the reasons below; nothing was changed",
        );
        let failure = reasons.iter().fold(failure, |failure, (blocker, pods)| {
            failure.detail(format!("{}: {}", blocker.describe(), few(pods)))
        });
        Err(failure.hint("to evict pods whose owners are not restarted: --by auto"))
    }
}

impl PlannedRestart {
    fn line(&self) -> String {
        let replicas = usize::try_from(self.state.replicas).unwrap_or_default();
        let elsewhere = self.elsewhere();
        let others = if elsewhere == 0 {
            String::new()
        } else {
            format!(", {elsewhere} of them on other devices")
        };
        format!(
            "restarts {} ({}{others})",
            self.state.describe(),
            counted(replicas, "pod")
        )
    }

    /// How many of its pods are replaced although their devices are not drained.
    fn elsewhere(&self) -> usize {
        let replicas = usize::try_from(self.state.replicas).unwrap_or_default();
        replicas.saturating_sub(self.pods.len())
    }
}

impl RestartFacts<'_> {
    fn blocker(&self, state: &RestartState, pods: &[&PodImpact<'_>]) -> Option<RestartBlocker> {
        let lasting = pods.iter().find_map(|pod| self.lasting_claim(pod));
        if let Some(claim) = lasting {
            return Some(RestartBlocker::LastingClaim(claim));
        }
        match state.progress {
            RestartProgress::Complete => return Some(RestartBlocker::AlreadyRestarted),
            // A restart that an earlier run began is waited for, also if it would not be begun now.
            RestartProgress::Ongoing { .. } => return None,
            RestartProgress::NotBegun => {}
        }
        // What the Deployment and its budgets rule out comes before what is only not preferred.
        let blocker = state.blocker.clone();
        if blocker.as_ref().is_some_and(|it| !it.is_preference()) || self.is_placeable(state, pods)
        {
            return blocker;
        }
        Some(RestartBlocker::Unplaceable)
    }

    /// A claim of the pod that was not made for it alone: the new pod would use it too, and with it the device.
    fn lasting_claim(&self, pod: &PodImpact<'_>) -> Option<NamespacedName> {
        let claims = &self.basis.reading.snapshot.claims;
        let is_own = |name: &NamespacedName| {
            let found = claims.iter().find(|claim| claim.name == *name);
            let owner = found.and_then(|claim| claim.controller.as_ref());
            owner.is_some_and(|owner| owner.uid == pod.pod.uid)
        };
        let mut used = pod.claims.iter().map(|used| used.claim);
        used.find(|name| !is_own(name)).cloned()
    }

    /// Whether other devices are certainly available for all pods that leave, and for one more of this owner where it
    /// has pods elsewhere, which are replaced too and give their devices back only after that.
    fn is_placeable(&self, state: &RestartState, pods: &[&PodImpact<'_>]) -> bool {
        // The bound of all claims comes first: each alone may find a device that another one takes.
        if self.replacements.unplaceable_together().most() != Some(0) {
            return false;
        }
        let has_others = usize::try_from(state.replicas).is_ok_and(|all| all > pods.len());
        let demand = demand(&self.impact.pods);
        pods.iter().all(|pod| {
            let own = demand_of(pod);
            pod.claims.iter().all(|used| {
                let mut claims = self.replacements.claims.iter();
                let Some(claim) = claims.find(|claim| claim.name == *used.claim) else {
                    return false;
                };
                used.results.iter().all(|result| {
                    let driver = &result.device.driver;
                    let of = |devices: &BTreeMap<&DriverName, usize>| {
                        devices.get(driver).copied().unwrap_or_default()
                    };
                    let more = if has_others { of(&own) } else { 0 };
                    let needed = of(&demand).saturating_add(more);
                    let mut requests = claim.requests.iter();
                    let request = requests.find(|it| it.request.as_str() == &*result.request);
                    // The lower bound counts: without a device for the new pod the rollout would stall.
                    request.is_some_and(|request| request.devices.least() >= needed)
                })
            })
        })
    }
}

/// `impact` without the pods that need no other device: a restart is bringing up their replacements.
#[must_use]
pub fn still_to_place<'a>(
    impact: &Impact<'a>,
    reading: &Reading,
    rules: &[DeviceTaintRule],
) -> Impact<'a> {
    let replaced = replaced_already(impact, reading, rules);
    let pods = impact.pods.iter();
    let pods = pods.filter(|pod| !replaced.contains(&pod.pod.uid));
    Impact {
        pods: pods.cloned().collect(),
        ..impact.clone()
    }
}

/// Pods of `impact` that need no other device: a restart since the `rules` were made is bringing up their replacements, which
/// have devices or wait for them already. Of the pods of such an owner, as many as are not updated yet still need one.
#[must_use]
fn replaced_already(
    impact: &Impact<'_>,
    reading: &Reading,
    rules: &[DeviceTaintRule],
) -> BTreeSet<Uid> {
    let owners = Owners::new(reading);
    let pods: Vec<Pod> = impact.pods.iter().map(|it| it.pod.clone()).collect();
    let states = restart_states(&pods, reading, tainted_since(rules));
    let mut members: BTreeMap<&Uid, BTreeSet<Uid>> = BTreeMap::new();
    for pod in &pods {
        if let Ok(deployment) = deployment_of(pod, &owners)
            && let Some((uid, _)) = states.get_key_value(&deployment.uid)
        {
            members.entry(uid).or_default().insert(pod.uid.clone());
        }
    }
    let replaced = members.into_iter().flat_map(|(owner, pods)| {
        let missing = states.get(owner).map(|state| match state.progress {
            RestartProgress::Ongoing { updated, .. } => {
                usize::try_from(state.replicas.saturating_sub(updated)).unwrap_or_default()
            }
            RestartProgress::NotBegun | RestartProgress::Complete => pods.len(),
        });
        let surplus = pods.len().saturating_sub(missing.unwrap_or(pods.len()));
        // Which of them is arbitrary: what counts is how many still need devices.
        pods.into_iter().take(surplus)
    });
    replaced.collect()
}

/// How many devices of each driver these pods lose.
fn demand<'a>(pods: &'a [PodImpact<'_>]) -> BTreeMap<&'a DriverName, usize> {
    let mut demand: BTreeMap<&DriverName, usize> = BTreeMap::new();
    for pod in pods {
        for (driver, devices) in demand_of(pod) {
            let all = demand.entry(driver).or_default();
            *all = all.saturating_add(devices);
        }
    }
    demand
}

fn demand_of<'a>(pod: &'a PodImpact<'_>) -> BTreeMap<&'a DriverName, usize> {
    let mut demand: BTreeMap<&DriverName, usize> = BTreeMap::new();
    for result in pod.claims.iter().flat_map(|used| &used.results) {
        let devices = demand.entry(&result.device.driver).or_default();
        *devices = devices.saturating_add(1);
    }
    demand
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{ClaimReplacement, RequestReplacement};
    use crate::decide::drain::testing::{Cluster, owned};
    use crate::engine::{ClaimUse, Verdict};
    use crate::model::{Allocation, Controller, Count, ResourceClaim};
    use crate::report::testing::{claim, impact, now, semantics, with_verdict};

    /// Two of the four pods of Deployment web, and one of StatefulSet db, each with one device.
    struct Scene {
        cluster: Cluster,
        pods: Vec<Pod>,
        free: usize,
        together: usize,
        rules: Vec<DeviceTaintRule>,
    }

    impl Scene {
        fn new() -> Self {
            let mut cluster = Cluster::default();
            cluster.deployment("web", 4);
            cluster.stateful_set("db", 2, 2);
            let web = Some(("ReplicaSet", "web-6d"));
            let pods = vec![
                owned("web-1", web),
                owned("web-2", web),
                owned("db-0", Some(("StatefulSet", "db"))),
            ];
            let claims = pods.iter().map(|pod| ResourceClaim {
                controller: Some(Controller {
                    api_version: "v1".into(),
                    kind: "Pod".into(),
                    name: pod.name.name.clone(),
                    uid: pod.uid.clone(),
                }),
                ..claim(pod)
            });
            cluster.reading.snapshot.claims = claims.collect();
            Self {
                cluster,
                pods,
                free: 4,
                together: 3,
                rules: Vec::new(),
            }
        }

        fn plan(&self, means: Means) -> RestartPlan {
            self.plan_with(means, |_| ())
        }

        fn plan_with(&self, means: Means, change: fn(&mut Replacements)) -> RestartPlan {
            let claims = &self.cluster.reading.snapshot.claims;
            let impacts = self.pods.iter().zip(claims).map(|(pod, claim)| {
                let mut impact = with_verdict(pod, Verdict::Evicted { at: now() });
                let allocation = claim.allocation.as_ref().map(|it: &Allocation| &it.results);
                impact.claims = vec![ClaimUse {
                    claim: &claim.name,
                    results: allocation.into_iter().flatten().collect(),
                }];
                impact
            });
            let semantics = semantics(37);
            let mut replacements = Replacements {
                claims: claims.iter().map(|claim| self.replacement(claim)).collect(),
                at_most_together: self.together,
                available: None,
            };
            change(&mut replacements);
            let facts = RestartFacts {
                impact: &impact(impacts.collect()),
                basis: &Basis::new(&self.cluster.reading, &semantics, now()),
                replacements: &replacements,
                rules: &self.rules,
            };
            RestartPlan::of(means, &facts)
        }

        fn replacement(&self, claim: &ResourceClaim) -> ClaimReplacement {
            ClaimReplacement {
                name: claim.name.clone(),
                placeable: Some(true),
                unknown: BTreeSet::new(),
                requests: vec![RequestReplacement {
                    request: "gpu".to_owned(),
                    needs: Some(1),
                    devices: Count::known(self.free),
                    elsewhere: 0,
                }],
                not_modelled: Vec::new(),
            }
        }

        /// Why the pods of the Deployment are not restarted.
        fn blocker(&self, means: Means) -> Option<RestartBlocker> {
            self.blocker_with(means, |_| ())
        }

        fn blocker_with(
            &self,
            means: Means,
            change: fn(&mut Replacements),
        ) -> Option<RestartBlocker> {
            let plan = self.plan_with(means, change);
            let mut others = plan.others.iter();
            let of_web = others.find(|(pod, _)| pod.name.as_str() == "web-1");
            assert_ne!(of_web.is_some(), !plan.owners.is_empty());
            of_web.map(|(_, blocker)| blocker.clone())
        }
    }

    #[test]
    fn owners_that_bring_new_pods_up_first_are_restarted_and_said_with_all_their_pods() {
        let plan = Scene::new().plan(Means::Auto);
        assert_eq!(
            plan.lines(),
            ["restarts Deployment team-a/web (4 pods, 2 of them on other devices)"]
        );
        let other = RestartBlocker::OtherKind("StatefulSet".to_owned());
        let db = crate::report::testing::name("team-a", "db-0");
        assert_eq!(plan.others, [(db, other)]);
        assert!(!plan.replaces_evictions());
        let mut alone = plan.clone();
        alone.others.clear();
        assert!(alone.replaces_evictions());
        assert_eq!(
            plan.refuse_others(Means::Auto)
                .err()
                .map(|it| it.to_string()),
            None
        );
        let mut whole = Scene::new();
        whole.cluster.reading.snapshot.deployments[0].0.replicas = Some(2);
        whole
            .cluster
            .roll(|it| (it.total, it.updated, it.available) = (2, 2, 2));
        assert_eq!(
            whole.plan(Means::Auto).lines(),
            ["restarts Deployment team-a/web (2 pods)"]
        );
        for means in [Means::Eviction, Means::Taint] {
            let plan = Scene::new().plan(means);
            assert!(plan.owners.is_empty() && plan.others.is_empty());
            assert!(!plan.replaces_evictions());
        }
    }

    #[test]
    fn a_restart_needs_a_device_for_each_pod_that_leaves_and_one_more_for_those_elsewhere() {
        let unplaceable = Some(RestartBlocker::Unplaceable);
        let mut scene = Scene::new();
        for (free, together, expected) in [
            (4, 3, None),
            (3, 3, unplaceable.clone()),
            (4, 2, unplaceable.clone()),
        ] {
            (scene.free, scene.together) = (free, together);
            assert_eq!(scene.blocker(Means::Auto), expected, "{free}, {together}");
            // Who asks for it is refused by the claims themselves, or accepts it.
            assert_eq!(scene.blocker(Means::Restart), None);
        }
        // All its pods leave: what they give back is not needed.
        scene.cluster.reading.snapshot.deployments[0].0.replicas = Some(2);
        scene
            .cluster
            .roll(|it| (it.total, it.updated, it.available) = (2, 2, 2));
        (scene.free, scene.together) = (3, 3);
        assert_eq!(scene.blocker(Means::Auto), None);
        scene.free = 2;
        assert_eq!(scene.blocker(Means::Auto), unplaceable);
    }

    #[test]
    fn a_claim_that_outlives_its_pod_would_keep_the_device() {
        for change in [
            (|claim| claim.controller = None) as fn(&mut ResourceClaim),
            |claim| claim.controller.as_mut().expect("a pod").uid = "other".into(),
        ] {
            let mut scene = Scene::new();
            change(&mut scene.cluster.reading.snapshot.claims[0]);
            let expected =
                RestartBlocker::LastingClaim(crate::report::testing::name("team-a", "web-1-gpu"));
            assert_eq!(scene.blocker(Means::Auto), Some(expected.clone()));
            assert_eq!(scene.blocker(Means::Restart), Some(expected));
        }
    }

    #[test]
    fn what_the_deployment_itself_rules_out_comes_before_what_is_only_not_preferred() {
        let mut scene = Scene::new();
        scene.free = 0;
        scene.cluster.roll(|rollout| rollout.is_paused = true);
        assert_eq!(scene.blocker(Means::Auto), Some(RestartBlocker::Paused));
        assert_eq!(scene.blocker(Means::Restart), Some(RestartBlocker::Paused));
        let mut scene = Scene::new();
        scene.cluster.roll(|rollout| rollout.available = 3);
        assert_eq!(scene.blocker(Means::Auto), Some(RestartBlocker::Unsettled));
        assert_eq!(scene.blocker(Means::Restart), None);
    }

    #[test]
    fn an_owner_that_the_drain_has_restarted_is_not_restarted_again() {
        let mut scene = Scene::new();
        let mut rule = crate::decide::testing::named("a", "NoSchedule");
        rule.metadata.created = Some(now());
        scene.rules = vec![rule];
        scene.cluster.roll(|it| it.restarted = Some(now()));
        for means in [Means::Auto, Means::Restart] {
            let expected = Some(RestartBlocker::AlreadyRestarted);
            assert_eq!(scene.blocker(means), expected);
        }
        scene.cluster.roll(|rollout| rollout.updated = 1);
        let plan = scene.plan(Means::Restart);
        assert!(
            plan.owners.is_empty(),
            "its pods leave by the restart that goes on"
        );
        assert_eq!(plan.others.len(), 1);
    }

    #[test]
    fn restarts_alone_are_refused_with_the_pods_that_would_stay() {
        let mut scene = Scene::new();
        scene.cluster.roll(|rollout| rollout.is_paused = true);
        let failure = scene.plan(Means::Restart).refuse_others(Means::Restart);
        let failure = failure.expect_err("pods would stay");
        assert_eq!(failure.status(), crate::error::ExitStatus::Refused);
        assert_eq!(
            failure.details(),
            [
                "controlled by StatefulSet: team-a/db-0",
                "the Deployment is paused: team-a/web-1, team-a/web-2"
            ]
        );
        assert_eq!(
            failure.hints(),
            ["to evict pods whose owners are not restarted: --by auto"]
        );
    }

    #[test]
    fn pods_whose_replacements_were_made_by_an_earlier_run_need_no_other_device() {
        let rule = |seconds: i64| {
            let mut rule = crate::decide::testing::named("a", "NoSchedule");
            rule.metadata.created = Some(now() + jiff::SignedDuration::from_secs(seconds));
            rule
        };
        for (updated, since, expected) in [(0, 0, 0), (2, 0, 0), (3, 0, 1), (4, 0, 2), (3, 9, 0)] {
            let mut scene = Scene::new();
            scene.cluster.roll(|rollout| {
                rollout.restarted = Some(now());
                (rollout.total, rollout.updated) = (5, updated);
            });
            let pods = scene.pods.iter();
            let impacts = pods.map(|pod| with_verdict(pod, Verdict::Evicted { at: now() }));
            let impact = impact(impacts.collect());
            let found = replaced_already(&impact, &scene.cluster.reading, &[rule(since)]);
            assert_eq!(found.len(), expected, "{updated} since {since}");
            let rest = still_to_place(&impact, &scene.cluster.reading, &[rule(since)]);
            let rest: BTreeSet<&Uid> = rest.pods.iter().map(|pod| &pod.pod.uid).collect();
            let of = impact.pods.iter().map(|pod| &pod.pod.uid);
            let of: BTreeSet<&Uid> = of.filter(|uid| !found.contains(*uid)).collect();
            assert_eq!(rest, of);
        }
    }

    #[test]
    fn a_restart_needs_a_device_for_each_request_of_each_claim_of_each_pod() {
        let unplaceable = Some(RestartBlocker::Unplaceable);
        let with = |change: fn(&mut Replacements)| {
            let scene = Scene::new();
            scene.blocker_with(Means::Auto, change)
        };
        assert_eq!(with(|_| ()), None);
        let short = with(|found| found.claims[1].requests[0].devices = Count::known(3));
        assert_eq!(short, unplaceable, "the second pod");
        let unknown = with(|found| found.claims[1].name.name = "other".into());
        assert_eq!(unknown, unplaceable, "a claim that was not looked at");
        let other = with(|found| {
            let mut first = found.claims[0].requests[0].clone();
            first.request = "other".to_owned();
            found.claims[0].requests[0].devices = Count::known(0);
            found.claims[0].requests.insert(0, first);
        });
        assert_eq!(other, unplaceable, "another request of the claim");
    }

    #[test]
    fn each_device_that_a_claim_loses_needs_another_one() {
        let mut scene = Scene::new();
        scene.free = 9;
        let allocation = &mut scene.cluster.reading.snapshot.claims[0].allocation;
        let results = &mut allocation.as_mut().expect("an allocation").results;
        let mut second = results[0].clone();
        second.request = "other".into();
        results.push(second);
        let with = |change| scene.blocker_with(Means::Auto, change);
        let short = with(|found| {
            let mut other = found.claims[0].requests[0].clone();
            (other.request, other.devices) = ("other".to_owned(), Count::known(0));
            found.claims[0].requests.push(other);
        });
        assert_eq!(short, Some(RestartBlocker::Unplaceable));
        let enough = with(|found| {
            let mut other = found.claims[0].requests[0].clone();
            other.request = "other".to_owned();
            found.claims[0].requests.push(other);
        });
        assert_eq!(enough, None);
    }
}
