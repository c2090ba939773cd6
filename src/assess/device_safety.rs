//! Checks before a device is pulled out of its node.
//!
//! Takes the objects of the API, the list and the checkpoint of the node's kubelet, and gives each device of the node
//! with the reasons why it is not safe to pull. All sources must agree, and what is unknown is never safe:
//!
//! | source | condition |
//! |---|---|
//! | API | no claim holds the device, no pod that did is terminating |
//! | kubelet's list | no container uses it; force-deleted pods are missing there |
//! | kubelet's checkpoint | it is not prepared for any claim, also of force-deleted pods |
//! | slices | its driver runs, so that the device is really released |
//! | taints | one of them blocks new pods, and no pending claim or claim template tolerates it |
//!
//! The same must hold for the devices that consume counters of the same counter sets: they are parts of the same
//! hardware. The allocator lets two partitions exist side by side; to pull the hardware pulls both.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::engine::rule_lifecycle::blocks;
use crate::engine::termination_blocker::{DriverPresence, Publishers};
use crate::engine::tolerate::tolerant;
use crate::engine::{DeviceState, DeviceTaint, Semantics, devices, taints_on};
use crate::model::{
    ContainerInUse, Containers, DeviceId, Gap, InUse, Kind, NamespacedName, NodeName, Pod,
    PodInUse, PreparedClaim, Reading, ResourceClaim, Taint,
};
use crate::naming::phrase::few;

/// Facts about the devices of a node.
#[derive(Clone, Copy, Debug)]
pub struct SafetyFacts<'a> {
    /// The objects of the API.
    pub reading: &'a Reading,
    /// Behavior of that version of Kubernetes.
    pub semantics: &'a Semantics,
    /// The node.
    pub node: &'a NodeName,
    /// True if evidence shows that the kubelet is that of the node.
    pub is_verified: bool,
    /// The kubelet's list.
    pub in_use: &'a InUse,
    /// The kubelet's checkpoint; absent if it could not be read.
    pub prepared: Option<&'a [PreparedClaim]>,
}

/// Checks each device of the node, by name: those that are published there, that claims of pods there hold, that the
/// kubelet lists or has prepared, and those that share counters with one of these.
pub fn device_safety(facts: &SafetyFacts<'_>) -> Vec<DeviceUse> {
    let snapshot = &facts.reading.snapshot;
    let inventory = devices(snapshot, facts.semantics);
    let states: States<'_> = inventory.iter().map(|state| (&state.id, state)).collect();
    let mut users = users_by_device(facts.in_use, facts.prepared());
    let here = facts.devices_here(&states, users.keys().copied());
    let taints = taints_on(&here, &inventory, snapshot, facts.semantics);
    let publishers = Publishers::of(facts.reading, &BTreeSet::from([facts.node.clone()]));
    let check = |device: &DeviceId| {
        let check = DeviceCheck {
            facts,
            device,
            state: states.get(device).copied(),
            taints: taints.get(device).map_or(&[], Vec::as_slice),
            users: users.get(device).map_or(&[], Vec::as_slice),
        };
        (device.clone(), check.obstacles(&publishers))
    };
    let own: BTreeMap<DeviceId, BTreeSet<Obstacle>> = here.iter().map(check).collect();
    let of_sources = facts.obstacles_of_sources();
    own.iter()
        .map(|(device, reasons)| {
            let partitions = through_partitions(device, &own, &states);
            let reasons = reasons.iter().chain(&partitions).chain(&of_sources);
            let users = users.remove(device).unwrap_or_default();
            DeviceUse::checked(device, users, reasons.cloned().collect())
        })
        .collect()
}

/// The devices of the API by name.
type States<'a> = BTreeMap<&'a DeviceId, &'a DeviceState<'a>>;

