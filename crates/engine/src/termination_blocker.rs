//! Obstacles that keep a pod on its node although all its containers have ended.
//!
//! A kubelet ends a pod in this order: containers, sandbox, devices, and only then does the pod get its
//! last phase and its claims are given back. The API says nothing of a step that does not come to its
//! end, and no event does; but how far it came is to be seen:
//!
//! | containers | sandbox | phase | what does not end |
//! |---|---|---|---|
//! | one runs | up | Running | the container; there is still time, or the kubelet has not said otherwise |
//! | ended | up | Running | the sandbox: the network plugin fails |
//! | ended | down | Running | the devices: their driver is away, does not answer, or fails |
//! | ended | down | Succeeded, Failed | what comes after: volumes, finalizers |
//!
//! A driver that is away has its slices deleted by the kubelet after half a minute; one that was frozen
//! keeps them. Force deletion removes pod and claim from the API, and leaves the device as it is.
//!
//! Upstream: `SyncTerminatingPod` in `pkg/kubelet/kubelet.go`, kubernetes#129402; measured with the
//! kubelet 1.37.0, tests/cluster/nodes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::eviction::reserved_for_group;
use super::impact::PodImpact;
use crate::model::{
    Containers, DeviceId, DriverName, Kind, Node, NodeHealth, NodeName, Pod, Reading,
    ResourceClaim, ResourceSlice, Sandbox, SliceNodes,
};

/// A kubelet ends a pod within a second of its containers; what takes longer than this is stuck.
pub const USUAL: SignedDuration = SignedDuration::from_secs(5);

/// Obstacle that keeps a pod on its node although all its containers have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminationBlocker {
    /// Its devices are not given back.
    Driver {
        /// The drivers that may hold them: those that are gone, and all of the pod's where none is.
        holders: Vec<UnreleasedDriver>,
        /// Since when nothing else is left of the pod.
        since: Timestamp,
    },
    /// Its sandbox is not taken down.
    Sandbox {
        /// Since when nothing else is left of the pod.
        since: Timestamp,
    },
}

/// A driver that has not given a device back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreleasedDriver {
    /// Which.
    pub driver: DriverName,
    /// Presence of the driver on the node.
    pub presence: DriverPresence,
}

/// Presence of a driver on a node, as far as its slices show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverPresence {
    /// Its slices of the node are there: it works, or it is frozen, or it has not been away for long.
    Published,
    /// It has no slice of the node any more.
    Gone {
        /// When that was first seen, by who has looked before.
        seen: Option<Timestamp>,
    },
    /// The slices were not read, or its devices belong to no node.
    Unknown,
}

/// Drivers that publish devices, by node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Publishers {
    /// By node; nodes that are not here were not looked at.
    nodes: BTreeMap<NodeName, BTreeSet<DriverName>>,
    /// Those with slices that belong to no single node.
    anywhere: BTreeSet<DriverName>,
    /// When those were first seen to be gone that were there before.
    gone: BTreeMap<(NodeName, DriverName), Timestamp>,
}

impl Publishers {
    /// Publishers by `slices`, which are all there are of the nodes called `names`, and of none.
    pub fn new(slices: &[ResourceSlice], names: &BTreeSet<NodeName>) -> Self {
        let nodes = names.iter().map(|name| (name.clone(), BTreeSet::new()));
        let mut publishers = Self {
            nodes: nodes.collect(),
            ..Self::default()
        };
        for slice in slices {
            match &slice.nodes {
                SliceNodes::One(node) | SliceNodes::Selected(node) => {
                    if let Some(drivers) = publishers.nodes.get_mut(node) {
                        drivers.insert(slice.driver.clone());
                    }
                }
                SliceNodes::PerDevice | SliceNodes::Several => {
                    publishers.anywhere.insert(slice.driver.clone());
                }
            }
        }
        publishers
    }

    /// Publishers of these nodes in a reading: nothing where its slices are not all there are.
    pub fn of(reading: &Reading, names: &BTreeSet<NodeName>) -> Self {
        if reading.known.contains(&Kind::ResourceSlice) {
            Self::new(&reading.snapshot.slices, names)
        } else {
            Self::default()
        }
    }

    /// Adds since when drivers are gone, for who has seen what was the case `before` and looks at `now`.
    #[must_use]
    pub fn after(mut self, before: &Self, now: Timestamp) -> Self {
        for (node, drivers) in &self.nodes {
            let earlier = before.nodes.get(node).into_iter().flatten();
            let known = before.gone.iter().filter(|((of, _), _)| of == node);
            let lost = earlier.map(|driver| (driver, now));
            // Earlier observations come first, so that the earlier time is kept.
            let lost = known
                .map(|((_, driver), at)| (driver, *at))
                .chain(lost)
                .filter(|(driver, _)| !drivers.contains(*driver));
            for (driver, at) in lost {
                let key = (node.clone(), driver.clone());
                self.gone.entry(key).or_insert(at);
            }
        }
        self
    }

