//! Approval that evictions need, and whether it was given.
//!
//! The approval covers the whole proposal of a command. When an interrupted command is run again, a part of the
//! proposal is done: its impact is part of the approval, so that the report is about all of it.

use std::collections::BTreeSet;

use super::approval::{ApprovalFacts, EvictionMethod, ImpactLimit};
use super::expectation::{ApprovalRefusal, objections};
use super::proposal::{Drains, ProposedRule, lines};
use super::question::{CountedPods, Question};
use crate::assess::{Assessment, ImpactFacts, PodFacts};
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::{ObjectName, Warning};
use crate::naming::device;
use crate::naming::phrase::counted;
use crate::naming::shell::word;

/// Approval given beforehand, with its limits.
#[derive(Clone, Copy, Debug)]
pub struct Approval<'a> {
    /// No confirmation is asked for.
    pub yes: bool,
    /// The impact that the user has read.
    pub expect: Option<&'a ImpactFacts>,
    /// Limits of the impact.
    pub limit: ImpactLimit,
}

/// Change that a command proposes.
#[derive(Clone, Copy, Debug)]
pub struct PlannedChange<'a> {
    /// Affected pods, with what is done of it already, and with the guards.
    pub assessment: &'a Assessment,
    /// Facts of a preview, to be compared with what was approved beforehand: the same, unless the change is about
    /// effect None, which a preview takes for NoExecute.
    pub previewed: &'a ImpactFacts,
    /// The impact in words.
    pub lines: &'a ImpactLines,
    /// The rules that are to be made or changed, and those that are as wanted already.
    pub rules: &'a [ProposedRule],
    /// Remaining action, as a question without its mark: `Give effect NoExecute to rule drain`.
    pub action: &'a str,
    /// Reasons for a question although no pod is evicted, such as owners of the rules.
    pub concerns: &'a [String],
    /// Considered taints, to say how all of it can be seen.
    pub proposed: &'a [ProposedTaint],
    /// Later effect of the command on pods, if any.
    pub drains: Option<&'a Drains>,
    /// Method by which the command removes pods.
    pub eviction: EvictionMethod,
    /// Bug of the release that any rule can trigger.
    pub defect: Option<&'a Warning>,
}

/// An impact in words, as its report has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImpactLines {
    /// The answer in a few lines, with what it lacks.
    pub summary: Vec<String>,
    /// Notes about other devices of the same hardware.
    pub hardware: Vec<String>,
    /// Missing data.
    pub unknown: Vec<String>,
    /// The rows of the preview.
    pub rows: Vec<String>,
}

impl PlannedChange<'_> {
    /// Summary of the change in a few lines, with what is unknown.
    pub fn summary_lines(&self) -> Vec<String> {
        match self.drains {
            None => self.lines.summary.clone(),
            // The report is that of a NoExecute taint: who is hit is the same, and how is not.
            Some(Drains::ByEviction(lines, _) | Drains::ByTaint(lines)) => {
                [lines.as_slice(), &self.lines.hardware, &self.lines.unknown].concat()
            }
            Some(Drains::Pods(evictions)) => {
                [evictions.lines.as_slice(), &self.lines.unknown].concat()
            }
        }
    }

    /// The rules that are as wanted already.
    fn done(&self) -> impl Iterator<Item = &ProposedRule> {
        self.rules.iter().filter(|rule| !rule.is_open())
    }

    /// Lines above the question: each rule with the change of its effect, the rows of the preview, what is unknown, and
    /// the verdict with the command that shows all pods.
    pub fn block(&self) -> Vec<String> {
        let indented = |line: &String| format!("  {line}");
        let mut lines = lines(self.rules);
        // Rows are those of an eviction by taint, which ignores budgets and comes at once.
        let is_by_taint = match self.drains {
            None => true,
            Some(Drains::ByEviction(..) | Drains::ByTaint(_) | Drains::Pods(_)) => false,
        };
        if is_by_taint {
            lines.extend(self.lines.rows.iter().map(indented));
        }
        lines.extend(self.concerns.iter().map(indented));
        lines.extend(self.summary_lines().iter().map(indented));
        if is_by_taint && self.assessment.facts.evicted().next().is_some() {
            let command = see_all(self.proposed);
            lines.extend(command.map(|command| format!("  to see all affected pods: {command}")));
        }
        lines
    }
}

