//! What all commands that change rules share: dry runs, the lines they print, and lost races.

use super::connect::failed;
use super::ledger::Wish;
use crate::cluster::{ClusterError, RulePatch, Rules, StoredRule, WriteMode};
use crate::commands::context::Context;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, RuleMetadata};
use crate::report::rules::resource_name;

/// What is said of a rule that was as wanted.
pub(crate) const UNCHANGED: &str = "unchanged";

/// How a command changes rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// Who pretends.
    pub(crate) dry_run: DryRun,
    /// Whether it is worth an exit code of its own that there was nothing to change.
    pub(crate) error_unchanged: bool,
}

/// Who pretends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DryRun {
    /// Nobody: it is done.
    None,
    /// This plugin.
    Client,
    /// The server.
    Server,
}

impl DryRun {
    /// How a change is sent, if it is.
    pub(crate) fn mode(self) -> Option<WriteMode> {
        match self {
            Self::None => Some(WriteMode::Store),
            Self::Server => Some(WriteMode::DryRun),
            Self::Client => None,
        }
    }

    /// Whether anything is stored.
    pub(crate) fn is_real(self) -> bool {
        self == Self::None
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Client => " (dry run)",
            Self::Server => " (server dry run)",
        }
    }
}

impl Change {
    /// Notes which rules are going to be changed, in this order.
    pub(crate) fn plan(&self, names: impl IntoIterator<Item = String>, context: &Context) {
        // What is only tried changes nothing, whenever it is interrupted.
        if self.dry_run.is_real() {
            context.ledger.plan(names, Wish::Changed);
        }
    }

    /// Notes that the change of this rule is sent next.
    pub(crate) fn begin(&self, name: &str, context: &Context) {
        if self.dry_run.is_real() {
            context.ledger.begin(name);
        }
    }

    /// Notes what became of a rule.
    pub(crate) fn note(&self, name: &str, verb: &str, context: &Context) {
        if !self.dry_run.is_real() {
            return;
        }
        if verb == UNCHANGED {
            context.ledger.unchanged(name);
        } else {
            context.ledger.done(name, verb);
        }
    }

    /// Notes and prints what became of a rule: `devicetaintrule.resource.k8s.io/NAME VERB`.
    pub(crate) fn tell(&self, name: &str, verb: &str, context: &Context) -> Result<(), Failure> {
        self.note(name, verb, context);
        Ok(context.printer.emit(&self.line(name, verb))?)
    }

    fn line(&self, name: &str, verb: &str) -> String {
        format!("{} {verb}{}\n", resource_name(name), self.dry_run.suffix())
    }

    /// How a command ends that changed something or not.
    pub(crate) fn status(&self, changed: Changed) -> ExitStatus {
        match changed {
            Changed::Something => ExitStatus::Success,
            Changed::Nothing if self.error_unchanged => ExitStatus::Unchanged,
            Changed::Nothing => ExitStatus::Success,
        }
    }
}

/// Whether there was anything to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// There was.
    Something,
    /// There was not.
    Nothing,
}

impl Changed {
    pub(crate) fn if_any(any: bool) -> Self {
        if any { Self::Something } else { Self::Nothing }
    }
}

/// Notes that a change failed, unless nobody knows what became of it.
pub(crate) fn not_made(failure: &Failure, context: &Context) {
    let unknown = matches!(failure.cause(), Some(ClusterError::Unresolved { .. }));
    if !unknown {
        context.ledger.failed();
    }
}

/// The command cannot go on: why, and what became of its changes.
pub(crate) fn stopped(failure: Failure, context: &Context) -> Failure {
    if matches!(failure.cause(), Some(ClusterError::Invalid { .. })) {
        let advice = "correct it, and run the command again";
        context.ledger.advise([advice.to_owned()]);
    }
    let account = context.ledger.account();
    account.into_iter().fold(failure, Failure::hint)
}

/// How often a change is tried again that only the controller's status came before.
const STATUS_RACES: u32 = 100;

