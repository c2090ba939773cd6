//! Changes of rules: each is sent, decided anew after a conflict, logged, and printed once; and their flags.

use std::cell::RefCell;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use super::connect::{Source, failed};
use super::present::formats;
use crate::cluster::{
    ChangeDoubt, ChangeResult, ClusterError, ConflictAction, ObjectChange, ObjectVersion, Removal,
    Rules, StoredRule, WriteMode, preferred_version,
};
use crate::commands::context::Context;
use crate::decide::change_log::{DryRun, RUN_AGAIN, RuleGoal, RuleOutcome, RuleResult};
use crate::decide::conflict::{
    ConflictStep, RuleWrite, after_change, after_creation, after_deletion, after_downgrade,
};
use crate::decide::proposal::needs_downgrade;
use crate::decide::{AddStep, RuleDraft, RulePatch, Terms, Writer, add};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, Kind};
use crate::render::{Format, json};
use crate::report::ChangeReport;

/// Flags of every command that changes something.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Safety")]
pub(crate) struct ChangeArgs {
    /// Only print what would be done: client or server
    ///
    /// `client`, the default, sends nothing; the `server` checks the changes.
    #[arg(long, value_enum, hide_possible_values = true, hide_default_value = true, default_value = "none", num_args = 0..=1, require_equals = true, default_missing_value = "client", value_name = "WHERE")]
    pub(crate) dry_run: DryRun,
}

/// Flags of commands that change something, and can be rehearsed on saved objects.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Safety")]
pub(crate) struct RehearsalArgs {
    #[command(flatten)]
    change: ChangeArgs,

    /// With --dry-run=client, read saved objects; repeatable
    #[arg(long, value_name = "FILENAME", hide_short_help = true)]
    from: Vec<PathBuf>,
}

impl RehearsalArgs {
    /// Place where changes are only tried.
    pub(crate) fn dry_run(&self) -> DryRun {
        self.change.dry_run
    }

    /// The source of the cluster's state.
    ///
    /// # Errors
    ///
    /// Changes would be sent, and saved objects read.
    pub(crate) fn source(&self) -> Result<Source, Failure> {
        if !self.from.is_empty() && self.dry_run() != DryRun::Client {
            return Err(Failure::usage("--from needs --dry-run=client"));
        }
        Ok(Source {
            from: self.from.clone(),
            ..Source::default()
        })
    }
}

/// Format of the report of a change.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct ReportArgs {
    /// Output format: json or yaml
    ///
    /// Prints a ChangeReport at the end: what was done with each rule.
    #[arg(short, long, hide_possible_values = true, value_name = "FORMAT", value_parser = formats(&[Format::Json, Format::Yaml]), help_heading = "Output")]
    pub(crate) output: Option<Format>,
}

/// Place for the lines about changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// Stdout, as they are made.
    Printed,
    /// The report at the end has them.
    Left,
}

/// Changes as they are made: in the log, and in a line each.
#[derive(Clone, Copy)]
pub(crate) struct Recorder<'a> {
    pub(crate) dry_run: DryRun,
    pub(crate) lines: Lines,
    pub(crate) context: &'a Context,
}

/// Changes rules.
pub(crate) struct Changer<'a> {
    rules: Option<&'a Rules>,
    recorder: Recorder<'a>,
    writer: Writer,
}

/// A change that was made, or was not needed.
struct Sent {
    outcome: RuleOutcome,
    stored: Option<StoredRule>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(dry_run: DryRun, lines: Lines, context: &'a Context) -> Self {
        context.log.set_dry_run(dry_run);
        Self {
            dry_run,
            lines,
            context,
        }
    }

    /// How changes are sent; `None` if they are not.
    pub(crate) fn mode(&self) -> Option<WriteMode> {
        match self.dry_run {
            DryRun::None => Some(WriteMode::Store),
            DryRun::Server => Some(WriteMode::DryRun),
            DryRun::Client => None,
        }
    }

    pub(crate) fn done(&self, outcome: RuleOutcome) -> Result<(), Failure> {
        let line = outcome.line(self.dry_run);
        self.context.log.add(outcome);
        match self.lines {
            Lines::Left => Ok(()),
            Lines::Printed => Ok(self.context.printer.emit(&format!("{line}\n"))?),
        }
    }

    fn refused(&self, name: &str, result: RuleResult, failure: Failure) -> Failure {
        let outcome = RuleOutcome::new(name, result);
        self.context.log.add(outcome.with_error(&failure));
        failure
    }

