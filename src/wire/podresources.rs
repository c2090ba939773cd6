//! The kubelet's podresources API, as far as it is about devices.
//!
//! Written by hand after `api.proto` of `k8s.io/kubelet/pkg/apis/podresources`; unknown fields are
//! skipped, since newer kubelets say more. A kubelet says nothing of a pod's identity, and an empty list
//! of claims also where it could not look them up.

use std::collections::BTreeMap;

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::unambiguous::or_default;
use crate::model::{
    ClaimInUse, ContainerInUse, DeviceId, InUse, NamespacedName, PluginDevices, PodInUse,
    PreparedClaim,
};

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

/// A kind of message: what one takes in memory, and the fields that hold messages.
pub struct Shape {
    /// Of one message, without what it refers to.
    pub size: usize,
    /// Its fields that are messages, each with its number.
    pub messages: &'static [(u32, &'static Shape)],
}

/// Size of any field that is text or a list, beside its bytes.
// Pointer, capacity and length of a `String` or `Vec`.
const FIELD: usize = 24;
/// Size of a number.
const NUMBER: usize = 8;

impl Shape {
    /// Maximum size of a message of this shape, or `None` where the bytes are none.
    pub fn weight(&self, message: &[u8]) -> Option<usize> {
        let mut rest = message;
        let mut weight = self.size;
        while !rest.is_empty() {
            let (field, kind) = decode_key(&mut rest).ok()?;
            let taken = if kind == WireType::LengthDelimited {
                let length = usize::try_from(decode_varint(&mut rest).ok()?).ok()?;
                let (payload, behind) = rest.split_at_checked(length)?;
                rest = behind;
                match self.messages.iter().find(|(number, _)| *number == field) {
                    // The shapes bound the recursion, not the bytes.
                    Some((_, shape)) => shape.weight(payload)?,
                    None => FIELD.saturating_add(length),
                }
            } else {
                skip_field(kind, field, &mut rest, DecodeContext::default()).ok()?;
                NUMBER
            };
            weight = weight.saturating_add(taken);
        }
        Some(weight)
    }
}

/// The kind of the notes that are understood.
const KIND: (&str, &str) = ("checkpoint.dra.kubelet.k8s.io/v1", "DRACheckpoint");

/// The file.
#[derive(Deserialize)]
// The structs upstream have no JSON tags, so the file has Go's field names.
#[serde(rename_all = "PascalCase")]
struct Checkpoint {
    data: String,
}

