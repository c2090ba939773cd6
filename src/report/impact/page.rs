//! Sections that only a page has room for.

use super::view::{Device, ImpactReport, Pod, Workload};
use crate::assess::Totals;
use crate::model::UNKNOWN;
use crate::naming::phrase::counted;
use crate::report::table::{Column, NONE, Section, Shown, Table, Tone, optional};
use crate::report::taint::Taint;

/// How the answer stands out: what somebody has forbidden, or what breaks something for others, hurts;
/// only what is known to hit nobody is well.
pub(super) fn tone(report: &ImpactReport) -> Tone {
    let totals = &report.assessment.totals;
    let evicted = totals.pods;
    if report.is_refused() || totals.pods_in_danger.is_some() {
        Tone::Bad
    } else if evicted.is_none() {
        Tone::Good
    } else {
        Tone::Doubtful
    }
}

/// The counts, as far as they are known.
pub(super) fn summary(totals: &Totals) -> Section {
    let (available, of) = (totals.devices_available, totals.devices_of_class);
    let counts = [
        ("Evicted now", totals.pods_now),
        ("Evicted later", totals.pods_later),
        ("Tolerating", totals.pods_tolerating),
        ("Terminating", totals.pods_terminating),
        ("Not evicted", totals.pods_not_evicted),
        ("Devices", totals.devices),
        ("Claims", totals.claims),
        ("Workloads affected", totals.workloads),
        ("Workloads without ready pods", totals.workloads_down),
        ("PodDisruptionBudgets violated", totals.budgets_violated),
        ("Claims not reallocated", totals.claims_unplaceable),
    ];
    let facts = counts
        .into_iter()
        .map(|(name, count)| (name, count.to_string()));
    // Other devices of the class; how many of the selected become free is told by the answer.
    let others = ("Replacement devices", format!("{available} of {of}"));
    Section::facts(facts.chain([others]).collect()).titled("Summary".to_owned())
}

/// The workloads and the devices.
pub(super) fn tables(report: &ImpactReport) -> [Section; 2] {
    let evicted = report
        .affected_pods
        .iter()
        .filter(|pod| pod.outcome.is_evicted());
    // The summary counts bare pods as workloads, and the table has to have as many rows.
    let bare = evicted
        .filter(|pod| pod.top_owner().is_none())
        .map(bare_pod);
    let workloads = Table {
        columns: vec![
            Column::text("NAMESPACE"),
            Column::text("WORKLOAD"),
            Column::number("WANTED"),
            Column::number("READY"),
            Column::number("EVICTED"),
            Column::number("READY-LEFT"),
        ],
        rows: report.workloads.iter().map(workload).chain(bare).collect(),
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
        rows: report.selected_devices.iter().map(device).collect(),
    };
    let titled = |table: Table, noun: &str| {
        let title = counted(table.rows.len(), noun);
        Section::table(table).titled(title).shown(Shown::Page)
    };
    [titled(workloads, "workload"), titled(devices, "device")]
}

fn workload(workload: &Workload) -> Vec<String> {
    vec![
        workload.namespace.clone(),
        format!("{}/{}", workload.kind, workload.name),
        number(workload.replicas),
        number(workload.ready_replicas),
        workload.evicted_pod_count.to_string(),
        ready_left(workload),
    ]
}

fn number(number: Option<i32>) -> String {
    number.map_or_else(|| UNKNOWN.to_owned(), |it| it.to_string())
}

/// How many of its pods stay ready.
pub(super) fn ready_left(workload: &Workload) -> String {
    match (workload.ready_replicas_left, workload.ready_replicas) {
        // Pods of a workload whose numbers are known, and that do not stand in for each other.
        (None, Some(_)) => NONE.to_owned(),
        (left, _) => number(left),
    }
}

