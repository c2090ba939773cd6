//! Reactions of Jobs to pods that they lose by eviction.
//!
//! Takes the verdicts and the Jobs that were read, and gives for each evicted pod that a Job made whether it is made
//! again. A pod that is deleted before it has ended counts as failed, whatever its restart policy; with a
//! podFailurePolicy or `podReplacementPolicy: Failed` it counts once it has failed, so that one that ends well within
//! its grace period does not. That is not known before, and taken for a failure.
//!
//! Upstream: `isPodFailed` and `syncJob` in `pkg/controller/job/job_controller.go`, `matchPodFailurePolicy` in
//! `pod_failure_policy.go`, `isIndexFailed` in `indexed_job_utils.go`.

use std::collections::BTreeMap;

use super::impact::Impact;
use super::workloads::evicted;
use crate::model::{DisruptionAction, FailurePolicy, Kind, Pod, Reading, Uid, Workload};

/// Reaction of a Job to a pod that it loses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobFate {
    /// Nothing is counted: the pod is made anew.
    StartsAgain,
    /// It is one of the failures that the Job puts up with: so many with this one, of so many.
    Counts {
        /// With those of this question.
        failures: i32,
        /// `backoffLimit`.
        limit: i32,
    },
    /// The Job fails.
    Fails(JobFailure),
    /// The pod's index fails, the others go on, and the Job fails when they have ended.
    IndexFails,
    /// The policy's action depends on how the containers end, or is a word of a newer API; the actions that are
    /// possible.
    Depends(Vec<String>),
    /// The Job has ended before, and makes no pods.
    Ended,
    /// The Job was not read.
    Unknown,
}

/// Why a Job fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobFailure {
    /// A rule of its policy says so.
    Policy,
    /// It is one failure too many.
    Backoff {
        /// With those of this question.
        failures: i32,
        /// `backoffLimit`.
        limit: i32,
    },
}

impl JobFate {
    /// True if the pod is not recreated.
    pub fn is_for_good(&self) -> bool {
        match self {
            Self::Fails(_) | Self::IndexFails => true,
            Self::StartsAgain
            | Self::Counts { .. }
            | Self::Depends(_)
            | Self::Ended
            | Self::Unknown => false,
        }
    }

    /// True if it is known.
    pub fn is_known(&self) -> bool {
        match self {
            Self::Depends(_) | Self::Unknown => false,
            Self::StartsAgain
            | Self::Counts { .. }
            | Self::Fails(_)
            | Self::IndexFails
            | Self::Ended => true,
        }
    }
}

/// Reactions of Jobs to the loss of the evicted pods, for each pod that a Job made.
pub fn job_fates<'a>(impact: &Impact<'a>, reading: &'a Reading) -> BTreeMap<&'a Uid, JobFate> {
    // All pods that a Job loses are counted before the first is judged: each may be the one that is too many.
    let mut lost: BTreeMap<&Uid, i32> = BTreeMap::new();
    for owner in evicted(impact)
        .filter(is_of_job)
        .filter_map(|pod| pod.controller.as_ref())
    {
        let count = lost.entry(&owner.uid).or_default();
        *count = count.saturating_add(1);
    }
    fates(impact, reading, |owner| {
        lost.get(owner).copied().unwrap_or_default()
    })
}

/// Reactions of Jobs if each of the evicted pods were the only one that is lost.
pub fn job_fates_alone<'a>(
    impact: &Impact<'a>,
    reading: &'a Reading,
) -> BTreeMap<&'a Uid, JobFate> {
    fates(impact, reading, |_| 1)
}

/// True if a Job made the pod and counts it as failed once it is lost.
fn is_of_job(pod: &&Pod) -> bool {
    let controller = pod.controller.as_ref();
    // One that has ended was counted when it did.
    !pod.phase.is_terminal()
        && controller.is_some_and(|owner| owner.workload_kind() == Some(Kind::Job))
}

/// Reaction for each evicted pod that a Job made, where each Job loses so many.
fn fates<'a>(
    impact: &Impact<'a>,
    reading: &'a Reading,
    lost: impl Fn(&Uid) -> i32,
) -> BTreeMap<&'a Uid, JobFate> {
    let jobs: BTreeMap<&Uid, &Workload> = reading
        .snapshot
        .jobs
        .iter()
        .map(|job| (&job.uid, &**job))
        .collect();
    let fate = |pod: &'a Pod| {
        let owner = &pod.controller.as_ref()?.uid;
        let failure = jobs.get(owner).and_then(|job| job.failure.as_ref());
        let fate = failure.map_or(JobFate::Unknown, |failure| failure.fate(pod, lost(owner)));
        Some((&pod.uid, fate))
    };
    evicted(impact).filter(is_of_job).filter_map(fate).collect()
}

