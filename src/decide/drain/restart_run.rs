//! How each pod of a unit leaves: by a restart of its owner, by an eviction, or not now.
//!
//! An owner is restarted once in a drain. Which restarts were made is what the Deployments themselves say, so that
//! another run sees them too; what is remembered here is only what this run has tried.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::facts::{UnitFacts, UnitPod};
use super::means::Means;
use super::restart::{RestartBlocker, RestartProgress, RestartState};
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
    /// It may not be restarted, in the server's words.
    Refused(String),
    /// It is not known whether it was restarted.
    Unknown,
}

/// The restarts of one run of a unit.
#[derive(Clone, Debug, Default)]
pub(super) struct RestartRun {
    /// Owners of which a restart was announced.
    planned: BTreeSet<Uid>,
    restarted: BTreeSet<Uid>,
    /// Owners of which a pod was evicted.
    evicted: BTreeSet<Uid>,
    refused: BTreeMap<Uid, String>,
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
        self.evicted.extend(owner.cloned());
    }

    /// Notes what became of a restart, after the unit has lasted for `elapsed`.
    pub(super) fn replied(&mut self, owner: &Uid, reply: &RestartReply, elapsed: Duration) {
        match reply {
            RestartReply::Accepted => drop(self.restarted.insert(owner.clone())),
            RestartReply::Refused(message) => {
                self.refused.insert(owner.clone(), message.clone());
            }
            RestartReply::Changed | RestartReply::Unknown => {}
        }
        // After success, too: the restart is not in the next reading for certain, and must not be sent twice.
        let retry_at = elapsed.saturating_add(RETRY);
        self.retry_at.insert(owner.clone(), retry_at);
    }

    /// How the pod leaves.
    pub(super) fn departure<'a>(
        &self,
        means: Means,
        pod: &'a UnitPod,
        facts: &UnitFacts,
    ) -> Departure<'a> {
        match means {
            Means::Eviction | Means::Taint => return Departure::Eviction,
            Means::Auto | Means::Restart => {}
        }
        let owner = pod.workload.as_ref();
        let Some((uid, state)) = owner.and_then(|uid| Some((uid, facts.restarts.get(uid)?))) else {
            return evicted_or(means, "no restart replaces it".to_owned());
        };
        match self.progress(uid, state) {
            RestartProgress::Ongoing { .. } => {
                Departure::Waits(state.ongoing().unwrap_or_else(|| state.describe()))
            }
            // An eviction would mark a pod as disrupted that the rollout has deleted.
            RestartProgress::Complete if !self.is_settled(uid) => {
                Departure::Waits("deleted by the restart that has just completed".to_owned())
            }
            RestartProgress::Complete => {
                evicted_or(means, RestartBlocker::AlreadyRestarted.describe())
            }
            RestartProgress::NotBegun => self.first_restart(means, uid, state),
        }
    }

    fn first_restart<'a>(&self, means: Means, uid: &'a Uid, state: &RestartState) -> Departure<'a> {
        let blocker = state.blocker.as_ref();
        if let Some(blocker) = blocker.filter(|blocker| blocker.applies(means)) {
            return evicted_or(means, blocker.describe());
        }
        // Once evictions have begun, few pods are left, and a restart would replace those that were replaced already.
        let is_planned = self.planned.contains(uid)
            && !self.evicted.contains(uid)
            && !self.refused.contains_key(uid);
        if means == Means::Auto && !is_planned {
            return Departure::Eviction;
        }
        Departure::Restart(uid)
    }

    /// Whether the restart of the owner may be tried now.
    pub(super) fn is_due(&self, owner: &Uid, elapsed: Duration) -> bool {
        self.retry_at.get(owner).is_none_or(|at| *at <= elapsed)
    }

    /// Why the owner was not restarted, in the server's words.
    pub(super) fn refusal(&self, owner: &Uid) -> Option<&String> {
        self.refused.get(owner)
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

/// An eviction where any means will do.
fn evicted_or<'a>(means: Means, why: String) -> Departure<'a> {
    match means {
        Means::Restart => Departure::Waits(why),
        Means::Auto | Means::Eviction | Means::Taint => Departure::Eviction,
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

    fn facts(progress: RestartProgress, blocker: Option<RestartBlocker>) -> UnitFacts {
        let state = RestartState {
            owner: name("team-a", "web"),
            resource_version: "7".to_owned(),
            replicas: 3,
            blocker,
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
        Waits(String),
    }

    fn way(run: &RestartRun, means: Means, facts: &UnitFacts) -> Way {
        match run.departure(means, &web(), facts) {
            Departure::Eviction => Way::Evicted,
            Departure::Restart(owner) => {
                assert_eq!(*owner, Uid::from("web"));
                Way::Restarted
            }
            Departure::Waits(why) => Way::Waits(why),
        }
    }

    fn waits(why: &str) -> Way {
        Way::Waits(why.to_owned())
    }

    #[test]
    fn how_a_pod_leaves_depends_on_the_means_and_on_its_owner() {
        let restarting = "Deployment team-a/web: restarted, 1 of 3 pods updated, 3 available";
        let none = || UnitFacts::default();
        let new = |blocker| facts(RestartProgress::NotBegun, blocker);
        let paused = || Some(RestartBlocker::Paused);
        let unsettled = || Some(RestartBlocker::Unsettled);
        let complete = || facts(RestartProgress::Complete, None);
        for (facts, auto, restart) in [
            (none(), Way::Evicted, waits("no restart replaces it")),
            (new(None), Way::Restarted, Way::Restarted),
            (
                new(paused()),
                Way::Evicted,
                waits("the Deployment is paused"),
            ),
            (new(unsettled()), Way::Evicted, Way::Restarted),
            (facts(ONGOING, None), waits(restarting), waits(restarting)),
            // What keeps another restart from beginning does not concern one that goes on.
            (
                facts(ONGOING, unsettled()),
                waits(restarting),
                waits(restarting),
            ),
            (
                complete(),
                Way::Evicted,
                waits("the Deployment was already restarted"),
            ),
        ] {
            let mut run = planned();
            run.note(&facts, Duration::ZERO);
            run.note(&facts, READ_LAG);
            assert_eq!(way(&run, Means::Auto, &facts), auto, "{facts:?}");
            assert_eq!(way(&run, Means::Restart, &facts), restart, "{facts:?}");
            assert_eq!(way(&run, Means::Eviction, &facts), Way::Evicted);
            assert_eq!(way(&run, Means::Taint, &facts), Way::Evicted);
        }
    }

    #[test]
    fn a_pod_that_is_read_before_its_rollout_deleted_it_is_not_evicted() {
        let mut run = planned();
        let complete = facts(RestartProgress::Complete, None);
        let deleted = waits("deleted by the restart that has just completed");
        let at = Duration::from_secs;
        for (seconds, expected) in [(20, &deleted), (24, &deleted), (25, &Way::Evicted)] {
            run.note(&complete, at(seconds));
            assert_eq!(way(&run, Means::Auto, &complete), *expected, "{seconds}");
        }
        // Another restart begins a time of its own.
        run.note(&facts(ONGOING, None), at(30));
        run.note(&complete, at(31));
        assert_eq!(way(&run, Means::Auto, &complete), deleted);
        assert_eq!(way(&run, Means::Eviction, &complete), Way::Evicted);
    }

    #[test]
    fn a_pod_without_an_owner_is_evicted_unless_only_restarts_are_asked_for() {
        let bare = UnitPod {
            workload: None,
            ..web()
        };
        let facts = facts(RestartProgress::NotBegun, None);
        let of = |means| planned().departure(means, &bare, &facts) == Departure::Eviction;
        assert!(of(Means::Auto) && !of(Means::Restart));
    }

    #[test]
    fn unasked_only_what_was_announced_is_restarted_and_nothing_that_was_evicted_or_refused() {
        let facts = facts(RestartProgress::NotBegun, None);
        let evicted = {
            let mut run = planned();
            run.evicted(Some(&"web".into()));
            run
        };
        let refused = {
            let mut run = planned();
            let reply = RestartReply::Refused("no".to_owned());
            run.replied(&"web".into(), &reply, Duration::ZERO);
            assert_eq!(run.refusal(&"web".into()).map(String::as_str), Some("no"));
            run
        };
        for run in [RestartRun::default(), evicted, refused] {
            assert_eq!(way(&run, Means::Auto, &facts), Way::Evicted, "{run:?}");
            assert_eq!(way(&run, Means::Restart, &facts), Way::Restarted);
        }
        let mut other = planned();
        other.evicted(Some(&"api".into()));
        other.evicted(None);
        assert_eq!(way(&other, Means::Auto, &facts), Way::Restarted);
    }

    #[test]
    fn a_restart_that_was_made_is_going_on_although_an_older_read_does_not_show_it() {
        let before = facts(RestartProgress::NotBegun, None);
        let uid = Uid::from("web");
        for (reply, is_ongoing) in [
            (RestartReply::Accepted, true),
            (RestartReply::Changed, false),
            (RestartReply::Unknown, false),
            (RestartReply::Refused("no".to_owned()), false),
        ] {
            let mut run = planned();
            assert!(run.is_due(&uid, Duration::ZERO));
            run.replied(&uid, &reply, Duration::from_secs(1));
            assert_eq!(run.is_ongoing(&uid, &before), is_ongoing, "{reply:?}");
            assert!(!run.is_due(&uid, Duration::from_secs(5)));
            assert!(run.is_due(&uid, Duration::from_secs(6)));
            let complete = facts(RestartProgress::Complete, None);
            assert!(!run.is_ongoing(&uid, &complete));
            assert!(run.is_ongoing(&uid, &facts(ONGOING, None)));
            assert!(!run.is_ongoing(&uid, &UnitFacts::default()));
        }
    }
}
