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
}

impl RestartRun {
    /// A run that may restart these owners.
    pub(super) fn of(planned: BTreeSet<Uid>) -> Self {
        Self {
            planned,
            ..Self::default()
        }
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
            return evicted_or(means, "its owner cannot be restarted".to_owned());
        };
        match self.progress(uid, state) {
            RestartProgress::Ongoing { .. } => {
                Departure::Waits(state.ongoing().unwrap_or_else(|| state.describe()))
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

    fn progress(&self, owner: &Uid, state: &RestartState) -> RestartProgress {
        // A read may be older than the restart.
        if state.progress == RestartProgress::NotBegun && self.restarted.contains(owner) {
            return RestartProgress::Ongoing {
                updated: 0,
                available: 0,
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
