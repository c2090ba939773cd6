//! `escalate`: let rules do more.

use clap::ValueEnum;
use jiff::Timestamp;

use super::context::Context;
use super::flags::change::{ChangeArgs, ReportArgs};
use super::flags::events::EventsArgs;
use super::flags::rules::RuleArgs;
use super::flags::safety::SafetyArgs;
use super::flags::source::VersionArgs;
use super::flags::waiting::WaitingArgs;
use super::work::accounts::accounted;
use super::work::changer::{Changer, Lines, stopped};
use super::work::consent::{Passed, Safety, take_risk};
use super::work::events;
use super::work::scene::Scene;
use super::work::wait::{Ending, Wait, timed_out};
use crate::cluster::user_name;
use crate::decide::broad::set_back;
use crate::decide::effect::{no_way_back, way_back};
use crate::decide::identity::{OtherHardware, refuse_other_hardware};
use crate::decide::ledger::Wish as Planned;
use crate::decide::others::{note_users, others};
use crate::decide::policy::Asked;
use crate::decide::rules_on::refuse_several;
use crate::decide::{Escalation, Me, RuleChange, RulePatch, Wish, escalate, standing};
use crate::engine::ConsideredTaint;
use crate::engine::settle::{Goal, Patience};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, Uid};
use crate::render::Format;
use crate::report::metadata::Warning as Oddity;
use crate::report::staying::staying_line;

/// Let rules do more: block new pods, or evict those that are there
///
/// Looks again whom that hits, applies the guards, and asks. The change applies to the rule as it was
/// looked at: when somebody else was first, nothing is forced, and you are told what is different.
/// Rules that this plugin has not made are named with their owner, and asked about.
///
/// What is agreed to with --yes, --confirm-pods, --expect and --abort-if is the whole of it: the same
/// command completes what an interrupted one began. A dry run refuses what the real run would refuse,
/// but for the question, which it only tells.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct EscalateArgs {
    #[command(flatten)]
    rules: RuleArgs,

    /// Effect from now on
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "NoSchedule|NoExecute"
    )]
    to: Higher,

    /// Also where a device's name stands for other hardware now
    ///
    /// A rule notes what its device was when it was made. Without this flag nothing is changed where
    /// that is something else now, or has another name.
    #[arg(long, help_heading = "Safety", hide_short_help = true)]
    accept_identity_change: bool,

    #[command(flatten)]
    waiting: WaitingArgs,

    /// What becomes of the rules when the time is over
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        default_value = "keep",
        help_heading = "Wait"
    )]
    on_timeout: OnTimeout,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    events: EventsArgs,

    #[command(flatten)]
    safety: SafetyArgs,

    #[command(flatten)]
    version: VersionArgs,
}

const EXAMPLES: &str = "\
Examples:
  # See whom it hits, answer a question, and wait until they are gone
  kubectl devicetaint escalate drain-node-7 --to NoExecute --wait --timeout 10m

  # The rule of a device, as it was added
  kubectl devicetaint escalate gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance --to NoSchedule

  # In a script: at most what was agreed to, and back again if it takes too long
  kubectl devicetaint preview --rule drain-node-7 -o json > report.json
  kubectl devicetaint escalate drain-node-7 --to NoExecute \\
    --yes --expect report.json --wait --on-timeout revert";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Higher {
    /// Keep new pods off the devices
    #[value(name = "NoSchedule")]
    NoSchedule,
    /// Also evict the pods that use them
    #[value(name = "NoExecute")]
    NoExecute,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnTimeout {
    /// They stay as they are then
    Keep,
    /// They get the effect back that they had
    Revert,
}

impl From<Higher> for Effect {
    fn from(higher: Higher) -> Self {
        match higher {
            Higher::NoSchedule => Self::NoSchedule,
            Higher::NoExecute => Self::NoExecute,
        }
    }
}

pub(super) async fn run(args: EscalateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let (format, dry_run) = (args.report.format()?, args.change.change().dry_run);
    let (events, lines) = (args.events.events.as_deref(), args.report.lines());
    let lines = events::begin_beside(events, "escalate", lines, context).await?;
    let work = args.escalate(format, lines, context);
    accounted(work, format, dry_run, context).await
}

fn names_of(rules: &[DeviceTaintRule]) -> Vec<String> {
    rules.iter().map(|rule| rule.name.to_string()).collect()
}