impl FailurePolicy {
    /// Reaction for a pod, one of so many that are lost.
    fn fate(&self, pod: &Pod, lost: i32) -> JobFate {
        if self.ended.is_some() {
            return JobFate::Ended;
        }
        match &self.disruption {
            DisruptionAction::Ignore => JobFate::StartsAgain,
            DisruptionAction::FailJob => JobFate::Fails(JobFailure::Policy),
            DisruptionAction::FailIndex => JobFate::IndexFails,
            DisruptionAction::Depends(actions) => JobFate::Depends(actions.clone()),
            DisruptionAction::Unknown(action) => JobFate::Depends(vec![action.clone()]),
            DisruptionAction::Count => {
                let failures = self.failed.saturating_add(lost);
                let limit = self.backoff_limit;
                // As in `syncJob`: as many failures as the limit are put up with.
                if failures > limit {
                    JobFate::Fails(JobFailure::Backoff { failures, limit })
                } else {
                    self.fate_of_index(pod)
                        .unwrap_or(JobFate::Counts { failures, limit })
                }
            }
        }
    }

    /// Reaction for the pod's index, where failures are counted so.
    ///
    /// Upstream: `isIndexFailed` and `getIndexFailureCount` in `pkg/controller/job/indexed_job_utils.go`.
    fn fate_of_index(&self, pod: &Pod) -> Option<JobFate> {
        let limit = self.limit_per_index?;
        let before = pod.annotation(Pod::INDEX_FAILURES);
        // Upstream takes an annotation that is missing, or no number, for no failures too.
        let before: i32 = before.and_then(|text| text.parse().ok()).unwrap_or(0);
        let failures = before.saturating_add(1);
        Some(if failures > limit {
            JobFate::IndexFails
        } else {
            JobFate::Counts { failures, limit }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Job;
    use crate::testing::{self, workload};

    fn impact(pods: &[Pod]) -> Impact<'_> {
        testing::impact(pods.iter().map(|pod| testing::evicted(pod, 0)).collect())
    }

    fn of_job(annotations: &[(&str, &str)]) -> [Pod; 1] {
        let mut pod = testing::pod("team-a", "sweep-0");
        pod.controller = Some(testing::job("sweep"));
        let annotations = annotations.iter();
        pod.annotations = annotations
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect();
        [pod]
    }

    fn job(failure: FailurePolicy) -> Job {
        Job(Workload {
            failure: Some(failure),
            ..workload("sweep", 1)
        })
    }

    #[test]
    fn a_job_says_what_a_lost_pod_means_for_it() {
        use DisruptionAction::{Count, FailIndex, FailJob, Ignore, Unknown};
        let pods = of_job(&[]);
        let lost = impact(&pods);
        let mut reading = testing::reading();
        let fate = |reading: &Reading| job_fates(&lost, reading).get(&pods[0].uid).cloned();
        assert_eq!(fate(&reading), Some(JobFate::Unknown));
        let (limit, wait) = (2, "Wait".to_owned());
        let counts = |failures| JobFate::Counts { failures, limit };
        let failures = 3;
        let backoff = JobFate::Fails(JobFailure::Backoff { failures, limit });
        for (disruption, failed, expected) in [
            (Count, 0, counts(1)),
            (Count, 1, counts(2)),
            (Count, 2, backoff),
            (Ignore, 2, JobFate::StartsAgain),
            (FailJob, 0, JobFate::Fails(JobFailure::Policy)),
            (FailIndex, 0, JobFate::IndexFails),
            (Unknown(wait.clone()), 0, JobFate::Depends(vec![wait])),
        ] {
            reading.snapshot.jobs = vec![job(FailurePolicy {
                failed,
                disruption,
                ..testing::failure_policy(limit)
            })];
            assert_eq!(fate(&reading), Some(expected));
        }
        let other = [testing::pod("team-a", "train-0")];
        assert!(job_fates(&impact(&other), &reading).is_empty());
    }

    #[test]
    fn a_job_that_counts_failures_by_index_gives_up_the_index_that_has_too_many() {
        let mut reading = testing::reading();
        reading.snapshot.jobs = vec![job(FailurePolicy {
            limit_per_index: Some(1),
            ..testing::failure_policy(i32::MAX)
        })];
        let (failures, limit) = (1, 1);
        for (pods, fate) in [
            (of_job(&[]), JobFate::Counts { failures, limit }),
            (of_job(&[(Pod::INDEX_FAILURES, "1")]), JobFate::IndexFails),
        ] {
            let lost = impact(&pods);
            assert_eq!(job_fates(&lost, &reading).get(&pods[0].uid), Some(&fate));
        }
    }
}
