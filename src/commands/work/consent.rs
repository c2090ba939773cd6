//! What stands between a command and the pods it would evict: guards, a kept report, a question.
//!
//! Who has to agree is decided in `decide`; here the report is shown and the question asked.

use std::path::PathBuf;

use super::policy;
use crate::assess::Guard;
use crate::commands::context::Context;
use crate::decide::consent::expected;
use crate::decide::expectation::{Expectation, UnreadableExpectation};
use crate::decide::policy::Policies;
use crate::decide::proposal::ApprovalResult;
use crate::decide::question::{Audience, QuestionOutcome, check_count, check_unknown, may_ask};
use crate::decide::risk::{self, Risk};
use crate::decide::{Approval, ConsentOutcome, PlannedChange, Question, consent};
use crate::error::{ExitStatus, Failure};
use crate::model::Minor;
use crate::output::question::{self, QuestionError};
use crate::output::wrap::hanging;
use crate::report::change::DryRun;
use crate::report::impact::saved;
use crate::report::metadata::{Cluster, Warning};

/// How much harm is agreed to, as it was said.
#[derive(Debug)]
pub(crate) struct SafetyFlags {
    /// Whether nobody is asked.
    pub(crate) yes: bool,
    /// How many pods may be evicted.
    pub(crate) confirm_pods: Option<usize>,
    /// The file with the report that was agreed to.
    pub(crate) expect: Option<PathBuf>,
    /// What must not hold.
    pub(crate) guards: Vec<Guard>,
    /// Whether the defects of the release are.
    pub(crate) risk: Risk,
    /// The files with what a team has agreed on.
    pub(crate) policy: Vec<PathBuf>,
}

/// How much harm is agreed to, with the report that was read.
#[derive(Debug)]
pub(crate) struct SafetyLimits {
    yes: bool,
    confirm_pods: Option<usize>,
    expect: Option<Expectation>,
    /// Those of the command line, then those of the policies.
    pub(crate) guards: Vec<Guard>,
    pub(crate) risk: Risk,
    pub(crate) policies: Policies,
}

fn read_expected(path: &PathBuf) -> Result<Expectation, Failure> {
    let read = || {
        let text = std::fs::read_to_string(path)
            .map_err(|error| UnreadableExpectation::Unread(error.to_string()))?;
        saved::parse(&text).map_err(UnreadableExpectation::from)
    };
    expected(&path.display().to_string(), read)
}

impl SafetyLimits {
    /// Reads the policies and the report that was agreed to, and finds what is wrong with them.
    pub(crate) fn new(approval: SafetyFlags) -> Result<Self, Failure> {
        let policies = policy::read(&approval.policy)?;
        let mut guards = approval.guards;
        guards.extend(policies.guards());
        Ok(Self {
            yes: approval.yes,
            confirm_pods: approval.confirm_pods,
            expect: approval.expect.as_ref().map(read_expected).transpose()?,
            guards,
            risk: approval.risk,
            policies,
        })
    }

    /// Whether a report was agreed to beforehand.
    pub(crate) fn expects(&self) -> bool {
        self.expect.is_some()
    }

    /// Whether a change that affects no pod needs no report.
    pub(crate) fn needs_no_report(&self) -> bool {
        self.guards.is_empty() && !self.expects()
    }

    /// Lets a planned change pass, and says by whom, or says what stands in its way. Nothing was changed. A dry
    /// run answers as the real run would, but for the question, which it only tells.
    pub(crate) fn check(
        &self,
        planned: &PlannedChange<'_>,
        dry_run: DryRun,
        context: &Context,
    ) -> Result<ApprovalResult, Failure> {
        let approval = Approval {
            yes: self.yes,
            confirm_pods: self.confirm_pods,
            expect: self.expect.as_ref(),
        };
        let consented = consent(&approval, planned);
        match &consented {
            Ok(ConsentOutcome::Ask(_)) => introduce(&planned.block(), context),
            // Without a question nothing else shows what it comes to, also where it is refused.
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

/// Lets a `action` pass that makes rules or lets them do more on a server of this `release`, and says by whom;
/// what the release does wrong is told in any case.
pub(crate) fn take_risk(
    action: &str,
    risk: Risk,
    release: Option<Minor>,
    dry_run: DryRun,
    context: &Context,
) -> Result<ApprovalResult, Failure> {
    let Some(known) = risk::known(risk, release, action) else {
        return Ok(ApprovalResult::Unasked);
    };
    context.printer.warn(&Warning::from(&known.warning).line());
    match known.question {
        None => Ok(ApprovalResult::Unasked),
        Some(question) => ask(&question, dry_run, context),
    }
}

/// Says above a question in which cluster it is asked, and about what.
pub(crate) fn introduce(lines: &[String], context: &Context) {
    let cluster = context.introduced_cluster().map(|cluster| cluster.line());
    let columns = context.interactive.then(question::columns).flatten();
    for line in cluster.iter().chain(lines) {
        for part in hanging(line, columns) {
            context.printer.note(&part);
        }
    }
}

/// Asks, where there is somebody to ask; anything but the right answer ends the command. A dry run only
/// tells the question.
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
    // A question that nothing introduces still stands below the name of its cluster.
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
        Question::Yes { .. } | Question::Others { .. } | Question::Defect { .. } => {
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
        SafetyLimits::new(SafetyFlags {
            yes: false,
            confirm_pods: None,
            expect: None,
            guards: guards.iter().map(|guard| guard.parse().unwrap()).collect(),
            risk: Risk::default(),
            policy: Vec::new(),
        })
        .unwrap()
    }

    #[test]
    fn a_change_that_affects_no_pod_needs_a_report_for_a_guard_or_for_an_expected_report() {
        assert!(limits(&[]).needs_no_report());
        assert!(!limits(&["pods.evicted>0"]).needs_no_report());
        let mut expecting = limits(&[]);
        assert!(!expecting.expects());
        expecting.expect = Some(Expectation::Whole(Default::default()));
        assert!(expecting.expects() && !expecting.needs_no_report());
    }
}
