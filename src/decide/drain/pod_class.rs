//! Classes of pods, and which of them a drain evicts.

use crate::engine::impact::replacement_takes_claim;
use crate::engine::workloads::Owners;
use crate::engine::{PodImpact, Verdict};
use crate::model::{Kind, Pod, Workload};

/// Consequence of a pod's eviction, the least harmful first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodClass {
    /// Its workload recreates it, elsewhere if need be.
    Replicated,
    /// The only pod of a StatefulSet: nothing serves until its replacement is ready.
    Singleton,
    /// Of a Job, which may fail.
    Job,
    /// Nothing is known to recreate it.
    Unmanaged,
    /// Of a DaemonSet, which recreates it on the same node.
    DaemonSet,
    /// Its claims have admin access, which takes the devices from no other pod.
    Admin,
    /// It tolerates the taint of the drain, or its replacement would for the scheduler.
    Tolerant,
    /// Its replacement would use the same claim, which stays allocated.
    KeepsClaim,
    /// The eviction controller leaves it alone, for example because it has no node yet.
    NotEvicted,
}

/// Classes of pods that are evicted only if `--include` names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inclusions {
    /// `--include singletons`
    pub singletons: bool,
    /// `--include jobs`
    pub jobs: bool,
    /// `--include unmanaged`
    pub unmanaged: bool,
    /// `--include daemonsets`
    pub daemon_sets: bool,
}

impl Inclusions {
    /// All but pods of DaemonSets, which a drain leaves in place.
    pub const ALL_RECREATED: Self = Self {
        singletons: true,
        jobs: true,
        unmanaged: true,
        daemon_sets: false,
    };
}

/// Treatment of the pods of a class by a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// They are evicted.
    Evicted,
    /// The drain does not begin unless `--include` names this class.
    NeedsInclude(&'static str),
    /// They stay, and hold the devices.
    Stays,
    /// They stay, and hold no device.
    Ignored,
}

