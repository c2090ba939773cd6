//! Sections of an impact report, for people.

use super::budgets::Budget;
use super::headline::headline;
use super::page;
use super::rows::{self, SharedValues};
use super::timeline::Timeline;
use super::view::{ImpactReport, Pod, Selector, TaintImpact};
use crate::assess::Hazard;
use crate::assess::Sibling;
use crate::decide::publish::ControllerAnswer;
use crate::model::UNKNOWN;
use crate::naming::device::Conditions;
use crate::naming::phrase::{counted, each_once, first_and_more};
use crate::naming::pod;
use crate::report::answer::{Answer, beside};
use crate::report::guard;
use crate::report::metadata::{Incomplete, Warning};
use crate::report::table::{Column, Heading, NONE, Section, Shown, Table, Tone, View, optional};

/// So many devices on the same hardware are named to people; programs get all.
const NAMED: usize = 10;

impl View for ImpactReport {
    fn sections(&self) -> Vec<Section> {
        let shared = SharedValues::of(self);
        let mut answer = headline(self);
        let timeline = Timeline::of(self);
        answer.extend(timeline.as_ref().and_then(Timeline::sentence));
        answer.extend(shared.sentence());
        let mut sections = vec![
            Section::sentences(question(&self.proposed_taints)).shown(Shown::Unpaged),
            Section::sentences(answer).toned(page::tone(self)).verdict(),
        ];
        sections.extend(beside(&self.warnings, &self.incomplete));
        sections.push(Section::list("Top risks", self.worst_of_all()));
        sections.push(page::summary(&self.assessment.totals));
        let pictures = timeline.as_ref().map(Timeline::pictures);
        let pictures = Section::charts(pictures.unwrap_or_default());
        sections.push(pictures.titled("Timeline of evictions".to_owned()));
        let [workloads, devices] = page::tables(self);
        sections.push(workloads);
        sections.extend(rows::sections(self, &shared));
        let chart = timeline.and_then(|timeline| timeline.chart());
        let chart = chart.map(|chart| Section::table(chart).titled("Timeline".to_owned()));
        sections.extend(chart.map(|chart| chart.shown(Shown::Unpaged)));
        sections.push(devices);
        sections.push(Section::list("Not evicted", rows::staying(self)));
        let taints = Section::table(taints(&self.proposed_taints)).captioned("Proposed taints");
        sections.push(taints.shown(taints_shown(&self.proposed_taints)));
        sections.push(controller(&self.proposed_taints));
        sections.push(Section::list("Controller", published(self)));
        // JSON has the others too; here they would hide those that matter.
        let violated = self
            .budgets
            .iter()
            .filter(|budget| budget.is_violated())
            .map(Budget::line)
            .collect();
        sections.push(Section::list("PodDisruptionBudgets", violated).shown(Shown::Wide));
        sections.push(Section::list(
            "Replacements",
            self.assessment.replacements.lines(),
        ));
        sections.push(Section::list(
            "Hardware that stays in use",
            siblings(&self.assessment.siblings),
        ));
        sections.push(Section::list("Hazards", hazards(&self.affected_pods)).shown(Shown::Wide));
        sections.extend(guard::sections(&self.assessment.guards));
        // What the note on a pod says already would stand twice in one document.
        let warnings = self
            .warnings
            .iter()
            .filter(|warning| !self.mentions(warning))
            .map(Warning::line)
            .collect();
        sections.push(Section::list("Warnings", warnings).shown(Shown::Document));
        let incomplete = self.incomplete.iter().map(Incomplete::line).collect();
        sections.push(Section::list("Incomplete", incomplete).shown(Shown::Unpaged));
        sections
    }

    fn heading(&self) -> Heading {
        let question = question(&self.proposed_taints).pop();
        let title = question.unwrap_or_else(|| counted(self.proposed_taints.len(), "taint"));
        Heading {
            title: format!("Preview: {title}"),
            origin: self.metadata.origin(),
        }
    }

    /// The pods that would be evicted, as arguments of kubectl.
    fn names(&self) -> Vec<String> {
        self.affected_pods
            .iter()
            .filter(|pod| pod.outcome.is_evicted())
            .map(|evicted| pod::arguments(&evicted.namespace, &evicted.name))
            .collect()
    }

    fn tones(&self) -> &'static [(&'static str, Tone)] {
        &[
            ("danger", Tone::Bad),
            ("warning", Tone::Doubtful),
            ("EvictedNow", Tone::Bad),
            ("EvictedLater", Tone::Doubtful),
            ("Terminating", Tone::Doubtful),
            ("Tolerates", Tone::Good),
            (UNKNOWN, Tone::Doubtful),
        ]
    }

    fn missing_from_names(&self) -> Vec<String> {
        self.assessment.facts.unknown_evictions()
    }
}

/// What was asked about, where that is one taint; several have a table.
fn question(taints: &[TaintImpact]) -> Vec<String> {
    let [impact] = taints else {
        return Vec::new();
    };
    let taint = &impact.taint;
    let devices = match &impact.selector {
        Some(chosen) => selector(chosen),
        None => "no selector".to_owned(),
    };
    let rule = impact.rule.as_ref();
    let rule = rule.map_or_else(String::new, |rule| format!("rule {rule}: "));
    vec![format!("{rule}{devices}   taint {taint}")]
}

