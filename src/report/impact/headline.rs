//! The answer in one line.

use std::collections::BTreeSet;

use super::timeline::Timeline;
use super::view::{ImpactReport, SelectorScope};
use crate::assess::Totals;
use crate::model::{Count, NamespacedName};
use crate::naming::age::human_duration;
use crate::naming::phrase::counted;
use crate::report::metadata::{Affects, Incomplete, Warning};
use crate::report::time::Time;

/// The answer first, then what stays and why, then what forbids it.
pub(super) fn headline(report: &ImpactReport) -> Vec<String> {
    let mut sentences = vec![evicted(report)];
    sentences.extend(budgets(&report.assessment.totals));
    sentences.extend(unplaceable(&report.assessment.totals));
    sentences.extend(perhaps_worse(report));
    sentences.extend(others(&report.assessment.totals));
    sentences.extend(beside(report));
    let tripped = report
        .assessment
        .guards
        .iter()
        .filter(|guard| guard.tripped);
    sentences.extend(tripped.map(|guard| {
        let value = guard.value_in_words();
        format!("Guard {} tripped: {value}.", guard.guard.expression())
    }));
    sentences
}

impl ImpactReport {
    /// The answer in a few lines, with what it lacks: whoever agrees to it has to know both.
    #[must_use]
    pub fn summary_lines(&self) -> Vec<String> {
        let mut lines = headline(self);
        lines.extend(Timeline::of(self).and_then(|timeline| timeline.stuck_line()));
        lines.extend(self.hardware_lines());
        lines.extend(self.unknown_lines());
        lines
    }

    /// What to know of other devices of the same hardware, a line each.
    #[must_use]
    pub fn hardware_lines(&self) -> Vec<String> {
        let warnings = self.assessment.hardware_warnings.iter();
        warnings.map(|it| Warning::from(it).line()).collect()
    }

    /// What the answer lacks, a line each.
    #[must_use]
    pub fn unknown_lines(&self) -> Vec<String> {
        let lacking = self.incomplete.iter().map(Incomplete::line);
        lacking.map(|line| format!("unknown: {line}")).collect()
    }
}

fn evicted(report: &ImpactReport) -> String {
    let totals = &report.assessment.totals;
    let pods = totals.pods;
    let reaches = |reach: SelectorScope| {
        report
            .proposed_taints
            .iter()
            .any(|taint| taint.selector_scope == reach)
    };
    // Before the next case, which would be untrue here: the controller selects no device, and the scheduler all.
    if pods.is_none() && reaches(SelectorScope::EveryDeviceForTheScheduler) {
        return "A rule without a selector evicts no pod, but the scheduler treats every device of every driver as tainted.".to_owned();
    }
    if pods.is_none() && totals.devices.is_none() {
        let selected = if reaches(SelectorScope::NoDevice) {
            "A rule without a selector selects no device"
        } else {
            "No device is selected"
        };
        return format!("{selected}, so no pod would be evicted.");
    }
    if pods.is_none() {
        return format!("No pod would be evicted{}.", why_none(report));
    }
    // A number of which no bound is known would be taken for a small one.
    if pods.is_unknown() {
        let lines = report.incomplete.iter();
        let missing: Vec<&str> = lines
            .filter(|gap| gap.affects == Affects::Evictions)
            .map(|gap| gap.missing.as_str())
            .collect();
        return format!(
            "Impact unknown, because data is missing: {}.",
            missing.join(", ")
        );
    }
    let text = format!(
        "{} in {} would be evicted{}.",
        counted(totals.pods.counted(), "pod"),
        counted(totals.namespaces.counted(), "namespace"),
        when(report)
    );
    match pods.exact() {
        Some(_) => text,
        None => format!("At least {text} The report is incomplete."),
    }
}

fn budgets(totals: &Totals) -> Option<String> {
    let violated = totals.budgets_violated.counted();
    (violated > 0).then(|| {
        let budgets = counted(violated, "PodDisruptionBudget");
        let bound = bound_before(totals.budgets_violated);
        format!("{bound}{budgets} would be violated; taint evictions ignore PodDisruptionBudgets.")
    })
}

/// What stands before a number that was counted and is a bound only. There is an upper one where what could not be
/// evaluated was counted in.
fn bound_before(count: Count) -> &'static str {
    match count.exact() {
        Some(_) => "",
        None if count.most() == Some(count.counted()) => "At most ",
        None => "At least ",
    }
}

