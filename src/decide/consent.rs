//! Approval that evictions need, and whether it was given.
//!
//! What is agreed to is the whole proposal of a command. When an interrupted command is run again, a part
//! of the proposal is done: its impact is part of what was agreed to, so that the report is about all of
//! it, and a number that was agreed to is an upper bound by then, since pods are gone already.

use std::collections::BTreeSet;

use super::proposal::{Drains, ProposedRule, lines};
use super::question::Question;
use crate::assess::Consent;
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::Count;
use crate::naming::device;
use crate::naming::phrase::counted;
use crate::naming::shell::word;
use crate::report::ImpactReport;
use crate::report::impact::{ApprovalRefusal, ExpectedReport, Pod, UnreadableReport};

/// What was said beforehand about how much harm is agreed to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Approval<'a> {
    /// Nobody is to be asked.
    pub yes: bool,
    /// How many pods may be evicted.
    pub confirm_pods: Option<usize>,
    /// The report that somebody has read.
    pub expect: Option<&'a ExpectedReport>,
}

/// What a command wants to do.
#[derive(Clone, Copy, Debug)]
pub struct PlannedChange<'a> {
    /// Whom it hits, with what is done of it already, and with the guards.
    pub report: &'a ImpactReport,
    /// What a preview says of it, to be compared with what was agreed to beforehand: `report`, unless it
    /// is about effect None, which a preview takes for NoExecute.
    pub previewed: &'a ImpactReport,
    /// The rules that are to be made or changed, and those that are as wanted already.
    pub rules: &'a [ProposedRule],
    /// What is left to be done, as a question without its mark: `Give effect NoExecute to rule drain`.
    pub action: &'a str,
    /// What speaks for a question although nobody is evicted, such as whose rules they are.
    pub concerns: &'a [String],
    /// What is considered, to say how all of it can be seen.
    pub proposed: &'a [ProposedTaint],
    /// What the command does to pods afterwards, if it does.
    pub drains: Option<&'a Drains>,
}

impl PlannedChange<'_> {
    /// What the change comes to in a few lines, with what is unknown.
    #[must_use]
    pub fn summary_lines(&self) -> Vec<String> {
        match self.drains {
            None => self.report.summary_lines(),
            Some(Drains::ByTaint(lines)) => {
                let report = self.report.summary_lines();
                lines.iter().cloned().chain(report).collect()
            }
            // The report is that of a NoExecute taint: who is hit is the same, and how is not.
            Some(Drains::ByEviction(lines)) => {
                let unknown = self.report.unknown_lines();
                lines.iter().cloned().chain(unknown).collect()
            }
        }
    }

    /// The rules that are as wanted already.
    fn done(&self) -> impl Iterator<Item = &ProposedRule> {
        self.rules.iter().filter(|rule| !rule.is_open())
    }

    /// What is to be read before the question: each rule with the change of its effect, what that comes
    /// to, what is not known, and at most five risks in words, with the command that shows all.
    #[must_use]
    pub fn block(&self) -> Vec<String> {
        let indented = |line: &String| format!("  {line}");
        let mut lines = lines(self.rules);
        lines.extend(self.summary_lines().iter().map(indented));
        lines.extend(self.concerns.iter().map(indented));
        // Risks are those of an eviction by taint, which ignores budgets and comes at once.
        if let Some(Drains::ByEviction(_)) = self.drains {
            return lines;
        }
        let risks = self.report.worst_lines();
        lines.extend(risks.iter().map(indented));
        if !self.report.evicted().is_empty() {
            let command = see_all(self.proposed);
            lines.extend(command.map(|command| format!("  to see all: {command}")));
        }
        lines
    }
}

/// More arguments than these are no command to be pasted.
const PASTED: usize = 5;

/// The command that shows everybody whom these taints hit; `None` where one does not say it.
fn see_all(proposed: &[ProposedTaint]) -> Option<String> {
    let (first, rest) = proposed.split_first()?;
    let taint = |proposed: &ProposedTaint| proposed.taint.to_string();
    if rest.len() >= PASTED || rest.iter().any(|other| taint(other) != taint(first)) {
        return None;
    }
    let mut words = vec!["kubectl devicetaint preview".to_owned()];
    for proposed in proposed {
        let selector = proposed.selector.as_ref()?;
        let named = [
            selector.driver.is_some(),
            selector.pool.is_some(),
            selector.device.is_some(),
        ];
        let by_name = selector.device_class.is_none() && selector.expressions.is_empty();
        if !by_name || !named.contains(&true) {
            return None;
        }
        words.push(word(&device::format(selector)));
    }
    words.push(word(&taint(first)));
    Some(words.join(" "))
}