/// More arguments than these are no command to be pasted.
const PASTED: usize = 5;

/// The command that shows all pods that these taints hit; `None` where one command cannot.
fn see_all(proposed: &[ProposedTaint]) -> Option<String> {
    let (first, rest) = proposed.split_first()?;
    let taint = |proposed: &ProposedTaint| proposed.taint.to_string();
    if rest.len() >= PASTED || rest.iter().any(|other| taint(other) != taint(first)) {
        return None;
    }
    let mut words = vec!["kubectl devicetaint preview".to_owned()];
    for proposed in proposed {
        let selector = proposed.selector.as_ref()?;
        if !selector.unknown_fields.is_empty() || selector.selects_every_device() {
            return None;
        }
        words.push(word(&device::format(selector)));
    }
    words.push(word(&taint(first)));
    Some(words.join(" "))
}

/// Outcome of the consent to a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsentOutcome {
    /// It may.
    Proceed,
    /// It may if this is answered well.
    Ask(Question),
}

/// Decides if `change` may be carried out under `approval`. Nothing was changed.
///
/// # Errors
///
/// A guard tripped, more is hit than was approved, or the impact is unknown where `--yes` or a guard relies on numbers.
/// Asking would not help then.
pub fn consent(
    approval: &Approval<'_>,
    change: &PlannedChange<'_>,
) -> Result<ConsentOutcome, Failure> {
    // Refusals that no answer can lift come first, so that no question is asked in vain.
    refuse_tripped(change.assessment)?;
    refuse_more_than_expected(approval, change)?;
    refuse_unknown(approval, change.assessment)?;
    let facts = ApprovalFacts {
        impact: change.assessment.consent,
        pods: change.assessment.totals.evicted_pod_count.exact(),
        is_unknown: change.assessment.facts.decisive_gaps().next().is_some(),
        changes_others: !change.concerns.is_empty(),
        defect: change.defect,
        eviction: change.eviction,
        yes: approval.yes,
        limit: approval.limit,
    };
    let question = facts.question(change.action, counted_pods(change))?;
    Ok(match question {
        None => ConsentOutcome::Proceed,
        Some(Question::Yes { .. }) => ConsentOutcome::Ask(Question::Yes {
            action: with_pods(change),
        }),
        Some(question) => ConsentOutcome::Ask(question),
    })
}

/// The action with how many pods it evicts: on a small terminal nothing else of the answer may be left in view.
fn with_pods(change: &PlannedChange<'_>) -> String {
    let action = change.action;
    match change.assessment.totals.evicted_pod_count.exact() {
        None | Some(0) => action.to_owned(),
        Some(pods) => {
            let pods = counted(pods, "pod");
            match counted_pods(change) {
                CountedPods::Evicted => format!("{action} and evict {pods}"),
                CountedPods::Leaving => format!("{action} and remove {pods} from the devices"),
            }
        }
    }
}

/// The pods that the totals count. A drain may restart Deployments, which evicts none of their pods.
fn counted_pods(change: &PlannedChange<'_>) -> CountedPods {
    match change.drains {
        Some(_) => CountedPods::Leaving,
        None => CountedPods::Evicted,
    }
}

/// Refuses a change that one of the guards forbids.
fn refuse_tripped(assessment: &Assessment) -> Result<(), Failure> {
    match assessment.tripped() {
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
        // A drain chooses its own rules, and evicts pods through the Eviction API: its pods are compared.
        ApprovalRefusal::OtherTaints { .. } => change.drains.is_none(),
        ApprovalRefusal::LessKnown { .. } => true,
    };
    let objections = objections(expected, change.previewed);
    let news: Vec<_> = objections.iter().filter(|found| is_news(found)).collect();
    if news.is_empty() {
        return Ok(());
    }
    let refused = if news.iter().all(|found| found.is_of_selection()) {
        "the taints, or the selectors of the rules, are not those of --expect"
    } else {
        "the impact is larger than in --expect"
    };
    let refused = Failure::refused(format!("{refused}; nothing was changed"));
    let refused = news
        .iter()
        .fold(refused, |failure, text| failure.detail(text.to_string()));
    Err(refused.hint(
        "to review the current impact, run the same command with --dry-run and without --expect",
    ))
}