    pub(crate) fn failed(&self, name: &str, error: ClusterError) -> Failure {
        // A change whose answer was lost stays under way in the log.
        let result = match error.is_unknown() {
            true => RuleResult::Unknown,
            false => RuleResult::Failed,
        };
        self.refused(name, result, failed(error))
    }
}

impl<'a> Changer<'a> {
    /// Changes `rules`; without them, or in a dry run of the client, nothing is sent.
    pub(crate) fn new(rules: Option<&'a Rules>, recorder: Recorder<'a>) -> Self {
        // A dry run owns no rules.
        let run = recorder.context.run.clone();
        Self {
            rules,
            writer: Writer {
                user: None,
                run: run.filter(|_| recorder.dry_run.is_real()),
            },
            recorder,
        }
    }

    /// Notes this user on the rules.
    pub(crate) fn set_user(&mut self, user: Option<String>) {
        self.writer.user = user;
    }

    pub(crate) fn dry_run(&self) -> DryRun {
        self.recorder.dry_run
    }

    pub(crate) fn context(&self) -> &'a Context {
        self.recorder.context
    }

    /// All rules as they are now.
    pub(crate) async fn listed(&self) -> Result<Vec<DeviceTaintRule>, ClusterError> {
        let Some(rules) = self.rules else {
            return Ok(Vec::new());
        };
        let listed = rules.list().await?.objects.into_iter();
        Ok(listed.map(|stored| stored.fact).collect())
    }

    /// Carries a step out; the rule as it is stored, or as it would be.
    pub(crate) async fn take(&self, step: &AddStep, terms: &Terms<'_>) -> Result<Value, Failure> {
        let AddStep { draft, patch, .. } = step;
        let stored = match step.existing() {
            None => return self.create(draft, terms).await,
            Some(rule) if step.is_open() => {
                let again = |found: Option<&DeviceTaintRule>| {
                    add::step(draft.clone(), found, terms).is_ok()
                };
                self.patch(rule, patch, again).await?
            }
            Some(rule) => {
                let stored = match (self.recorder.lines, self.rules) {
                    // Prints the object as it is served, which the fact does not hold.
                    (Lines::Left, Some(rules)) => rules.get(&draft.name).await.map_err(failed)?,
                    (Lines::Printed, _) | (Lines::Left, None) => None,
                };
                self.unchanged(rule)?;
                stored
            }
        };
        let object = stored.map(|stored| stored.object);
        Ok(object.unwrap_or_else(|| draft.object(self.api_version())))
    }

    /// Creates a rule, or completes one that was created meanwhile.
    pub(crate) async fn create(
        &self,
        draft: &RuleDraft,
        terms: &Terms<'_>,
    ) -> Result<Value, Failure> {
        let draft = self.writer.sign(draft.clone());
        let created = RuleOutcome::made(&draft, RuleResult::Created);
        let first = RuleWrite::Create(Box::new(draft.clone()));
        let sent = self.send(first, created, |found| {
            after_creation(&draft, found, terms, &self.writer)
        });
        let object = sent.await?.stored.map(|stored| stored.object);
        Ok(object.unwrap_or_else(|| draft.object(self.api_version())))
    }

    /// Changes the rule that was decided on; `again` where the same command would change it as it is by then.
    pub(crate) async fn patch(
        &self,
        decided_on: &DeviceTaintRule,
        patch: &RulePatch,
        again: impl Fn(Option<&DeviceTaintRule>) -> bool,
    ) -> Result<Option<StoredRule>, Failure> {
        let patch = self.writer.sign_patch(patch.clone());
        let made = RuleOutcome::patched(decided_on, &patch);
        let first = RuleWrite::Patch(Box::new(decided_on.clone()), patch.clone());
        let sent = self.send(first, made, |found| {
            after_change(decided_on, found, &patch, &self.writer, &again)
        });
        Ok(sent.await?.stored)
    }

    /// Lowers the effect of a rule, also after concurrent changes. The rule before the change that was made, if one was.
    pub(crate) async fn downgrade(
        &self,
        found: &DeviceTaintRule,
        patch: &RulePatch,
        to: &Effect,
    ) -> Result<Option<DeviceTaintRule>, Failure> {
        match needs_downgrade(found, to) {
            Ok(true) => {}
            Ok(false) => return self.unchanged(found).map(|()| None),
            Err(failure) => {
                let name = found.name.as_str();
                return Err(self.recorder.refused(name, RuleResult::Failed, failure));
            }
        }
        let patch = self.writer.sign_patch(patch.clone());
        let made = RuleOutcome::patched(found, &patch);
        // The rule when the change that counts was sent: a lost race moves that on.
        let before = RefCell::new(found.clone());
        let first = RuleWrite::Patch(Box::new(found.clone()), patch.clone());
        let sent = self.send(first, made, |found| {
            let step = after_downgrade(&before.borrow(), found, &patch, to, &self.writer);
            if let ConflictStep::Send(RuleWrite::Patch(rule, _), _) = &step {
                before.replace((**rule).clone());
            }
            step
        });
        let is_made = sent.await?.outcome.result == RuleResult::Configured;
        Ok(is_made.then(|| before.into_inner()))
    }

    /// Deletes the rule that was decided on.
    pub(crate) async fn delete(
        &self,
        decided_on: &DeviceTaintRule,
    ) -> Result<RuleOutcome, Failure> {
        // Deleted again, it would look as if this command had requested it.
        if decided_on.metadata.deletion.is_some() && self.dry_run() != DryRun::Client {
            let outcome = RuleOutcome::being_deleted(decided_on);
            self.recorder.done(outcome.clone())?;
            return Ok(outcome);
        }
        let deleted = RuleOutcome::removed(decided_on, RuleResult::Deleted);
        let first = RuleWrite::Delete(Box::new(decided_on.clone()));
        let sent = self.send(first, deleted, |found| after_deletion(decided_on, found));
        let Sent { outcome, stored } = sent.await?;
        if stored.is_some_and(|stored| stored.fact.uid != decided_on.uid) {
            let name = &decided_on.name;
            self.note(format!(
                "rule {name} was deleted and recreated; the new rule was not changed"
            ));
        }
        Ok(outcome)
    }

    pub(crate) fn unchanged(&self, rule: &DeviceTaintRule) -> Result<(), Failure> {
        let outcome = RuleOutcome::unchanged(rule, RuleResult::Unchanged);
        self.recorder.done(outcome)
    }

    /// Prints a note about the changes, which the report has, too.
    pub(crate) fn note(&self, line: String) {
        self.context().printer.note(&line);
        self.context().log.note(line);
    }

    fn api_version(&self) -> &'static str {
        match self.rules {
            Some(rules) => rules.api_version(),
            None => preferred_version(Kind::DeviceTaintRule),
        }
    }

    /// Sends `first`, and what `again` decides for the rule as it is after a conflict or a lost reply; `made` is the outcome
    /// of `first`.
    async fn send(
        &self,
        first: RuleWrite,
        made: RuleOutcome,
        again: impl Fn(Option<&DeviceTaintRule>) -> ConflictStep,
    ) -> Result<Sent, Failure> {
        let (recorder, log) = (&self.recorder, &self.context().log);
        let name = made.name.clone();
        log.begin(&name, goal(&first));
        let Some((rules, mode)) = self.rules.zip(recorder.mode()) else {
            recorder.done(made.clone())?;
            return Ok(Sent {
                outcome: made,
                stored: None,
            });
        };
        let mut made = made;
        let first = self.object_change(first);
        let sent = rules.change(&name, first, mode, |found| {
            match again(found.map(|stored| &stored.fact)) {
                ConflictStep::Send(write, outcome) => {
                    made = outcome;
                    ConflictAction::Send(self.object_change(write))
                }
                ConflictStep::End(outcome) => ConflictAction::End(Ok((outcome, found.cloned()))),
                ConflictStep::Refuse(failure, made) => ConflictAction::End(Err((failure, made))),
            }
        });
        let (outcome, stored) = match sent.await {
            Ok(ChangeResult::Done(stored)) => (made, Some(stored)),
            Ok(ChangeResult::Removed(removal)) => (removed(made, removal), None),
            Ok(ChangeResult::Ended(Ok((outcome, stored)), ChangeDoubt::None)) => (outcome, stored),
            Ok(ChangeResult::Ended(Ok((outcome, stored)), ChangeDoubt::MayBeMade)) => {
                (outcome.doubted(), stored)
            }
            Ok(ChangeResult::Ended(Err((failure, Some(made))), _)) => {
                log.add(made.with_error(&failure));
                return Err(failure);
            }
            Ok(ChangeResult::Ended(Err((failure, None)), doubt)) => {
                let result = match doubt {
                    ChangeDoubt::None => RuleResult::Failed,
                    ChangeDoubt::MayBeMade => RuleResult::Unknown,
                };
                return Err(recorder.refused(&name, result, failure));
            }
            Err(error) => return Err(recorder.failed(&name, error)),
        };
        recorder.done(outcome.clone())?;
        Ok(Sent { outcome, stored })
    }

    fn object_change(&self, write: RuleWrite) -> ObjectChange {
        let version = |rule: &DeviceTaintRule| ObjectVersion {
            uid: rule.uid.to_string(),
            resource_version: rule.resource_version.clone(),
        };
        match write {
            RuleWrite::Create(draft) => ObjectChange::Create {
                object: draft.object(self.api_version()),
            },
            RuleWrite::Patch(rule, patch) => ObjectChange::Patch {
                on: version(&rule),
                patch: patch.body(),
            },
            RuleWrite::Delete(rule) => ObjectChange::Delete { on: version(&rule) },
        }
    }
}

