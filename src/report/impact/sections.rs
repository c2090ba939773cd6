//! Sections of an impact report, for people.

use super::budgets::Budget;
use super::timeline::Timeline;
use super::view::{ImpactReport, Selector, TaintImpact};
use super::{rows, verdict};
use crate::assess::Sibling;
use crate::decide::publish::ControllerAnswer;
use crate::naming::device::Conditions;
use crate::naming::phrase::{counted, each_once};
use crate::naming::shell::pod_arguments;
use crate::report::answer::{Answer, beside};
use crate::report::guard;
use crate::report::metadata::Warning;
use crate::report::table::{Heading, Section, Shown, View};

/// So many devices on the same hardware are named to people; programs get all.
const NAMED: usize = 10;

impl View for ImpactReport {
    fn sections(&self) -> Vec<Section> {
        let taints = &self.proposed_taints;
        let wide = |title, lines| Section::list(title, lines).shown(Shown::Wide);
        let verdict = Section::sentences(verdict::verdict(self));
        let mut sections = vec![
            Section::sentences(question(taints)).shown(Shown::Document),
            verdict.toned(verdict::tone(self)).verdict(),
        ];
        sections.extend(beside(&self.warnings, &self.incomplete));
        let pictures = Timeline::of(self).map(|timeline| timeline.pictures());
        let pictures = Section::charts(pictures.unwrap_or_default());
        sections.push(pictures.titled("Timeline of evictions".to_owned()));
        sections.extend(rows::sections(self));
        let proposed = if taints.len() > 1 {
            self::taints(taints)
        } else {
            Vec::new()
        };
        sections.push(wide("Taints", proposed));
        sections.push(wide("Message for effect None", messages(taints)));
        sections.push(Section::list("Controller", published(self)));
        let violated = self.budgets.iter().filter(|budget| budget.is_violated());
        sections.push(wide(
            "PodDisruptionBudgets",
            violated.map(Budget::line).collect(),
        ));
        sections.push(wide("Replacements", self.assessment.replacements.lines()));
        sections.push(wide("Shared hardware", siblings(&self.assessment.siblings)));
        sections.extend(guard::sections(&self.assessment.guards));
        // A warning that is also the note on a pod would be twice in one document.
        let warnings = self.warnings.iter().filter(|it| !self.mentions(it));
        let warnings = warnings.map(Warning::line).collect();
        sections.push(Section::list("Warnings", warnings).shown(Shown::Document));
        sections.push(Section::sentences(self.unknown_lines()).shown(Shown::Unpaged));
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
            .map(|evicted| pod_arguments(&evicted.namespace, &evicted.name))
            .collect()
    }

    fn missing_from_names(&self) -> Vec<String> {
        self.assessment.facts.unknown_evictions()
    }
}

/// The taint in question, where it is a single one; several have a table.
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

/// The proposed taints, a line each.
fn taints(taints: &[TaintImpact]) -> Vec<String> {
    let line = |impact: &TaintImpact| {
        let pods = impact.counts.known.pods;
        format!(
            "{}: pods {pods}",
            question(std::slice::from_ref(impact)).concat()
        )
    };
    taints.iter().map(line).collect()
}

/// The selector as a DEVICE argument, followed by the fields that such an argument cannot express.
fn selector(selector: &Selector) -> String {
    let any = |name: &Option<String>| name.clone().unwrap_or_else(|| "*".to_owned());
    let text = [&selector.driver, &selector.pool, &selector.device]
        .map(any)
        .join("/");
    let conditions = Conditions(&selector.unknown_fields);
    format!("{text}{conditions}")
}

/// Messages of the controller for effect None.
fn messages(taints: &[TaintImpact]) -> Vec<String> {
    let messages = taints.iter().filter_map(|taint| {
        let unknown = &taint.controller_message_unknown;
        taint.controller_message.clone().or_else(|| unknown.clone())
    });
    each_once(messages)
}

/// Messages of the controller about each published rule, and if they agree.
fn published(report: &ImpactReport) -> Vec<String> {
    report.answers.iter().map(ControllerAnswer::line).collect()
}

/// Pods that stay on the same hardware; of many the first.
fn siblings(siblings: &[Sibling]) -> Vec<String> {
    let mut lines: Vec<String> = siblings.iter().take(NAMED).map(Sibling::line).collect();
    let more = siblings.len().saturating_sub(NAMED);
    if more > 0 {
        lines.push(format!("more devices: {more}"));
    }
    lines
}