/// Checks that the answer still holds for what is found `now`, since the user may have taken time to answer: what was
/// `shown` is approved, and nothing beyond it. Nothing was changed.
///
/// Evictions that come nearer while the clock goes on are no news.
///
/// # Errors
///
/// A guard trips by now, another pod would be evicted, or less is known.
pub fn still_agreed(shown: &ImpactFacts, now: &Assessment) -> Result<(), Failure> {
    refuse_tripped(now)?;
    let objections = objections(shown, &now.facts);
    let mut news = objections
        .iter()
        .filter_map(|objection| match objection {
            ApprovalRefusal::NewPod { pod } => Some(format!("pod {pod} would now be evicted too")),
            ApprovalRefusal::LessKnown { what } => Some(format!("{what} can no longer be read")),
            // Evictions come nearer while the clock goes on.
            ApprovalRefusal::OtherTaints { .. } | ApprovalRefusal::Earlier { .. } => None,
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
    let done: BTreeSet<&ObjectName> = change.done().map(|done| &done.rule.name).collect();
    // The earliest cause decides: if it is a rule that is as wanted already, the pod is evicted without
    // this change.
    let is_hit = |pod: &&PodFacts| {
        let first = pod.first_rule.as_ref();
        first.is_some_and(|rule| done.contains(rule))
    };
    let pods = change.assessment.facts.pods.iter().filter(is_hit);
    pods.map(|pod| pod.name.to_string()).collect()
}

/// Numbers that were agreed to mean nothing when the report's are lower bounds.
fn refuse_unknown(approval: &Approval<'_>, assessment: &Assessment) -> Result<(), Failure> {
    let is_counted = approval.yes || !assessment.guards.is_empty();
    let unknown = assessment.facts.unknown_evictions();
    if unknown.is_empty() || !is_counted {
        return Ok(());
    }
    let refused = Failure::refused(
        "the data is incomplete, so more pods may be evicted than this command counts; nothing \
        was changed",
    );
    Err(unknown.into_iter().fold(refused, Failure::detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Limits;
    use crate::decide::testing::named;
    use crate::error::ExitStatus;
    use crate::model::{Affects, DeviceSelector, Effect, Gap};
    use crate::report::ImpactReport;
    use crate::report::impact::saved;
    use crate::report::testing::Example;

    const UNSET: Approval<'_> = Approval {
        yes: false,
        expect: None,
        limit: ImpactLimit::Missing,
    };

    const YES: Approval<'_> = Approval { yes: true, ..UNSET };

    /// Three pods in two namespaces, of which one later.
    fn report() -> ImpactReport {
        Example::new().report()
    }

    static NO_LINES: ImpactLines = ImpactLines {
        summary: Vec::new(),
        hardware: Vec::new(),
        unknown: Vec::new(),
        rows: Vec::new(),
    };

    fn change(report: &ImpactReport) -> PlannedChange<'_> {
        PlannedChange {
            assessment: &report.assessment,
            previewed: &report.assessment.facts,
            lines: &NO_LINES,
            rules: &[],
            action: "Give effect NoExecute to rule drain",
            concerns: &[],
            proposed: &[],
            drains: None,
            eviction: EvictionMethod::Taint,
            defect: None,
        }
    }

    /// The report of a user who may not read all.
    fn report_without(what: &str, affects: Affects) -> ImpactReport {
        let mut report = report();
        let gap = gap(what, affects);
        report.incomplete.push((&gap).into());
        report.assessment.facts.gaps.push(gap);
        report
    }

    fn gap(what: &str, affects: Affects) -> Gap {
        Gap {
            what: what.to_owned(),
            why: "access denied".to_owned(),
            affects,
        }
    }

    #[test]
    fn who_does_not_know_whom_it_hits_has_to_say_so() {
        let nobody_asked = UNSET;
        let unknown = report_without("pods", Affects::Evictions);
        let Ok(ConsentOutcome::Ask(question)) = consent(&nobody_asked, &change(&unknown)) else {
            panic!("it is asked");
        };
        assert!(matches!(question, Question::Unknown { .. }), "{question:?}");
        // Details do not change the affected pods; before the question they are told all the same.
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
        let unknown = DeviceSelector {
            unknown_fields: vec!["rack".to_owned()],
            ..gpu()
        };
        assert_eq!(shown(unknown), None);
    }

    fn in_one_namespace() -> ImpactReport {
        Example::new().in_one_namespace().report()
    }

    #[test]
    fn a_drain_is_compared_by_its_pods_and_not_by_its_rules() {
        let report = in_one_namespace();
        let mut expected = report.assessment.facts.clone();
        expected.taints.clear();
        let drains = Drains::ByEviction(Vec::new(), BTreeSet::new());
        let agreed = |expected: &ImpactFacts, drains: Option<&Drains>| {
            let approval = Approval {
                expect: Some(expected),
                limit: ImpactLimit::Set,
                ..YES
            };
            let change = PlannedChange {
                drains,
                ..change(&report)
            };
            consent(&approval, &change).is_ok()
        };
        assert!(agreed(&expected, Some(&drains)));
        assert!(!agreed(&expected, None));
        expected.pods.clear();
        assert!(!agreed(&expected, Some(&drains)));
    }

    #[test]
    fn a_tripped_guard_is_never_asked_away() {
        let guards = ["pods.evicted>2".parse().unwrap()];
        let limits = Limits {
            guards: &guards,
            ..Limits::default()
        };
        let report = Example::new().in_one_namespace().report_within(&limits);
        for approval in [UNSET, YES] {
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
        let expected = saved::parse(&text).unwrap();
        let approval = Approval {
            expect: Some(&expected),
            limit: ImpactLimit::Set,
            ..YES
        };
        assert_eq!(
            consent(&approval, &change(&read)).unwrap(),
            ConsentOutcome::Proceed
        );
        let mut more = read;
        let mut pods = more.assessment.facts.pods.iter_mut();
        let newcomer = pods.find(|pod| pod.outcome.is_evicted()).unwrap();
        newcomer.uid = "uid-of-a-newcomer".into();
        newcomer.first_rule = Some("first".into());
        let name = newcomer.name.to_string();
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
    fn lower_bounds_are_nothing_to_agree_to() {
        let mut report = in_one_namespace();
        report.assessment.facts.gaps = vec![gap("pods", Affects::Evictions)];
        let failure = consent(&YES, &change(&report)).unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Refused);
        assert_eq!(failure.details(), ["pods: access denied"]);
        // A user who is shown the report may go on.
        assert!(consent(&UNSET, &change(&report)).is_ok());
    }

    #[test]
    fn an_answer_is_about_what_was_shown_and_nothing_that_came_since() {
        let all = report().assessment;
        let mut pods = all.facts.pods.iter();
        let evicted = pods.position(|pod| pod.outcome.is_evicted()).unwrap();
        let mut fewer = all.clone();
        let newcomer = fewer.facts.pods.remove(evicted);
        assert!(still_agreed(&all.facts, &all).is_ok());
        let gone = still_agreed(&all.facts, &fewer);
        assert!(gone.is_ok(), "somebody has gone");
        let failure = still_agreed(&fewer.facts, &all).unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Refused);
        assert_eq!(
            failure.details(),
            [format!("pod {} would now be evicted too", newcomer.name)]
        );
        let mut unread = all.clone();
        unread.facts.gaps = vec![gap("pods", Affects::Evictions)];
        let failure = still_agreed(&all.facts, &unread).unwrap_err();
        assert_eq!(failure.details(), ["pods can no longer be read"]);
        // Evictions that come nearer only because time passes need no new question.
        let mut nearer = all.clone();
        for pod in &mut nearer.facts.pods {
            let earlier = |time| time - jiff::SignedDuration::from_secs(30);
            pod.eviction_time = pod.eviction_time.map(earlier);
            pod.evict_in_seconds = pod.evict_in_seconds.map(|seconds| seconds - 30);
        }
        assert!(still_agreed(&all.facts, &nearer).is_ok());
    }

    #[test]
    fn what_belongs_to_others_is_asked_about_although_nobody_is_evicted() {
        let mut example = Example::new();
        example.proposed.taint.effect = Effect::None;
        let report = example.report();
        let nothing = UNSET;
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
