//! The one way from a proposal to its change.
//!
//! ```text
//! Proposal ─▶ release, assessment, guards, question ─▶ look again ─▶ the writer ─▶ wait
//! ```
//!
//! The part of it that a proposal needs is its [`ApprovalBasis`]:
//!
//! | proposal of | before the change | after it |
//! |---|---|---|
//! | `add`, `escalate`, `drain`, `make-room` | all of it, on the pods that the rules hit | waits for evictions |
//! | `remove` | a question about the rules; each deletion names the state that was shown | |
//! | `deescalate` | nothing: later is too late | |
//! | `preview --publish` | the release; the pods were read before, and rules with effect None evict no pods | |
//!
//! Decisions are made in `decide`; here are the reads, questions, requests and waits.

use super::changer::Changer;
use super::connect::{Live, failed};
use super::consent::{SafetyLimits, ask, introduce};
use super::mutation_context::MutationContext;
use super::resolve_rules::by_name;
use super::stopped::stopped;
use super::wait::{ProgressLine, Wait, WaitEnd, not_seen_released, timed_out};
use crate::assess::defects;
use crate::cluster::{ApiClient, user_name};
use crate::commands::context::Context;
use crate::decide::blast_radius::{RemovalApproval, set_back};
use crate::decide::conflict::refuse_deleted;
use crate::decide::consent::ImpactLines;
use crate::decide::identity::refuse_other_hardware;
use crate::decide::owner::note_users;
use crate::decide::proposal::{ApprovalResult, NamedOwners, ProposedRule};
use crate::decide::{Chooser, PlannedChange, Proposal, pending_evictions, removal, still_agreed};
use crate::engine::settle::{Goal, Patience};
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Minor, Uid, Warning};
use crate::report::change::DryRun;
use crate::report::metadata::Warning as Oddity;
use crate::report::unevicted_pods::not_evicted_line;

/// The way of one proposal to its change.
#[derive(Clone, Copy)]
pub(crate) struct Pipeline<'a> {
    pub(crate) basis: ApprovalBasis<'a>,
    pub(crate) dry_run: DryRun,
    pub(crate) context: &'a Context,
}

/// Approval that a proposal needs, and the facts that it is read from.
#[derive(Clone, Copy)]
pub(crate) enum ApprovalBasis<'a> {
    /// The affected pods, for proposals by which rules do more.
    Impact(ImpactBasis<'a>),
    /// Number of deleted rules, and their creators.
    Deletion(DeletionBasis<'a>),
    /// Nothing, since the rules only do less.
    Downgrade,
    /// The limits of the command on a release with a defect that any rule can trigger: rules with effect None
    /// evict no pod.
    Preview {
        release: Option<Minor>,
        limits: &'a SafetyLimits,
    },
}

/// The cluster whose pods are affected, and the approved limits.
#[derive(Clone, Copy)]
pub(crate) struct ImpactBasis<'a> {
    pub(crate) mutation: &'a MutationContext,
    pub(crate) safety: &'a SafetyLimits,
}

/// The evictions that a change causes, where the command waits for them.
struct ExpectedEvictions {
    /// The pods that the preview showed as evicted.
    pods: Vec<Uid>,
    patience: Patience,
}

/// Deletion of rules: the cluster, the selection, and the approval.
#[derive(Clone, Copy)]
pub(crate) struct DeletionBasis<'a> {
    pub(crate) live: &'a Live,
    pub(crate) chooser: &'a Chooser,
    pub(crate) agreed: RemovalApproval,
}

