//! Devices in use, by a kubelet.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::metadata::{API_VERSION, DataSource, Incomplete, Metadata, Warning};
use super::reference::ObjectReference;
use super::table::{Column, NONE, Section, Table, View, optional};
use crate::model::{ContainerInUse, InUse, NamespacedName, PluginDevices, PodInUse, PreparedClaim};

/// Report of `podresources list`: what one kubelet reports about its node, regardless of the Kubernetes API.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PodResourcesList")]
pub struct PodResourcesReport {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "PodResourcesList"))]
    pub kind: String,
    /// Source of the report: a kubelet, so context and server are null.
    pub metadata: Metadata,
    /// The pods and the devices that they use, ordered by namespace and name.
    pub items: Vec<PodRow>,
    /// Prepared claims in the kubelet's checkpoint, including those of force-deleted pods; null if the
    /// checkpoint could not be read.
    pub prepared_claims: Option<Vec<PreparedRow>>,
    /// Warnings about the data of the kubelet.
    pub warnings: Vec<Warning>,
}

/// A pod and its devices. The kubelet does not report the UID of the pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodRow {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Always null: the kubelet does not report the UID.
    #[serde(default)]
    pub uid: Option<String>,
    /// The containers of the pod.
    pub containers: Vec<ContainerRow>,
}

/// A container and its devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerRow {
    /// Name of the object.
    pub name: String,
    /// DRA devices of the container, ordered by claim and device.
    pub dynamic_resources: Vec<DeviceInUseRow>,
    /// Devices of device plugins that the container uses, one entry for each resource.
    pub plugin_devices: Vec<PluginDevicesRow>,
}

/// A DRA device that a container uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceInUseRow {
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// The claim of the device; its UID is null, because the kubelet does not report the UID.
    pub claim: ObjectReference,
    /// ID of the share; null if the device is not shared.
    #[serde(rename = "shareID")]
    pub share_id: Option<String>,
    /// CDI device IDs that were passed to the container runtime.
    pub cdi_devices: Vec<String>,
}

/// Devices of one resource of a device plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginDevicesRow {
    /// Resource of the device plugin, such as `example.com/gpu`.
    pub resource: String,
    /// Device IDs of the device plugin.
    pub ids: Vec<String>,
}

/// A prepared claim in the kubelet's checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreparedRow {
    /// The claim.
    pub claim: ObjectReference,
    /// UIDs of the pods for which the claim was prepared.
    #[serde(default, rename = "podUIDs")]
    pub pod_uids: Vec<String>,
    /// Devices of the claim in the checkpoint, as DRIVER/POOL/DEVICE.
    pub devices: Vec<String>,
    /// Drivers of this claim that have no device of the claim in the kubelet's checkpoint yet. Any device of these
    /// drivers may belong to the claim.
    #[serde(default)]
    pub silent_drivers: Vec<String>,
}

impl PodResourcesReport {
    /// What a kubelet lists.
    #[must_use]
    pub fn of_pods(in_use: &InUse) -> Self {
        Self {
            items: in_use.pods.iter().map(pod).collect(),
            ..Self::empty()
        }
    }

    /// Adds what the kubelet has noted for itself.
    #[must_use]
    pub fn with_notes(self, prepared: Option<&[PreparedClaim]>) -> Self {
        let row = |claim: &PreparedClaim| PreparedRow {
            claim: ObjectReference::new(&claim.name, &claim.uid),
            pod_uids: claim.pods.iter().map(ToString::to_string).collect(),
            devices: claim.devices.iter().map(ToString::to_string).collect(),
            silent_drivers: claim
                .silent_drivers
                .iter()
                .map(ToString::to_string)
                .collect(),
        };
        let mut warnings = self.warnings;
        if prepared.is_some_and(|claims| !claims.is_empty())
            && !self.items.iter().any(PodRow::has_devices)
        {
            warnings.push(Warning {
                reason: "NoClaimsListed".to_owned(),
                message: NO_CLAIMS.to_owned(),
                fix: None,
            });
        }
        Self {
            prepared_claims: prepared.map(|claims| claims.iter().map(row).collect()),
            warnings,
            ..self
        }
    }

