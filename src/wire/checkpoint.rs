//! Checkpoint of a kubelet about prepared claims: its file `dra_manager_state`.
//!
//! The only place where a claim is to be seen whose pod was deleted by force while its driver was away:
//! the kubelet leaves such pods out of what it lists, and keeps the claim until it is unprepared. It is noted
//! before its drivers are asked, and then without devices.
//! The format is private to the kubelet; content that is not understood is an error, and never nothing.
//!
//! Upstream: `pkg/kubelet/cm/dra/state`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::nullable::or_default;
use crate::model::{DeviceId, NamespacedName, PreparedClaim};

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
    use serde_json::json;

    use super::*;

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
