//! What is the answer in one line?

use super::view::{ImpactReport, Summary};
use crate::report::table::counted;
use crate::report::time::{Time, human_duration};

/// The answer first, then what stays and why, then what forbids it.
pub(super) fn headline(report: &ImpactReport) -> Vec<String> {
    let mut sentences = vec![evicted(report)];
    sentences.extend(others(&report.summary));
    let tripped = report.guards.iter().filter(|guard| guard.tripped);
    sentences.extend(tripped.map(|guard| {
        let whole = guard
            .whole
            .map_or_else(String::new, |whole| format!(" of {whole}"));
        format!(
            "Guard {} tripped: the value is {}{whole}.",
            guard.expression, guard.value
        )
    }));
    sentences
}

fn evicted(report: &ImpactReport) -> String {
    let summary = &report.summary;
    let complete = report.incomplete.is_empty();
    if summary.devices == 0 && complete {
        return "No device is selected, so no pod would be evicted.".to_owned();
    }
    if summary.pods == 0 {
        return if complete {
            format!("No pod would be evicted{}.", why_none(report))
        } else {
            "No pod is known that would be evicted, but the answer is incomplete.".to_owned()
        };
    }
    let text = format!(
        "{} in {} would be evicted{}.",
        counted(summary.pods, "pod"),
        counted(summary.namespaces, "namespace"),
        when(report)
    );
    if complete {
        text
    } else {
        format!("At least {text} The answer is incomplete.")
    }
}

fn why_none(report: &ImpactReport) -> String {
    let mut effects: Vec<_> = report
        .taints
        .iter()
        .map(|taint| taint.taint.effect.as_str())
        .collect();
    effects.dedup();
    match effects[..] {
        [effect] if effect != "NoExecute" => format!(": effect {effect} does not evict"),
        _ => String::new(),
    }
}

fn when(report: &ImpactReport) -> String {
    let summary = &report.summary;
    let now = report.metadata.origin.observed_at;
    let last = summary
        .last_eviction
        .map_or_else(String::new, |last| in_and_at(last, now));
    match (summary.pods_now, summary.pods_later) {
        (_, 0) => " now".to_owned(),
        (0, 1) => format!(" later: {last}"),
        (0, _) => format!(" later (last {last})"),
        (at_once, later) => format!(": {at_once} now, {later} later (last {last})"),
    }
}

fn in_and_at(time: Time, now: Time) -> String {
    format!(
        "in {} at {time}",
        human_duration(time.0.duration_since(now.0))
    )
}

fn others(summary: &Summary) -> Option<String> {
    let parts: Vec<_> = [
        (summary.pods_tolerating, "tolerating the taint"),
        (summary.pods_terminating, "terminating already"),
        (summary.pods_not_evicted, "not evicted"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    let total = summary.pods_tolerating + summary.pods_terminating + summary.pods_not_evicted;
    (total > 0).then(|| {
        let more = if summary.pods > 0 { " more" } else { "" };
        let verb = if total == 1 { "uses" } else { "use" };
        let pods = if total == 1 { "pod" } else { "pods" };
        format!(
            "{total}{more} {pods} {verb} these devices: {}.",
            parts.join(", ")
        )
    })
}