/// Whether a change may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsentOutcome {
    /// It may.
    Proceed,
    /// It may if this is answered well.
    Ask(Question),
}

/// Whether `change` may be carried out under `approval`. Nothing was changed.
///
/// # Errors
///
/// A guard tripped, more is hit than was agreed to, or what is hit is not known and somebody relied on
/// numbers. Asking would not help then.
pub fn consent(
    approval: &Approval<'_>,
    change: &PlannedChange<'_>,
) -> Result<ConsentOutcome, Failure> {
    // What no answer could make right comes first, so that no question is asked in vain.
    refuse_tripped(change.report)?;
    refuse_more_than_expected(approval, change)?;
    refuse_unknown(approval, change.report)?;
    refuse_other_count(approval, change)?;
    let is_counted = approval.confirm_pods.is_some() || approval.expect.is_some();
    match change.report.assessment.consent {
        // The pods that are known are a lower bound then: to type their number would agree to less than may
        // happen.
        Consent::Yes | Consent::PodCount { .. }
            if !change.report.unknown_evictions().is_empty() =>
        {
            Ok(ConsentOutcome::Ask(unknown_impact(change)))
        }
        Consent::PodCount { .. } if approval.yes && is_counted => Ok(ConsentOutcome::Proceed),
        Consent::PodCount { pods, why } => Ok(ConsentOutcome::Ask(match pods.exact() {
            Some(pods) => Question::PodCount {
                action: change.action.to_owned(),
                pods,
                why: why.to_string(),
            },
            None => unknown_impact(change),
        })),
        Consent::Nothing | Consent::Yes if approval.yes => Ok(ConsentOutcome::Proceed),
        Consent::Nothing if change.concerns.is_empty() => Ok(ConsentOutcome::Proceed),
        Consent::Nothing | Consent::Yes => Ok(ConsentOutcome::Ask(Question::Yes {
            action: with_pods(change),
        })),
    }
}

/// The action with how many pods it evicts: on a small terminal nothing else of the answer may be left in view.
fn with_pods(change: &PlannedChange<'_>) -> String {
    match change.report.assessment.totals.pods.exact() {
        None | Some(0) => change.action.to_owned(),
        Some(pods) => format!("{} and evict {}", change.action, counted(pods, "pod")),
    }
}

/// The question of a wish of which it is not known whom it hits.
fn unknown_impact(change: &PlannedChange<'_>) -> Question {
    Question::Unknown {
        action: change.action.to_owned(),
    }
}

/// Whether one of the guards forbids it.
fn refuse_tripped(report: &ImpactReport) -> Result<(), Failure> {
    match report.refusal() {
        Some(refusal) => Err(Failure::refused(format!("{refusal}; nothing was changed"))),
        None => Ok(()),
    }
}

fn refuse_more_than_expected(
    approval: &Approval<'_>,
    change: &PlannedChange<'_>,
) -> Result<(), Failure> {
    let Some(expected) = approval.expect else {
        return Ok(());
    };
    let hit_already = hit_already(change);
    // A pod that is hit already was part of what was agreed to: it must not stop the run that completes an
    // interrupted one.
    let is_news = |objection: &ApprovalRefusal| match objection {
        ApprovalRefusal::NewPod { pod } | ApprovalRefusal::Earlier { pod, .. } => {
            !hit_already.contains(pod)
        }
        ApprovalRefusal::OtherTaints { .. }
        | ApprovalRefusal::LessKnown { .. }
        | ApprovalRefusal::Exchanged { .. }
        | ApprovalRefusal::OtherHardware { .. }
        | ApprovalRefusal::OtherDigest { .. } => true,
    };
    let objections = expected.objections(change.previewed);
    let news = objections.iter().filter(|found| is_news(found));
    let (hardware, others): (Vec<_>, Vec<_>) =
        news.partition(|objection| objection.is_about_hardware());
    let hardware: Vec<String> = hardware.iter().map(ToString::to_string).collect();
    let refused = match (hardware.as_slice(), others.as_slice()) {
        ([], []) => return Ok(()),
        ([], others) if others.iter().all(|found| found.is_of_a_digest()) => {
            "the impact differs from the one in --expect".to_owned()
        }
        ([], _) => "the impact is larger than in --expect".to_owned(),
        (changed, _) => changed.join("; "),
    };
    let refused = Failure::refused(format!("{refused}; nothing was changed"));
    let refused = others
        .iter()
        .fold(refused, |failure, text| failure.detail(text.to_string()));
    Err(refused.hint("review the current impact with `kubectl devicetaint preview`"))
}