impl EscalateArgs {
    async fn escalate(
        &self,
        format: Option<Format>,
        lines: Lines,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let typed = self.rules.typed();
        typed.chooser()?;
        let safety = self.safety.prepare()?;
        let to = Effect::from(self.to);
        let scene = Scene::open(self.version.version(), context).await?;
        let (scene, chooser) = scene.chosen(&typed, context).await?;
        let meant = scene.meant(&chooser).await?;
        refuse_several(typed.hardware_alone(), &meant.rules)?;
        if let Some(failure) = meant.all_missing() {
            return Err(failure);
        }
        if meant.rules.is_empty() {
            context.printer.note("No resources found");
        }
        let scene = scene.with_identities_of(&meant.rules).await?;
        let wish = escalate(&meant.rules, &to)?;
        self.warn_of_no_way_back(&wish.done, context);
        let change = self.change.change();
        let mut changer = Changer::new(&scene.rules, change, context).with_lines(lines);
        let agreed = self.agree(&wish, &safety, &scene, context).await;
        let ended = match agreed {
            Ok(expected) => self.act(&wish, &expected, &scene, &mut changer).await,
            Err(failure) => {
                changer.outcomes.refuse_all(&wish.open, &failure);
                Err(failure)
            }
        };
        let status = changer.status();
        changer.present(format, &ended)?;
        ended.map(|()| status)
    }

    /// Shows whom it hits, all that is done already included, and asks. Gives the pods that are to
    /// be evicted, as far as that was looked at.
    async fn agree(
        &self,
        wish: &Escalation,
        safety: &Safety,
        scene: &Scene,
        context: &Context,
    ) -> Result<Vec<Uid>, Failure> {
        if wish.open.is_empty() {
            return Ok(Vec::new());
        }
        let to = Effect::from(self.to);
        let dry_run = self.change.change().dry_run;
        let facts = (&scene.look.reading, &scene.look.semantics);
        for warning in refuse_other_hardware(&wish.open, facts, self.other_hardware())? {
            context.printer.warn(&Oddity::from(&warning).line());
        }
        let asked = wish.open.iter().map(|rule| Asked::of_rule(rule, &to));
        let asked: Vec<Asked> = asked.collect();
        safety.policies.refuse(&asked, &scene.look.semantics)?;
        let release = scene.look.release();
        let risk = take_risk(&wish.deed(&to), safety.risk, release, dry_run, context)?;
        let rules = wish.open.iter().chain(&wish.done);
        let considered_at = |now: Timestamp| -> Vec<ConsideredTaint> {
            let rules = rules.clone();
            rules
                .map(|rule| ConsideredTaint::of_changed_rule(rule, &to, now))
                .collect()
        };
        let considered = considered_at(scene.look.now);
        let report = scene.report(&considered, &safety.guards).await?;
        if self.would_wait() {
            standing::refuse_too_short(&report, self.patience(), scene.look.now)?;
        }
        let concerns = concerns(&wish.open, scene).await;
        let changes = wish.open.iter().map(|rule| RuleChange::to(rule, &to));
        let changes: Vec<RuleChange> = changes.collect();
        let asked = Wish {
            report: &report,
            previewed: &report,
            rules: &changes,
            deed: &wish.deed(&to),
            done: &names_of(&wish.done),
            concerns: &concerns,
            considered: &considered,
        };
        let passed = safety.check(&asked, dry_run, context)?.or(risk);
        let expected = report.evicted();
        if passed == Passed::Answered {
            let guards = &safety.guards;
            let now = scene.refuse_growth(report, considered_at, guards).await?;
            if self.other_hardware() == OtherHardware::Refused {
                now.refuse_exchanged(&wish.open)?;
            }
        }
        Ok(expected)
    }

    /// Changes the rules, and waits for their evictions where that is asked for.
    async fn act(
        &self,
        wish: &Escalation,
        expected: &[Uid],
        scene: &Scene,
        changer: &mut Changer<'_>,
    ) -> Result<(), Failure> {
        let changed = self.carry_out(wish, scene, changer).await;
        scene.look.tell(&changer.context().printer);
        changed?;
        if self.waits() && !(wish.open.is_empty() && wish.done.is_empty()) {
            self.wait(wish, expected, scene, changer).await?;
        }
        Ok(())
    }

    async fn carry_out(
        &self,
        wish: &Escalation,
        scene: &Scene,
        changer: &mut Changer<'_>,
    ) -> Result<(), Failure> {
        if self.change.change().mode().is_some() && !wish.open.is_empty() {
            changer.set_user(user_name(&scene.live.client).await);
        }
        for rule in &wish.done {
            changer.unchanged(rule)?;
        }
        changer.plan(names_of(&wish.open));
        let to = Effect::from(self.to);
        let patch = RulePatch::effect(&to, &scene.look.semantics, Some(scene.look.now));
        for rule in &wish.open {
            let again = |found: Option<&DeviceTaintRule>| {
                found.is_some_and(|found| escalate(std::slice::from_ref(found), &to).is_ok())
            };
            if let Err(failure) = changer.patch(rule, &patch, again).await {
                let names = names_of(&wish.open);
                let failure = scene.told_of_hits(failure, &names, &to).await;
                return Err(stopped(failure, changer.context()));
            }
        }
        Ok(())
    }