impl Pipeline<'_> {
    /// Carries out the proposal: nothing before it may be, by `apply` then, and waits for the result where
    /// that is requested.
    ///
    /// # Errors
    ///
    /// The proposal is refused, `apply` fails, or the wait ends without success.
    pub(crate) async fn run(
        &self,
        proposal: &Proposal,
        changer: &mut Changer<'_>,
        apply: impl AsyncFnOnce(&mut Changer<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // On the heap: each reads many lists, and the stack would have to hold them all.
        let approved = Box::pin(self.approve(proposal)).await;
        let expected =
            approved.inspect_err(|failure| changer.outcomes.refuse(&proposal.rules, failure))?;
        let open = proposal.goals();
        match self.basis {
            // A change notes its user; one that is not sent notes nothing.
            ApprovalBasis::Impact(basis) if !open.is_empty() && changer.mode().is_some() => {
                changer.set_user(user_name(&basis.mutation.live()?.client).await);
            }
            ApprovalBasis::Impact(_)
            | ApprovalBasis::Deletion(_)
            | ApprovalBasis::Downgrade
            | ApprovalBasis::Preview { .. } => {}
        }
        match self.basis {
            // From here on, an interruption lists the rules that were changed and those that were not.
            ApprovalBasis::Impact(_) | ApprovalBasis::Deletion(_) | ApprovalBasis::Downgrade => {
                changer.plan(open);
            }
            // A preview accounts for its rules itself, since they are created and deleted again.
            ApprovalBasis::Preview { .. } => {}
        }
        Box::pin(apply(changer)).await?;
        let Some(patience) = proposal.waits().filter(|_| self.dry_run.is_real()) else {
            return Ok(());
        };
        match self.basis {
            ApprovalBasis::Impact(basis) => {
                let expected = ExpectedEvictions {
                    pods: expected,
                    patience,
                };
                let wait = self.wait_for_evictions(basis, proposal, expected, changer);
                Box::pin(wait).await
            }
            ApprovalBasis::Deletion(_)
            | ApprovalBasis::Downgrade
            | ApprovalBasis::Preview { .. } => Ok(()),
        }
    }

    /// Shows the impact, and asks where the user has to agree. Returns the pods to be evicted, as far as they
    /// are known.
    async fn approve(&self, proposal: &Proposal) -> Result<Vec<Uid>, Failure> {
        // A run that finds everything done changes nothing, and may still wait.
        if proposal.is_done() {
            return Ok(Vec::new());
        }
        match self.basis {
            ApprovalBasis::Impact(basis) => return self.approve_impact(basis, proposal).await,
            ApprovalBasis::Deletion(basis) => self.approve_deletion(basis, proposal).await?,
            ApprovalBasis::Downgrade => {}
            ApprovalBasis::Preview { release, limits } => {
                self.approve_idle(limits, release, proposal)?;
            }
        }
        Ok(Vec::new())
    }

    /// Approves rules that affect no pod.
    fn approve_idle(
        &self,
        limits: &SafetyLimits,
        release: Option<Minor>,
        proposal: &Proposal,
    ) -> Result<(), Failure> {
        let defect = self.defect(release);
        let action = &proposal.action;
        limits.check_without_impact(action, defect.as_ref(), self.dry_run, self.context)?;
        Ok(())
    }

    /// Bug of this release that any rule can trigger, with a warning.
    fn defect(&self, release: Option<Minor>) -> Option<Warning> {
        let defect = defects::of_rules(release)?;
        self.context.printer.warn(&Oddity::from(&defect).line());
        Some(defect)
    }

    /// Asks about a deletion of more than one rule of the user's own.
    async fn approve_deletion(
        &self,
        basis: DeletionBasis<'_>,
        proposal: &Proposal,
    ) -> Result<(), Failure> {
        let found = proposal.changed();
        for line in set_back(&found) {
            self.context.printer.note(&line);
        }
        let user = asking(&found, &basis.live.client).await;
        let user = user.as_deref();
        let Some(question) = removal(basis.chooser, &found, user, basis.agreed) else {
            return Ok(());
        };
        // A dry run does not refuse, and cannot show otherwise whose they are.
        let is_refused = self.dry_run.is_real() && !self.context.interactive;
        let lines = proposal.deletion_lines(user, &question, is_refused);
        introduce(&lines, self.context);
        // No second look as before evictions: each deletion names the state that was shown.
        ask(&question, self.dry_run, self.context).map(drop)
    }

    /// Shows the affected pods, with all that is done already, and asks if any pod can be affected.
    async fn approve_impact(
        &self,
        basis: ImpactBasis<'_>,
        proposal: &Proposal,
    ) -> Result<Vec<Uid>, Failure> {
        let ImpactBasis {
            mutation, safety, ..
        } = basis;
        let view = &mutation.view;
        // Refusals come before questions, and what needs no pods before these are read.
        if proposal.is_noted_before {
            refuse_other_hardware(&proposal.changed(), view.snapshot(), &view.semantics)?;
        }
        if proposal.is_idle() && safety.needs_no_report() {
            self.approve_idle(safety, view.release(), proposal)?;
            return Ok(Vec::new());
        }
        let defect = self.defect(view.release());
        let proposed = proposal.proposed(view.now);
        let (guards, kept, named) = (&safety.guards, proposal.kept(), proposal.named());
        let report = mutation
            .report_keeping(&proposed, guards, &kept, named)
            .await?;
        if let Some(patience) = proposal.waits() {
            // Before the confirmation: a wait that cannot succeed is refused while nothing is changed.
            let last = report.assessment.totals.last_eviction;
            pending_evictions::refuse_too_short(last, patience, view.now)?;
        }
        // It costs another read of pods, and only an expected report is compared with it.
        let previewed = match proposal.previewed(view.now) {
            Some(previewed) if safety.expects() => Some(mutation.report(&previewed, &[]).await?),
            Some(_) | None => None,
        };
        let planned = PlannedChange {
            assessment: &report.assessment,
            previewed: &previewed.as_ref().unwrap_or(&report).assessment.facts,
            lines: &ImpactLines {
                summary: report.summary_lines(),
                hardware: report.hardware_lines(),
                unknown: report.unknown_lines(),
                rows: report.row_lines(),
            },
            rules: &proposal.rules,
            action: &proposal.action,
            concerns: &self.concerns(mutation, proposal).await,
            proposed: &proposed,
            drains: proposal.drains.as_ref(),
            eviction: proposal.eviction,
            defect: defect.as_ref(),
        };
        let passed = safety.check(&planned, self.dry_run, self.context)?;
        let facts = &report.assessment.facts;
        let expected = facts.evicted().map(|pod| pod.uid.clone()).collect();
        match passed {
            ApprovalResult::Unasked => {}
            // The impact may have grown or changed while the user thought about it.
            ApprovalResult::Answered => {
                let now = mutation.again().await?;
                refuse_deleted(&proposal.changed(), now.view.rules()?)?;
                let proposed = proposal.proposed(now.view.now);
                let found = now
                    .report_keeping(&proposed, &safety.guards, &kept, named)
                    .await?;
                still_agreed(facts, &found.assessment)?;
                let noting = proposal.noting_hardware();
                refuse_other_hardware(&noting, now.view.snapshot(), &now.view.semantics)?;
            }
        }
        Ok(expected)
    }

    async fn concerns(&self, mutation: &MutationContext, proposal: &Proposal) -> Vec<String> {
        let user = match (proposal.whose, mutation.view.live()) {
            (NamedOwners::Programs, _) | (NamedOwners::All, None) => None,
            (NamedOwners::All, Some(live)) => asking(&proposal.changed(), &live.client).await,
        };
        proposal.concerns(user.as_deref())
    }

    /// Waits until all pods that the rules evict are gone, and at least for those that were `expected` to be evicted.
    async fn wait_for_evictions(
        &self,
        basis: ImpactBasis<'_>,
        proposal: &Proposal,
        expected: ExpectedEvictions,
        changer: &mut Changer<'_>,
    ) -> Result<(), Failure> {
        let evicting = proposal.evicting();
        let context = self.context;
        let rules = as_changed(&evicting, basis.mutation).await?;
        let names: Vec<String> = rules.iter().map(|rule| rule.name.to_string()).collect();
        let advice = |seen: &[DeviceTaintRule]| pending_evictions::ways_on(&names, seen);
        context.ledger.advise(advice(&rules));
        let wait = Wait {
            goal: Goal::Evicted,
            rules: &rules,
            expected: expected.pods,
            patience: expected.patience,
            advice: &advice,
            progress_line: ProgressLine::Shown,
            last_look: None,
        };
        // The view from before the change shows the rules as they were.
        let waited = match basis.mutation.view.again().await {
            Ok(view) => wait.for_pods(view, context).await,
            Err(failure) => Err(failure),
        };
        let waited = waited.map_err(|failure| stopped(failure, context))?;
        changer.waited(waited.report(&wait));
        match waited.ending {
            WaitEnd::Met => {
                let rules = if names.len() == 1 { "rule" } else { "rules" };
                let ended = if waited.misses_force_deletions {
                    "no evicted pod is left; whether pods were force-deleted is unknown"
                } else {
                    "all evicted pods have ended"
                };
                context
                    .printer
                    .note(&format!("{rules} {}: {ended}", names.join(", ")));
                if let Some(line) = not_evicted_line(&waited.staying) {
                    context.printer.note(&line);
                }
                Ok(())
            }
            WaitEnd::NotReleased(left) => Err(not_seen_released(&left)),
            WaitEnd::TimedOut(left) => {
                let failure = timed_out(expected.patience.timeout, &left);
                let failure = failure.detail(proposal.what_stays());
                Err(advice(&rules).into_iter().fold(failure, Failure::hint))
            }
        }
    }
}

/// The rules once they are changed; created ones are read, since only the server knows them.
async fn as_changed(
    rules: &[&ProposedRule],
    mutation: &MutationContext,
) -> Result<Vec<DeviceTaintRule>, Failure> {
    let (there, made): (Vec<&ProposedRule>, Vec<&ProposedRule>) =
        rules.iter().partition(|rule| rule.now().is_some());
    let made: Vec<String> = made.into_iter().map(|rule| rule.name()).collect();
    let made = by_name(&made, mutation.rules()?).await.map_err(failed)?;
    let there = there.into_iter().map(|rule| rule.rule.clone());
    Ok(there.chain(made).collect())
}

/// User who changes `rules`, where that matters: the server is asked only then.
pub(crate) async fn asking(rules: &[DeviceTaintRule], client: &ApiClient) -> Option<String> {
    match note_users(rules) {
        true => user_name(client).await,
        false => None,
    }
}
