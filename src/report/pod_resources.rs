//! Devices in use on a node, and whether they are safe to pull.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::metadata::{API_VERSION, DataSource, Incomplete, Metadata, Warning, views};
use super::table::{Column, Section, Table, View, optional};
use super::taint::Time;
use crate::assess::{DeviceBasis, DeviceUse, DeviceUser, ReportCompleteness};
use crate::model::{self, NodeName, UNKNOWN};
use crate::naming::phrase::{counted, few};

/// Report of `podresources list`: the devices that a kubelet lists or has in its checkpoint, and of `podresources check`:
/// the devices of the node, and whether they are safe to pull (to take out of the machine), according to the Kubernetes
/// API and the kubelet.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PodResourcesList")]
pub struct PodResourcesReport {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Kind of the report.
    #[schemars(extend("const" = "PodResourcesList"))]
    pub kind: String,
    /// Source of the data: a kubelet alone, or the Kubernetes API (or files) with which the kubelet's answer was compared.
    pub metadata: Metadata,
    /// Name of the node; null for `podresources list`.
    pub node: Option<String>,
    /// Time of the kubelet's answer, by the clock of the node; null for `podresources list`.
    pub kubelet_time: Option<Time>,
    /// The devices: DRA devices, ordered by name, before those of device plugins, which only `podresources list` has.
    pub items: Vec<DeviceUse>,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read.
    pub incomplete: Vec<Incomplete>,
}

impl PodResourcesReport {
    /// The devices that a kubelet lists.
    pub fn of_list(items: Vec<DeviceUse>, unread: Option<&model::Warning>) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "PodResourcesList".to_owned(),
            metadata: Metadata {
                data_source: Some(DataSource::Kubelet),
                ..Metadata::default()
            },
            node: None,
            kubelet_time: None,
            items,
            warnings: unread.map(Warning::from).into_iter().collect(),
            incomplete: Vec::new(),
        }
    }

    /// The devices of `node` that were checked, with the kubelet's answer of `kubelet_time`.
    pub fn of_check(
        node: &NodeName,
        kubelet_time: Timestamp,
        items: Vec<DeviceUse>,
        basis: &DeviceBasis<'_>,
    ) -> Self {
        let completeness = ReportCompleteness::new(&basis.reading.gaps);
        Self {
            metadata: Metadata::new(basis),
            node: Some(node.to_string()),
            kubelet_time: Some(Time(kubelet_time)),
            warnings: views(&[&basis.reading.warnings]),
            incomplete: Incomplete::all(&completeness),
            ..Self::of_list(items, None)
        }
    }

    /// When each source has answered.
    fn times(&self) -> Option<String> {
        let (node, kubelet) = (self.node.as_ref()?, self.kubelet_time?);
        let api = self.metadata.observed();
        Some(format!("{node}: kubelet as of {kubelet}, API as of {api}"))
    }

    fn check_table(&self) -> Table {
        let is_safe = |item: &DeviceUse| item.safe_to_pull == Some(true);
        Table::of(&self.items)
            .column(Column::text("DEVICE"), |item| device(item))
            .column(Column::text("SAFE-TO-PULL"), |item| {
                if is_safe(item) { "yes" } else { "no" }.to_owned()
            })
            .table()
    }

    /// A line for each reason, with its devices: a reason about the kubelet or the API is true of all of them.
    fn reason_lines(&self) -> Vec<String> {
        let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
        for item in &self.items {
            for reason in &item.reasons {
                let message = reason.message.as_str();
                match lines.iter_mut().find(|(known, _)| *known == message) {
                    Some((_, devices)) => devices.push(device(item)),
                    None => lines.push((message, vec![device(item)])),
                }
            }
        }
        let lines = lines.iter();
        lines
            .map(|(message, devices)| format!("{}: {message}", few(devices)))
            .collect()
    }

    /// A row for each user of a device that `cells` are given for, by namespace and pod.
    fn users_table(
        &self,
        columns: Vec<Column>,
        cells: impl Fn(&DeviceUse, &DeviceUser) -> Option<Vec<String>>,
    ) -> Section {
        let users = self.items.iter().flat_map(|item| {
            let users = item.users.iter();
            users.filter_map(|user| {
                let names = [
                    user.namespace.clone(),
                    optional(user.name.as_deref()),
                    optional(user.container.as_deref()),
                ];
                Some(names.into_iter().chain(cells(item, user)?).collect())
            })
        });
        let mut rows: Vec<Vec<String>> = users.collect();
        rows.sort();
        let names = ["NAMESPACE", "POD", "CONTAINER"].map(Column::text);
        let columns = names.into_iter().chain(columns).collect();
        Section::table(Table { columns, rows })
    }

    fn list_sections(&self) -> Vec<Section> {
        let dra = vec![
            Column::text("DRIVER"),
            Column::text("DEVICE"),
            Column::text("CLAIM").wide(),
        ];
        let dra = self.users_table(dra, |item, user| {
            let driver = item.driver.clone()?;
            // The driver has a column of its own.
            let device = item.device.as_ref();
            let device = device.map(|id| format!("{}/{}", id.pool, id.device));
            let device = device.unwrap_or_else(|| UNKNOWN.to_owned());
            Some(vec![driver, device, optional(user.claim.as_deref())])
        });
        let plugins = vec![Column::text("RESOURCE"), Column::text("IDS")];
        let plugins = self.users_table(plugins, |item, _| {
            Some(vec![item.resource.clone()?, item.ids.join(",")])
        });
        let is_unlisted = |item: &DeviceUse| item.users.iter().any(|user| user.name.is_none());
        let unlisted = self.items.iter().any(is_unlisted).then(|| {
            "without pod: prepared according to the kubelet's checkpoint, but the kubelet lists no pod of the \
             claim, which may have been force-deleted"
                .to_owned()
        });
        let note = Section::sentences(unlisted.into_iter().collect());
        vec![dra, plugins, note]
    }
}

