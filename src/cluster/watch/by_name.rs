//! Pods that are read by name, and their results.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::cluster::read::claim_consumers::ClaimConsumers;
use crate::model::{NamespacedName, Pod, Uid};

/// Pods are asked for by name once in so long at most.
const INTERVAL: Duration = Duration::from_secs(1);

/// The pods that are asked for by name.
#[derive(Debug, Default)]
pub(super) struct PodsByName {
    /// Which pods no feed tells of.
    pub(super) wanted: ClaimConsumers,
    pub(super) asked: Option<Instant>,
    /// What those are called that were seen: a reservation may say another name.
    seen: BTreeMap<Uid, NamespacedName>,
    /// Pods that are gone: no other pod is ever given their UID.
    gone: BTreeSet<Uid>,
    /// The user may not list pods in places.
    pub(super) confined: bool,
}

impl PodsByName {
    /// Whether they were asked for just now.
    pub(super) fn is_fresh(&self) -> bool {
        self.asked.is_some_and(|at| at.elapsed() < INTERVAL)
    }

    /// What a pod is to be asked for by whose reservation says `name`; nothing when it is gone.
    pub(super) fn name_of<'a>(
        &'a self,
        name: &'a NamespacedName,
        uid: &Uid,
    ) -> Option<&'a NamespacedName> {
        (!self.gone.contains(uid)).then(|| self.seen.get(uid).unwrap_or(name))
    }

    /// Those that will never be there again.
    pub(super) fn known_to_be_gone(&self) -> &BTreeSet<Uid> {
        &self.gone
    }

    /// These pods are gone, and will not be asked for.
    pub(super) fn gone(&mut self, uids: Vec<Uid>) {
        self.gone.extend(uids);
    }

    /// These pods are there; of the wanted ones, those are gone that were seen before and are not
    /// called any more what they were called, since a pod keeps its name.
    pub(super) fn saw(&mut self, wanted: &ClaimConsumers, pods: &BTreeMap<NamespacedName, Pod>) {
        let there: BTreeMap<&Uid, &NamespacedName> =
            pods.values().map(|pod| (&pod.uid, &pod.name)).collect();
        for (_, uid) in wanted.uids() {
            match there.get(uid) {
                Some(name) => {
                    self.seen.insert(uid.clone(), (*name).clone());
                }
                None if self.seen.contains_key(uid) => {
                    self.gone.insert(uid.clone());
                }
                None => {}
            }
        }
    }

    /// No wanted pod is there but these, under whatever name.
    pub(super) fn saw_all(
        &mut self,
        wanted: &ClaimConsumers,
        pods: &BTreeMap<NamespacedName, Pod>,
    ) {
        self.saw(wanted, pods);
        let wanted = wanted.uids().map(|(_, uid)| uid);
        let missing: Vec<Uid> = wanted
            .filter(|uid| !self.seen.contains_key(*uid))
            .cloned()
            .collect();
        self.gone.extend(missing);
    }
}
