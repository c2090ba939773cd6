//! `deescalate`: a lower effect at once, whatever else is wrong.
//!
//! It depends on nothing but its rules: neither a list of other rules, nor devices, nor other kinds of the
//! server can keep it from working. The pods for the summary are read as far as possible.

use std::time::Duration;

use futures::future::join;
use jiff::Timestamp;
use tokio::time::{Instant, sleep};

use super::context::Context;
use super::work::changer::{
    ChangeArgs, Changer, Recorder, ReportArgs, effects, is_about_one_rule, recorder, reported,
    stopped,
};
use super::work::connect::{Live, connect_client, failed, semantics_for};
use super::work::mutation_context::{MutationContext, by_name, selected_on, selected_rules};
use crate::cluster::{ApiClient, Rules, ServedKinds, discover, user_name};
use crate::decide::change_log::{RuleGoal, RuleOutcome, RuleResult};
use crate::decide::chooser::no_such_rule;
use crate::decide::exit_status::of_parts;
use crate::decide::owner::set_back;
use crate::decide::{Chooser, RuleArguments, RuleChoice, RulePatch, SelectedRules};
use crate::engine::settle::is_observed;
use crate::engine::{ProposedTaint, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect};
use crate::report::rule_lifecycle::{DowngradeImpact, DowngradeObservation, downgraded_line};

/// Lower a rule's effect immediately, without confirmation
///
/// Does not evaluate guards (limits such as those of `escalate --abort-if`, see `help guards`). Pending evictions are
/// cancelled; pods that are already terminating still end. Afterwards, the command prints how many evictions were
/// pending and how many pods were already terminating.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DeescalateArgs {
    #[command(flatten)]
    rules: RuleArguments,

    /// New effect
    #[arg(long, value_parser = effects(["None", "NoSchedule"]), hide_possible_values = true, value_name = "None|NoSchedule")]
    to: Effect,

    /// Accepted for scripts; this command never asks for confirmation
    #[arg(short = 'y', long = "yes", hide_short_help = true)]
    _yes: bool,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    report: ReportArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Stop evictions now
  kubectl devicetaint deescalate maintenance-node-7 --to None

  # Stop evictions, but block new pods
  kubectl devicetaint deescalate maintenance-node-7 --to NoSchedule

  # Select the rule by its device and taint key
  kubectl devicetaint deescalate gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance --to None";

/// Time limit for reading the user's name before the change, and the controller's status after it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interval of reading the controller's status.
const INTERVAL: Duration = Duration::from_millis(200);

/// A server whose rules can be changed, whatever else it has.
struct ReachedServer {
    client: ApiClient,
    /// Kinds that the server serves, or why they are not known.
    served: Result<ServedKinds, Failure>,
    rules: Rules,
}

impl ReachedServer {
    /// The cluster with all that it has, or why that is not known.
    fn live(&self) -> Result<Live, String> {
        let served = self.served.as_ref().map_err(ToString::to_string)?;
        Ok(Live {
            client: self.client.clone(),
            served: served.clone(),
        })
    }
}

pub(super) async fn run(args: DeescalateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let format = args.report.output;
    let recorder = recorder(args.change.dry_run, format, context);
    reported(args.deescalate(recorder, context), format, context).await
}

impl DeescalateArgs {
    async fn deescalate(
        &self,
        recorder: Recorder<'_>,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let choice = RuleChoice::parse(&self.rules)?;
        let reached = reach(choice.without_hardware(), context).await?;
        // The user's name is only a note, for which lowering the effect must not wait.
        let user = tokio::time::timeout(PATIENCE, user_name(&reached.client));
        let (found, user) = join(find(&choice, &reached, context), user).await;
        let (chooser, (mut found, unread)) = found?;
        if found.rules.is_empty() && found.missing.is_empty() && unread.is_empty() {
            context.printer.note("No resources found");
        }
        let log = &context.log;
        let mut changer = Changer::new(Some(&reached.rules), recorder);
        changer.set_user(user.unwrap_or(None));
        log.missing(&chooser, &found);
        for (name, failure) in unread {
            log.add(RuleOutcome::new(&name, RuleResult::Failed).with_error(&failure));
            found.missing.push(failure);
        }
        let open = found.rules.iter();
        let open = open.filter(|rule| rule.taint.effect != self.to);
        log.plan(open.map(|rule| (rule.name.to_string(), RuleGoal::Changed)));
        // Lower the rules that exist, even if others are missing: later is too late.
        let downgraded = Box::pin(self.pull(&found.rules, &reached, &changer)).await;
        match (found.all_missing(), downgraded) {
            (None, downgraded) => downgraded.map(|()| ExitStatus::Success),
            (Some(missing), Ok(())) if found.rules.is_empty() => Err(missing),
            (Some(missing), Ok(())) => Err(stopped(missing, context)),
            (Some(missing), Err(failure)) => {
                let status = of_parts([missing.status(), failure.status()]);
                Err(failure.ending(status).hint(missing.to_string()))
            }
        }
    }
}

/// Connects, and finds out at which version the server has rules: by discovery, or where that fails
/// by asking for the rules themselves.
async fn reach(chooser: Option<&Chooser>, context: &Context) -> Result<ReachedServer, Failure> {
    let client = connect_client(context).await?;
    let (rules, served) = match discover(&client).await {
        Ok(served) => {
            semantics_for(client.purpose(), None, served.version)?;
            (Rules::new(&client, &served).map_err(failed)?, Ok(served))
        }
        Err(error) => {
            let names = chooser.and_then(Chooser::names).unwrap_or_default();
            match Rules::found_by(&client, &names).await {
                Some(rules) => (rules, Err(failed(error))),
                None => return Err(failed(error)),
            }
        }
    };
    Ok(ReachedServer {
        client,
        served,
        rules,
    })
}