/// A pod without a controller, which is its own workload, as the count of workloads has it.
fn bare_pod(pod: &Pod) -> Vec<String> {
    vec![
        pod.namespace.clone(),
        format!("Pod/{}", pod.name),
        NONE.to_owned(),
        NONE.to_owned(),
        "1".to_owned(),
        NONE.to_owned(),
    ]
}

fn device(device: &Device) -> Vec<String> {
    let claims: Vec<String> = device.claims.iter().map(ToString::to_string).collect();
    let taints: Vec<String> = device.taints.iter().map(Taint::cell).collect();
    vec![
        device.device.clone(),
        optional(device.node.as_deref()),
        if device.published { "yes" } else { "no" }.to_owned(),
        match (device.release_time, device.not_released_reason) {
            (Some(at), _) => at.to_string(),
            (None, Some(why)) if why.is_certain() => format!("never: {}", why.describe()),
            (None, Some(why)) => format!("{UNKNOWN}: {}", why.describe()),
            // Neither is noted where pods, claims, or whether a pod can end could not be read.
            (None, None) => UNKNOWN.to_owned(),
        },
        optional(Some(&claims.join(", "))),
        optional(Some(&taints.join(", "))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Count;
    use crate::report::table::Body;
    use crate::report::testing::Example;

    #[test]
    fn a_page_has_one_number_of_workloads_and_its_table_has_as_many_rows() {
        let report = Example::new().report();
        let [workloads, _] = tables(&report);
        let Body::Table(table) = workloads.body else {
            panic!("a table")
        };
        assert_eq!(table.rows.len(), report.summary.workload_count);
        assert!(
            report.workloads.len() < report.summary.workload_count,
            "one pod is bare"
        );
        assert!(table.rows.iter().any(|row| row[1].starts_with("Pod/")));
    }

    #[test]
    fn a_device_that_does_not_become_free_says_why() {
        let mut device = Example::new().report().selected_devices.remove(0);
        device.release_time = None;
        device.not_released_reason = Some(crate::report::impact::NotReleased::PodReturns);
        assert_eq!(
            self::device(&device)[3],
            "never: an evicted pod is recreated and scheduled to the same device"
        );
        device.not_released_reason = Some(crate::report::impact::NotReleased::PodMayReturn);
        assert_eq!(
            self::device(&device)[3],
            "<unknown>: an evicted pod may be recreated and scheduled to the same device"
        );
        device.not_released_reason = None;
        assert_eq!(self::device(&device)[3], UNKNOWN);
    }

    #[test]
    fn only_what_is_known_to_hit_nobody_is_well() {
        let mut report = Example::new().report();
        assert_eq!(tone(&report), Tone::Doubtful);
        report.assessment.totals.pods_in_danger = Count::known(1);
        assert_eq!(tone(&report), Tone::Bad);
        report.assessment.totals = Totals {
            pods: Count::known(0),
            ..Totals::default()
        };
        assert_eq!(tone(&report), Tone::Good);
        report.assessment.totals = Totals::default();
        assert_eq!(tone(&report), Tone::Doubtful);
        report.assessment.totals.pods = Count::between(0, 3);
        assert_eq!(tone(&report), Tone::Doubtful);
    }

    #[test]
    fn a_number_that_is_not_known_is_no_zero() {
        let none = Count::known(0);
        let known = Totals {
            pods_now: none,
            pods_later: none,
            pods_tolerating: none,
            pods_terminating: none,
            pods_not_evicted: none,
            devices: none,
            claims: none,
            workloads: none,
            workloads_down: none,
            budgets_violated: none,
            claims_unplaceable: none,
            devices_available: none,
            devices_of_class: none,
            ..Totals::default()
        };
        let unknown = Totals::default();
        for (totals, expected) in [(known, "0"), (unknown, UNKNOWN)] {
            let Body::Facts(facts) = summary(&totals).body else {
                panic!("facts")
            };
            for (name, value) in facts {
                let pair = format!("{expected} of {expected}");
                assert!(value == expected || value == pair, "{name}: {value}");
            }
        }
    }
}