    /// Presence of `driver` on `node`, as far as its slices show.
    pub fn presence(&self, node: &NodeName, driver: &DriverName) -> DriverPresence {
        match self.nodes.get(node) {
            Some(drivers) if drivers.contains(driver) => DriverPresence::Published,
            // A driver with slices of no single node may serve this one by them: that it has none of this node alone
            // proves nothing then.
            Some(_) if !self.anywhere.contains(driver) => {
                let seen = self.gone.get(&(node.clone(), driver.clone()));
                DriverPresence::Gone {
                    seen: seen.copied(),
                }
            }
            Some(_) | None => DriverPresence::Unknown,
        }
    }
}

/// True if a node cannot end its pods: it is not ready, or it is not among the nodes although all were read. From an
/// incomplete list it does not follow that the node does not exist.
pub fn is_silent(node: Option<&Node>, are_all_read: bool) -> bool {
    node.map_or(are_all_read, |node| node.health() != NodeHealth::Ready)
}

/// The first driver of the devices in `impact` that has no slice of the pod's node any more, though the pod holds a device
/// of it there. A device that is `published`, wherever, shows that its driver works.
pub fn driver_away<'a>(
    impact: &PodImpact<'a>,
    published: &BTreeSet<&DeviceId>,
    publishers: &Publishers,
) -> Option<&'a DriverName> {
    let node = impact.pod.node.as_ref()?;
    let results = impact.claims.iter().flat_map(|used| &used.results);
    let mut away = results.map(|result| &result.device).filter(|device| {
        !published.contains(device)
            && match publishers.presence(node, &device.driver) {
                DriverPresence::Gone { .. } => true,
                DriverPresence::Published | DriverPresence::Unknown => false,
            }
    });
    away.next().map(|device| &device.driver)
}

/// Obstacle that keeps `pod` on its node, of whose claims `claims` are all; `None` while its containers run, without a
/// deletion, or in its last phase. A moment is left to the kubelet.
pub fn termination_blocker(
    pod: &Pod,
    claims: &[ResourceClaim],
    publishers: &Publishers,
    now: Timestamp,
) -> Option<TerminationBlocker> {
    let since = stuck_since(pod, now)?;
    match pod.sandbox {
        Sandbox::Unknown => None,
        Sandbox::Up => Some(TerminationBlocker::Sandbox { since }),
        Sandbox::Down { .. } => {
            let holders = holders(pod, claims, publishers);
            Some(TerminationBlocker::Driver { holders, since })
        }
    }
}

/// Since when nothing but the end of a deleted pod is left to do, if that is longer than usual.
fn stuck_since(pod: &Pod, now: Timestamp) -> Option<Timestamp> {
    let deletion = pod.deletion.as_ref()?;
    if pod.phase.is_terminal() {
        return None;
    }
    let Containers::Ended { at } = pod.containers else {
        return None;
    };
    let taken_down = match pod.sandbox {
        Sandbox::Down { since } => since,
        Sandbox::Up | Sandbox::Unknown => None,
    };
    // A pod deleted after its containers had ended has been waited for since its deletion.
    let granted = SignedDuration::from_secs(deletion.grace_period_seconds.unwrap_or_default());
    let deleted = deletion.at.checked_sub(granted).unwrap_or(deletion.at);
    let ended = at.unwrap_or(deletion.at).max(deleted);
    // The API may show the end of containers and sandbox long after it: only the end of the containers has a time.
    let shown = taken_down.map_or(ended, |down| down.max(ended));
    (now.duration_since(shown) >= USUAL).then_some(ended)
}

/// The drivers that may hold devices of the pod.
fn holders(pod: &Pod, claims: &[ResourceClaim], publishers: &Publishers) -> Vec<UnreleasedDriver> {
    let all = drivers_of(pod, claims).into_iter().map(|driver| {
        let node = pod.node.as_ref();
        let presence = node.map_or(DriverPresence::Unknown, |node| {
            publishers.presence(node, &driver)
        });
        UnreleasedDriver { driver, presence }
    });
    let (gone, others): (Vec<_>, Vec<_>) = all.partition(|holder| match holder.presence {
        DriverPresence::Gone { .. } => true,
        DriverPresence::Published | DriverPresence::Unknown => false,
    });
    if gone.is_empty() { others } else { gone }
}

/// The drivers of all devices that the pod has reserved, also of those without taints.
fn drivers_of(pod: &Pod, claims: &[ResourceClaim]) -> BTreeSet<DriverName> {
    let namespace = &pod.name.namespace;
    let own = claims.iter().filter(|claim| {
        claim.name.namespace == *namespace
            && (reserved_for_group(pod, claim)
                || claim
                    .reserved_for
                    .iter()
                    .any(|consumer| consumer.uid == pod.uid))
    });
    let results = own
        .filter_map(|claim| claim.allocation.as_ref())
        .flat_map(|allocation| &allocation.results);
    results.map(|result| result.device.driver.clone()).collect()
}
