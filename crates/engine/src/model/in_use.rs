//! Devices in use on a node, as its kubelet lists them.

use super::ids::{DeviceId, DriverName, NamespacedName, Uid};

/// Pods and devices as a kubelet lists them, whatever the API has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InUse {
    /// The pods that the kubelet counts as active, by namespace and name.
    pub pods: Vec<PodInUse>,
}

/// A pod on the node, and its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodInUse {
    /// Namespace and name; the kubelet does not list the UID.
    pub name: NamespacedName,
    /// Its containers, without init containers that have ended.
    pub containers: Vec<ContainerInUse>,
}

/// A container, and its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerInUse {
    /// Its name in the pod.
    pub name: String,
    /// Devices of device plugins.
    pub plugin_devices: Vec<PluginDevices>,
    /// Claims that it uses. Also empty if the kubelet could not look them up, which it does not show.
    pub claims: Vec<ClaimInUse>,
}

/// Devices of one resource of a device plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginDevices {
    /// Resource name, such as `example.com/gpu`.
    pub resource: String,
    /// IDs of the plugin.
    pub ids: Vec<String>,
}

/// A claim that a container uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimInUse {
    /// Namespace and name.
    pub name: NamespacedName,
    /// The devices that drivers have prepared for it.
    pub devices: Vec<DeviceId>,
}

impl InUse {
    /// Every DRA device in use; a device that several containers share occurs once for each.
    pub fn devices(&self) -> impl Iterator<Item = UsedDevice<'_>> {
        self.pods.iter().flat_map(|pod| {
            pod.containers.iter().flat_map(move |container| {
                container.claims.iter().flat_map(move |claim| {
                    claim.devices.iter().map(move |device| UsedDevice {
                        device,
                        pod,
                        container,
                        claim,
                    })
                })
            })
        })
    }
}

/// A DRA device and a container that uses it.
#[derive(Clone, Copy, Debug)]
pub struct UsedDevice<'a> {
    /// The device.
    pub device: &'a DeviceId,
    /// The pod.
    pub pod: &'a PodInUse,
    /// The pod's container.
    pub container: &'a ContainerInUse,
    /// The claim of the device.
    pub claim: &'a ClaimInUse,
}

/// A prepared claim in a kubelet's checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedClaim {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Distinguishes it from a later claim of the same name.
    pub uid: Uid,
    /// The pods for which it was prepared.
    pub pods: Vec<Uid>,
    /// Its devices, as far as drivers have named them.
    pub devices: Vec<DeviceId>,
    /// The drivers that have not named a device yet: they may hold any of their devices for it.
    pub silent_drivers: Vec<DriverName>,
}
