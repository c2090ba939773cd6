//! The pods for which claims on selected devices are reserved.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    DeviceId, Namespace, NamespacedName, NodeName, ObjectName, Pod, ResourceClaim, Snapshot, Uid,
};

/// The pods for which devices are reserved, and where those are.
///
/// Pods are matched by the UID of a reservation: its name may lead to another pod, or to none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cluster) struct ClaimConsumers {
    /// The pods by the names of their reservations.
    pub(in crate::cluster) pods: BTreeMap<NamespacedName, BTreeSet<Uid>>,
    /// The PodGroups, which do not name their pods.
    pub(in crate::cluster) groups: BTreeSet<(Namespace, ObjectName)>,
    uids: BTreeSet<(Namespace, Uid)>,
    held: BTreeSet<DeviceId>,
}

impl ClaimConsumers {
    /// Consumers of a device that `selects` chooses.
    pub(in crate::cluster) fn new(
        snapshot: &Snapshot,
        selects: impl Fn(&DeviceId) -> bool,
    ) -> Self {
        let mut wanted = Self::default();
        for claim in &snapshot.claims {
            let results = claim.allocation.iter().flat_map(|found| &found.results);
            let ids = results.map(|result| &result.device);
            let mut selected = ids.filter(|id| selects(id)).peekable();
            if selected.peek().is_some() {
                wanted.held.extend(selected.cloned());
                wanted.add_consumers(claim);
            }
        }
        wanted
    }

    /// True if no pod is named.
    pub(in crate::cluster) fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.groups.is_empty()
    }

    /// A pod by the name under which it is to be looked for.
    pub(in crate::cluster) fn add(&mut self, name: NamespacedName, uid: Uid) {
        self.uids.insert((name.namespace.clone(), uid.clone()));
        self.pods.entry(name).or_default().insert(uid);
    }

    /// True if it includes a pod, by its name, its UID or its group.
    pub(in crate::cluster) fn contains(&self, pod: &Pod) -> bool {
        let namespace = || pod.name.namespace.clone();
        let group = pod.pod_group.as_ref();
        // A superset on purpose: the name shows who took over a stale reservation, and the UID decides later.
        self.pods.contains_key(&pod.name)
            || self.uids.contains(&(namespace(), pod.uid.clone()))
            || group.is_some_and(|group| self.groups.contains(&(namespace(), group.clone())))
    }

    /// The UIDs that are wanted, each with the namespace in which it is.
    pub(in crate::cluster) fn uids(&self) -> impl Iterator<Item = (&Namespace, &Uid)> {
        self.uids.iter().map(|(namespace, uid)| (namespace, uid))
    }

    /// The nodes of all devices, or `None` when one of them is not local to a node.
    pub(in crate::cluster) fn nodes(&self, snapshot: &Snapshot) -> Option<BTreeSet<NodeName>> {
        let nodes = self.published(snapshot);
        let held = self.held.iter();
        held.map(|id| nodes.get(id)?.cloned()).collect()
    }

    /// The devices that are published, each with the node to which it is local.
    fn published<'a>(&self, snapshot: &'a Snapshot) -> BTreeMap<DeviceId, Option<&'a NodeName>> {
        let mut nodes = BTreeMap::new();
        for slice in &snapshot.slices {
            for device in &slice.devices {
                let id = slice.id_of(device);
                if self.held.contains(&id) {
                    nodes.insert(id, slice.node_of(device));
                }
            }
        }
        nodes
    }

    fn add_consumers(&mut self, claim: &ResourceClaim) {
        let namespace = &claim.name.namespace;
        for consumer in &claim.reserved_for {
            match (&*consumer.api_group, &*consumer.resource) {
                ("", "pods") => {
                    let name = NamespacedName {
                        namespace: namespace.clone(),
                        name: consumer.name.clone(),
                    };
                    self.add(name, consumer.uid.clone());
                }
                ("scheduling.k8s.io", "podgroups") => {
                    let group = (namespace.clone(), consumer.name.clone());
                    self.groups.insert(group);
                }
                // Consumers of other kinds do not lead to pods.
                _ => {}
            }
        }
    }
}
