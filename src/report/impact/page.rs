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
            Column::text("FREE-AT"),
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
        optional(device.free_at.map(|at| at.to_string()).as_deref()),
        optional(Some(&device.claims.join(", "))),
        optional(Some(&taints.join(", "))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::View;
    use crate::report::table::Body;
    use crate::report::testing::Example;

    fn bounds(count: &str, most: Option<usize>) -> Bounds {
        Bounds {
            count: count.to_owned(),
            at_least: 0,
            at_most: most,
        }
    }

    #[test]
    fn only_what_is_known_to_hit_nobody_is_well() {
        let mut report = Example::new().report();
        assert_eq!(tone(&report), Tone::Doubtful);
        report.summary.severities.danger = 1;
        assert_eq!(tone(&report), Tone::Bad);
        report.summary = Summary::default();
        assert_eq!(tone(&report), Tone::Good);
        report.summary.bounds = vec![bounds("pods", None)];
        assert_eq!(tone(&report), Tone::Doubtful);
        report.summary.bounds = vec![bounds("pods", Some(3))];
        assert_eq!(tone(&report), Tone::Doubtful);
        report.violations.push(crate::report::policy::Violation {
            policy: "p.yaml".to_owned(),
            code: "protected-device".to_owned(),
            message: "no".to_owned(),
        });
        assert_eq!(tone(&report), Tone::Bad);
    }

    #[test]
    fn a_number_that_is_not_known_is_no_zero() {
        let known = Summary::default();
        let names = [
            "pods",
            "podsNow",
            "podsLater",
            "podsTolerating",
            "podsTerminating",
            "podsNotEvicted",
            "devices",
            "claims",
            "workloads",
            "workloadsDown",
            "budgetsViolated",
            "claimsUnplaceable",
            "devicesAvailable",
            "devicesOfClass",
        ];
        let unknown = Summary {
            bounds: names.map(|name| bounds(name, None)).into(),
            ..Summary::default()
        };
        for (summary, expected) in [(known, "0"), (unknown, UNKNOWN)] {
            let Body::Facts(facts) = self::summary(&summary).body else {
                panic!("facts")
            };
            for (name, value) in facts {
                let pair = format!("{expected} of {expected}");
                assert!(value == expected || value == pair, "{name}: {value}");
            }
        }
    }

    #[test]
    fn what_does_not_apply_is_told_from_what_is_not_known() {
        let of = |ready, left| {
            let cells = workload(&Workload {
                namespace: "a".to_owned(),
                kind: "Job".to_owned(),
                name: "b".to_owned(),
                replicas: None,
                ready,
                evicted_pods: 2,
                left,
            });
            cells[2..].join(" ")
        };
        assert_eq!(of(Some(3), Some(1)), "<unknown> 3 2 1");
        assert_eq!(of(Some(3), None), "<unknown> 3 2 <none>");
        assert_eq!(of(None, None), "<unknown> <unknown> 2 <unknown>");
    }

    #[test]
    fn a_page_says_what_was_asked_and_where_the_answer_is_from() {
        let mut report = Example::new().report();
        report.metadata.origin.context = Some("prod".to_owned());
        report.metadata.origin.source = crate::report::metadata::Source::Cluster;
        report.metadata.origin.server_version = None;
        let heading = report.heading();
        assert_eq!(
            heading.title,
            "Preview: gpu.example.com/node-7/gpu-0   taint example.com/maintenance:NoExecute"
        );
        assert_eq!(
            heading.origin[..3],
            [
                "Context prod",
                "server not known, as Kubernetes 1.37 does",
                "as of 2026-11-21T01:00:34Z"
            ]
        );
        assert!(heading.origin[3].starts_with("digest sha256:"));
    }
}