fn unplaceable(totals: &Totals) -> Option<String> {
    let claims = totals.claims_unplaceable;
    (claims.least() > 0).then(|| {
        // Claims that could not be evaluated may or may not find devices, so the lower bound is what is certain.
        let least = match claims.exact() {
            Some(_) => "",
            None => "At least ",
        };
        let whom = if claims.least() == 1 { "it" } else { "them" };
        let claims = counted(claims.least(), "claim");
        format!(
            "{least}{claims} cannot be reallocated: too few other devices are available to {whom}."
        )
    })
}

/// Pods that use the same hardware through other devices: a device in use through its partitions looks unused.
fn beside(report: &ImpactReport) -> Option<String> {
    let siblings = report.assessment.siblings.iter();
    let apart = siblings.filter(|it| !it.is_shared());
    let pods: BTreeSet<&NamespacedName> = apart.flat_map(|sibling| &sibling.pods).collect();
    let use_ = if pods.len() == 1 { "uses" } else { "use" };
    (!pods.is_empty()).then(|| {
        format!(
            "{} {use_} other devices of the same hardware, such as partitions; `add`, `preview` and `drain` \
             include partitions with --with-partitions.",
            counted(pods.len(), "pod")
        )
    })
}

/// That pods may be hit harder than is said, where it is known who is evicted.
fn perhaps_worse(report: &ImpactReport) -> Option<String> {
    let totals = &report.assessment.totals;
    let is_known = totals.pods_in_danger.exact().is_some();
    if is_known || totals.pods.counted() == 0 || totals.pods.exact().is_none() {
        return None;
    }
    let gaps: Vec<&str> = report
        .incomplete
        .iter()
        .map(|gap| gap.missing.as_str())
        .collect();
    Some(format!(
        "Risks may be missing, because these could not be read: {}.",
        gaps.join(", ")
    ))
}

fn why_none(report: &ImpactReport) -> String {
    match report.assessment.effects.as_slice() {
        [effect] if !effect.evicts() => format!(": effect {effect} does not evict"),
        _ => String::new(),
    }
}

fn when(report: &ImpactReport) -> String {
    let totals = &report.assessment.totals;
    let now = report.metadata.observed();
    let last = totals
        .last_eviction
        .map_or_else(String::new, |last| in_and_at(Time(last), now));
    let at_once = totals.pods_now;
    match (totals.pods_now.counted(), totals.pods_later.counted()) {
        (_, 0) => " now".to_owned(),
        // Other taints, which are not known, may drive them off earlier.
        (0, _) if totals.pods.exact().is_some() && at_once.exact().is_none() => {
            format!(" at the latest {last}")
        }
        (least, _) if totals.pods.exact().is_some() && at_once.exact().is_none() => {
            format!(": at least {least} now, the others at the latest {last}")
        }
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

fn others(totals: &Totals) -> Option<String> {
    let has_others = totals.pods_tolerating.counted() > 0 || totals.pods_terminating.counted() > 0;
    let not_evicted = if has_others {
        "staying for other reasons"
    } else {
        "not evicted"
    };
    let counts = [
        (totals.pods_tolerating.counted(), "tolerating the taint"),
        (totals.pods_terminating.counted(), "already terminating"),
        (totals.pods_not_evicted.counted(), not_evicted),
    ];
    let parts: Vec<_> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let total = counts.iter().map(|(count, _)| count).sum::<usize>();
    let bound = bound_before(totals.pods_tolerating);
    (total > 0).then(|| {
        // These are more than the evicted ones, where a sentence before has named any.
        let more = if totals.pods.counted() > 0 {
            " more"
        } else {
            ""
        };
        let verb = if total == 1 { "uses" } else { "use" };
        let pods = if total == 1 { "pod" } else { "pods" };
        format!(
            "{bound}{total}{more} {pods} {verb} a selected device: {}.",
            parts.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::model::{Effect, Gap, Kind};
    use crate::report::testing::Example;

    #[test]
    fn whoever_may_not_be_seen_is_missing_only_where_somebody_is_evicted() {
        let mut example = Example::new();
        example.proposed.taint.effect = Effect::NoSchedule;
        example
            .reading
            .gaps
            .push(Gap::of(Kind::Pod, "access denied"));
        let report = example.report();
        assert_eq!(
            report.assessment.facts.unknown_evictions(),
            Vec::<String>::new()
        );
        assert!(report.incomplete[0].message.starts_with("access denied"));
        example.proposed.taint.effect = Effect::NoExecute;
        assert_eq!(example.facts().unknown_evictions().len(), 1);
    }
}