fn device(item: &DeviceUse) -> String {
    optional(item.device.as_ref().map(ToString::to_string).as_deref())
}

impl View for PodResourcesReport {
    fn sections(&self) -> Vec<Section> {
        if self.node.is_none() {
            return self.list_sections();
        }
        vec![
            Section::table(self.check_table()),
            Section::list("Reasons", self.reason_lines()),
            Section::sentences(self.times().into_iter().collect()),
        ]
    }

    /// The devices that are safe to pull, or those in use.
    fn names(&self) -> Vec<String> {
        let items = self.items.iter();
        let named = items.filter(|item| item.safe_to_pull != Some(false));
        let devices = named.filter_map(|item| item.device.as_ref());
        devices.map(ToString::to_string).collect()
    }

    fn doubts(&self) -> (&[Warning], &[Incomplete]) {
        (&self.warnings, &self.incomplete)
    }

    fn refusal(&self) -> Option<String> {
        let unsafe_items = self.items.iter();
        let unsafe_items = unsafe_items.filter(|item| item.safe_to_pull == Some(false));
        let count = unsafe_items.count();
        (count > 0).then(|| format!("not safe to pull: {}", counted(count, "device")))
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::devices_in_use;
    use crate::model::{ClaimInUse, ContainerInUse, InUse, PluginDevices, PodInUse, PreparedClaim};
    use crate::render::{Page, render};
    use crate::report::testing;

    fn pod(name: &str, device: &str, ids: &[&str]) -> PodInUse {
        let plugin = |id: &&str| PluginDevices {
            resource: "example.com/nic".to_owned(),
            ids: vec![(*id).to_owned()],
        };
        PodInUse {
            name: testing::full_name(name),
            containers: vec![ContainerInUse {
                name: "main".to_owned(),
                plugin_devices: ids.iter().map(plugin).collect(),
                claims: vec![ClaimInUse {
                    name: testing::full_name("ml/gpu"),
                    devices: vec![testing::device(device)],
                }],
            }],
        }
    }

    /// The rows of the tables that are printed.
    fn printed(in_use: &InUse, prepared: &[PreparedClaim]) -> Vec<String> {
        let report = PodResourcesReport::of_list(devices_in_use(in_use, prepared), None);
        let text = render(&report, Page::default()).unwrap();
        let rows = text.lines().filter(|line| line.starts_with("ml"));
        rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn users_are_listed_by_pod_with_all_devices_and_claims_without_pod() {
        let in_use = InUse {
            pods: vec![pod("ml/b", "gpu-0", &[]), pod("ml/a", "gpu-0", &["y", "x"])],
        };
        let claim = |name: &str, devices: &[&str], silent: &[&str]| PreparedClaim {
            name: testing::full_name(name),
            uid: "uid".into(),
            pods: Vec::new(),
            devices: devices.iter().map(|name| testing::device(name)).collect(),
            silent_drivers: silent.iter().map(|name| (*name).into()).collect(),
        };
        let prepared = [
            claim("ml/gpu", &["gpu-0"], &[]),
            claim("ml/gone", &["gpu-1"], &["nic.example.com"]),
        ];
        assert_eq!(
            printed(&in_use, &prepared),
            [
                "ml <none> <none> gpu.example.com node-7/gpu-1",
                "ml <none> <none> nic.example.com <unknown>",
                "ml a main gpu.example.com node-7/gpu-0",
                "ml b main gpu.example.com node-7/gpu-0",
                "ml a main example.com/nic x,y",
            ]
        );
        let report = PodResourcesReport::of_list(devices_in_use(&in_use, &prepared), None);
        assert_eq!(
            report.names(),
            ["gpu-0", "gpu-1"].map(|name| testing::device(name).to_string())
        );
        assert_eq!(report.refusal(), None);
    }
}