/// Patches a rule. When somebody else was first, looks again: if only the rule's status has changed,
/// which the controller writes whenever it likes, the decision still stands, and the change is sent
/// with the new state's version; otherwise nothing is forced.
pub(crate) async fn patch(
    rules: &Rules,
    decided_on: &DeviceTaintRule,
    patch: &RulePatch,
    mode: WriteMode,
) -> Result<StoredRule, Failure> {
    let mut rule = decided_on.clone();
    for _ in 0..STATUS_RACES {
        match rules.patch(&rule, patch, mode).await {
            Ok(stored) => return Ok(stored),
            Err(ClusterError::Conflict { .. }) => {
                rule = undisturbed(rules, decided_on).await?;
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Err(Failure::new(
        ExitStatus::Failed,
        format!("rule {} changes faster than it can be changed", rule.name),
    ))
}

/// Deletes a rule, with the same care.
pub(crate) async fn delete(
    rules: &Rules,
    decided_on: &DeviceTaintRule,
    mode: WriteMode,
) -> Result<(), Failure> {
    let mut rule = decided_on.clone();
    for _ in 0..STATUS_RACES {
        match rules.delete(&rule, mode).await {
            Ok(()) => return Ok(()),
            // Somebody else was first, with the same wish.
            Err(ClusterError::NotFound { .. }) => return Ok(()),
            Err(ClusterError::Conflict { .. }) => {
                rule = undisturbed(rules, decided_on).await?;
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Err(Failure::new(
        ExitStatus::Failed,
        format!("rule {} changes faster than it can be deleted", rule.name),
    ))
}

/// The rule as it is now, if nobody but the controller has changed it since.
async fn undisturbed(
    rules: &Rules,
    decided_on: &DeviceTaintRule,
) -> Result<DeviceTaintRule, Failure> {
    let name = decided_on.name.as_str();
    let Some(found) = rules.get(name).await.map_err(failed)? else {
        return Err(Failure::new(
            ExitStatus::Failed,
            format!("rule {name} was deleted in the meantime; nothing was forced"),
        ));
    };
    let same = found.rule.uid == decided_on.uid
        && found.rule.generation == decided_on.generation
        && found.rule.metadata == decided_on.metadata;
    if same {
        Ok(found.rule)
    } else {
        Err(conflict(decided_on, &found))
    }
}

/// Somebody else has changed the rule: who, what it was and what it is now.
pub(crate) fn conflict(decided_on: &DeviceTaintRule, found: &StoredRule) -> Failure {
    let rule = &found.rule;
    let failure = Failure::new(
        ExitStatus::Failed,
        format!(
            "rule {} was changed in the meantime; nothing was forced",
            rule.name
        ),
    );
    let failure = if rule.uid == decided_on.uid {
        failure.hint(format!("it was {}, it is {}", decided_on.taint, rule.taint))
    } else {
        failure.hint(format!("it was deleted and made anew, as {}", rule.taint))
    };
    match changed_by(found) {
        Some(who) => failure.hint(format!("changed by {who}")),
        None => failure,
    }
}

/// Who last changed the spec, as far as the object tells: the user whom this plugin noted, and the
/// program and the time that the server noted.
fn changed_by(found: &StoredRule) -> Option<String> {
    let metadata = &found.rule.metadata;
    let user = metadata
        .annotation(RuleMetadata::CHANGED_BY)
        .or_else(|| metadata.annotation(RuleMetadata::CREATED_BY));
    let fields = found.object["metadata"]["managedFields"].as_array();
    let latest = fields
        .into_iter()
        .flatten()
        .filter(|entry| entry["subresource"].as_str().unwrap_or_default().is_empty())
        .max_by_key(|entry| entry["time"].as_str().unwrap_or_default().to_owned());
    let program = latest.and_then(|entry| {
        let manager = entry["manager"].as_str()?;
        Some(format!(
            "{manager} at {}",
            entry["time"].as_str().unwrap_or("an unknown time")
        ))
    });
    match (user, program) {
        (Some(user), Some(program)) => Some(format!("{user}, with {program}")),
        (Some(user), None) => Some(user.to_owned()),
        (None, program) => program,
    }
}