/// Content, as a text of its own.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Notes {
    #[serde(rename = "apiVersion")]
    api_version: String,
    #[serde(rename = "kind")]
    kind: String,
    #[serde(default, deserialize_with = "or_default")]
    claim_info_state_list: Vec<ClaimInfo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ClaimInfo {
    #[serde(rename = "ClaimUID")]
    claim_uid: String,
    claim_name: String,
    namespace: String,
    /// A set: its values say nothing.
    #[serde(rename = "PodUIDs", default, deserialize_with = "or_default")]
    pod_uids: BTreeMap<String, IgnoredAny>,
    #[serde(default, deserialize_with = "or_default")]
    driver_state: BTreeMap<String, DriverState>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DriverState {
    #[serde(default, deserialize_with = "or_default")]
    devices: Vec<Device>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Device {
    pool_name: String,
    device_name: String,
}

/// The claims that a kubelet has noted as prepared.
///
/// # Errors
///
/// If the checkpoint is damaged, or of another kind: the reason, in a few words.
pub fn prepared_claims(bytes: &[u8]) -> Result<Vec<PreparedClaim>, String> {
    let text = |error: serde_json::Error| error.to_string();
    let checkpoint: Checkpoint = serde_json::from_slice(bytes).map_err(text)?;
    let notes: Notes = serde_json::from_str(&checkpoint.data).map_err(text)?;
    let found = (notes.api_version.as_str(), notes.kind.as_str());
    // Another version may store devices elsewhere: its claims would look like claims without devices.
    if found != KIND {
        return Err(format!("{} {} is not known", found.0, found.1));
    }
    let claims = notes.claim_info_state_list.into_iter();
    Ok(claims.map(ClaimInfo::into_fact).collect())
}

impl ClaimInfo {
    fn into_fact(self) -> PreparedClaim {
        // A driver without devices had not answered when this was written: what it holds is unknown, not nothing.
        let silent_drivers = self
            .driver_state
            .iter()
            .filter(|(_, state)| state.devices.is_empty())
            .map(|(driver, _)| driver.as_str().into())
            .collect();
        let devices = self.driver_state.into_iter().flat_map(|(driver, state)| {
            state.devices.into_iter().map(move |device| DeviceId {
                driver: driver.as_str().into(),
                pool: device.pool_name.as_str().into(),
                device: device.device_name.as_str().into(),
            })
        });
        PreparedClaim {
            name: NamespacedName {
                namespace: self.namespace.as_str().into(),
                name: self.claim_name.as_str().into(),
            },
            uid: self.claim_uid.as_str().into(),
            pods: self
                .pod_uids
                .keys()
                .map(|uid| uid.as_str().into())
                .collect(),
            devices: devices.collect(),
            silent_drivers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

    const LEAF: Shape = Shape {
        size: 100,
        messages: &[],
    };
    const ROOT: Shape = Shape {
        size: 24,
        messages: &[(1, &LEAF)],
    };

    #[test]
    fn an_empty_message_weighs_what_it_takes_and_not_its_two_bytes() {
        let empty = [0x0a, 0];
        assert_eq!(ROOT.weight(&empty.repeat(1000)), Some(100_024));
        assert_eq!(ROOT.weight(&[]), Some(24));
        // Text of one byte, and a number.
        assert_eq!(ROOT.weight(&[0x12, 1, b'x']), Some(24 + 24 + 1));
        assert_eq!(ROOT.weight(&[0x18, 5]), Some(24 + 8));
    }

    #[test]
    fn what_is_no_message_weighs_nothing_that_is_known() {
        for bytes in [
            &[0x0a, 5, 1][..],
            &[0x0a, 0xff],
            &[0xff; 12],
            &[0x0a, 2, 0x0a, 9],
        ] {
            assert_eq!(ROOT.weight(bytes), None, "{bytes:?}");
        }
    }

    fn notes(data: &serde_json::Value) -> Vec<u8> {
        let checkpoint = json!({"Data": data.to_string(), "Checksum": 7});
        checkpoint.to_string().into_bytes()
    }

    #[test]
    fn claims_are_read_and_what_is_not_understood_is_no_empty_list() {
        let of = |claims: serde_json::Value| json!({"kind": "DRACheckpoint", "apiVersion": "checkpoint.dra.kubelet.k8s.io/v1", "ClaimInfoStateList": claims});
        assert_eq!(prepared_claims(&notes(&of(json!(null)))), Ok(Vec::new()));
        let device = json!({"PoolName": "node-0", "DeviceName": "gpu-0", "RequestNames": ["gpu"]});
        let claim = json!({
            "ClaimUID": "u", "ClaimName": "train-gpu", "Namespace": "ml", "PodUIDs": {"p": {}},
            "DriverState": {"gpu.example.com": {"Devices": [device]}, "other": {"Devices": null}},
        });
        let found = prepared_claims(&notes(&of(json!([claim])))).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].name.to_string(), "ml/train-gpu");
        let devices: Vec<String> = found[0].devices.iter().map(ToString::to_string).collect();
        assert_eq!(devices, ["gpu.example.com/node-0/gpu-0"]);
        assert_eq!(found[0].silent_drivers, ["other".into()]);
        assert_eq!(
            (&found[0].uid, &found[0].pods[..]),
            (&"u".into(), &["p".into()][..])
        );
        let mut newer = of(json!([]));
        newer["apiVersion"] = json!("checkpoint.dra.kubelet.k8s.io/v2");
        for wrong in [
            notes(&newer),
            b"{}".to_vec(),
            b"".to_vec(),
            br#"{"Data": "half"#.to_vec(),
            notes(&of(json!([{"Namespace": "ml"}]))),
        ] {
            assert!(
                prepared_claims(&wrong).is_err(),
                "{}",
                String::from_utf8_lossy(&wrong)
            );
        }
    }
}