impl<'a> SafetyFacts<'a> {
    fn prepared(&self) -> &'a [PreparedClaim] {
        self.prepared.unwrap_or_default()
    }

    fn is_unread(&self, kind: Kind) -> bool {
        let mut gaps = self.reading.gaps.iter().filter_map(Gap::kind);
        gaps.any(|gap| gap == kind)
    }

    fn devices_here<'b>(
        &self,
        states: &States<'b>,
        of_kubelet: impl Iterator<Item = &'b DeviceId>,
    ) -> BTreeSet<DeviceId> {
        let pods = &self.reading.snapshot.pods;
        let is_local = |pod: &Pod| pod.node.as_ref() == Some(self.node);
        let is_here = |state: &DeviceState<'_>| {
            let mut claims = state.claims.iter();
            state.node == Some(self.node) || claims.any(|claim| pods_of(claim, pods).any(is_local))
        };
        let local = states.iter().filter(|(_, state)| is_here(state));
        let mut here: BTreeSet<&DeviceId> = local.map(|(id, _)| *id).chain(of_kubelet).collect();
        let beside = states.keys().filter(|other| {
            let mut devices = here.iter();
            devices.any(|device| shares_counters(device, other, states) == Some(true))
        });
        here = beside.copied().chain(here.iter().copied()).collect();
        here.into_iter().cloned().collect()
    }

    /// Reasons that apply to every device, since a source is missing or cannot be trusted.
    fn obstacles_of_sources(&self) -> Vec<Obstacle> {
        let unverified = (!self.is_verified).then(|| {
            let message = format!(
                "cannot verify that this is the kubelet of node {}",
                self.node
            );
            Obstacle::new(ObstacleCode::NodeNotVerified, message)
        });
        let without_claims = self.kubelet_omits_claims().then(|| {
            let message = "the kubelet does not report devices of claims: it is older than 1.34, or its feature gate \
                KubeletPodResourcesDynamicResources is off";
            Obstacle::new(ObstacleCode::KubeletWithoutClaims, message)
        });
        let no_checkpoint = self.prepared.is_none().then(|| {
            let message = "force-deleted pods are unknown, because the kubelet's checkpoint \
                dra_manager_state could not be read";
            Obstacle::new(ObstacleCode::Unread, message)
        });
        let kinds = [
            Kind::ResourceClaim,
            Kind::Pod,
            Kind::ResourceClaimTemplate,
            // Partitions, and the taints of drivers.
            Kind::ResourceSlice,
        ];
        let missing = kinds.into_iter().filter(|kind| self.is_unread(*kind));
        let found = [unverified, without_claims, no_checkpoint];
        found
            .into_iter()
            .flatten()
            .chain(missing.map(unread))
            .collect()
    }

    /// True if the kubelet lists a running pod with an allocated claim, and no claim at all. A pod that has
    /// not started has no devices yet, and force-deleted pods are not listed.
    fn kubelet_omits_claims(&self) -> bool {
        let listed = |pod: &&Pod| self.in_use.pods.iter().any(|one| one.name == pod.name);
        let snapshot = &self.reading.snapshot;
        let claims = snapshot.claims.iter();
        let allocated = claims.filter(|claim| claim.allocation.is_some());
        let mut users = allocated.flat_map(|claim| pods_of(claim, &snapshot.pods));
        self.in_use.devices().next().is_none()
            && users.any(|pod| pod.containers == Containers::Running && listed(&pod))
    }
}

/// A device, and the facts about it.
struct DeviceCheck<'a, 'f> {
    facts: &'f SafetyFacts<'a>,
    device: &'f DeviceId,
    state: Option<&'f DeviceState<'a>>,
    taints: &'f [DeviceTaint<'a>],
    users: &'f [DeviceUser],
}

impl DeviceCheck<'_, '_> {
    fn obstacles(&self, publishers: &Publishers) -> BTreeSet<Obstacle> {
        let used = self.users.iter().map(in_use);
        let mut obstacles: BTreeSet<Obstacle> =
            used.chain(self.claims_of_silent_drivers()).collect();
        obstacles.extend(self.claims_and_pods());
        obstacles.extend(self.driver(publishers));
        obstacles.extend(self.new_pods());
        obstacles
    }

    /// Claims for which the driver may have prepared the device, unless the API shows their devices.
    fn claims_of_silent_drivers(&self) -> impl Iterator<Item = Obstacle> {
        let driver = &self.device.driver;
        let prepared = self.facts.prepared().iter();
        let silent = prepared.filter(|claim| claim.silent_drivers.contains(driver));
        let claims = &self.facts.reading.snapshot.claims;
        let unknown = silent.filter(|one| !claims.iter().any(|claim| is_same(one, claim)));
        unknown.map(move |claim| {
            let message = format!(
                "driver {driver} prepares claim {}, possibly with this device",
                claim.name
            );
            Obstacle::new(ObstacleCode::MayBePrepared, message)
        })
    }

    fn claims_and_pods(&self) -> Vec<Obstacle> {
        let pods = &self.facts.reading.snapshot.pods;
        let mut obstacles = Vec::new();
        for claim in self.state.into_iter().flat_map(|state| &state.claims) {
            let users: Vec<String> = claim.reserving_pods().map(|pod| pod.to_string()).collect();
            let name = &claim.name;
            let message = match users.as_slice() {
                [] => format!("claim {name} holds it"),
                users => format!("claim {name} holds it for {}", few(users)),
            };
            obstacles.push(Obstacle::new(ObstacleCode::Claimed, message));
            let terminating = pods_of(claim, pods).filter(|pod| pod.deletion.is_some());
            obstacles.extend(terminating.map(|pod| {
                let message = format!("pod {} is terminating", pod.name);
                Obstacle::new(ObstacleCode::Terminating, message)
            }));
        }
        obstacles
    }

