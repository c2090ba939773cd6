//! What is the answer in one line?

use super::view::{ImpactReport, Reach, Summary};
use crate::report::count::Bounds;
use crate::report::metadata::Affects;
use crate::report::policy::Violation;
use crate::report::table::counted;
use crate::report::time::{Time, human_duration};

/// The answer first, then what stays and why, then what forbids it.
pub(super) fn headline(report: &ImpactReport) -> Vec<String> {
    let mut sentences = vec![evicted(report)];
    sentences.extend(budgets(&report.summary));
    sentences.extend(unplaceable(&report.summary));
    sentences.extend(perhaps_worse(report));
    sentences.extend(others(&report.summary));
    let tripped = report.guards.iter().filter(|guard| guard.tripped);
    sentences.extend(tripped.map(|guard| {
        let value = guard.value_in_words();
        format!("Guard {} tripped: {value}.", guard.name())
    }));
    sentences.extend(report.violations.iter().map(|found| {
        let Violation {
            policy, message, ..
        } = found;
        format!("Policy {policy} forbids it: {message}.")
    }));
    sentences
}

fn evicted(report: &ImpactReport) -> String {
    let summary = &report.summary;
    let pods = summary.evicted();
    let reaches = |reach: Reach| report.taints.iter().any(|taint| taint.reach == reach);
    if pods.is_none() && reaches(Reach::EveryDeviceForTheScheduler) {
        return "No pod would be evicted by a rule without a selector, but the scheduler takes every device of every driver as tainted by it.".to_owned();
    }
    if pods.is_none() && summary.selected_devices().is_none() {
        let why = if reaches(Reach::NoDevice) {
            " by a rule without a selector"
        } else {
            ""
        };
        return format!("No device is selected{why}, so no pod would be evicted.");
    }
    if pods.is_none() {
        return format!("No pod would be evicted{}.", why_none(report));
    }
    if pods.is_unknown() {
        let lines = report.incomplete.iter();
        let missing: Vec<&str> = lines
            .filter(|gap| gap.affects == Affects::Evictions)
            .map(|gap| gap.what.as_str())
            .collect();
        return format!(
            "Whether a pod would be evicted is not known: the answer lacks {}.",
            missing.join(", ")
        );
    }
    let text = format!(
        "{} in {} would be evicted{}.",
        counted(summary.pods, "pod"),
        counted(summary.namespaces, "namespace"),
        when(report)
    );
    match (pods.exact(), pods.most()) {
        (Some(_), _) => text,
        (None, None) => format!("At least {text} The answer is incomplete."),
        (None, Some(_)) => format!("At most {text} The answer is incomplete."),
    }
}

fn budgets(summary: &Summary) -> Option<String> {
    let violated = summary.budgets_violated;
    (violated > 0).then(|| {
        let budgets = counted(violated, "disruption budget");
        let least = match summary.violated_budgets().exact() {
            Some(_) => "",
            None => "At least ",
        };
        format!("{least}{budgets} would refuse this, and taints do not ask.")
    })
}

fn unplaceable(summary: &Summary) -> Option<String> {
    let claims = summary.unplaceable_claims();
    (claims.least() > 0).then(|| {
        let least = match claims.exact() {
            Some(_) => "",
            None => "At least ",
        };
        let claims = counted(claims.least(), "claim");
        format!("{least}{claims} could not be placed again: no other devices fit.")
    })
}

/// That pods may be hit harder than is said, where it is known who is evicted.
fn perhaps_worse(report: &ImpactReport) -> Option<String> {
    let summary = &report.summary;
    let is_known = summary.in_danger().exact().is_some();
    if is_known || summary.pods == 0 || summary.evicted().exact().is_none() {
        return None;
    }
    let gaps = report.incomplete.iter();
    let gaps: Vec<&str> = gaps.map(|gap| gap.what.as_str()).collect();
    Some(format!(
        "It may hurt more than is said here, for want of {}.",
        gaps.join(", ")
    ))
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
    let at_once = summary.evicted_now();
    match (summary.pods_now, summary.pods_later) {
        (_, 0) => " now".to_owned(),
        // Other taints, which are not known, may drive them off earlier.
        (0, _) if summary.evicted().exact().is_some() && at_once.exact().is_none() => {
            format!(" at the latest {last}")
        }
        (least, later) if summary.evicted().exact().is_some() && at_once.exact().is_none() => {
            format!(": at least {least} now, at most {later} later (last {last} at the latest)")
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
    let total = summary
        .pods_tolerating
        .saturating_add(summary.pods_terminating)
        .saturating_add(summary.pods_not_evicted);
    let exact = Bounds::count(&summary.bounds, "podsTolerating", summary.pods_tolerating);
    let at_least = if exact.exact().is_some() {
        ""
    } else {
        "At least "
    };
    (total > 0).then(|| {
        let more = if summary.pods > 0 { " more" } else { "" };
        let verb = if total == 1 { "uses" } else { "use" };
        let pods = if total == 1 { "pod" } else { "pods" };
        format!(
            "{at_least}{total}{more} {pods} {verb} these devices: {}.",
            parts.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Gap, Kind};
    use crate::report::count::Count;
    use crate::report::testing::Example;

    #[test]
    fn what_could_not_be_read_may_make_it_worse() {
        let mut example = Example::new();
        assert_eq!(perhaps_worse(&example.report()), None);
        let denied = |kind| Gap::of(kind, "access denied");
        example.reading.gaps.push(denied(Kind::PodDisruptionBudget));
        assert_eq!(
            perhaps_worse(&example.report()).as_deref(),
            Some("It may hurt more than is said here, for want of poddisruptionbudgets.")
        );
        // Whoever is not known is told first.
        example.reading.gaps.push(denied(Kind::Pod));
        assert_eq!(perhaps_worse(&example.report()), None);
    }

    #[test]
    fn claims_without_another_place_are_said_as_far_as_they_are_known() {
        let said = |count: Count| {
            unplaceable(&Summary {
                claims_unplaceable: count.least(),
                bounds: Bounds::of(&[("claimsUnplaceable", count)]),
                ..Summary::default()
            })
        };
        assert_eq!(said(Count::known(0)), None);
        assert_eq!(said(Count::between(0, 3)), None);
        assert_eq!(
            said(Count::known(1)).as_deref(),
            Some("1 claim could not be placed again: no other devices fit.")
        );
        assert_eq!(
            said(Count::at_least(2)).as_deref(),
            Some("At least 2 claims could not be placed again: no other devices fit.")
        );
    }
}
