//! What has only a page room for?

use super::view::{Device, ImpactReport, Summary, Workload};
use crate::report::count::{Bounds, UNKNOWN};
use crate::report::table::{Column, NONE, Section, Shown, Table, Tone, counted, optional};
use crate::report::taint::PresentTaint;

/// How the answer stands out: what somebody has forbidden, or what breaks something for others, hurts;
/// only what is known to hit nobody is well.
pub(super) fn tone(report: &ImpactReport) -> Tone {
    let evicted = report.summary.evicted();
    if report.refusal().is_some() || report.summary.in_danger().is_some() {
        Tone::Bad
    } else if evicted.is_none() {
        Tone::Good
    } else {
        Tone::Doubtful
    }
}

/// The counts, as far as they are known.
pub(super) fn summary(summary: &Summary) -> Section {
    let known = |name, number| Bounds::count(&summary.bounds, name, number).to_string();
    let available = format!(
        "{} of {}",
        summary.available_devices(),
        summary.devices_of_class()
    );
    Section::facts(vec![
        ("Evicted now", summary.evicted_now().to_string()),
        ("Evicted later", known("podsLater", summary.pods_later)),
        (
            "Tolerating",
            known("podsTolerating", summary.pods_tolerating),
        ),
        (
            "Terminating",
            known("podsTerminating", summary.pods_terminating),
        ),
        (
            "Not evicted",
            known("podsNotEvicted", summary.pods_not_evicted),
        ),
        ("Devices", summary.selected_devices().to_string()),
        ("Claims", known("claims", summary.claims)),
        ("Workloads hit", summary.affected_workloads().to_string()),
        ("Workloads down", summary.lost_workloads().to_string()),
        ("Budgets overdrawn", summary.violated_budgets().to_string()),
        (
            "Claims without a place",
            summary.unplaceable_claims().to_string(),
        ),
        ("Devices that stay free", available),
    ])
    .titled("In numbers".to_owned())
}

/// The workloads and the devices.
pub(super) fn tables(report: &ImpactReport) -> [Section; 2] {
    let workloads = Table {
        columns: vec![
            Column::text("NAMESPACE"),
            Column::text("WORKLOAD"),
            Column::number("WANTED"),
            Column::number("READY"),
            Column::number("EVICTED"),
            Column::number("READY-LEFT"),
        ],
        rows: report.workloads.iter().map(workload).collect(),
    };
    let devices = Table {
        columns: vec![
            Column::text("DEVICE"),
            Column::text("NODE"),
            Column::text("PUBLISHED"),
            Column::prose("CLAIMS"),
            Column::prose("OTHER-TAINTS"),
        ],
        rows: report.devices.iter().map(device).collect(),
    };
    let titled = |table: Table, noun: &str| {
        let title = counted(table.rows.len(), noun);
        Section::table(table).titled(title).shown(Shown::Page)
    };
    [titled(workloads, "workload"), titled(devices, "device")]
}

fn workload(workload: &Workload) -> Vec<String> {
    let number =
        |number: Option<i32>| number.map_or_else(|| UNKNOWN.to_owned(), |it| it.to_string());
    // Pods of a workload whose numbers are known, and that do not stand in for each other.
    let left = match (workload.left, workload.ready) {
        (None, Some(_)) => NONE.to_owned(),
        (left, _) => number(left),
    };
    vec![
        workload.namespace.clone(),
        format!("{}/{}", workload.kind, workload.name),
        number(workload.replicas),
        number(workload.ready),
        workload.evicted_pods.to_string(),
        left,
    ]
}

fn device(device: &Device) -> Vec<String> {
    let taints: Vec<String> = device.taints.iter().map(PresentTaint::cell).collect();
    vec![
        device.device.clone(),
        optional(device.node.as_deref()),
        if device.published { "yes" } else { "no" }.to_owned(),
        optional(Some(&device.claims.join(", "))),
        optional(Some(&taints.join(", "))),
    ]
}
