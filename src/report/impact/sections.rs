//! Sections of an impact report, for people.

use std::collections::BTreeSet;

use super::rows::{self, after};
use super::timeline::Timeline;
use super::view::{Budget, Device, ImpactReport, NotReleased, TaintImpact};
use crate::assess::{GuardOutcome, Outcome, Sibling};
use crate::decide::publish::ControllerAnswer;
use crate::engine::SelectorScope;
use crate::model::{Affects, Count, DeviceSelector, Effect};
use crate::naming::device;
use crate::naming::phrase::{counted, each_once};
use crate::naming::shell::pod_arguments;
use crate::report::metadata::{Incomplete, Warning};
use crate::report::table::{Body, Heading, Section, Shown, Tone, View};
use crate::report::taint::Time;

/// So many devices on the same hardware are named to people; programs get all.
const NAMED: usize = 10;

impl View for ImpactReport {
    fn sections(&self) -> Vec<Section> {
        let taints = &self.proposed_taints;
        let wide = |title, lines| Section::list(title, lines).shown(Shown::Wide);
        let verdict = Section::sentences(verdict(self));
        let mut sections = vec![
            Section::sentences(question(taints)).shown(Shown::Document),
            verdict.toned(tone(self)).verdict(),
        ];
        let pictures = Timeline::of(self).map(|timeline| timeline.pictures());
        let pictures = Section::of(Body::Charts(pictures.unwrap_or_default()));
        sections.push(pictures.titled("Timeline of evictions"));
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
        let guards = self.assessment.guards.iter();
        sections.push(Section::list("Guards", guards.map(guard).collect()));
        let warnings = self.warnings.iter().map(Warning::line).collect();
        sections.push(Section::list("Warnings", warnings).shown(Shown::Document));
        let unknown = Section::sentences(self.unknown_lines());
        sections.push(unknown.toned(Tone::Doubtful).shown(Shown::Document));
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

    fn doubts(&self) -> (&[Warning], &[Incomplete]) {
        (&self.warnings, &self.incomplete)
    }

    fn refusal(&self) -> Option<String> {
        self.assessment.tripped()
    }
}

/// The taint in question, where it is a single one; several have a table.
fn question(taints: &[TaintImpact]) -> Vec<String> {
    let [impact] = taints else {
        return Vec::new();
    };
    let taint = &impact.taint;
    let devices = match &impact.selector {
        Some(chosen) => device::format(chosen),
        None => "no selector".to_owned(),
    };
    let rule = impact.rule.as_ref();
    let rule = rule.map_or_else(String::new, |rule| format!("rule {rule}: "));
    vec![format!("{rule}{devices}   taint {taint}")]
}

/// The proposed taints, a line each.
fn taints(taints: &[TaintImpact]) -> Vec<String> {
    let line = |impact: &TaintImpact| {
        let pods = impact.counts.evicted_pod_count.0;
        format!(
            "{}: pods {pods}",
            question(std::slice::from_ref(impact)).concat()
        )
    };
    taints.iter().map(line).collect()
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
    report
        .published_rules
        .iter()
        .map(ControllerAnswer::line)
        .collect()
}

/// Outcome of a guard, in a line.
fn guard(found: &GuardOutcome) -> String {
    let state = if found.tripped {
        "tripped"
    } else {
        "not tripped"
    };
    let guard = &found.guard.expression;
    format!("{guard}: {state}, {}", found.value_in_words())
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

/// The lines.
pub(super) fn verdict(report: &ImpactReport) -> Vec<String> {
    let lines = [Some(evictions(report)), devices(report)];
    lines.into_iter().flatten().collect()
}

/// Tone of the verdict: bad if refused or if something breaks for others, good only if it is known that no pod is evicted.
pub(super) fn tone(report: &ImpactReport) -> Tone {
    let totals = &report.assessment.totals;
    if report.is_refused() || totals.severities.danger_pod_count.is_some() {
        Tone::Bad
    } else if totals.evicted_pod_count.is_none() {
        Tone::Good
    } else {
        Tone::Doubtful
    }
}

impl ImpactReport {
    /// The verdict and the unknowns, for a question.
    pub fn summary_lines(&self) -> Vec<String> {
        let mut lines = verdict(self);
        lines.extend(self.hardware_lines());
        lines.extend(self.unknown_lines());
        lines
    }

    /// Warnings about other devices of the same hardware, a line each.
    pub fn hardware_lines(&self) -> Vec<String> {
        let warnings = self.assessment.hardware_warnings.iter();
        warnings.map(|it| Warning::from(it).line()).collect()
    }

    /// Data that is missing, a line each.
    pub fn unknown_lines(&self) -> Vec<String> {
        let lacking = self.incomplete.iter().map(Incomplete::line);
        lacking.map(|line| format!("unknown: {line}")).collect()
    }
}

fn evictions(report: &ImpactReport) -> String {
    let totals = &report.assessment.totals;
    let pods = totals.evicted_pod_count.0;
    if pods.is_none() {
        let all = match report.affected_pods.len() {
            0 => "0 pods".to_owned(),
            all => format!("0 of {}", counted(all, "pod")),
        };
        return format!("evicts {all}{}", why_none(report));
    }
    if pods.is_unknown() {
        let gaps = report.incomplete.iter();
        let missing = gaps.filter(|gap| gap.affects == Affects::Evictions);
        let missing: Vec<&str> = missing.map(|gap| gap.missing.as_str()).collect();
        return format!("evicts ? pods: {} not read", missing.join(", "));
    }
    let mut line = format!(
        "evicts {}{} of {} in {}: {}",
        bound(pods),
        pods.counted(),
        counted(report.affected_pods.len(), "pod"),
        counted(totals.namespace_count.counted(), "namespace"),
        when(report)
    );
    let violated = totals.violated_budget_count.0;
    if violated.counted() > 0 {
        let budgets = counted(violated.counted(), "budget");
        line.push_str(&format!("; violates {}{budgets}", bound(violated)));
    }
    let lost = totals.unplaceable_claim_count;
    if lost.least() > 0 {
        let least = if lost.exact().is_some() {
            ""
        } else {
            "at least "
        };
        let claims = counted(lost.least(), "claim");
        line.push_str(&format!("; no replacement for {least}{claims}"));
    }
    line
}

/// Words before a number that is a bound only.
fn bound(count: Count) -> &'static str {
    match count.exact() {
        Some(_) => "",
        None if count.most() == Some(count.counted()) => "at most ",
        None => "at least ",
    }
}

fn why_none(report: &ImpactReport) -> String {
    let mut scopes = report.proposed_taints.iter().map(|it| it.selector_scope);
    let is_all = scopes.any(|it| it == SelectorScope::EveryDeviceForTheScheduler);
    if is_all {
        return "; the scheduler takes every device as tainted".to_owned();
    }
    if report.assessment.totals.device_count.is_none() {
        return ": no devices selected".to_owned();
    }
    match report.assessment.effects.as_slice() {
        [effect] if !effect.evicts() => format!(": effect {effect}"),
        _ => String::new(),
    }
}

/// `2 now, the last at +5m`.
fn when(report: &ImpactReport) -> String {
    let totals = &report.assessment.totals;
    // Other taints, if they are not known, may evict pods earlier.
    let pods = totals.evicted_pod_count.exact();
    let may_be_earlier = pods.is_some() && totals.evicted_now_pod_count.exact().is_none();
    let at_once = totals.evicted_now_pod_count.counted();
    let due = totals.last_eviction_time.map(|last| seconds(last, report));
    let delayed = Timeline::of(report).and_then(|timeline| timeline.delayed_until());
    let last = match (delayed, due) {
        (Some(delayed), _) => Some(format!("about {} (rate limit)", after(delayed))),
        (None, Some(due)) if due > 0 => Some(after(due)),
        (None, Some(_) | None) => None,
    };
    let bound = if may_be_earlier { "at least " } else { "" };
    let at = if may_be_earlier { "by" } else { "at" };
    match (at_once, last) {
        (_, None) => "now".to_owned(),
        (now, Some(last)) => format!("{bound}{now} now, the last {at} {last}"),
    }
}

/// Line about the devices becoming free.
fn devices(report: &ImpactReport) -> Option<String> {
    let is_evicting = |effect: &Effect| effect.evicts();
    if !report.assessment.effects.iter().any(is_evicting) || report.selected_devices.is_empty() {
        return None;
    }
    let totals = &report.assessment.totals;
    if !knows_devices(report) {
        return Some("free afterwards: ?, not all devices are known".to_owned());
    }
    if totals.device_count.exact().is_none() {
        return Some("free afterwards: ?, devices of the same hardware are not known".to_owned());
    }
    match report.selected_devices.as_slice() {
        [only] => one_device(only, report),
        several => many_devices(several, report),
    }
}

/// True if all selected devices are known: one that is named whole is.
fn knows_devices(report: &ImpactReport) -> bool {
    let is_one_device = |selector: &DeviceSelector| selector.device_id().is_some();
    let mut taints = report.proposed_taints.iter();
    report.assessment.totals.device_count.exact().is_some()
        || taints.all(|taint| taint.selector.as_ref().is_some_and(is_one_device))
}

/// Seconds from the report to this time.
fn seconds(at: Time, report: &ImpactReport) -> i64 {
    let now = report.metadata.observed();
    at.0.as_second().saturating_sub(now.0.as_second())
}

fn one_device(device: &Device, report: &ImpactReport) -> Option<String> {
    let name = device.device.rsplit('/').next().unwrap_or_default();
    if let Some(at) = device.release_time {
        return Some(match seconds(at, report) {
            ..=0 => format!("{name} is free afterwards"),
            later => format!("{name} is free at {}", after(later)),
        });
    }
    let why = device.not_released_reason?;
    let stays = |outcome| matches!(outcome, Outcome::Tolerates | Outcome::NotEvicted);
    let pods = report.affected_pods.iter();
    let pods = pods.filter(|pod| stays(pod.outcome) && !rows::is_monitor(pod));
    let reason = match (why, pods.count()) {
        (NotReleased::PodStays, 1) => "1 pod stays".to_owned(),
        (NotReleased::PodStays, several) => format!("{several} pods stay"),
        (other, _) => other.describe().to_owned(),
    };
    let verb = match why.is_certain() {
        true => "is not",
        false => "may not be",
    };
    Some(format!("{name} {verb} free afterwards: {reason}"))
}

fn many_devices(devices: &[Device], report: &ImpactReport) -> Option<String> {
    let free: Vec<Time> = devices.iter().filter_map(|it| it.release_time).collect();
    let held = |is_certain: bool| {
        let held = devices.iter().filter_map(|it| it.not_released_reason);
        held.filter(move |why| why.is_certain() == is_certain)
    };
    // Nothing is known of any, such as without pods.
    let is_known = [true, false].iter().any(|it| held(*it).next().is_some());
    if free.is_empty() && !is_known {
        return None;
    }
    let last = free.iter().copied().max().map(|at| seconds(at, report));
    let last = match last {
        Some(last) if last > 0 => format!(", the last at {}", after(last)),
        Some(_) | None => String::new(),
    };
    let mut line = format!(
        "free afterwards: {} of {}{last}",
        free.len(),
        counted(devices.len(), "device")
    );
    for (word, is_certain) in [("not free", true), ("unknown", false)] {
        let reasons: BTreeSet<NotReleased> = held(is_certain).collect();
        let reasons: Vec<&str> = reasons.iter().map(|why| why.describe()).collect();
        let number = held(is_certain).count();
        if number > 0 {
            line.push_str(&format!("; {word}: {number} ({})", reasons.join(", ")));
        }
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Basis, Limits, Totals};
    use crate::model::{Gap, Kind};
    use crate::report::testing;
    use crate::report::testing::Example;

    /// The first line of an answer that lacks these kinds, of the pods with these names.
    fn line_without(kinds: &[Kind], pods: &[&str]) -> String {
        let mut example = Example::new();
        example.reading.gaps = kinds.iter().map(|kind| Gap::of(*kind, "denied")).collect();
        let mut impact = example.impact();
        impact
            .pods
            .retain(|pod| pods.contains(&pod.pod.name.name.as_str()));
        let semantics = testing::semantics(37);
        let basis = Basis::new(&example.reading, &semantics, testing::now());
        let report = ImpactReport::new(&impact, &basis, &Limits::default());
        verdict(&report).remove(0)
    }

    #[test]
    fn an_unknown_number_of_evictions_is_no_zero() {
        for (kinds, pods, expected) in [
            (&[Kind::Pod][..], &[][..], "evicts ? pods: pods not read"),
            (
                &[Kind::Pod, Kind::ResourceClaim],
                &["infer-0"],
                "evicts ? pods: pods, resourceclaims not read",
            ),
            (
                &[Kind::ResourceClaim],
                &["train-0"],
                "evicts at least 1 of 1 pod in 1 namespace: now",
            ),
            (
                &[Kind::ResourceSlice, Kind::DeviceTaintRule],
                &["infer-0"],
                "evicts 0 of 1 pod",
            ),
            (
                &[Kind::DeviceTaintRule],
                &["train-0", "train-1"],
                "evicts 2 of 2 pods in 1 namespace: at least 1 now, the last by +5m",
            ),
        ] {
            assert_eq!(line_without(kinds, pods), expected, "{kinds:?}");
        }
    }

    #[test]
    fn the_tone_is_good_only_if_it_is_known_that_no_pod_is_evicted() {
        let mut report = Example::new().report();
        assert_eq!(tone(&report), Tone::Doubtful);
        report.assessment.totals.severities.danger_pod_count = Count::known(1).into();
        assert_eq!(tone(&report), Tone::Bad);
        report.assessment.totals = Totals::default();
        for (pods, expected) in [
            (Count::known(0), Tone::Good),
            (Count::default(), Tone::Doubtful),
            (Count::between(0, 3), Tone::Doubtful),
        ] {
            report.assessment.totals.evicted_pod_count = pods.into();
            assert_eq!(tone(&report), expected);
        }
    }
}