    fn driver(&self, publishers: &Publishers) -> Option<Obstacle> {
        let (node, driver) = (self.facts.node, &self.device.driver);
        match publishers.presence(node, driver) {
            DriverPresence::Published => None,
            DriverPresence::Gone { .. } => {
                let message = format!(
                    "driver {driver} publishes no devices on node {node}, and may not have released it"
                );
                Some(Obstacle::new(ObstacleCode::DriverDown, message))
            }
            // The driver of a device that belongs to no single node runs elsewhere.
            DriverPresence::Unknown if self.state.is_some_and(|state| state.published) => None,
            DriverPresence::Unknown => {
                let message = format!("unknown whether driver {driver} runs");
                Some(Obstacle::new(ObstacleCode::Unread, message))
            }
        }
    }

    /// Obstacles: new pods may get the device.
    fn new_pods(&self) -> Vec<Obstacle> {
        let taints = self.taints.iter().map(|taint| taint.taint);
        let blocking: Vec<&Taint> = taints.filter(|taint| blocks(&taint.effect)).collect();
        if blocking.is_empty() {
            // Slices that could not be read are a reason of every device already.
            return if self.facts.is_unread(Kind::DeviceTaintRule) {
                vec![unread(Kind::DeviceTaintRule)]
            } else if self.facts.is_unread(Kind::ResourceSlice) {
                Vec::new()
            } else {
                let message = "no taint keeps new pods off";
                vec![Obstacle::new(ObstacleCode::NotTainted, message)]
            };
        }
        let device = self.state.and_then(|state| state.device);
        let snapshot = &self.facts.reading.snapshot;
        let found = tolerant(snapshot, &blocking, &self.device.driver, device).into_iter();
        found
            .map(|by| {
                let message = format!("{by} tolerates its taints");
                Obstacle::new(ObstacleCode::Tolerated, message)
            })
            .collect()
    }
}

fn unread(kind: Kind) -> Obstacle {
    let message = format!("{} could not be read", kind.plural());
    Obstacle::new(ObstacleCode::Unread, message)
}

fn in_use(user: &DeviceUser) -> Obstacle {
    let claim = user.claim.as_deref().unwrap_or_default();
    match (&user.name, &user.container) {
        (Some(name), Some(container)) => {
            let pod = format!("{}/{name}", user.namespace);
            let message =
                format!("container {container} of pod {pod} uses it through claim {claim}");
            Obstacle::new(ObstacleCode::InUse, message)
        }
        (Some(_), None) | (None, Some(_) | None) => {
            let message = format!(
                "prepared for claim {claim}, of which the kubelet lists no pod: it may have been force-deleted"
            );
            Obstacle::new(ObstacleCode::Prepared, message)
        }
    }
}

/// The reasons of devices that share counters with this one, unless they are its own; those of several for the same reason
/// as one.
fn through_partitions(
    device: &DeviceId,
    all: &BTreeMap<DeviceId, BTreeSet<Obstacle>>,
    states: &States<'_>,
) -> Vec<Obstacle> {
    let own = all.get(device);
    let mut found: BTreeMap<(bool, &Obstacle), Vec<String>> = BTreeMap::new();
    for (other, reasons) in all.iter().filter(|(other, _)| *other != device) {
        let is_known = match shares_counters(device, other, states) {
            Some(false) => continue,
            Some(true) => true,
            None => false,
        };
        let new = reasons
            .iter()
            .filter(|one| !own.is_some_and(|own| own.contains(*one)));
        for reason in new {
            let others = found.entry((is_known, reason)).or_default();
            others.push(other.to_string());
        }
    }
    let found = found.into_iter();
    found
        .map(|((is_known, reason), others)| {
            let (others, message) = (few(&others), &reason.message);
            Obstacle::new(
                ObstacleCode::Partition,
                if is_known {
                    format!("shares counters with {others}: {message}")
                } else {
                    format!("may share counters with unpublished {others}: {message}")
                },
            )
        })
        .collect()
}

