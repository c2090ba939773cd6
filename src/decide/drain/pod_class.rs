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
    SingleReplica,
    /// Of a Job, which may fail.
    Job,
    /// Nothing is known to recreate it.
    Unmanaged,
    /// Of a DaemonSet, which recreates it on the same node.
    DaemonSet,
    /// It uses the devices with admin access only.
    Monitor,
    /// It uses the devices with admin access only, and tolerates the taint of the drain, or is not evicted by taints.
    TolerantMonitor,
    /// It tolerates the taint of the drain: its replacement would be scheduled here again.
    Tolerant,
    /// The controller evicts it, and its claim tolerates the taint of the drain for the scheduler: its replacement can be
    /// scheduled here again.
    TolerantForScheduler,
    /// As `TolerantForScheduler`, of a DaemonSet.
    TolerantDaemonSet,
    /// Its workload replaces it while it terminates, and the replacement takes its claim, which stays allocated: it would be
    /// scheduled here again, whatever the taint.
    KeepsClaim,
    /// The controller does not evict it, for example because it has no node yet.
    NotEvicted,
}

/// Classes of pods that are evicted only if --include names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inclusions {
    /// `--include singletons`
    pub single_replicas: bool,
    /// `--include jobs`
    pub jobs: bool,
    /// `--include unmanaged`
    pub unmanaged: bool,
    /// `--include daemonsets`
    pub daemon_sets: bool,
}