/// Whether the answer still holds of what is found `now`, after somebody took the time to give it:
/// what was `shown` is agreed to, and nothing beyond it. Nothing was changed.
///
/// Evictions that come nearer while the clock goes on are no news.
///
/// # Errors
///
/// A guard trips by now, another pod would be evicted, or less is known.
pub fn still_agreed(shown: ImpactReport, now: &ImpactReport) -> Result<(), Failure> {
    refuse_tripped(now)?;
    let objections = ExpectedReport::of(shown).objections(now);
    let hardware: Vec<String> = objections
        .iter()
        .filter(|found| found.is_about_hardware())
        .map(ToString::to_string)
        .collect();
    if !hardware.is_empty() {
        let hardware = hardware.join("; ");
        return Err(Failure::refused(format!(
            "meanwhile, {hardware}; nothing was changed"
        )));
    }
    let mut news = objections
        .iter()
        .filter_map(|objection| match objection {
            ApprovalRefusal::NewPod { pod } => Some(format!("pod {pod} would now be evicted too")),
            ApprovalRefusal::LessKnown { what } => Some(format!("{what} can no longer be read")),
            // Hardware was refused above, and evictions come nearer while the clock goes on.
            ApprovalRefusal::OtherTaints { .. }
            | ApprovalRefusal::Exchanged { .. }
            | ApprovalRefusal::OtherHardware { .. }
            | ApprovalRefusal::Earlier { .. }
            | ApprovalRefusal::OtherDigest { .. } => None,
        })
        .peekable();
    if news.peek().is_none() {
        return Ok(());
    }
    let refused =
        Failure::refused("the impact grew while waiting for confirmation; nothing was changed");
    Err(news.fold(refused, Failure::detail))
}

/// The pods that a rule evicts which is as wanted already, whatever becomes of the rest of the wish.
fn hit_already(change: &PlannedChange<'_>) -> BTreeSet<String> {
    let done: BTreeSet<&str> = change.done().map(|done| done.rule.name.as_str()).collect();
    let pods = change.report.affected_pods.iter().filter(|pod| {
        // The earliest cause decides: if it is a rule that is as wanted already, the pod is evicted without
        // this change.
        let first = pod.causes.first();
        let rule = first.and_then(|cause| cause.taint.source_name.as_deref());
        rule.is_some_and(|name| done.contains(name))
    });
    pods.map(Pod::full_name).collect()
}

/// Numbers that were agreed to mean nothing when the report's are lower bounds.
fn refuse_unknown(approval: &Approval<'_>, report: &ImpactReport) -> Result<(), Failure> {
    let is_counted =
        approval.yes || approval.confirm_pods.is_some() || !report.guard_results.is_empty();
    let unknown = report.unknown_evictions();
    if unknown.is_empty() || !is_counted {
        return Ok(());
    }
    let refused = Failure::refused(
        "the report is incomplete, so more pods may be evicted; nothing was changed",
    );
    Err(unknown.into_iter().fold(refused, Failure::detail))
}

fn refuse_other_count(approval: &Approval<'_>, change: &PlannedChange<'_>) -> Result<(), Failure> {
    let pods = change.report.assessment.totals.pods;
    let Some(confirmed) = approval.confirm_pods.map(Count::known) else {
        return Ok(());
    };
    // What is done has evicted pods already, so that the number is no longer the same, but still the most.
    let is_agreed = if change.done().next().is_none() {
        pods.equals(confirmed) == Some(true)
    } else {
        pods.is_above(confirmed) == Some(false)
    };
    if is_agreed {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "--confirm-pods is {confirmed}, but {pods} would be evicted; nothing was changed"
    )))
}