/// Reads the selected rules, and by name why others cannot be read. Named rules are read one by one, and devices only for
/// hardware IDs.
async fn find(
    choice: &RuleChoice,
    reached: &ReachedServer,
    context: &Context,
) -> Result<(Chooser, (SelectedRules, Vec<(String, Failure)>)), Failure> {
    let names = match choice.without_hardware() {
        Some(Chooser::Names(names)) => names,
        Some(chooser) => {
            // The expiry of rules is not printed, so that no clock is needed.
            let now = Timestamp::UNIX_EPOCH;
            let found = selected_rules(chooser, &reached.rules, now, context).await?;
            return Ok((chooser.clone(), (found, Vec::new())));
        }
        None => {
            let live = reached.live();
            let live = live.map_err(|why| Failure::new(ExitStatus::Failed, why))?;
            let (chooser, found) = selected_on(choice, &live, context).await?;
            return Ok((chooser, (found, Vec::new())));
        }
    };
    let (mut found, mut unread) = (SelectedRules::default(), Vec::new());
    for name in names {
        match reached.rules.get(name).await {
            Ok(Some(stored)) => found.rules.push(stored.fact),
            Ok(None) => found.missing.push(no_such_rule(name, &[])),
            // One rule that cannot be read keeps no other from being lowered.
            Err(error) => unread.push((name.clone(), failed(error))),
        }
    }
    Ok((Chooser::Names(names.clone()), (found, unread)))
}

impl DeescalateArgs {
    async fn pull(
        &self,
        found: &[DeviceTaintRule],
        reached: &ReachedServer,
        changer: &Changer<'_>,
    ) -> Result<(), Failure> {
        let (to, context) = (&self.to, changer.context());
        let pulled = reached.client.server_time();
        let patch = RulePatch::effect(to, &Self::semantics(reached), pulled);
        let mut downgraded = Vec::new();
        let mut refused: Option<Failure> = None;
        for rule in found {
            match changer.downgrade(rule, &patch, to).await {
                Ok(done) => downgraded.extend(done),
                // A rule that cannot be changed must not keep the others evicting.
                Err(failure) if is_about_one_rule(&failure) => {
                    refused = Some(match refused {
                        None => failure,
                        Some(first) => first.detail(failure.to_string()),
                    });
                }
                Err(failure) => return Err(stopped(failure, context)),
            }
        }
        for line in set_back(&downgraded) {
            changer.note(line);
        }
        if self.change.dry_run.is_real() {
            tell_cancelled(reached, downgraded, pulled, changer).await;
        }
        refused.map_or(Ok(()), |failure| Err(stopped(failure, context)))
    }

    /// Behavior of the server; of the newest if the version is unknown.
    fn semantics(reached: &ReachedServer) -> Semantics {
        let version = reached
            .served
            .as_ref()
            .ok()
            .and_then(|served| served.version);
        let semantics = version.and_then(Semantics::of);
        semantics.unwrap_or_else(Semantics::assumed)
    }
}

/// True if the controller observes the rules as they are by now, within a time limit: a change that it has
/// not observed does not stop evictions yet.
async fn is_confirmed(downgraded: &[DeviceTaintRule], rules: &Rules) -> bool {
    let names: Vec<String> = downgraded
        .iter()
        .map(|rule| rule.name.to_string())
        .collect();
    let began = Instant::now();
    loop {
        // An unreadable rule is not confirmed.
        let Ok(found) = by_name(&names, rules).await else {
            return false;
        };
        // A deleted rule evicts no pods.
        if found.iter().all(is_observed) {
            return true;
        }
        if began.elapsed() >= PATIENCE {
            return false;
        }
        sleep(INTERVAL).await;
    }
}

/// Reports the number of evictions that were pending when the effect was lowered; the change worked even if
/// it is unknown.
async fn tell_cancelled(
    reached: &ReachedServer,
    downgraded: Vec<DeviceTaintRule>,
    at: Option<Timestamp>,
    changer: &Changer<'_>,
) {
    let mut evicting = downgraded;
    evicting.retain(|rule| rule.taint.effect == Effect::NoExecute);
    if evicting.is_empty() {
        return;
    }
    match pending(reached, &evicting, at).await {
        Ok(line) => changer.note(line),
        Err(failure) => changer.context().printer.warn(&format!(
            "the effect was lowered, but the number of pending evictions is unknown: {failure}"
        )),
    }
}

/// The pending evictions of rules as they were at that time of the server, before they were changed.
async fn pending(
    reached: &ReachedServer,
    evicting: &[DeviceTaintRule],
    at: Option<Timestamp>,
) -> Result<String, String> {
    let confirmed = is_confirmed(evicting, &reached.rules).await;
    let mutation = MutationContext::of(reached.live()?)
        .await
        .map_err(|failure| failure.to_string())?;
    let proposed = ProposedTaint::of_rules(evicting, mutation.view.now);
    let view = mutation
        .view
        .with_pods_of(&proposed)
        .await
        .map_err(|failure| failure.to_string())?;
    let impact = view.impact(&proposed);
    let seen = DowngradeObservation {
        pulled: at,
        confirmed,
        now: view.now,
    };
    let downgraded = DowngradeImpact::of(&impact, &view.reading.gaps, &seen);
    Ok(downgraded_line(&downgraded))
}