    fn other_hardware(&self) -> OtherHardware {
        if self.accept_identity_change {
            OtherHardware::Accepted
        } else {
            OtherHardware::Refused
        }
    }

    /// Whether there is anything to wait for.
    fn waits(&self) -> bool {
        self.change.change().dry_run.is_real() && self.would_wait()
    }

    /// As [`EscalateArgs::waits`], were it no dry run: those are refused what the real run would be.
    fn would_wait(&self) -> bool {
        self.waiting.wait && Effect::from(self.to) == Effect::NoExecute
    }

    async fn wait(
        &self,
        wish: &Escalation,
        expected: &[Uid],
        scene: &Scene,
        changer: &mut Changer<'_>,
    ) -> Result<(), Failure> {
        let context = changer.context();
        let rules = wish.as_changed(&Effect::from(self.to));
        let names = names_of(&rules);
        let advice = |seen: &[DeviceTaintRule]| standing::ways_on(&names, &rules, seen);
        context.ledger.advise(advice(&rules));
        let wait = Wait {
            goal: Goal::Evicted,
            rules: &rules,
            expected: expected.to_vec(),
            patience: self.patience(),
            advice: &advice,
        };
        // What was read before the change shows the rules as they were.
        let waited = match scene.look.again().await {
            Ok(look) => wait.for_pods(look, context).await,
            Err(failure) => Err(failure),
        };
        let waited = waited.map_err(|failure| stopped(failure, context))?;
        changer.outcomes.waited(waited.report(&wait));
        let left = match waited.ending {
            Ending::Met => {
                if let Some(line) = staying_line(&waited.staying) {
                    context.printer.note(&line);
                }
                return Ok(());
            }
            // What is held may not be given to others: the rules stay, whatever --on-timeout says.
            Ending::NotReleased(left) => return Err(standing::not_seen_released(&left)),
            Ending::TimedOut(left) => left,
        };
        let failure = timed_out(self.waiting.timeout, &left);
        match self.on_timeout {
            OnTimeout::Keep => {
                let failure = failure.hint(if wish.open.is_empty() {
                    "the rules are as they were"
                } else {
                    "the change was applied and stays"
                });
                Err(advice(&rules).into_iter().fold(failure, Failure::hint))
            }
            OnTimeout::Revert => {
                let failure = give_back(&wish.open, scene, changer, failure).await;
                Err(wish.done.iter().fold(failure, |failure, rule| {
                    failure.hint(no_way_back(rule, "so that it was not reverted"))
                }))
            }
        }
    }

    fn patience(&self) -> Patience {
        Patience {
            timeout: self.waiting.timeout,
            settle: self.waiting.settle,
        }
    }

    /// Says which rules a timeout would not revert, since this run does not know what they were.
    fn warn_of_no_way_back(&self, done: &[DeviceTaintRule], context: &Context) {
        let reverts = match self.on_timeout {
            OnTimeout::Keep => false,
            OnTimeout::Revert => self.waits(),
        };
        for rule in done.iter().filter(|_| reverts) {
            let text = no_way_back(rule, "so that --on-timeout revert will leave it so");
            context.printer.warn(&text);
        }
    }
}

/// What speaks for a question about a change of `rules`, whomever they evict: who else made or changed
/// them, and who sets them back.
async fn concerns(rules: &[DeviceTaintRule], scene: &Scene) -> Vec<String> {
    let user = match note_users(rules) {
        true => user_name(&scene.live.client).await,
        false => None,
    };
    let me = Me {
        user: user.as_deref(),
        ..Me::default()
    };
    let mut concerns = others(rules, &me);
    concerns.extend(set_back(rules));
    concerns
}

/// Gives the rules the effect back that they had; what was evicted stays evicted.
async fn give_back(
    changed: &[DeviceTaintRule],
    scene: &Scene,
    changer: &mut Changer<'_>,
    mut failure: Failure,
) -> Failure {
    let context = changer.context();
    context.ledger.plan(names_of(changed), Planned::Reverted);
    context.ledger.advise(changed.iter().map(way_back));
    for rule in changed {
        let patch = RulePatch::effect(
            &rule.taint.effect,
            &scene.look.semantics,
            Some(scene.look.now),
        );
        failure = match changer.give_back(rule, &patch, &Effect::NoExecute).await {
            Ok(back) => failure.hint(back.told(rule)),
            Err(error) => failure
                .hint(format!("rule {} could not be reverted: {error}", rule.name))
                .hint(way_back(rule)),
        };
    }
    failure
}