/// The report that was agreed to: the one whose digest is `name`, or that which `read` gives of the file
/// of that name, or why there is none.
///
/// # Errors
///
/// What is no report, or no longer says what was written.
pub fn expected(
    name: &str,
    read: impl FnOnce() -> Result<String, String>,
) -> Result<ExpectedReport, Failure> {
    let named = |problem: String| format!("--expect {name}: {problem}");
    if let Some(digest) = ExpectedReport::with_digest(name) {
        return digest.map_err(|error| {
            Failure::usage(named(error.to_string()))
                .hint(format!("for a file of that name: ./{name}"))
        });
    }
    let text = read().map_err(|error| Failure::usage(named(error)))?;
    ExpectedReport::parse(&text).map_err(|error| {
        let edited = matches!(error, UnreadableReport::Edited { .. });
        let message = named(error.to_string());
        if edited {
            Failure::refused(format!("{message}; nothing was changed"))
                .hint("create a new report, and review it: `preview … -o json`")
        } else {
            Failure::usage(message).hint("create one with `preview … -o json`")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Limits;
    use crate::decide::testing::{named, rule};
    use crate::error::ExitStatus;
    use crate::model::{DeviceSelector, Effect};
    use crate::output::wrap::hanging;
    use crate::report::metadata::Cluster;
    use crate::report::metadata::{Affects, Incomplete};
    use crate::report::testing::Example;

    const YES: Approval<'_> = Approval {
        yes: true,
        confirm_pods: None,
        expect: None,
    };

    /// Three pods in two namespaces, of which one later.
    fn report() -> ImpactReport {
        Example::new().report()
    }

    fn change(report: &ImpactReport) -> PlannedChange<'_> {
        PlannedChange {
            report,
            previewed: report,
            rules: &[],
            action: "Give effect NoExecute to rule drain",
            concerns: &[],
            proposed: &[],
            drains: None,
        }
    }

    /// The report of somebody who may not read all.
    fn report_without(what: &str, affects: Affects) -> ImpactReport {
        let mut report = report();
        report.incomplete.push(Incomplete {
            missing: what.to_owned(),
            message: "access denied".to_owned(),
            affects,
        });
        report
    }

    #[test]
    fn who_does_not_know_whom_it_hits_has_to_say_so() {
        let nobody_asked = Approval::default();
        let unknown = report_without("pods", Affects::Evictions);
        let Ok(ConsentOutcome::Ask(question)) = consent(&nobody_asked, &change(&unknown)) else {
            panic!("it is asked");
        };
        assert!(matches!(question, Question::Unknown { .. }), "{question:?}");
        // Details do not change whom it hits; before the question they are told all the same.
        let details = report_without("poddisruptionbudgets", Affects::Details);
        let asked = consent(&nobody_asked, &change(&details)).unwrap();
        assert!(
            matches!(asked, ConsentOutcome::Ask(Question::PodCount { .. })),
            "{asked:?}"
        );
        let lines = details.summary_lines();
        assert!(lines.contains(&"unknown: poddisruptionbudgets: access denied".to_owned()));
    }

    #[test]
    fn the_worst_are_shown_before_the_question_and_the_command_that_shows_all() {
        let report = report();
        let proposed = |device: &str| ProposedTaint {
            rule: None,
            selector: Some(device::parse(device).unwrap()),
            taint: crate::decide::testing::taint("NoExecute"),
        };
        let two = [
            proposed("gpu.example.com/node-7/gpu-0"),
            proposed("gpu.example.com"),
        ];
        let change = PlannedChange {
            proposed: &two,
            rules: &[ProposedRule::effect(&rule("None"), &Effect::NoExecute)],
            ..change(&report)
        };
        let lines = change.block();
        let head = report.summary_lines().len();
        assert_eq!(lines.len(), 1 + head + report.worst_lines().len() + 1);
        assert!(lines[0].ends_with("None → NoExecute"), "{lines:?}");
        assert_eq!(
            lines.last().unwrap(),
            "  to see all: kubectl devicetaint preview gpu.example.com/node-7/gpu-0 'gpu.example.com/*/*' example.com/maintenance:NoExecute"
        );
        let many = vec![two[0].clone(); PASTED + 1];
        assert_eq!(see_all(&many), None);
        let mut others = two;
        others[1].taint.value = "x".to_owned();
        assert_eq!(see_all(&others), None);
        assert_eq!(see_all(&[]), None);
    }

    #[test]
    fn a_question_begins_with_the_cluster_and_ends_with_it() {
        let report = report_without("poddisruptionbudgets", Affects::Details);
        let rules = [ProposedRule::effect(&rule("None"), &Effect::NoExecute)];
        let change = PlannedChange {
            rules: &rules,
            ..change(&report)
        };
        let cluster = Cluster {
            context: Some("prod-eu".to_owned()),
            server: "https://api.prod-eu:6443".to_owned(),
            version: None,
        };
        let Ok(ConsentOutcome::Ask(question)) = consent(&Approval::default(), &change) else {
            panic!("it is asked");
        };
        let mut lines = vec![cluster.line()];
        lines.extend(change.block());
        lines.push(question.prompt(cluster.name()));
        let shown: Vec<String> = lines
            .iter()
            .flat_map(|line| hanging(line, Some(80)))
            .collect();
        assert!(shown.iter().all(|line| line.chars().count() <= 80));
        insta::assert_snapshot!(shown.join("\n"), @"
        Cluster: prod-eu (https://api.prod-eu:6443)
        Rule drain   gpu.example.com/node-7/gpu-0   None → NoExecute
          3 pods in 2 namespaces would be evicted: 1 now, 2 later (last in 150m at
            2026-11-21T03:30:34Z).
          3 more pods use a selected device: 1 tolerating the taint, 1 already
            terminating, 1 not evicted for other reasons.
          unknown: poddisruptionbudgets: access denied
          warning   team-b/bare-0: has no controller: nothing recreates it
          notice    ReplicaSet/train-6d of team-a (2 pods): evicted now, on node-7
        Give effect NoExecute to rule drain in prod-eu? Because pods in 2 namespaces are
          evicted, confirm with the number of pods that will be evicted: type 3
        ");
    }

    #[test]
    fn what_no_argument_can_say_is_no_command_to_paste() {
        let gpu = || device::parse("gpu.example.com").unwrap();
        let shown = |selector: DeviceSelector| {
            see_all(&[ProposedTaint {
                rule: None,
                selector: Some(selector),
                taint: crate::decide::testing::taint("NoExecute"),
            }])
        };
        assert!(shown(gpu()).is_some());
        assert_eq!(shown(DeviceSelector::default()), None);
        let by_class = DeviceSelector {
            device_class: Some("gpu".into()),
            ..gpu()
        };
        assert_eq!(shown(by_class), None);
        let by_expression = DeviceSelector {
            expressions: vec!["true".to_owned()],
            ..gpu()
        };
        assert_eq!(shown(by_expression), None);
    }

    fn in_one_namespace() -> ImpactReport {
        Example::new().in_one_namespace().report()
    }

    fn prompt(consented: ConsentOutcome) -> String {
        match consented {
            ConsentOutcome::Ask(question) => question.prompt("prod-eu"),
            ConsentOutcome::Proceed => panic!("nothing is asked"),
        }
    }

    #[test]
    fn a_yes_is_asked_for_and_the_question_names_what_is_done() {
        let report = in_one_namespace();
        let asked = consent(&Approval::default(), &change(&report)).unwrap();
        assert_eq!(
            prompt(asked),
            "Give effect NoExecute to rule drain and evict 3 pods in prod-eu?"
        );
        assert_eq!(
            consent(&YES, &change(&report)).unwrap(),
            ConsentOutcome::Proceed
        );
    }

    #[test]
    fn a_number_is_asked_for_where_a_yes_is_not_enough() {
        let report = report();
        for approval in [YES, Approval::default()] {
            let asked = consent(&approval, &change(&report)).unwrap();
            assert!(
                matches!(
                    asked,
                    ConsentOutcome::Ask(Question::PodCount { pods: 3, .. })
                ),
                "{asked:?}"
            );
        }
        let counted = Approval {
            confirm_pods: Some(3),
            ..YES
        };
        assert_eq!(
            consent(&counted, &change(&report)).unwrap(),
            ConsentOutcome::Proceed
        );
        // A number without a yes is still asked about.
        let unasked = Approval {
            yes: false,
            ..counted
        };
        assert!(consent(&unasked, &change(&report)).unwrap() != ConsentOutcome::Proceed);
    }

    #[test]
    fn another_number_than_was_agreed_to_is_refused() {
        let report = in_one_namespace();
        for (confirmed, agreed) in [(2, false), (3, true), (4, false)] {
            let approval = Approval {
                confirm_pods: Some(confirmed),
                ..YES
            };
            let consented = consent(&approval, &change(&report));
            assert_eq!(consented.is_ok(), agreed, "{confirmed}");
        }
    }

    #[test]
    fn what_an_interrupted_command_has_done_is_no_reason_against_the_rest() {
        let report = in_one_namespace();
        let done = [ProposedRule::effect(
            &named("first", "NoExecute"),
            &Effect::NoExecute,
        )];
        for (confirmed, agreed) in [(2, false), (3, true), (4, true)] {
            let approval = Approval {
                confirm_pods: Some(confirmed),
                ..YES
            };
            let change = PlannedChange {
                rules: &done,
                ..change(&report)
            };
            assert_eq!(consent(&approval, &change).is_ok(), agreed, "{confirmed}");
        }
    }

    #[test]
    fn a_tripped_guard_is_never_asked_away() {
        let guards = ["pods.evicted>2".parse().unwrap()];
        let limits = Limits {
            guards: &guards,
            ..Limits::default()
        };
        let report = Example::new().in_one_namespace().report_within(&limits);
        let all = Approval {
            confirm_pods: Some(3),
            ..YES
        };
        for approval in [Approval::default(), YES, all] {
            let failure = consent(&approval, &change(&report)).unwrap_err();
            assert_eq!(failure.status(), ExitStatus::Refused);
            assert_eq!(
                failure.to_string(),
                "guard tripped: pods.evicted>2; nothing was changed"
            );
        }
    }

    #[test]
    fn more_than_the_report_that_was_read_is_refused_and_less_is_welcome() {
        let read = report();
        let text = serde_json::to_string(&read).unwrap();
        let expected = ExpectedReport::parse(&text).unwrap();
        let approval = Approval {
            expect: Some(&expected),
            ..YES
        };
        assert_eq!(
            consent(&approval, &change(&read)).unwrap(),
            ConsentOutcome::Proceed
        );
        let mut more = read;
        let newcomer = more
            .affected_pods
            .iter_mut()
            .find(|pod| pod.outcome.is_evicted())
            .unwrap();
        newcomer.uid = "uid-of-a-newcomer".to_owned();
        let name = format!("{}/{}", newcomer.namespace, newcomer.name);
        newcomer.causes[0].taint.source_name = Some("first".to_owned());
        let failure = consent(&approval, &change(&more)).unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Refused);
        assert!(
            failure.details()[0].contains(&name),
            "{:?}",
            failure.details()
        );
        // A rule that is there already evicts it, whatever becomes of the rest.
        let done = [ProposedRule::effect(
            &named("first", "NoExecute"),
            &Effect::NoExecute,
        )];
        let begun = PlannedChange {
            rules: &done,
            ..change(&more)
        };
        assert!(consent(&approval, &begun).is_ok());
    }

    #[test]
    fn other_hardware_than_was_looked_at_is_refused_and_the_device_is_named() {
        let with = |uuid: &str| {
            let identity = [("gpu.example.com/uuid".to_owned(), uuid.to_owned())];
            let identities = [("gpu.example.com/node-7/gpu-0".to_owned(), identity.into())];
            report().with_identities(&identities.into())
        };
        let (seen, now) = (with("GPU-A"), with("GPU-B"));
        let mark = format!(
            "{},{}",
            seen.short_digest(),
            seen.short_hardware_digest().unwrap()
        );
        let file = serde_json::to_string(&seen).unwrap();
        for expected in [
            ExpectedReport::with_digest(&mark).unwrap().unwrap(),
            ExpectedReport::parse(&file).unwrap(),
        ] {
            let approval = Approval {
                expect: Some(&expected),
                ..YES
            };
            assert!(consent(&approval, &change(&seen)).is_ok());
            let failure = consent(&approval, &change(&now)).unwrap_err();
            assert_eq!(failure.status(), ExitStatus::Refused);
            let text = failure.to_string();
            assert!(
                text.starts_with("gpu.example.com/node-7/gpu-0 ") && text.contains("hardware"),
                "{text}"
            );
        }
        let failure = still_agreed(seen, &now).unwrap_err();
        assert!(
            failure
                .to_string()
                .starts_with("meanwhile, gpu.example.com/node-7/gpu-0 ")
        );
    }

    #[test]
    fn what_was_agreed_to_is_compared_with_what_a_preview_says() {
        let previewed = report();
        let mut done_nothing = report();
        done_nothing.digest = format!("sha256:{}", "0".repeat(64));
        let expected = ExpectedReport::with_digest(previewed.short_digest());
        let expected = expected.unwrap().unwrap();
        let approval = Approval {
            expect: Some(&expected),
            ..YES
        };
        let compared = |previewed: &ImpactReport, report: &ImpactReport| {
            let change = PlannedChange {
                previewed,
                ..change(report)
            };
            consent(&approval, &change).is_ok()
        };
        assert!(compared(&previewed, &done_nothing));
        assert!(!compared(&done_nothing, &previewed));
    }

    #[test]
    fn lower_bounds_are_nothing_to_agree_to() {
        let mut report = in_one_namespace();
        report.incomplete = vec![Incomplete {
            missing: "pods".to_owned(),
            message: "access denied".to_owned(),
            affects: Affects::Evictions,
        }];
        let counted = Approval {
            confirm_pods: Some(report.summary.evicted_pod_count),
            ..Approval::default()
        };
        for approval in [YES, counted] {
            let failure = consent(&approval, &change(&report)).unwrap_err();
            assert_eq!(failure.status(), ExitStatus::Refused);
            assert_eq!(failure.details(), ["pods: access denied"]);
        }
        // Whoever is shown the report may go on.
        assert!(consent(&Approval::default(), &change(&report)).is_ok());
    }

    #[test]
    fn an_answer_is_about_what_was_shown_and_nothing_that_came_since() {
        let all = report();
        let evicted = |report: &ImpactReport| {
            let mut pods = report.affected_pods.iter();
            pods.position(|pod| pod.outcome.is_evicted()).unwrap()
        };
        let mut fewer = all.clone();
        let newcomer = fewer.affected_pods.remove(evicted(&all));
        assert!(still_agreed(all.clone(), &all).is_ok());
        assert!(
            still_agreed(all.clone(), &fewer).is_ok(),
            "somebody has gone"
        );
        let failure = still_agreed(fewer, &all).unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Refused);
        assert_eq!(
            failure.details(),
            [format!(
                "pod {}/{} would now be evicted too",
                newcomer.namespace, newcomer.name
            )]
        );
        let mut unread = all.clone();
        unread.incomplete = vec![Incomplete {
            missing: "pods".to_owned(),
            message: "access denied".to_owned(),
            affects: Affects::Evictions,
        }];
        let failure = still_agreed(all, &unread).unwrap_err();
        assert_eq!(failure.details(), ["pods can no longer be read"]);
    }

    #[test]
    fn what_belongs_to_others_is_asked_about_although_nobody_is_evicted() {
        let mut example = Example::new();
        example.proposed.taint.effect = Effect::None;
        let report = example.report();
        let nothing = Approval::default();
        assert_eq!(
            consent(&nothing, &change(&report)).unwrap(),
            ConsentOutcome::Proceed
        );
        let concerns = ["rule drain was not created by this plugin".to_owned()];
        let theirs = PlannedChange {
            concerns: &concerns,
            ..change(&report)
        };
        assert!(matches!(
            consent(&nothing, &theirs).unwrap(),
            ConsentOutcome::Ask(_)
        ));
        assert_eq!(consent(&YES, &theirs).unwrap(), ConsentOutcome::Proceed);
    }
}