fn goal(write: &RuleWrite) -> RuleGoal {
    match write {
        RuleWrite::Create(_) => RuleGoal::Created,
        RuleWrite::Patch(..) => RuleGoal::Changed,
        RuleWrite::Delete(_) => RuleGoal::Deleted,
    }
}

/// The outcome of a deletion that the server answered with `removal`.
fn removed(deleted: RuleOutcome, removal: Removal) -> RuleOutcome {
    let requested = || RuleOutcome {
        result: RuleResult::DeletionRequested,
        after: deleted.before.clone(),
        ..deleted.clone()
    };
    match removal {
        Removal::Deleted => deleted,
        Removal::Gone => deleted.doubted(),
        Removal::Requested => requested(),
        Removal::Leaving => requested().doubted(),
    }
}

/// Accepts these effects.
pub(crate) fn effects(names: [&'static str; 2]) -> impl TypedValueParser<Value = Effect> {
    PossibleValuesParser::new(names).map(|name| Effect::from(name.as_str()))
}

/// Records changes for a report in that format, or in a line each.
pub(crate) fn recorder(dry_run: DryRun, format: Option<Format>, context: &Context) -> Recorder<'_> {
    let lines = match format {
        Some(_) => Lines::Left,
        None => Lines::Printed,
    };
    Recorder::new(dry_run, lines, context)
}

