//! How each pod of a unit leaves: by a restart of its owner, by an eviction, or not now.
//!
//! An owner is restarted once in a drain. Which restarts were made is what the Deployments themselves say, so that
//! another run sees them too; what is remembered here is only what this run has tried.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::facts::{UnitFacts, UnitPod};
use super::restart::{RestartProgress, RestartState};
use crate::model::Uid;

/// How long to wait before a restart is tried again that was not made.
const RETRY: Duration = Duration::from_secs(5);

/// How long after a restart is complete its old pods may still be shown as running: Deployments and pods are read one after
/// the other, and a complete restart has deleted all old pods.
const READ_LAG: Duration = Duration::from_secs(5);

/// How a pod leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Departure<'a> {
    /// Evicted by itself.
    Eviction,
    /// With all others of its owner, which is restarted.
    Restart(&'a Uid),
    /// Not now, for this reason.
    Waits(String),
}

/// What became of asking for a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestartReply {
    /// The owner replaces its pods.
    Accepted,
    /// The owner was changed meanwhile.
    Changed,
    /// It may not be restarted.
    Refused,
    /// It is not known whether it was restarted.
    Unknown,
}

/// The restarts of one run of a unit.
#[derive(Clone, Debug, Default)]
pub(super) struct RestartRun {
    /// Owners of which a restart was announced.
    planned: BTreeSet<Uid>,
    restarted: BTreeSet<Uid>,
    /// Owners that are not restarted any more: a pod was evicted, or a restart was refused.
    excluded: BTreeSet<Uid>,
    retry_at: BTreeMap<Uid, Duration>,
    /// When the restart of an owner was first seen complete, and whether that was longer ago than reads lag.
    complete: BTreeMap<Uid, (Duration, bool)>,
}

impl RestartRun {
    /// A run that may restart these owners.
    pub(super) fn of(planned: BTreeSet<Uid>) -> Self {
        Self {
            planned,
            ..Self::default()
        }
    }

    /// Notes which restarts are complete, after the unit has lasted for `elapsed`.
    pub(super) fn note(&mut self, facts: &UnitFacts, elapsed: Duration) {
        let complete = facts
            .restarts
            .iter()
            .filter(|(uid, state)| self.progress(uid, state) == RestartProgress::Complete);
        let complete = complete.map(|(uid, _)| {
            let (since, _) = self.complete.get(uid).copied().unwrap_or((elapsed, false));
            let is_settled = elapsed.saturating_sub(since) >= READ_LAG;
            (uid.clone(), (since, is_settled))
        });
        self.complete = complete.collect();
    }

    /// Notes that a pod of the owner was evicted.
    pub(super) fn evicted(&mut self, owner: Option<&Uid>) {
        self.excluded.extend(owner.cloned());
    }

    /// Notes what became of a restart, after the unit has lasted for `elapsed`.
    pub(super) fn replied(&mut self, owner: &Uid, reply: &RestartReply, elapsed: Duration) {
        match reply {
            RestartReply::Accepted => drop(self.restarted.insert(owner.clone())),
            RestartReply::Refused => drop(self.excluded.insert(owner.clone())),
            RestartReply::Changed | RestartReply::Unknown => {}
        }
        // After success, too: the restart is not in the next reading for certain, and must not be sent twice.
        let retry_at = elapsed.saturating_add(RETRY);
        self.retry_at.insert(owner.clone(), retry_at);
    }

