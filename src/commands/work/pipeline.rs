//! Steps between a proposal and its change: assessment, limits, confirmation, second look, change, wait.

use std::fmt::Display;
use std::fs::read_to_string;
use std::path::PathBuf;

use super::changer::{Changer, stopped};
use super::connect::{Live, failed};
use super::mutation_context::{MutationContext, by_name};
use super::wait::{ProgressLine, Wait, WaitEnd, not_seen_released, timed_out};
use crate::assess::{ImpactFacts, defects};
use crate::cluster::{ApiClient, user_name};
use crate::commands::context::Context;
use crate::decide::approval::{
    Approval, ImpactLines, NeededAnswer, PlannedChange, Question, RemovalApproval, SafetyLimits,
    deletion, impact, still_agreed,
};
use crate::decide::change_log::DryRun;
use crate::decide::conflict::refuse_deleted;
use crate::decide::identity::refuse_other_hardware;
use crate::decide::owner::{note_users, set_back};
use crate::decide::proposal::ProposedRule;
use crate::decide::{Chooser, Proposal, pending_evictions};
use crate::engine::settle::{Goal, Patience};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Minor, Uid, Warning};
use crate::output::question::{self, QuestionError};
use crate::report::impact::saved;
use crate::report::metadata::{Cluster, Warning as Oddity};
use crate::report::remaining_pods::not_evicted_line;

/// Steps of a change that may evict pods.
#[derive(Clone, Copy)]
pub(crate) struct Pipeline<'a> {
    pub(crate) mutation: &'a MutationContext,
    pub(crate) safety: &'a SafetyLimits,
    pub(crate) context: &'a Context,
}

