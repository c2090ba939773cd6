//! Pods that would be evicted, rolled up by workload where they are more than a person reads.

use std::collections::HashMap;

use super::cells::{hazards, risks, when};
use super::order::workload;
use super::page::ready_left;
use super::view::{ImpactReport, Pod};
use crate::naming::phrase::{counted, each_once};
use crate::report::table::{Column, NONE, Section, Shown, Table, Tone};

/// More pods than these are rolled up, and more workloads than these are counted: what a terminal shows.
pub(super) const ROWS: usize = 30;

/// A row a workload, in the order of its first pod; the pods without a controller of a namespace are one row.
pub(super) fn sections(
    report: &ImpactReport,
    evicted: &[&Pod],
    severities: &'static [(&'static str, Option<Tone>)],
) -> Vec<Section> {
    let mut groups: Vec<(String, Vec<&Pod>)> = Vec::new();
    let mut places = HashMap::new();
    let mut bare: HashMap<&str, usize> = HashMap::new();
    for pod in evicted.iter().filter(|pod| workload(pod).is_none()) {
        let count = bare.entry(pod.namespace.as_str()).or_default();
        *count = count.saturating_add(1);
    }
    let bare = |pod: &Pod| match bare.get(pod.namespace.as_str()) {
        // The only bare pod of its namespace keeps its name, which says more than the words for several.
        Some(1) => format!("Pod/{}", pod.name),
        Some(_) | None => "pods without a controller".to_owned(),
    };
    for pod in evicted {
        let owner = workload(pod).unwrap_or_else(|| bare(pod));
        let name = format!("{}/{owner}", pod.namespace);
        let place = *places.entry(name.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, pods)) => pods.push(pod),
            None => groups.push((name, vec![pod])),
        }
    }
    let table = Table {
        columns: vec![
            Column::text("SEVERITY").of_words(severities),
            Column::text("WHEN"),
            Column::long("WORKLOAD"),
            Column::number("PODS"),
            Column::number("READY-LEFT").leaves(2),
            Column::prose("RISKS").leaves(1),
        ],
        rows: groups
            .iter()
            .take(ROWS)
            .map(|(name, pods)| row(report, name, pods))
            .collect(),
    };
    let more = match groups.len().saturating_sub(ROWS) {
        0 => "all pods: -o wide".to_owned(),
        more => format!("… {} (all pods: -o wide)", counted(more, "more workload")),
    };
    vec![
        Section::table(table).shown(Shown::Narrow),
        Section::sentences(vec![more]).shown(Shown::Narrow),
    ]
}

fn row(report: &ImpactReport, name: &str, pods: &[&Pod]) -> Vec<String> {
    // Bare pods are in no entry, and have no replicas that could be left.
    let known = report.workloads.iter().find(|workload| {
        name == format!("{}/{}/{}", workload.namespace, workload.kind, workload.name)
    });
    let first = pods.iter().min_by_key(|pod| pod.evict_in_seconds);
    let worst = pods.iter().max_by_key(|pod| pod.severity);
    vec![
        worst.map_or_else(String::new, |pod| pod.severity.as_str().to_owned()),
        first.map_or_else(String::new, |pod| when(pod)),
        name.to_owned(),
        pods.len().to_string(),
        known.map_or_else(|| NONE.to_owned(), ready_left),
        risks(&each_once(pods.iter().flat_map(|pod| hazards(pod)))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Format, Page, render};
    use crate::report::impact::Workload;
    use crate::report::reference::Owner;
    use crate::report::testing::Example;

    /// A report of so many workloads with ten evicted pods each, and one pod without a controller.
    fn report(workloads: usize) -> ImpactReport {
        let mut report = Example::new().report();
        let model = report
            .affected_pods
            .iter()
            .find(|pod| pod.outcome.is_evicted());
        let model = model.unwrap().clone();
        let bare = Pod {
            namespace: "alone".to_owned(),
            name: "bare".to_owned(),
            owner: None,
            workload: None,
            ..model.clone()
        };
        let owner = |number: usize| Owner {
            kind: "Deployment".to_owned(),
            name: format!("model-{number}"),
        };
        let pod = |number: usize| Pod {
            namespace: format!("team-{:02}", number / 10),
            name: format!("model-{}-{}", number / 10, number % 10),
            uid: format!("uid-{number}"),
            owner: None,
            workload: Some(owner(number / 10)),
            ..model.clone()
        };
        report.affected_pods = (0..workloads * 10).map(pod).chain([bare]).collect();
        report.workloads = (0..workloads)
            .map(|number| Workload {
                namespace: format!("team-{number:02}"),
                kind: "Deployment".to_owned(),
                name: format!("model-{number}"),
                replicas: Some(20),
                ready_replicas: Some(20),
                evicted_pod_count: 10,
                ready_replicas_left: Some(10),
            })
            .collect();
        report
    }

    fn text(report: &ImpactReport, format: Format, height: Option<u16>) -> String {
        let page = Page {
            format,
            width: Some(100),
            height,
        };
        render(report, page).unwrap()
    }

    #[test]
    fn as_many_pods_as_a_terminal_shows_are_a_row_each() {
        let mut report = report(3);
        report.affected_pods.truncate(ROWS);
        let shown = text(&report, Format::Table, None);
        assert!(shown.contains("team-02/model-2-9"), "{shown}");
        assert!(!shown.contains("-o wide"), "{shown}");
    }
}