/// Prints the report of `work` in that format; of one that failed with the error.
pub(crate) async fn reported(
    work: impl Future<Output = Result<ExitStatus, Failure>>,
    format: Option<Format>,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    let done = work.await;
    let changes = context.log.changes();
    let error = done.as_ref().err();
    // A wrong command line has no report.
    let is_usage = error.is_some_and(|failure| failure.status() == ExitStatus::Usage);
    let Some(format) = format.filter(|_| !is_usage || !changes.outcomes.is_empty()) else {
        return done;
    };
    let report = ChangeReport::new(
        changes,
        context.waited.get(),
        error.map(ToString::to_string),
        context.cluster().as_ref(),
    );
    let text = if format == Format::Json {
        json::render(&report)?
    } else {
        json::render_yaml(&report)?
    };
    context.printer.emit(&text)?;
    done
}

/// `failure` with what was changed until then and what was not.
pub(crate) fn stopped(failure: Failure, context: &Context) -> Failure {
    // What was denied is denied again.
    let hint = (!is_about_one_rule(&failure)).then_some(RUN_AGAIN);
    context.log.account(failure, hint)
}

/// True if other rules can still be changed after this failure of one.
pub(crate) fn is_about_one_rule(failure: &Failure) -> bool {
    let cause: Option<&ClusterError> = failure.cause();
    is_decided(failure) || cause.is_some_and(|error| error.denied().is_some())
}

/// True if the same command would end in the same way.
fn is_decided(failure: &Failure) -> bool {
    let cause: Option<&ClusterError> = failure.cause();
    match failure.status() {
        ExitStatus::TryAgain
        | ExitStatus::TimedOut
        | ExitStatus::Interrupted
        | ExitStatus::Terminated => false,
        // With a cause it is the server or the network; without one, something was decided here.
        ExitStatus::Failed => cause.is_none_or(ClusterError::is_invalid),
        ExitStatus::Success | ExitStatus::Usage | ExitStatus::Refused | ExitStatus::Incomplete => {
            true
        }
    }
}
