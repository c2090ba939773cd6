//! Approval of an eviction: guards, an expected report, a question.
//!
//! `decide` says when the user has to agree; here the report is shown and the question asked.

use std::path::PathBuf;

use crate::assess::{Guard, ImpactFacts};
use crate::commands::context::Context;
use crate::decide::approval::{ApprovalFacts, ImpactLimit};
use crate::decide::proposal::ApprovalResult;
use crate::decide::question::{
    Audience, CountedPods, QuestionOutcome, check_count, check_unknown, may_ask,
};
use crate::decide::{Approval, ConsentOutcome, PlannedChange, Question, consent};
use crate::error::{ExitStatus, Failure};
use crate::model::Warning;
use crate::output::escape::hanging;
use crate::output::question::{self, QuestionError};
use crate::report::change::DryRun;
use crate::report::impact::saved;
use crate::report::metadata::Cluster;

/// Impact that the user accepts, with the report that was read.
#[derive(Debug)]
pub(crate) struct SafetyLimits {
    yes: bool,
    expect: Option<ImpactFacts>,
    pub(crate) guards: Vec<Guard>,
}

fn read_expected(path: &PathBuf) -> Result<ImpactFacts, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("--expect {}: {error}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(&error))?;
    saved::parse(&text)
        .map_err(|error| unreadable(&error).hint("create a report with `preview … -o json`"))
}

impl SafetyLimits {
    /// Limits of a command: reads the report of `--expect`.
    pub(crate) fn new(
        yes: bool,
        expect: Option<&PathBuf>,
        guards: Vec<Guard>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            yes,
            expect: expect.map(read_expected).transpose()?,
            guards,
        })
    }

    /// Limits of `preview --publish`, which asks no question.
    pub(crate) fn of_publication(guards: &[Guard]) -> Self {
        Self {
            yes: true,
            expect: None,
            guards: guards.to_vec(),
        }
    }

    /// True if a report was approved beforehand.
    pub(crate) fn expects(&self) -> bool {
        self.expect.is_some()
    }

    /// True if a change that affects no pod needs no report.
    pub(crate) fn needs_no_report(&self) -> bool {
        self.guards.is_empty() && !self.expects()
    }

    fn limit(&self) -> ImpactLimit {
        if self.needs_no_report() {
            ImpactLimit::Missing
        } else {
            ImpactLimit::Set
        }
    }

    /// Approves `action`, which affects no pod, on a release with this `defect`.
    pub(crate) fn check_without_impact(
        &self,
        action: &str,
        defect: Option<&Warning>,
        dry_run: DryRun,
        context: &Context,
    ) -> Result<ApprovalResult, Failure> {
        let facts = ApprovalFacts::without_evictions(defect, self.yes, self.limit());
        match facts.question(action, CountedPods::Evicted)? {
            None => Ok(ApprovalResult::Unasked),
            Some(question) => ask(&question, dry_run, context),
        }
    }

    /// Approves a planned change, or says what prevents it. Nothing was changed. A dry run answers as the
    /// real run would, but only prints the question.
    pub(crate) fn check(
        &self,
        planned: &PlannedChange<'_>,
        dry_run: DryRun,
        context: &Context,
    ) -> Result<ApprovalResult, Failure> {
        let approval = Approval {
            yes: self.yes,
            expect: self.expect.as_ref(),
            limit: self.limit(),
        };
        let consented = consent(&approval, planned);
        match &consented {
            Ok(ConsentOutcome::Ask(_)) => introduce(&planned.block(), context),
            // Without a question nothing else shows the impact, also where it is refused.
            Ok(ConsentOutcome::Proceed) | Err(_) => {
                for line in planned.summary_lines().iter().chain(planned.concerns) {
                    context.printer.note(line);
                }
            }
        }
        match consented? {
            ConsentOutcome::Proceed => Ok(ApprovalResult::Unasked),
            ConsentOutcome::Ask(question) => ask(&question, dry_run, context),
        }
    }
}

/// Prints the cluster and the subject above a question.
pub(crate) fn introduce(lines: &[String], context: &Context) {
    let cluster = context.introduced_cluster().map(|cluster| cluster.line());
    let columns = context.interactive.then(question::columns).flatten();
    for line in cluster.iter().chain(lines) {
        for part in hanging(line, columns) {
            context.printer.note(&part);
        }
    }
}

/// Asks at a terminal; anything but the right answer ends the command. A dry run only prints the question.
pub(crate) fn ask(
    question: &Question,
    dry_run: DryRun,
    context: &Context,
) -> Result<ApprovalResult, Failure> {
    let audience = match (dry_run.is_real(), context.interactive) {
        (false, _) => Audience::DryRun,
        (true, true) => Audience::Terminal,
        (true, false) => Audience::NoTerminal,
    };
    // A question without an introduction is still below the name of its cluster.
    introduce(&[], context);
    let cluster = context.cluster();
    let cluster = cluster.as_ref().map_or("this cluster", Cluster::name);
    match may_ask(question, audience, cluster)? {
        QuestionOutcome::Told(text) => {
            context.printer.note(&text);
            return Ok(ApprovalResult::Unasked);
        }
        QuestionOutcome::Ask => {}
    }
    let prompt = &question.prompt(cluster);
    let typed = || {
        let line = context.printer.while_asking(|| question::line(prompt));
        line.map_err(unanswered)
    };
    match question {
        Question::Yes { .. } | Question::Others { .. } | Question::Limited { .. } => {
            let confirmed = context.printer.while_asking(|| question::confirm(prompt));
            if !confirmed.map_err(unanswered)? {
                return Err(Failure::refused("not confirmed; nothing was changed"));
            }
        }
        Question::Unknown { .. } => check_unknown(&typed()?)?,
        Question::PodCount { pods, .. } => check_count(&typed()?, *pods)?,
    }
    Ok(ApprovalResult::Answered)
}

fn unanswered(error: QuestionError) -> Failure {
    match error {
        QuestionError::Interrupted => {
            Failure::new(ExitStatus::Interrupted, "interrupted; nothing was changed")
        }
        QuestionError::Unreadable(_) => Failure::from(error).detail("nothing was changed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(guards: &[&str]) -> SafetyLimits {
        let guards = guards.iter().map(|guard| guard.parse().unwrap());
        SafetyLimits::new(false, None, guards.collect()).unwrap()
    }

    #[test]
    fn a_change_that_affects_no_pod_needs_a_report_for_a_guard_or_for_an_expected_report() {
        assert!(limits(&[]).needs_no_report());
        assert!(!limits(&["pods.evicted>0"]).needs_no_report());
        let mut expecting = limits(&[]);
        assert!(!expecting.expects());
        expecting.expect = Some(ImpactFacts::default());
        assert!(expecting.expects() && !expecting.needs_no_report());
    }
}