impl Pipeline<'_> {
    /// Has `proposal` approved and applied, and waits for its evictions.
    ///
    /// # Errors
    ///
    /// It is refused, cannot be applied, or the wait does not end in time.
    pub(crate) async fn run(
        &self,
        proposal: &Proposal,
        changer: &mut Changer<'_>,
        apply: impl AsyncFnOnce(&Changer<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (log, dry_run) = (&self.context.log, changer.dry_run());
        // On the heap: each reads many lists, and the stack would have to hold them all.
        let approved = Box::pin(self.approve(proposal, dry_run)).await;
        let expected = approved.inspect_err(|failure| log.refuse(&proposal.rules, failure))?;
        let open = proposal.goals();
        // A change notes its user; one that is not sent notes nothing.
        if !open.is_empty() && dry_run != DryRun::Client {
            changer.set_user(user_name(&self.mutation.live()?.client).await);
        }
        // From here on, an interruption lists the rules that were changed and those that were not.
        log.plan(open);
        Box::pin(apply(changer)).await?;
        match proposal.waits() {
            Some(patience) if dry_run.is_real() => {
                Box::pin(self.wait_for_evictions(proposal, expected, patience)).await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The pods whose eviction was approved.
    async fn approve(&self, proposal: &Proposal, dry_run: DryRun) -> Result<Vec<Uid>, Failure> {
        // A run that finds everything done changes nothing, and may still wait.
        if proposal.is_done() {
            return Ok(Vec::new());
        }
        let Self {
            mutation,
            safety,
            context,
        } = *self;
        let view = &mutation.view;
        let noting: Vec<DeviceTaintRule> = proposal.noting_hardware();
        // Refusals come before questions, and what needs no pods before these are read.
        refuse_other_hardware(&noting, view.snapshot(), &view.semantics)?;
        if proposal.is_idle() && !safety.is_set() {
            approve_idle(&proposal.action, safety, view.release(), dry_run, context)?;
            return Ok(Vec::new());
        }
        let defect = defect(view.release(), context);
        let proposed = proposal.proposed(view.now);
        let evicted = proposal.evictions.as_ref().map(|evictions| &evictions.pods);
        let report = mutation
            .report_on(&proposed, &safety.guards, evicted)
            .await?;
        if let Some(patience) = proposal.waits() {
            // Before the confirmation: a wait that cannot succeed is refused while nothing is changed.
            let last = report
                .assessment
                .totals
                .last_eviction_time
                .map(|last| last.0);
            pending_evictions::refuse_too_short(last, patience, view.now)?;
        }
        // It costs another read of pods, and only an expected report is compared with it.
        let previewed = match proposal.previewed(view.now) {
            Some(previewed) if safety.expected.is_some() => {
                Some(mutation.report_on(&previewed, &[], None).await?)
            }
            Some(_) | None => None,
        };
        let planned = PlannedChange {
            assessment: &report.assessment,
            previewed: &previewed.as_ref().unwrap_or(&report).assessment.facts,
            lines: &ImpactLines {
                summary: report.summary_lines(),
                other: [report.hardware_lines(), report.unknown_lines()].concat(),
                rows: report.row_lines(),
            },
            rules: &proposal.rules,
            action: &proposal.action,
            concerns: &self.concerns(proposal).await,
            evictions: proposal.evictions.as_ref(),
            defect: defect.as_ref(),
        };
        let question = impact(safety, &planned);
        if matches!(question, Ok(Some(_))) {
            introduce(&planned.block(), context);
        } else {
            // Without a question nothing else shows the impact, also where it is refused.
            for line in planned.summary_lines().iter().chain(planned.concerns) {
                context.printer.note(line);
            }
        }
        let facts = &report.assessment.facts;
        // The impact may have grown or changed while the user thought about it.
        if let Some(question) = question?
            && ask(&question, dry_run, context)?
        {
            let now = mutation.again().await?;
            refuse_deleted(&proposal.changed(), now.view.rules()?)?;
            let proposed = proposal.proposed(now.view.now);
            let found = now.report_on(&proposed, &safety.guards, evicted).await?;
            still_agreed(facts, &found.assessment)?;
            refuse_other_hardware(&noting, now.view.snapshot(), &now.view.semantics)?;
        }
        Ok(facts.evicted().map(|pod| pod.uid.clone()).collect())
    }

    async fn concerns(&self, proposal: &Proposal) -> Vec<String> {
        let user = match self.mutation.view.live() {
            Some(live) => asking(&proposal.changed(), &live.client).await,
            None => None,
        };
        proposal.concerns(user.as_deref())
    }

    async fn wait_for_evictions(
        &self,
        proposal: &Proposal,
        expected: Vec<Uid>,
        patience: Patience,
    ) -> Result<(), Failure> {
        let context = self.context;
        let rules = self.as_changed(&proposal.evicting()).await?;
        let names: Vec<String> = rules.iter().map(|rule| rule.name.to_string()).collect();
        let advice = |seen: &[DeviceTaintRule]| pending_evictions::ways_on(&names, seen);
        context.log.advise(advice(&rules));
        let wait = Wait {
            goal: Goal::Evicted,
            rules: &rules,
            expected,
            patience,
            advice: &advice,
            progress_line: ProgressLine::Shown,
            last_look: None,
        };
        // The view from before the change shows the rules as they were.
        let waited = match self.mutation.view.again().await {
            Ok(view) => wait.for_pods(view, context).await,
            Err(failure) => Err(failure),
        };
        let waited = waited.map_err(|failure| stopped(failure, context))?;
        // A command waits once.
        let _ = context.waited.set(waited.report(&wait));
        match waited.ending {
            WaitEnd::Met => {
                let rules = if names.len() == 1 { "rule" } else { "rules" };
                let ended = if waited.misses_force_deletions {
                    "no evicted pod is left; whether pods were force-deleted is unknown"
                } else {
                    "all evicted pods have ended"
                };
                let line = format!("{rules} {}: {ended}", names.join(", "));
                context.printer.note(&line);
                if let Some(line) = not_evicted_line(&waited.staying) {
                    context.printer.note(&line);
                }
                Ok(())
            }
            WaitEnd::NotReleased(left) => Err(not_seen_released(&left)),
            WaitEnd::TimedOut(left) => {
                let failure = timed_out(patience.timeout, &left).detail("the rules stay");
                Err(advice(&rules).into_iter().fold(failure, Failure::hint))
            }
        }
    }

    /// The rules as they are after the change.
    async fn as_changed(&self, rules: &[&ProposedRule]) -> Result<Vec<DeviceTaintRule>, Failure> {
        let (there, made): (Vec<&ProposedRule>, Vec<&ProposedRule>) =
            rules.iter().partition(|rule| rule.now().is_some());
        let made: Vec<String> = made.into_iter().map(|rule| rule.name()).collect();
        let made = by_name(&made, self.mutation.rules()?).await;
        let there = there.into_iter().map(|rule| rule.rule.clone());
        Ok(there.chain(made.map_err(failed)?).collect())
    }
}

fn defect(release: Option<Minor>, context: &Context) -> Option<Warning> {
    let defect = defects::of_rules(release)?;
    context.printer.warn(&Oddity::from(&defect).line());
    Some(defect)
}

/// Approves a change that affects no pod.
///
/// # Errors
///
/// It is refused, or not confirmed.
pub(crate) fn approve_idle(
    action: &str,
    limits: &SafetyLimits,
    release: Option<Minor>,
    dry_run: DryRun,
    context: &Context,
) -> Result<(), Failure> {
    let defect = defect(release, context);
    let approval = Approval::without_evictions(action, defect.as_ref(), limits.yes, limits.limit());
    approve(&[], &approval, dry_run, context)
}

/// Asks what `approval` still needs, below these lines.
///
/// # Errors
///
/// It is refused, or not confirmed.
pub(crate) fn approve(
    lines: &[String],
    approval: &Approval<'_>,
    dry_run: DryRun,
    context: &Context,
) -> Result<(), Failure> {
    if !lines.is_empty() {
        introduce(lines, context);
    }
    match approval.question()? {
        None => Ok(()),
        Some(question) => ask(&question, dry_run, context).map(drop),
    }
}

/// Approves the deletion of the rules that `chooser` selects.
///
/// # Errors
///
/// It is refused, or not confirmed.
pub(crate) async fn approve_deletion(
    proposal: &Proposal,
    chooser: &Chooser,
    agreed: RemovalApproval,
    live: &Live,
    changer: &Changer<'_>,
) -> Result<(), Failure> {
    let (dry_run, context) = (changer.dry_run(), changer.context());
    let found = proposal.changed();
    for line in set_back(&found) {
        context.printer.note(&line);
    }
    let user = asking(&found, &live.client).await;
    let Some(question) = deletion(chooser, &found, user.as_deref(), agreed) else {
        return Ok(());
    };
    // A dry run does not refuse, and cannot show otherwise whose they are.
    let is_refused = dry_run.is_real() && !context.interactive;
    introduce(
        &proposal.deletion_lines(user.as_deref(), is_refused),
        context,
    );
    // No second look as before evictions: each deletion names the state that was shown.
    ask(&question, dry_run, context).map(drop)
}

/// The user's name, where it decides whether rules are the user's own.
pub(crate) async fn asking(rules: &[DeviceTaintRule], client: &ApiClient) -> Option<String> {
    match note_users(rules) {
        true => user_name(client).await,
        false => None,
    }
}

/// Prints the lines above a question, the cluster first.
pub(crate) fn introduce(lines: &[String], context: &Context) {
    let cluster = context.introduced_cluster().map(|cluster| cluster.line());
    for line in cluster.iter().chain(lines) {
        context.printer.note(line);
    }
}

/// Asks; true if the user answered, which may have taken long.
///
/// # Errors
///
/// It is not confirmed, or cannot be asked.
pub(crate) fn ask(
    question: &Question,
    dry_run: DryRun,
    context: &Context,
) -> Result<bool, Failure> {
    // A question without an introduction is still below the name of its cluster.
    introduce(&[], context);
    if !dry_run.is_real() {
        context.printer.note(&question.in_dry_run());
        return Ok(false);
    }
    let cluster = context.cluster();
    let cluster = cluster.as_ref().map_or("this cluster", Cluster::name);
    if !context.interactive {
        return Err(question.without_terminal(cluster));
    }
    let (prompt, printer) = (&question.prompt(cluster), &context.printer);
    match question.answer {
        NeededAnswer::Yes => {
            let confirmed = printer.while_asking(|| question::confirm(prompt));
            if !confirmed.map_err(unanswered)? {
                return Err(Failure::refused("not confirmed; nothing was changed"));
            }
        }
        NeededAnswer::Pods(_) | NeededAnswer::Unknown => {
            let typed = printer.while_asking(|| question::line(prompt));
            question.check(&typed.map_err(unanswered)?)?;
        }
    }
    Ok(true)
}

fn unanswered(error: QuestionError) -> Failure {
    match error {
        QuestionError::Interrupted => {
            Failure::new(ExitStatus::Interrupted, "interrupted; nothing was changed")
        }
        QuestionError::Unreadable(_) => Failure::from(error).detail("nothing was changed"),
    }
}

/// The limits with the report of `--expect`, which is read before anything else is done.
///
/// # Errors
///
/// It cannot be read.
pub(crate) fn read_limits(limits: &SafetyLimits) -> Result<SafetyLimits, Failure> {
    Ok(SafetyLimits {
        expected: limits.expect.as_ref().map(read_expected).transpose()?,
        ..limits.clone()
    })
}

fn read_expected(path: &PathBuf) -> Result<ImpactFacts, Failure> {
    let unreadable =
        |error: &dyn Display| Failure::usage(format!("--expect {}: {error}", path.display()));
    let text = read_to_string(path).map_err(|error| unreadable(&error))?;
    saved::parse(&text)
        .map_err(|error| unreadable(&error).hint("create a report with `preview … -o json`"))
}
