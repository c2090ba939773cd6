//! The kubelet's podresources API, as far as it is about devices.
//!
//! Written by hand after `api.proto` of `k8s.io/kubelet/pkg/apis/podresources`; unknown fields are
//! skipped, since newer kubelets say more. A kubelet says nothing of a pod's identity, and an empty list
//! of claims also where it could not look them up.

use crate::model::{
    ClaimInUse, ContainerInUse, DeviceId, InUse, NamespacedName, PluginDevices, PodInUse,
};
use crate::wire::weight::Shape;

/// The first pod that has a name or a namespace which no pod can have.
///
/// Upstream: `NameIsDNSSubdomain` in `apimachinery/pkg/api/validation`.
fn no_pod<'a>(pods: impl IntoIterator<Item = &'a PodResources>) -> Option<String> {
    // Less than upstream checks, but enough to notice text of another message in this field.
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let is_name = |name: &str| !name.is_empty() && name.chars().all(is_part);
    let mut pods = pods.into_iter();
    let odd = pods.find(|pod| !is_name(&pod.name) || !is_name(&pod.namespace))?;
    let (namespace, name) = (odd.namespace.escape_debug(), odd.name.escape_debug());
    Some(format!(
        "it lists pod {namespace}/{name}, whose namespace or name is not valid"
    ))
}

const DEVICES: Shape = Shape {
    size: size_of::<ContainerDevices>(),
    messages: &[],
};
const CLAIM_RESOURCE: Shape = Shape {
    size: size_of::<ClaimResource>(),
    messages: &[],
};
const DYNAMIC_RESOURCE: Shape = Shape {
    size: size_of::<DynamicResource>(),
    messages: &[(4, &CLAIM_RESOURCE)],
};
const CONTAINER: Shape = Shape {
    size: size_of::<ContainerResources>(),
    messages: &[(2, &DEVICES), (5, &DYNAMIC_RESOURCE)],
};
const POD: Shape = Shape {
    size: size_of::<PodResources>(),
    messages: &[(3, &CONTAINER)],
};

impl ListPodResourcesResponse {
    /// Shape, from which the memory that a response needs is computed.
    pub const SHAPE: Shape = Shape {
        size: size_of::<Self>(),
        messages: &[(1, &POD)],
    };

    /// First content that no kubelet sends: the messages of another call decode too.
    pub fn oddity(&self) -> Option<String> {
        no_pod(&self.pod_resources)
    }
}

/// All pods.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListPodResourcesResponse {
    /// The pods.
    #[prost(message, repeated, tag = "1")]
    pub pod_resources: Vec<PodResources>,
}

/// A pod.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PodResources {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its namespace.
    #[prost(string, tag = "2")]
    pub namespace: String,
    /// Its containers.
    #[prost(message, repeated, tag = "3")]
    pub containers: Vec<ContainerResources>,
}

/// A container.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerResources {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Devices of device plugins.
    #[prost(message, repeated, tag = "2")]
    pub devices: Vec<ContainerDevices>,
    /// Claims.
    #[prost(message, repeated, tag = "5")]
    pub dynamic_resources: Vec<DynamicResource>,
}

/// Devices of one resource.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerDevices {
    /// Resource name.
    #[prost(string, tag = "1")]
    pub resource_name: String,
    /// Devices.
    #[prost(string, repeated, tag = "2")]
    pub device_ids: Vec<String>,
}

/// A claim.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DynamicResource {
    /// Its name.
    #[prost(string, tag = "2")]
    pub claim_name: String,
    /// Its namespace.
    #[prost(string, tag = "3")]
    pub claim_namespace: String,
    /// Its devices.
    #[prost(message, repeated, tag = "4")]
    pub claim_resources: Vec<ClaimResource>,
}

/// A device of a claim.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ClaimResource {
    /// Its driver.
    #[prost(string, tag = "2")]
    pub driver_name: String,
    /// Its pool.
    #[prost(string, tag = "3")]
    pub pool_name: String,
    /// Its name in the pool.
    #[prost(string, tag = "4")]
    pub device_name: String,
}

impl ListPodResourcesResponse {
    /// Devices in use.
    pub fn into_facts(self) -> InUse {
        let mut pods: Vec<PodInUse> = self
            .pod_resources
            .into_iter()
            .map(PodResources::into_fact)
            .collect();
        pods.sort_by(|left, right| left.name.cmp(&right.name));
        InUse { pods }
    }
}

impl PodResources {
    /// The pod.
    pub fn into_fact(self) -> PodInUse {
        let containers = self.containers.into_iter();
        PodInUse {
            name: name(&self.namespace, &self.name),
            containers: containers.map(ContainerResources::into_fact).collect(),
        }
    }
}

impl ContainerResources {
    fn into_fact(self) -> ContainerInUse {
        let claims = self.dynamic_resources.into_iter();
        ContainerInUse {
            name: self.name,
            plugin_devices: plugin_devices(self.devices),
            claims: claims.map(DynamicResource::into_fact).collect(),
        }
    }
}

impl DynamicResource {
    fn into_fact(self) -> ClaimInUse {
        let devices = self.claim_resources.into_iter();
        let mut devices: Vec<DeviceId> = devices
            .map(|resource| DeviceId {
                driver: resource.driver_name.as_str().into(),
                pool: resource.pool_name.as_str().into(),
                device: resource.device_name.as_str().into(),
            })
            .collect();
        // The kubelet goes through the drivers in no order.
        devices.sort();
        ClaimInUse {
            name: name(&self.claim_namespace, &self.claim_name),
            devices,
        }
    }
}

fn plugin_devices(devices: Vec<ContainerDevices>) -> Vec<PluginDevices> {
    let devices = devices.into_iter().map(|devices| PluginDevices {
        resource: devices.resource_name,
        ids: devices.device_ids,
    });
    devices.collect()
}

fn name(namespace: &str, name: &str) -> NamespacedName {
    NamespacedName {
        namespace: namespace.into(),
        name: name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_in_order_whatever_the_kubelet_does() {
        let pod = |name: &str| PodResources {
            name: name.to_owned(),
            ..PodResources::default()
        };
        let response = ListPodResourcesResponse {
            pod_resources: vec![pod("b"), pod("a")],
        };
        let facts = response.into_facts();
        let names: Vec<String> = facts
            .pods
            .iter()
            .map(|pod| pod.name.name.to_string())
            .collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn answer_of_another_call_is_told_by_its_names() {
        let pod = |namespace: &str, name: &str| PodResources {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            ..PodResources::default()
        };
        let list = |pod: PodResources| ListPodResourcesResponse {
            pod_resources: vec![pod],
        };
        for (namespace, name, is_odd) in [
            ("ml", "train-0.a", false),
            ("ml", "", true),
            ("", "train", true),
            ("nic-0", "example.com/nic", true),
            ("ml", "Train", true),
        ] {
            let odd = list(pod(namespace, name)).oddity();
            assert_eq!(odd.is_some(), is_odd, "{namespace}/{name}: {odd:?}");
        }
    }
}