/// How a drain treats the pods of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// They are evicted.
    Evicted,
    /// They stay, and the drain continues without them.
    Kept,
    /// The drain does not begin unless --include names this class.
    NeedsConsent(&'static str),
    /// They stay, and the unit cannot become idle.
    Stays(&'static str),
}

impl PodClass {
    /// The class of a pod with its verdict under a NoExecute taint on its devices.
    #[must_use]
    pub fn of<'a>(impact: &PodImpact<'a>, owners: &Owners<'a>) -> Self {
        let results = impact.claims.iter().flat_map(|used| &used.results);
        let mut results = results.peekable();
        // `all` is true of nothing, and a pod without results is no monitor.
        if results.peek().is_some() && results.all(|result| result.admin_access) {
            return match impact.verdict {
                Verdict::Tolerates | Verdict::NotEvicted(_) => Self::TolerantMonitor,
                Verdict::Evicted { .. } | Verdict::Terminating => Self::Monitor,
            };
        }
        match impact.verdict {
            Verdict::Tolerates => Self::Tolerant,
            Verdict::NotEvicted(_) => Self::NotEvicted,
            Verdict::Evicted { .. } | Verdict::Terminating if replacement_takes_claim(impact) => {
                Self::KeepsClaim
            }
            // A drain taints with effect NoSchedule. Tolerations without effect match that for the scheduler, and not
            // NoExecute for the controller. Nothing replaces a pod without an owner.
            Verdict::Evicted { .. } | Verdict::Terminating
                if impact.tolerates_no_schedule && impact.pod.controller.is_some() =>
            {
                if Self::of_owner(impact.pod, owners) == Self::DaemonSet {
                    Self::TolerantDaemonSet
                } else {
                    Self::TolerantForScheduler
                }
            }
            Verdict::Evicted { .. } | Verdict::Terminating => Self::of_owner(impact.pod, owners),
        }
    }

    fn of_owner<'a>(pod: &'a Pod, owners: &Owners<'a>) -> Self {
        let Some(kind) = pod.controller.as_ref().and_then(|it| it.workload_kind()) else {
            // Whether an owner of another kind recreates the pod is unknown.
            return Self::Unmanaged;
        };
        let owner = owners.owners_of(pod).into_iter().next();
        if kind == Kind::DaemonSet {
            return Self::DaemonSet;
        }
        if kind == Kind::Job {
            return Self::Job;
        }
        let several = |owner: &Workload| owner.replicas.is_some_and(|replicas| replicas > 1);
        // A StatefulSet that was not read may have one replica, so its pod counts as the only one.
        if kind == Kind::StatefulSet && !owner.is_some_and(several) {
            return Self::SingleReplica;
        }
        Self::Replicated
    }

    /// Whether pods of the class are evicted after those that their workload recreates.
    #[must_use]
    pub fn is_last(self) -> bool {
        match self {
            Self::Replicated => false,
            Self::SingleReplica
            | Self::Job
            | Self::Unmanaged
            | Self::DaemonSet
            | Self::Monitor
            | Self::TolerantMonitor
            | Self::Tolerant
            | Self::TolerantForScheduler
            | Self::TolerantDaemonSet
            | Self::KeepsClaim
            | Self::NotEvicted => true,
        }
    }

    /// Whether pods of the class are evicted once the taint of their devices has effect NoExecute, whatever their
    /// treatment.
    #[must_use]
    pub fn leaves_by_taint(self) -> bool {
        match self {
            Self::TolerantMonitor | Self::Tolerant | Self::NotEvicted => false,
            Self::Replicated
            | Self::SingleReplica
            | Self::Job
            | Self::Unmanaged
            | Self::DaemonSet
            | Self::TolerantForScheduler
            | Self::TolerantDaemonSet
            | Self::KeepsClaim
            | Self::Monitor => true,
        }
    }

    /// How pods of the class are treated.
    #[must_use]
    pub fn treatment(self, included: Inclusions) -> Treatment {
        let by_consent = |is_included: bool, name| {
            if is_included {
                Treatment::Evicted
            } else {
                Treatment::NeedsConsent(name)
            }
        };
        match self {
            Self::Replicated => Treatment::Evicted,
            Self::SingleReplica => by_consent(included.single_replicas, "singletons"),
            Self::Job => by_consent(included.jobs, "jobs"),
            Self::Unmanaged => by_consent(included.unmanaged, "unmanaged"),
            Self::DaemonSet if included.daemon_sets => Treatment::Evicted,
            Self::DaemonSet | Self::TolerantDaemonSet | Self::Monitor | Self::TolerantMonitor => {
                Treatment::Kept
            }
            Self::Tolerant | Self::TolerantForScheduler => {
                Treatment::Stays("tolerates the taint, and stays until it is deleted")
            }
            Self::KeepsClaim => Treatment::Stays(
                "uses a claim that its replacement would use too, with the same device (to release the device, scale the workload of the pod to 0)",
            ),
            Self::NotEvicted => Treatment::Stays("is not evicted by taints"),
        }
    }

    /// The pods of the class, in words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Replicated => "pods that their workload recreates",
            Self::SingleReplica => "pods of single-replica StatefulSets",
            Self::Job => "pods of Jobs",
            Self::Unmanaged => "pods that no known workload recreates",
            Self::DaemonSet => "pods of DaemonSets",
            Self::Monitor => "pods with admin access",
            Self::TolerantMonitor => "pods with admin access that tolerate the taint",
            Self::Tolerant => "pods that tolerate the taint",
            Self::TolerantForScheduler => "pods whose replacements tolerate the taint",
            Self::TolerantDaemonSet => "pods of DaemonSets that tolerate the taint",
            Self::KeepsClaim => "pods whose replacements would use the same claim and device",
            Self::NotEvicted => "pods that taints do not evict",
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
            (Some(("StatefulSet", "db")), PodClass::SingleReplica),
            (Some(("StatefulSet", "unread")), PodClass::SingleReplica),
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
    fn a_monitor_that_the_taint_does_not_evict_is_told_apart() {
        let pod = testing::pod("team-a", "monitor");
        let mut claim = testing::claim(&pod);
        for result in claim
            .allocation
            .iter_mut()
            .flat_map(|found| &mut found.results)
        {
            result.admin_access = true;
        }
        let reading = Cluster::default().reading;
        let owners = Owners::new(&reading);
        let class = |verdict| {
            let mut impact = with_verdict(&pod, verdict);
            impact.claims = vec![use_of(&claim)];
            PodClass::of(&impact, &owners)
        };
        assert_eq!(class(Verdict::Tolerates), PodClass::TolerantMonitor);
        assert_eq!(class(Verdict::Terminating), PodClass::Monitor);
    }

    #[test]
    fn a_pod_whose_replacement_the_scheduler_can_place_here_again_is_not_evicted() {
        let reading = Cluster::default().reading;
        let owners = Owners::new(&reading);
        let class = |owner, tolerates_no_schedule| {
            let pod = owned("x", owner);
            let at = crate::report::testing::now();
            let impact = PodImpact {
                tolerates_no_schedule,
                ..with_verdict(&pod, Verdict::Evicted { at })
            };
            PodClass::of(&impact, &owners)
        };
        let web = Some(("ReplicaSet", "web"));
        let agent = Some(("DaemonSet", "agent"));
        let all = Inclusions {
            single_replicas: true,
            jobs: true,
            unmanaged: true,
            daemon_sets: true,
        };
        for (owner, tolerates, expected, treatment) in [
            (web, false, PodClass::Replicated, Treatment::Evicted),
            (
                web,
                true,
                PodClass::TolerantForScheduler,
                Treatment::Stays("tolerates the taint, and stays until it is deleted"),
            ),
            (agent, false, PodClass::DaemonSet, Treatment::Evicted),
            (agent, true, PodClass::TolerantDaemonSet, Treatment::Kept),
            (None, true, PodClass::Unmanaged, Treatment::Evicted),
        ] {
            let found = class(owner, tolerates);
            assert_eq!(found, expected, "{owner:?}");
            assert_eq!(found.treatment(all), treatment, "{found:?}");
            assert!(found.leaves_by_taint(), "{found:?}");
        }
    }

    #[test]
    fn a_claim_that_a_replacement_takes_over_keeps_the_device_and_its_pod() {
        let mut cluster = Cluster::default();
        cluster.replica_set("web", 2, 2);
        cluster.stateful_set("db", 2, 2);
        let owners = Owners::new(&cluster.reading);
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
        let treatment = PodClass::KeepsClaim.treatment(Inclusions::default());
        assert!(matches!(treatment, Treatment::Stays(_)), "{treatment:?}");
    }

    #[test]
    fn each_class_that_hurts_needs_its_own_flag() {
        let all = Inclusions {
            single_replicas: true,
            jobs: true,
            unmanaged: true,
            daemon_sets: true,
        };
        for (class, name) in [
            (PodClass::SingleReplica, "singletons"),
            (PodClass::Job, "jobs"),
            (PodClass::Unmanaged, "unmanaged"),
        ] {
            let none = Inclusions::default();
            assert_eq!(class.treatment(none), Treatment::NeedsConsent(name));
            assert_eq!(class.treatment(all), Treatment::Evicted);
        }
        let only_jobs = Inclusions {
            jobs: true,
            ..Inclusions::default()
        };
        assert_eq!(PodClass::Job.treatment(only_jobs), Treatment::Evicted);
        assert_ne!(PodClass::Unmanaged.treatment(only_jobs), Treatment::Evicted);
        assert_ne!(
            PodClass::SingleReplica.treatment(only_jobs),
            Treatment::Evicted
        );
        assert_eq!(PodClass::DaemonSet.treatment(only_jobs), Treatment::Kept);
        assert_eq!(PodClass::DaemonSet.treatment(all), Treatment::Evicted);
        assert_eq!(PodClass::Monitor.treatment(all), Treatment::Kept);
        assert_eq!(PodClass::TolerantMonitor.treatment(all), Treatment::Kept);
        assert!(matches!(
            PodClass::Tolerant.treatment(all),
            Treatment::Stays(_)
        ));
        assert_eq!(
            PodClass::Replicated.treatment(Inclusions::default()),
            Treatment::Evicted
        );
    }

    #[test]
    fn a_pod_that_uses_one_device_and_monitors_another_is_no_monitor() {
        let pod = owned("x", Some(("ReplicaSet", "web")));
        let mut claim = testing::claim(&pod);
        let results = &mut claim.allocation.as_mut().expect("an allocation").results;
        let mut monitored = results[0].clone();
        monitored.admin_access = true;
        results.push(monitored);
        let reading = Cluster::default().reading;
        let owners = Owners::new(&reading);
        let at = crate::report::testing::now();
        let mut impact = with_verdict(&pod, Verdict::Evicted { at });
        impact.claims = vec![use_of(&claim)];
        assert_eq!(PodClass::of(&impact, &owners), PodClass::Replicated);
    }
}