/// True if both devices consume counters of one counter set; unknown if the `other` one is not published in a
/// pool in which this one consumes counters.
fn shares_counters(device: &DeviceId, other: &DeviceId, states: &States<'_>) -> Option<bool> {
    let sets = |id: &DeviceId| -> Option<BTreeSet<&str>> {
        let published = states.get(id)?.device?;
        let consumed = published.terms.iter().flat_map(|terms| &terms.consumes);
        Some(consumed.map(|taken| &*taken.set).collect())
    };
    if (&device.driver, &device.pool) != (&other.driver, &other.pool) {
        return Some(false);
    }
    let own = sets(device).unwrap_or_default();
    if own.is_empty() {
        return Some(false);
    }
    sets(other).map(|sets| !own.is_disjoint(&sets))
}

/// The pods that the claim is reserved for, as far as they are known.
fn pods_of<'a>(claim: &'a ResourceClaim, pods: &'a [Pod]) -> impl Iterator<Item = &'a Pod> {
    let is_user = |pod: &Pod| {
        let mut consumers = claim.reserved_for.iter();
        pod.name.namespace == claim.name.namespace && consumers.any(|one| one.uid == pod.uid)
    };
    pods.iter().filter(move |pod| is_user(pod))
}

/// True if the claim has the devices with which it was prepared: it was not allocated again as long as it is
/// reserved for the same pods.
fn is_same(prepared: &PreparedClaim, claim: &ResourceClaim) -> bool {
    let mut pods = prepared.pods.iter();
    claim.uid == prepared.uid
        && claim.allocation.is_some()
        && !prepared.pods.is_empty()
        && pods.all(|pod| claim.reserved_for.iter().any(|one| one.uid == *pod))
}

/// A device, its users according to the kubelet, and, if it was checked, whether it is safe to pull.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceUse {
    /// Driver of a DRA device; null for devices of a device plugin.
    pub driver: Option<String>,
    /// The DRA device, as DRIVER/POOL/DEVICE. Null for devices of a device plugin, and while the driver prepares a claim:
    /// then it may be any device of the driver.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub device: Option<DeviceId>,
    /// Resource of a device plugin, such as `example.com/gpu`; null for a DRA device.
    pub resource: Option<String>,
    /// Device IDs of the device plugin; empty for a DRA device.
    pub ids: Vec<String>,
    /// Users of the device according to the kubelet, ordered by namespace and name.
    pub users: Vec<DeviceUser>,
    /// True if all checks show that the device is idle and stays idle; a check that cannot be made counts as
    /// failed. Null for `podresources list`.
    pub safe_to_pull: Option<bool>,
    /// Reasons why the device is not safe to pull; empty if there are none.
    pub reasons: Vec<Obstacle>,
}

/// A container that uses a device, or a prepared claim for which the kubelet lists no container.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceUser {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the pod; null if the kubelet lists no pod of the claim, but its checkpoint has the claim: the pod was
    /// force-deleted, or is starting.
    pub name: Option<String>,
    /// Name of the container; null if `name` is null.
    pub container: Option<String>,
    /// The claim, as NAMESPACE/NAME; null for devices of a device plugin.
    pub claim: Option<String>,
}

/// A reason that a device is not safe to pull.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Obstacle {
    /// Code of the reason.
    pub reason: ObstacleCode,
    /// The reason as text.
    pub message: String,
}

/// Reason that a device is not safe to pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum ObstacleCode {
    /// According to the kubelet, a container uses the device.
    InUse,
    /// According to the kubelet's checkpoint, the device is prepared for a claim, but the kubelet lists no pod that
    /// uses the device: the pod may have been force-deleted.
    Prepared,
    /// The kubelet's checkpoint has a claim without its devices, for example while they are being prepared: the device
    /// may be one of them.
    MayBePrepared,
    /// According to the API, a claim holds the device.
    Claimed,
    /// According to the API, a pod that uses the device is terminating.
    Terminating,
    /// The driver of the device no longer publishes devices of the node, so that it may not have released the device.
    DriverDown,
    /// No taint on the device blocks new pods.
    NotTainted,
    /// An unallocated claim or a claim template tolerates the taints of the device for scheduling, so that a
    /// new pod may get the device.
    Tolerated,
    /// A device that shares counters with this one, such as its partition, is not safe to pull.
    Partition,
    /// The kubelet could not be identified as the kubelet of the node.
    NodeNotVerified,
    /// The kubelet does not report which devices of claims are in use.
    KubeletWithoutClaims,
    /// Data of the API or the kubelet's checkpoint could not be read.
    Unread,
    /// The device has not been idle for long enough.
    NotSettled,
}