/// Of one taint, the first line and the controller's message say what the table does.
fn taints_shown(taints: &[TaintImpact]) -> Shown {
    match taints {
        // The counts of a single taint are in the message of the controller.
        [impact] if impact.controller_message.is_some() => Shown::Wide,
        _ => Shown::Always,
    }
}

fn taints(taints: &[TaintImpact]) -> Table {
    let row = |impact: &TaintImpact| {
        let taint = &impact.taint;
        let counts = &impact.counts.known;
        vec![
            taint.to_string(),
            optional(impact.rule.as_deref()),
            impact
                .selector
                .as_ref()
                .map_or_else(|| NONE.to_owned(), selector),
            counts.published_devices.to_string(),
            counts.allocated_devices.to_string(),
            counts.pods.to_string(),
            counts.namespaces.to_string(),
        ]
    };
    Table {
        columns: vec![
            Column::long("TAINT"),
            Column::long("RULE").leaves(4),
            Column::long("SELECTOR"),
            Column::number("PUBLISHED").leaves(2),
            Column::number("ALLOCATIONS").leaves(1),
            Column::number("PODS"),
            Column::number("NAMESPACES").leaves(3),
        ],
        rows: taints.iter().map(row).collect(),
    }
}

/// The selector as a DEVICE argument, with what such an argument cannot say after it.
pub(super) fn selector(selector: &Selector) -> String {
    let any = |name: &Option<String>| name.clone().unwrap_or_else(|| "*".to_owned());
    let text = [&selector.driver, &selector.pool, &selector.device]
        .map(any)
        .join("/");
    let conditions = Conditions(&selector.unknown_fields);
    format!("{text}{conditions}")
}

/// What the controller would say; of several rules only where there is room, since the table of
/// the taints has the same numbers.
fn controller(taints: &[TaintImpact]) -> Section {
    let messages = taints.iter().filter_map(|taint| {
        let unknown = &taint.controller_message_unknown;
        taint.controller_message.clone().or_else(|| unknown.clone())
    });
    let shown = if taints.len() > 1 {
        Shown::Wide
    } else {
        Shown::Always
    };
    Section::list(
        "Message that the controller would report for effect None",
        each_once(messages),
    )
    .shown(shown)
}

/// What the controller itself said about each published rule, and whether it is the same.
fn published(report: &ImpactReport) -> Vec<String> {
    report.answers.iter().map(ControllerAnswer::line).collect()
}

fn hazards(pods: &[Pod]) -> Vec<String> {
    let legend = |hazard: Hazard| {
        let has = |pod: &&Pod| pod.hazards.contains(&hazard.into());
        let hit = pods.iter().filter(has);
        let names: Vec<_> = hit.map(Pod::full_name).collect();
        let who = first_and_more(&names);
        (!names.is_empty()).then(|| format!("{} ({who}): {}", hazard.code(), hazard.meaning()))
    };
    Hazard::ALL.into_iter().filter_map(legend).collect()
}

/// Who stays on the same hardware; of many the first.
fn siblings(siblings: &[Sibling]) -> Vec<String> {
    let mut lines: Vec<String> = siblings.iter().take(NAMED).map(Sibling::line).collect();
    let more = siblings.len().saturating_sub(NAMED);
    if more > 0 {
        let verb = if more == 1 { "stays" } else { "stay" };
        lines.push(format!(
            "{} {verb} in use too",
            counted(more, "other device")
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Basis;
    use crate::assess::Limits;
    use crate::model::{Gap, Kind};
    use crate::report::testing::{self, Example};

    /// The first sentence of an answer that lacks these kinds, of the pods with these names.
    fn headline_without(kinds: &[Kind], pods: &[&str]) -> String {
        let mut example = Example::new();
        example.reading.gaps = kinds
            .iter()
            .map(|kind| Gap {
                affects: kind.affects(),
                what: kind.plural().to_owned(),
                why: "denied".to_owned(),
            })
            .collect();
        let mut impact = example.impact();
        impact
            .pods
            .retain(|pod| pods.contains(&pod.pod.name.name.as_str()));
        let semantics = testing::semantics(37);
        let basis = Basis::new(&example.reading, &semantics, testing::now());
        let report = ImpactReport::new(&impact, &basis, &Limits::default());
        headline(&report).remove(0)
    }

    #[test]
    fn nobody_is_said_to_be_spared_while_pods_or_claims_are_not_known() {
        for (kinds, pods, expected) in [
            (
                &[Kind::Pod][..],
                &[][..],
                "Impact unknown, because data is missing: pods.",
            ),
            (
                &[Kind::Pod, Kind::ResourceClaim],
                &["infer-0"],
                "Impact unknown, because data is missing: pods, resourceclaims.",
            ),
            (
                &[Kind::ResourceClaim],
                &["train-0"],
                "At least 1 pod in 1 namespace would be evicted now. The report is incomplete.",
            ),
            (
                &[Kind::ResourceSlice, Kind::DeviceTaintRule],
                &["infer-0"],
                "No pod would be evicted.",
            ),
            (
                &[Kind::DeviceTaintRule],
                &["train-1"],
                "1 pod in 1 namespace would be evicted at the latest in 5m at 2026-11-21T01:05:34Z.",
            ),
            (
                &[Kind::DeviceTaintRule],
                &["train-0", "train-1"],
                "2 pods in 1 namespace would be evicted: at least 1 now, the others at the latest in 5m at 2026-11-21T01:05:34Z.",
            ),
        ] {
            assert_eq!(headline_without(kinds, pods), expected, "{kinds:?}");
        }
    }
}
