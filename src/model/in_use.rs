//! What a kubelet says is in use on its node.

use super::ids::{DeviceId, DriverName, NamespacedName, Uid};

/// What a kubelet says is in use on its node: its own word, whatever the API says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InUse {
    /// The pods that the kubelet counts as active, by namespace and name.
    pub pods: Vec<PodInUse>,
}

/// A pod on the node, and what is its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodInUse {
    /// Namespace and name; the kubelet does not say which pod of that name.
    pub name: NamespacedName,
    /// Its containers, without those that have prepared it and ended.
    pub containers: Vec<ContainerInUse>,
}

/// A container, and what is its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerInUse {
    /// Its name in the pod.
    pub name: String,
    /// Devices of device plugins.
    pub plugin_devices: Vec<PluginDevices>,
    /// Claims that it uses. Empty too where the kubelet could not look them up: it does not say so.
    pub claims: Vec<ClaimInUse>,
}

/// Devices of one resource of a device plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginDevices {
    /// Such as `example.com/gpu`.
    pub resource: String,
    /// As the plugin calls them.
    pub ids: Vec<String>,
}

/// A claim that a container uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimInUse {
    /// Namespace and name.
    pub name: NamespacedName,
    /// The devices that its driver has prepared for it.
    pub devices: Vec<DeviceInUse>,
}

/// A device that a driver has prepared for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInUse {
    /// The device.
    pub device: DeviceId,
    /// Which share of it, if it is shared.
    pub share_id: Option<String>,
    /// What the container runtime was told to put into containers for it.
    //
    // The kubelet repeats those of the driver's earlier devices of the claim: what tells devices apart is `device`.
    pub cdi_devices: Vec<String>,
}

impl InUse {
    /// The device and whose it is, for every device of DRA that is in use; a device that several
    /// containers share occurs once for each.
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

/// A device of DRA that is in use, and whose it is.
#[derive(Clone, Copy, Debug)]
pub struct UsedDevice<'a> {
    /// The device.
    pub device: &'a DeviceInUse,
    /// The pod.
    pub pod: &'a PodInUse,
    /// The pod's container.
    pub container: &'a ContainerInUse,
    /// The claim through which it was given.
    pub claim: &'a ClaimInUse,
}

/// A claim that a kubelet has noted as prepared by its drivers, for whomever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedClaim {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Distinguishes it from a later claim of the same name.
    pub uid: Uid,
    /// The pods for which it was prepared.
    pub pods: Vec<Uid>,
    /// Its devices, as far as its drivers have named them.
    pub devices: Vec<DeviceId>,
    /// The drivers that have named none: asked and not answered yet, failed, or never asked. They may hold
    /// any of their devices for it.
    pub silent_drivers: Vec<DriverName>,
}