impl Obstacle {
    /// The reason with this code.
    pub(super) fn new(reason: ObstacleCode, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

impl DeviceUse {
    /// The device that was checked, with the reasons that were found.
    pub(super) fn checked(
        device: &DeviceId,
        users: Vec<DeviceUser>,
        reasons: BTreeSet<Obstacle>,
    ) -> Self {
        Self {
            safe_to_pull: Some(reasons.is_empty()),
            reasons: reasons.into_iter().collect(),
            ..Self::used(device, users)
        }
    }

    fn used(device: &DeviceId, users: Vec<DeviceUser>) -> Self {
        Self {
            driver: Some(device.driver.to_string()),
            device: Some(device.clone()),
            users,
            ..Self::default()
        }
    }

    /// The result of a second check, given the results `before`: a device that was not safe then, or not known, has
    /// not been idle for long enough.
    #[must_use]
    pub fn settled(mut self, before: &[Self]) -> Self {
        let earlier = before.iter().find(|one| one.device == self.device);
        let was_safe = earlier.is_some_and(|one| one.safe_to_pull == Some(true));
        if self.safe_to_pull == Some(true) && !was_safe {
            self.safe_to_pull = Some(false);
            let message = "was not idle at the first of two checks";
            self.reasons = vec![Obstacle::new(ObstacleCode::NotSettled, message)];
        }
        self
    }
}

/// The users of each DRA device that the kubelet lists or has in its checkpoint.
pub(super) fn users_by_device<'a>(
    in_use: &'a InUse,
    prepared: &'a [PreparedClaim],
) -> BTreeMap<&'a DeviceId, Vec<DeviceUser>> {
    let mut users: BTreeMap<&DeviceId, Vec<DeviceUser>> = BTreeMap::new();
    let mut listed: BTreeSet<(&DeviceId, &NamespacedName)> = BTreeSet::new();
    for used in in_use.devices() {
        listed.insert((used.device, &used.claim.name));
        let user = DeviceUser {
            claim: Some(used.claim.name.to_string()),
            ..container_of(used.pod, used.container)
        };
        users.entry(used.device).or_default().push(user);
    }
    for claim in prepared {
        // The list omits force-deleted pods, whose claims the checkpoint keeps until they are unprepared.
        let unlisted = claim.devices.iter();
        for device in unlisted.filter(|device| !listed.contains(&(*device, &claim.name))) {
            users.entry(device).or_default().push(of_claim(claim));
        }
    }
    users.values_mut().for_each(|users| users.sort());
    users
}

/// Every device that the kubelet lists or has in its checkpoint: of DRA by name, then of drivers that have not named the
/// devices of a claim, then of device plugins.
pub fn devices_in_use(in_use: &InUse, prepared: &[PreparedClaim]) -> Vec<DeviceUse> {
    let users = users_by_device(in_use, prepared).into_iter();
    let named = users.map(|(device, users)| DeviceUse::used(device, users));
    let silent = prepared.iter().flat_map(|claim| {
        claim.silent_drivers.iter().map(|driver| DeviceUse {
            driver: Some(driver.to_string()),
            users: vec![of_claim(claim)],
            ..DeviceUse::default()
        })
    });
    let containers = in_use.pods.iter().flat_map(|pod| {
        let containers = pod.containers.iter();
        containers.map(move |container| (pod, container))
    });
    let plugins = containers.flat_map(|(pod, container)| plugin_devices(pod, container));
    named.chain(silent).chain(plugins).collect()
}

/// The devices of each resource of a container; the kubelet lists every device separately, in no order.
fn plugin_devices(pod: &PodInUse, container: &ContainerInUse) -> Vec<DeviceUse> {
    let mut resources: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for devices in &container.plugin_devices {
        let ids = resources.entry(&devices.resource).or_default();
        ids.extend(devices.ids.iter().map(String::as_str));
    }
    let resources = resources.into_iter();
    resources
        .map(|(resource, ids)| DeviceUse {
            resource: Some(resource.to_owned()),
            ids: ids.into_iter().map(str::to_owned).collect(),
            users: vec![container_of(pod, container)],
            ..DeviceUse::default()
        })
        .collect()
}

fn container_of(pod: &PodInUse, container: &ContainerInUse) -> DeviceUser {
    DeviceUser {
        namespace: pod.name.namespace.to_string(),
        name: Some(pod.name.name.to_string()),
        container: Some(container.name.clone()),
        claim: None,
    }
}

fn of_claim(claim: &PreparedClaim) -> DeviceUser {
    DeviceUser {
        namespace: claim.name.namespace.to_string(),
        claim: Some(claim.name.to_string()),
        ..DeviceUser::default()
    }
}

fn as_text<S: Serializer>(device: &Option<DeviceId>, serializer: S) -> Result<S::Ok, S::Error> {
    match device {
        Some(device) => serializer.collect_str(device),
        None => serializer.serialize_none(),
    }
}