    fn empty() -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "PodResourcesList".to_owned(),
            metadata: Metadata {
                data_source: Some(DataSource::Kubelet),
                ..Metadata::default()
            },
            items: Vec::new(),
            prepared_claims: None,
            warnings: Vec::new(),
        }
    }
}

/// What it may mean that a kubelet lists nothing of what it has noted.
const NO_CLAIMS: &str = "the kubelet lists no DRA devices, but its checkpoint contains claims; possible causes: the pods of these claims are starting or were \
    force-deleted, or the kubelet cannot list DRA devices (it is older than 1.34, or its feature gate KubeletPodResourcesDynamicResources is off)";

impl PodRow {
    fn has_devices(&self) -> bool {
        let mut containers = self.containers.iter();
        containers.any(|container| !container.dynamic_resources.is_empty())
    }
}

/// Claims that are prepared, and that no listed container uses.
fn unlisted(report: &PodResourcesReport) -> Vec<String> {
    let containers = report.items.iter().flat_map(|pod| &pod.containers);
    let used: BTreeSet<NamespacedName> = containers
        .flat_map(|container| &container.dynamic_resources)
        .map(|device| device.claim.full_name())
        .collect();
    let prepared = report.prepared_claims.iter().flatten();
    // The kubelet does not list pods that were deleted by force, and its checkpoint still has their claims.
    let left = prepared.filter(|row| !used.contains(&row.claim.full_name()));
    let lines = left.flat_map(|row| {
        let line = |verb: &str, what: &[String]| {
            (!what.is_empty()).then(|| format!("{} {verb} {}", row.claim, what.join(", ")))
        };
        let silent = line("may use devices of", &row.silent_drivers);
        line("holds", &row.devices).into_iter().chain(silent)
    });
    lines.collect()
}

fn pod(pod: &PodInUse) -> PodRow {
    PodRow {
        namespace: pod.name.namespace.to_string(),
        name: pod.name.name.to_string(),
        uid: None,
        containers: pod.containers.iter().map(container).collect(),
    }
}

fn container(container: &ContainerInUse) -> ContainerRow {
    let claims = container.claims.iter();
    let devices = claims.flat_map(|claim| {
        claim.devices.iter().map(|device| DeviceInUseRow {
            device: device.device.to_string(),
            claim: ObjectReference::from(&claim.name),
            share_id: device.share_id.clone(),
            cdi_devices: device.cdi_devices.clone(),
        })
    });
    ContainerRow {
        name: container.name.clone(),
        dynamic_resources: devices.collect(),
        plugin_devices: plugin_devices(&container.plugin_devices),
    }
}

/// The devices of each resource, in order; the kubelet lists every device by itself.
fn plugin_devices(devices: &[PluginDevices]) -> Vec<PluginDevicesRow> {
    let mut grouped: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for devices in devices {
        grouped
            .entry(&devices.resource)
            .or_default()
            .extend(devices.ids.iter().cloned());
    }
    let row = |(resource, mut ids): (&str, Vec<String>)| {
        // The kubelet promises no order, and two answers have to be comparable.
        ids.sort();
        PluginDevicesRow {
            resource: resource.to_owned(),
            ids,
        }
    };
    grouped.into_iter().map(row).collect()
}

impl Answer for PodResourcesReport {
    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &[]
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty() && unlisted(self).is_empty()
    }
}

impl View for PodResourcesReport {
    fn sections(&self) -> Vec<Section> {
        vec![
            Section::folded(pods_table(&self.items), &[0, 1, 2]),
            Section::list(
                "Claims prepared for pods that the kubelet does not list",
                unlisted(self),
            ),
        ]
    }

    /// The devices of DRA that are in use, each once.
    fn names(&self) -> Vec<String> {
        let containers = self.items.iter().flat_map(|pod| &pod.containers);
        let devices = containers.flat_map(|container| &container.dynamic_resources);
        let mut names: Vec<String> = devices.map(|device| device.device.clone()).collect();
        names.sort();
        // Several containers may use one device, by shares or by one claim.
        names.dedup();
        names
    }
}

