//! `deescalate`: the brake.

use clap::ValueEnum;
use futures::future::join;

use super::context::Context;
use super::escalate::rank;
use super::flags::change::ChangeArgs;
use super::flags::source::VersionArgs;
use super::work::changer::{Changed, UNCHANGED, conflict, not_made, stopped};
use super::work::connect::{Live, connect, failed};
use super::work::scene::Scene;
use super::work::source::Version;
use crate::cluster::{ClusterError, RulePatch, Rules, StoredRule, user_name};
use crate::engine::{ConsideredTaint, Verdict};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, RuleMetadata};
use crate::report::table::counted;

/// Let rules do less, at once: no report, no guard, no question
///
/// Pods that wait for their eviction stay; those that are terminating already do not. Says afterwards
/// how many evictions were pending.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DeescalateArgs {
    /// Rules, by name
    #[arg(value_name = "RULE", required = true)]
    names: Vec<String>,

    /// Effect from now on
    #[arg(long, value_enum, value_name = "EFFECT")]
    to: Lower,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    version: VersionArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Stop evicting, now
  kubectl devicetaint deescalate drain-node-7 --to None

  # Stop evicting, but keep new pods off
  kubectl devicetaint deescalate drain-node-7 --to NoSchedule";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Lower {
    /// Do nothing any more
    #[value(name = "None")]
    None,
    /// Only keep new pods off the devices
    #[value(name = "NoSchedule")]
    NoSchedule,
}

impl From<Lower> for Effect {
    fn from(lower: Lower) -> Self {
        match lower {
            Lower::None => Self::None,
            Lower::NoSchedule => Self::NoSchedule,
        }
    }
}

/// How often the brake is pulled again when something else was first.
const ATTEMPTS: u32 = 100;

pub(super) async fn run(args: DeescalateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let live = connect(context).await?;
    let rules = Rules::new(&live.client, &live.served).map_err(failed)?;
    let mut names = args.names.clone();
    names.sort_unstable();
    names.dedup();
    args.change.change().plan(names.iter().cloned(), context);
    let mut braked = Vec::new();
    let mut changed = false;
    for name in &names {
        let done = match args.brake(name, &live, &rules, context).await {
            Ok(done) => done,
            Err(failure) => {
                not_made(&failure, context);
                return Err(stopped(failure, context));
            }
        };
        let verb = done.as_ref().map_or(UNCHANGED, |_| "configured");
        args.change.change().tell(name, verb, context)?;
        changed |= done.is_some();
        braked.extend(done);
    }
    if args.change.change().dry_run.is_real() {
        tell_cancelled(live, braked, args.version.version(), context).await;
    }
    Ok(args.change.change().status(Changed::if_any(changed)))
}

impl DeescalateArgs {
    /// Changes the rule, whatever else happens to it meanwhile; gives its state before, or nothing
    /// when there was nothing to change.
    async fn brake(
        &self,
        name: &str,
        live: &Live,
        rules: &Rules,
        context: &Context,
    ) -> Result<Option<DeviceTaintRule>, Failure> {
        let to = Effect::from(self.to);
        let (found, user) = join(rules.get(name), user_name(&live.client)).await;
        let mut found = found.map_err(failed)?.ok_or_else(|| no_rule(name))?;
        for _ in 0..ATTEMPTS {
            if found.rule.taint.effect == to {
                return Ok(None);
            }
            if rank(&found.rule.taint.effect) < rank(&to) {
                return Err(would_escalate(&found, &to));
            }
            let Some(mode) = self.change.change().dry_run.mode() else {
                return Ok(Some(found.rule));
            };
            self.change.change().begin(name, context);
            match rules
                .patch(&found.rule, &self.patch(live, user.as_deref()), mode)
                .await
            {
                Ok(_) => return Ok(Some(found.rule)),
                // Whatever it is now, less is wanted: decided again on the new state.
                Err(ClusterError::Conflict { .. }) => {
                    found = rules
                        .get(name)
                        .await
                        .map_err(failed)?
                        .ok_or_else(|| no_rule(name))?;
                }
                Err(error) => return Err(self.too_old(error)),
            }
        }
        Err(conflict(&found.rule, &found))
    }

    fn patch(&self, live: &Live, user: Option<&str>) -> RulePatch {
        let renews = self
            .version
            .version()
            .semantics(live.served.version)
            .is_ok_and(|semantics| semantics.server_renews_time_added);
        let mut change = RulePatch {
            effect: Some(self.to.into()),
            time_added: if renews {
                None
            } else {
                live.client.server_time()
            },
            ..RulePatch::default()
        };
        if let Some(user) = user {
            let key = RuleMetadata::CHANGED_BY.to_owned();
            change.annotations.insert(key, user.to_owned());
        }
        change
    }

    fn too_old(&self, error: ClusterError) -> Failure {
        let unsupported = matches!(error, ClusterError::Invalid { .. });
        let failure = failed(error);
        match self.to {
            Lower::None if unsupported => failure
                .hint("effect None came with Kubernetes 1.35; before that, `remove` the rule or use --to NoSchedule"),
            Lower::None | Lower::NoSchedule => failure,
        }
    }
}

fn no_rule(name: &str) -> Failure {
    Failure::new(ExitStatus::Failed, format!("no rule {name:?}"))
        .hint("list what there is with `kubectl devicetaint list`")
}

fn would_escalate(found: &StoredRule, to: &Effect) -> Failure {
    let rule = &found.rule;
    Failure::usage(format!(
        "rule {} has effect {}, which is less than {to}; nothing was changed",
        rule.name, rule.taint.effect
    ))
    .hint("to let it do more, use `escalate`")
}

/// Says how many evictions were pending when the brake was pulled; it worked whether that can be
/// found out or not.
async fn tell_cancelled(
    live: Live,
    before: Vec<DeviceTaintRule>,
    version: Version,
    context: &Context,
) {
    let evicting: Vec<DeviceTaintRule> = before
        .into_iter()
        .filter(|rule| rule.taint.effect == Effect::NoExecute)
        .collect();
    if evicting.is_empty() {
        return;
    }
    match pending(live, &evicting, version).await {
        Ok(line) => context.printer.note(&line),
        Err(failure) => context.printer.warn(&format!(
            "the brake worked, but how many evictions were pending is not known: {failure}"
        )),
    }
}

async fn pending(
    live: Live,
    evicting: &[DeviceTaintRule],
    version: Version,
) -> Result<String, Failure> {
    let scene = Scene::of(live, version).await?;
    let considered: Vec<ConsideredTaint> = evicting
        .iter()
        .map(|rule| ConsideredTaint::of_rule(rule, scene.look.now))
        .collect();
    let look = scene.look.with_pods_of(&considered).await?;
    let impact = look.impact(&considered);
    let evicted = impact.pods.iter().filter(|pod| match pod.verdict {
        Verdict::Evicted { .. } => true,
        Verdict::Tolerates | Verdict::Terminating | Verdict::NotEvicted(_) => false,
    });
    let (still, cancelled): (Vec<_>, Vec<_>) = evicted.partition(|pod| pod.has_foreign_cause());
    let mut line = match cancelled.len() {
        0 => "no eviction was pending".to_owned(),
        1 => "1 eviction was pending and is cancelled".to_owned(),
        several => format!("{several} evictions were pending and are cancelled"),
    };
    if !still.is_empty() {
        let pods = counted(still.len(), "pod");
        line.push_str(&format!(
            "; {pods} will be evicted all the same, by other taints"
        ));
    }
    Ok(line)
}
