//! Devices with their users according to a kubelet, and the reasons not to pull them: the rows of a PodResourcesList.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::model::{ContainerInUse, DeviceId, InUse, NamespacedName, PodInUse, PreparedClaim};

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
