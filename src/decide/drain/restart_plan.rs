//! Which owners a drain is going to restart, and what it is refused for.
//!
//! A restart replaces all pods of its owner, also those whose devices are not drained. While it lasts, one more pod needs
//! devices than before, and those that are given back are drained or taken at once: that many have to be free.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::UnitPod;
use super::means::Means;
use super::restart::{
    RestartBlocker, RestartProgress, RestartState, deployment_of, restart_states, tainted_since,
};
use crate::assess::{Basis, Replacements};
use crate::engine::workloads::Owners;
use crate::engine::{Impact, PodImpact};
use crate::error::Failure;
use crate::model::{DeviceTaintRule, DriverName, NamespacedName, Pod, Uid};
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

    /// Whether the pod leaves by a restart.
    #[must_use]
    pub fn restarts(&self, pod: &UnitPod) -> bool {
        let mut owners = self.owners.values();
        owners.any(|restart| restart.pods.contains(&pod.uid))
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
            "the owners of pods cannot be restarted with new pods first; nothing was changed",
        );
        let failure = reasons.iter().fold(failure, |failure, (blocker, pods)| {
            failure.detail(format!("{}: {}", blocker.describe(), few(pods)))
        });
        Err(failure.hint("to restart the others and evict these: --by auto"))
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
                    request.is_some_and(|request| request.devices.least() >= needed)
                })
            })
        })
    }
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