    /// How the pod leaves.
    pub(super) fn departure<'a>(&self, pod: &'a UnitPod, facts: &UnitFacts) -> Departure<'a> {
        let owner = pod.workload.as_ref();
        let Some((uid, state)) = owner.and_then(|uid| Some((uid, facts.restarts.get(uid)?))) else {
            return Departure::Eviction;
        };
        match self.progress(uid, state) {
            RestartProgress::Ongoing { .. } => {
                Departure::Waits(state.ongoing().unwrap_or_else(|| state.describe()))
            }
            // An eviction would mark a pod as disrupted that the rollout has deleted.
            RestartProgress::Complete if !self.is_settled(uid) => {
                Departure::Waits("deleted by the restart that has just completed".to_owned())
            }
            // Once evictions have begun, few pods are left, and a restart would replace those that were replaced already.
            RestartProgress::NotBegun
                if self.planned.contains(uid) && !self.excluded.contains(uid) =>
            {
                Departure::Restart(uid)
            }
            RestartProgress::Complete | RestartProgress::NotBegun => Departure::Eviction,
        }
    }

    /// Whether the restart of the owner may be tried now.
    pub(super) fn is_due(&self, owner: &Uid, elapsed: Duration) -> bool {
        self.retry_at.get(owner).is_none_or(|at| *at <= elapsed)
    }

    /// Whether the owner is replacing its pods.
    pub(super) fn is_ongoing(&self, owner: &Uid, facts: &UnitFacts) -> bool {
        let state = facts.restarts.get(owner);
        state.is_some_and(|state| match self.progress(owner, state) {
            RestartProgress::Ongoing { .. } => true,
            RestartProgress::NotBegun | RestartProgress::Complete => false,
        })
    }

    fn is_settled(&self, owner: &Uid) -> bool {
        self.complete
            .get(owner)
            .is_some_and(|(_, settled)| *settled)
    }

    fn progress(&self, owner: &Uid, state: &RestartState) -> RestartProgress {
        // A read may be older than the restart.
        if state.progress == RestartProgress::NotBegun && self.restarted.contains(owner) {
            return RestartProgress::Ongoing {
                updated: 0,
                available: 0,
                old: 0,
            };
        }
        state.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::pod_class::PodClass;
    use crate::decide::drain::testing::unit_pod;
    use crate::report::testing::{name, pod as running};

    const ONGOING: RestartProgress = RestartProgress::Ongoing {
        updated: 1,
        available: 3,
        old: 0,
    };

    fn web() -> UnitPod {
        UnitPod {
            workload: Some("web".into()),
            ..unit_pod(&running("team-a", "web-1"), PodClass::Replicated)
        }
    }

    fn facts(progress: RestartProgress) -> UnitFacts {
        let state = RestartState {
            owner: name("team-a", "web"),
            resource_version: "7".to_owned(),
            replicas: 3,
            progress,
        };
        UnitFacts {
            restarts: [("web".into(), state)].into(),
            ..UnitFacts::default()
        }
    }

    fn planned() -> RestartRun {
        RestartRun::of(["web".into()].into())
    }

    #[derive(Debug, PartialEq)]
    enum Way {
        Evicted,
        Restarted,
        Waits,
    }

    fn way(run: &RestartRun, facts: &UnitFacts) -> Way {
        match run.departure(&web(), facts) {
            Departure::Eviction => Way::Evicted,
            Departure::Restart(owner) => {
                assert_eq!(*owner, Uid::from("web"));
                Way::Restarted
            }
            Departure::Waits(_) => Way::Waits,
        }
    }

    #[test]
    fn how_a_pod_leaves_depends_on_its_owner() {
        for (facts, expected) in [
            (UnitFacts::default(), Way::Evicted),
            (facts(RestartProgress::NotBegun), Way::Restarted),
            (facts(ONGOING), Way::Waits),
            (facts(RestartProgress::Complete), Way::Evicted),
        ] {
            let mut run = planned();
            run.note(&facts, Duration::ZERO);
            run.note(&facts, READ_LAG);
            assert_eq!(way(&run, &facts), expected, "{facts:?}");
        }
    }

    #[test]
    fn a_pod_that_is_read_before_its_rollout_deleted_it_is_not_evicted() {
        let mut run = planned();
        let complete = facts(RestartProgress::Complete);
        let at = Duration::from_secs;
        for (seconds, expected) in [(20, Way::Waits), (24, Way::Waits), (25, Way::Evicted)] {
            run.note(&complete, at(seconds));
            assert_eq!(way(&run, &complete), expected, "{seconds}");
        }
        // Another restart begins a time of its own.
        run.note(&facts(ONGOING), at(30));
        run.note(&complete, at(31));
        assert_eq!(way(&run, &complete), Way::Waits);
    }

    #[test]
    fn only_what_was_announced_is_restarted_and_nothing_that_was_evicted_or_refused() {
        let facts = facts(RestartProgress::NotBegun);
        let evicted = {
            let mut run = planned();
            run.evicted(Some(&"web".into()));
            run
        };
        let refused = {
            let mut run = planned();
            run.replied(&"web".into(), &RestartReply::Refused, Duration::ZERO);
            run
        };
        for run in [RestartRun::default(), evicted, refused] {
            assert_eq!(way(&run, &facts), Way::Evicted, "{run:?}");
        }
        let mut other = planned();
        other.evicted(Some(&"api".into()));
        other.evicted(None);
        assert_eq!(way(&other, &facts), Way::Restarted);
    }

    #[test]
    fn a_restart_that_was_made_is_going_on_although_an_older_read_does_not_show_it() {
        let before = facts(RestartProgress::NotBegun);
        let uid = Uid::from("web");
        for (reply, is_ongoing) in [
            (RestartReply::Accepted, true),
            (RestartReply::Changed, false),
            (RestartReply::Unknown, false),
            (RestartReply::Refused, false),
        ] {
            let mut run = planned();
            assert!(run.is_due(&uid, Duration::ZERO));
            run.replied(&uid, &reply, Duration::from_secs(1));
            assert_eq!(run.is_ongoing(&uid, &before), is_ongoing, "{reply:?}");
            assert!(!run.is_due(&uid, Duration::from_secs(5)));
            assert!(run.is_due(&uid, Duration::from_secs(6)));
            assert!(!run.is_ongoing(&uid, &facts(RestartProgress::Complete)));
            assert!(run.is_ongoing(&uid, &facts(ONGOING)));
            assert!(!run.is_ongoing(&uid, &UnitFacts::default()));
        }
    }
}