/// A line for each thing that a container has, and one for a pod that has nothing of its own.
fn pods_table(pods: &[PodRow]) -> Table {
    Table {
        columns: vec![
            Column::text("NAMESPACE"),
            Column::text("POD"),
            Column::text("CONTAINER"),
            Column::text("DEVICE"),
            Column::text("CLAIM"),
            Column::prose("CDI").wide(),
        ],
        rows: pods.iter().flat_map(pod_lines).collect(),
    }
}

fn pod_lines(pod: &PodRow) -> Vec<Vec<String>> {
    let line = |container: &str, cells: [String; 3]| {
        let names = [
            pod.namespace.clone(),
            pod.name.clone(),
            container.to_owned(),
        ];
        names.into_iter().chain(cells).collect::<Vec<String>>()
    };
    let mut lines = Vec::new();
    for container in &pod.containers {
        let own = container.dynamic_resources.iter().map(|device| {
            let share = device.share_id.as_ref();
            let share = share.map_or_else(String::new, |share| format!(" (share {share})"));
            let cdi = optional(Some(&device.cdi_devices.join(", ")));
            [
                format!("{}{share}", device.device),
                device.claim.to_string(),
                cdi,
            ]
        });
        let plugins = container.plugin_devices.iter().map(|one| {
            let devices = format!("{}: {}", one.resource, one.ids.join(", "));
            [devices, NONE.to_owned(), NONE.to_owned()]
        });
        let all = own.chain(plugins);
        lines.extend(all.map(|cells| line(&container.name, cells)));
    }
    // Without a line it would look as if the kubelet did not list the pod.
    if lines.is_empty() {
        lines.push(line(NONE, [NONE, NONE, NONE].map(str::to_owned)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ClaimInUse, DeviceInUse};
    use crate::report::testing;

    #[test]
    fn claims_of_pods_that_the_kubelet_does_not_list_are_told() {
        let device = |name: &str| testing::device(name);
        let facts = InUse {
            pods: vec![PodInUse {
                name: testing::full_name("ml/train"),
                containers: vec![ContainerInUse {
                    name: "main".to_owned(),
                    plugin_devices: Vec::new(),
                    claims: vec![ClaimInUse {
                        name: testing::full_name("ml/gpu"),
                        devices: vec![DeviceInUse {
                            device: device("gpu-0"),
                            share_id: None,
                            cdi_devices: Vec::new(),
                        }],
                    }],
                }],
            }],
        };
        let claim = |name: &str, silent: &[&str]| PreparedClaim {
            name: testing::full_name(name),
            uid: "uid".into(),
            pods: Vec::new(),
            devices: vec![device("gpu-1")],
            silent_drivers: silent.iter().map(|name| (*name).into()).collect(),
        };
        let prepared = [claim("ml/gpu", &[]), claim("ml/gone", &["nic.example.com"])];
        let report = PodResourcesReport::of_pods(&facts).with_notes(Some(&prepared));
        assert_eq!(
            unlisted(&report),
            [
                "ml/gone holds gpu.example.com/node-7/gpu-1",
                "ml/gone may use devices of nic.example.com"
            ]
        );
        assert_eq!(report.warnings, []);
        let silent = PodResourcesReport::of_pods(&InUse::default());
        assert_eq!(silent.clone().with_notes(Some(&[])).warnings, []);
        let silent = silent.with_notes(Some(&prepared));
        assert_eq!(silent.warnings[0].reason, "NoClaimsListed");
    }

    #[test]
    fn names_stand_whole_on_a_narrow_terminal() {
        let pod = testing::full_name("training/llama-405b-pretrain-worker-0-6944747796");
        let facts = InUse {
            pods: vec![PodInUse {
                name: pod.clone(),
                containers: vec![ContainerInUse {
                    name: "main".to_owned(),
                    plugin_devices: Vec::new(),
                    claims: vec![ClaimInUse {
                        name: pod,
                        devices: vec![DeviceInUse {
                            device: testing::device("gpu-0"),
                            share_id: None,
                            cdi_devices: Vec::new(),
                        }],
                    }],
                }],
            }],
        };
        let report = PodResourcesReport::of_pods(&facts);
        let text = crate::render::at_80_columns(&report);
        for name in [
            "gpu.example.com/node-7/gpu-0",
            "training/llama-405b-pretrain-worker-0-6944747796",
        ] {
            assert!(text.contains(name), "{name}: {text}");
        }
    }
}