impl PodClass {
    /// The class of a pod with its verdict under a NoExecute taint on its devices.
    pub fn of<'a>(impact: &PodImpact<'a>, owners: &Owners<'a>) -> Self {
        if impact.has_admin_access_only() {
            return Self::Admin;
        }
        let owned = || Self::of_owner(impact.pod, owners);
        match impact.verdict {
            Verdict::Tolerates => Self::Tolerant,
            Verdict::NotEvicted(_) => Self::NotEvicted,
            Verdict::Evicted { .. } | Verdict::Terminating if replacement_takes_claim(impact) => {
                Self::KeepsClaim
            }
            Verdict::Evicted { .. } | Verdict::Terminating if impact.replacement_tolerates() => {
                Self::Tolerant
            }
            Verdict::Evicted { .. } | Verdict::Terminating => owned(),
        }
    }

    fn of_owner<'a>(pod: &'a Pod, owners: &Owners<'a>) -> Self {
        let Some(kind) = pod.controller.as_ref().and_then(|it| it.workload_kind()) else {
            // It is unknown if an owner of another kind recreates the pod.
            return Self::Unmanaged;
        };
        let owner = owners.owners_of(pod).into_iter().next();
        let several = |owner: &Workload| owner.replicas.is_some_and(|replicas| replicas > 1);
        if kind == Kind::DaemonSet {
            Self::DaemonSet
        } else if kind == Kind::Job {
            Self::Job
        } else if kind == Kind::StatefulSet && !owner.is_some_and(several) {
            // A StatefulSet that was not read may have one replica.
            Self::Singleton
        } else {
            Self::Replicated
        }
    }

    /// Treatment of pods of the class.
    pub fn treatment(self, included: Inclusions) -> Treatment {
        let by_flag = |is_included: bool, name| match is_included {
            true => Treatment::Evicted,
            false => Treatment::NeedsInclude(name),
        };
        match self {
            Self::Replicated => Treatment::Evicted,
            Self::Singleton => by_flag(included.singletons, "singletons"),
            Self::Job => by_flag(included.jobs, "jobs"),
            Self::Unmanaged => by_flag(included.unmanaged, "unmanaged"),
            Self::DaemonSet if included.daemon_sets => Treatment::Evicted,
            Self::DaemonSet | Self::Tolerant | Self::KeepsClaim | Self::NotEvicted => {
                Treatment::Stays
            }
            Self::Admin => Treatment::Ignored,
        }
    }

    /// Kind of the pods, as a short reason.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Replicated => "recreated by their workloads",
            Self::Singleton => "only pod of a StatefulSet",
            Self::Job => "Job",
            Self::Unmanaged => "nothing recreates them",
            Self::DaemonSet => "DaemonSet",
            Self::Admin => "admin access",
            Self::Tolerant => "tolerates NoExecute",
            Self::KeepsClaim => "replacement uses the same claim",
            Self::NotEvicted => "not evicted by taints",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::{Cluster, owned};
    use crate::engine::ClaimUse;
    use crate::engine::testing::{self, with_verdict};
    use crate::model::{ClaimSource, PodClaim, ResourceClaim};

    fn use_of(claim: &ResourceClaim) -> ClaimUse<'_> {
        let results = claim.allocation.iter().flat_map(|found| &found.results);
        ClaimUse {
            claim: &claim.name,
            results: results.collect(),
        }
    }

    #[test]
    fn an_owner_decides_the_class_and_an_unknown_one_the_most_careful() {
        let mut cluster = Cluster::default();
        cluster.replica_set("web", 3, 3);
        cluster.stateful_set("db", 1, 1);
        cluster.stateful_set("shards", 3, 3);
        cluster.job("train", 1);
        for (owner, expected) in [
            (Some(("ReplicaSet", "web")), PodClass::Replicated),
            (Some(("ReplicaSet", "unread")), PodClass::Replicated),
            (Some(("StatefulSet", "db")), PodClass::Singleton),
            (Some(("StatefulSet", "unread")), PodClass::Singleton),
            (Some(("StatefulSet", "shards")), PodClass::Replicated),
            (Some(("Job", "train")), PodClass::Job),
            (Some(("DaemonSet", "agent")), PodClass::DaemonSet),
            (Some(("RayCluster", "ray")), PodClass::Unmanaged),
            (None, PodClass::Unmanaged),
        ] {
            let pod = owned("x", owner);
            let owners = Owners::new(&cluster.reading);
            assert_eq!(PodClass::of_owner(&pod, &owners), expected, "{owner:?}");
        }
    }

    #[test]
    fn only_a_pod_all_of_whose_devices_are_monitored_has_admin_access() {
        let pod = owned("x", Some(("ReplicaSet", "web")));
        let mut claim = testing::claim(&pod);
        let results = &mut claim.allocation.as_mut().expect("an allocation").results;
        results[0].admin_access = true;
        let reading = Cluster::default().reading;
        let owners = Owners::new(&reading);
        let at = crate::engine::testing::now();
        let class = |claim: &ResourceClaim, verdict| {
            let mut impact = with_verdict(&pod, verdict);
            impact.claims = vec![use_of(claim)];
            PodClass::of(&impact, &owners)
        };
        assert_eq!(class(&claim, Verdict::Evicted { at }), PodClass::Admin);
        assert_eq!(class(&claim, Verdict::Tolerates), PodClass::Admin);
        let results = &mut claim.allocation.as_mut().expect("an allocation").results;
        let mut used = results[0].clone();
        used.admin_access = false;
        results.push(used);
        assert_eq!(class(&claim, Verdict::Evicted { at }), PodClass::Replicated);
    }

    #[test]
    fn a_pod_whose_replacement_comes_back_to_the_device_is_not_evicted() {
        let mut cluster = Cluster::default();
        cluster.replica_set("web", 2, 2);
        cluster.stateful_set("db", 2, 2);
        let owners = Owners::new(&cluster.reading);
        let at = crate::engine::testing::now();
        let tolerant = |owner| {
            let pod = owned("x", owner);
            let impact = PodImpact {
                tolerates_no_schedule: true,
                ..with_verdict(&pod, Verdict::Evicted { at })
            };
            PodClass::of(&impact, &owners)
        };
        assert_eq!(tolerant(Some(("ReplicaSet", "web"))), PodClass::Tolerant);
        assert_eq!(tolerant(None), PodClass::Unmanaged);
        let class = |owner, named: bool| {
            let mut pod = owned("x", Some(owner));
            let claim = testing::claim(&pod);
            if named {
                pod.claims = vec![PodClaim {
                    name: "gpu".into(),
                    source: ClaimSource::Claim(claim.name.name.clone()),
                }];
            }
            let mut impact = with_verdict(&pod, Verdict::Terminating);
            impact.claims = vec![use_of(&claim)];
            PodClass::of(&impact, &owners)
        };
        assert_eq!(class(("ReplicaSet", "web"), true), PodClass::KeepsClaim);
        assert_eq!(class(("ReplicaSet", "web"), false), PodClass::Replicated);
        // It is recreated when its pod is gone, and the claim is free by then.
        assert_eq!(class(("StatefulSet", "db"), true), PodClass::Replicated);
    }

    #[test]
    fn each_class_that_hurts_needs_its_own_include() {
        let all = Inclusions {
            singletons: true,
            jobs: true,
            unmanaged: true,
            daemon_sets: true,
        };
        let none = Inclusions::default();
        for (class, name) in [
            (PodClass::Singleton, "singletons"),
            (PodClass::Job, "jobs"),
            (PodClass::Unmanaged, "unmanaged"),
        ] {
            assert_eq!(class.treatment(none), Treatment::NeedsInclude(name));
            assert_eq!(class.treatment(all), Treatment::Evicted);
        }
        assert_eq!(PodClass::DaemonSet.treatment(none), Treatment::Stays);
        assert_eq!(PodClass::DaemonSet.treatment(all), Treatment::Evicted);
        assert_eq!(PodClass::Replicated.treatment(none), Treatment::Evicted);
        assert_eq!(PodClass::Admin.treatment(all), Treatment::Ignored);
        for class in [
            PodClass::Tolerant,
            PodClass::KeepsClaim,
            PodClass::NotEvicted,
        ] {
            assert_eq!(class.treatment(all), Treatment::Stays, "{class:?}");
        }
        let jobs = Inclusions { jobs: true, ..none };
        assert_eq!(PodClass::Job.treatment(jobs), Treatment::Evicted);
        assert_ne!(PodClass::Unmanaged.treatment(jobs), Treatment::Evicted);
    }
}
