//! Replies of the Eviction API, and evictions that it refused: when they are tried again.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::Uid;

/// Delay before the first retry of a refused eviction.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest delay between retries, as `kubectl drain` waits each time.
const LONGEST_RETRY: Duration = Duration::from_secs(5);
/// Time after which an eviction counts as refused for long.
pub const LONG: Duration = Duration::from_secs(60);

/// Response of the Eviction API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvictionReply {
    /// The pod is terminating.
    Accepted,
    /// The pod no longer exists, or another pod has its name.
    Gone,
    /// The eviction is refused: the server's message.
    Refused(String),
    /// It is unknown whether the pod was evicted.
    Unknown,
}

/// A refused eviction. All durations are since the run began.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The server's message.
    pub message: String,
    /// The time from which on it is tried again.
    pub retry_at: Duration,
    since: Duration,
    wait: Duration,
}

impl Refusal {
    /// True if the eviction has been refused for a minute.
    pub fn is_old(&self, elapsed: Duration) -> bool {
        elapsed.saturating_sub(self.since) >= LONG
    }
}

/// Refused evictions by the UID of the pod.
#[derive(Clone, Debug, Default)]
pub struct RefusedEvictions(BTreeMap<Uid, Refusal>);

impl RefusedEvictions {
    /// Notes that an eviction was refused; each retry waits longer than the one before.
    pub fn refuse(&mut self, uid: &Uid, message: String, elapsed: Duration) {
        let before = self.0.get(uid);
        let wait = before.map_or(FIRST_RETRY, |refused| {
            refused.wait.saturating_mul(2).min(LONGEST_RETRY)
        });
        let refusal = Refusal {
            message,
            retry_at: elapsed.saturating_add(wait),
            since: before.map_or(elapsed, |refused| refused.since),
            wait,
        };
        self.0.insert(uid.clone(), refusal);
    }

    /// The last refusal of the pod's eviction, if it was refused.
    pub fn get(&self, uid: &Uid) -> Option<&Refusal> {
        self.0.get(uid)
    }

    /// Notes that the pod's eviction is not refused any more.
    pub fn remove(&mut self, uid: &Uid) {
        self.0.remove(uid);
    }

    /// Forgets all refusals.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
