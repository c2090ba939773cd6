//! Which pods are asked for by name, and what became of them?

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::model::{NamespacedName, Uid};

/// Pods are asked for by name once in so long at most.
const INTERVAL: Duration = Duration::from_secs(1);

/// The pods that are asked for by name.
#[derive(Debug, Default)]
pub(super) struct PodsByName {
    /// Which pods no feed tells of.
    pub(super) wanted: BTreeMap<NamespacedName, BTreeSet<Uid>>,
    pub(super) asked: Option<Instant>,
    /// Pods that are gone: no other pod is ever given their UID.
    pub(super) gone: BTreeSet<Uid>,
    /// The user may not list pods in places.
    pub(super) confined: bool,
}

impl PodsByName {
    /// Whether they were asked for just now.
    pub(super) fn is_fresh(&self) -> bool {
        self.asked.is_some_and(|at| at.elapsed() < INTERVAL)
    }

    /// These pods are gone, and will not be asked for.
    pub(super) fn gone(&mut self, uids: Vec<Uid>) {
        self.gone.extend(uids);
    }
}
