//! The stages until the pod is scheduled: looks, evictions and changes of the rules, as `decide::make_room` decides them.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::prepare::Prepared;
use crate::cluster::{Detail, EvictionAnswer, PodQuery, PodQueryResult, WriteMode, evict};
use crate::commands::context::Context;
use crate::commands::work::changer::Changer;
use crate::commands::work::cluster_view::{ClusterView, ReadState};
use crate::commands::work::connect::{Live, failed};
use crate::decide::RulePatch;
use crate::decide::drain::EvictionReply;
use crate::decide::effect::still_exists;
use crate::decide::make_room::{
    PlannedEviction, StageEnd, StageFacts, StageLimits, StageRun, StageStep, StageView,
    is_to_be_raised, stage_facts,
};
use crate::engine::{ProposedTaint, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule, Effect, Pod};
use crate::output::StatusLine;

/// How long is waited where there is nothing to do.
const LOOK: Duration = Duration::from_secs(1);

/// The stages of one run.
pub(crate) struct RoomOrder<'a> {
    pub(crate) live: &'a Live,
    pub(crate) semantics: Semantics,
    pub(crate) prepared: &'a Prepared,
    pub(crate) limits: StageLimits,
    /// The rules, as this run has made or changed them last.
    pub(crate) rules: Vec<DeviceTaintRule>,
    pub(crate) context: &'a Context,
}

impl RoomOrder<'_> {
    /// Evicts, waits until the pod is scheduled, and says how that ended. The rules are still there then, unless priority
    /// alone decides.
    ///
    /// # Errors
    ///
    /// When the cluster cannot be read or changed.
    pub(crate) async fn run(&mut self, changer: &mut Changer<'_>) -> Result<StageEnd, Failure> {
        let mut run = StageRun::new(self.limits);
        // An earlier run may have raised the effect before it was interrupted.
        if self.are_raised() {
            run.raised();
        }
        let began = Instant::now();
        let mut status = StatusLine::new(&self.context.printer);
        loop {
            let facts = Box::pin(self.facts()).await?;
            match run.next(&facts, began.elapsed()) {
                StageStep::Evict(uid) => {
                    let Some(pod) = self.prepared.plan.chosen.pod(&uid) else {
                        continue;
                    };
                    let reply = self.evict(pod).await?;
                    run.replied(&uid, &reply, began.elapsed());
                }
                StageStep::Raise => {
                    self.raise(changer).await?;
                    run.raised();
                }
                StageStep::Lift => {
                    for rule in &self.rules {
                        changer.delete(rule).await?;
                    }
                    run.lifted();
                }
                StageStep::WaitUntil(until) => {
                    let left = run.left(&facts).join("; ");
                    let line = format!("waiting for pod {}: {left}", self.prepared.pod.name);
                    self.context.ledger.left(&left);
                    status.say(&line, &line);
                    sleep(until.saturating_sub(began.elapsed())).await;
                }
                StageStep::Finished(end) => return Ok(end),
            }
        }
    }

    /// The rules on devices that pods have to leave.
    fn emptying(&self) -> BTreeSet<DeviceSelector> {
        let emptied = self.prepared.plan.chosen.set.emptied.iter().cloned();
        emptied.map(DeviceSelector::from).collect()
    }

    fn are_raised(&self) -> bool {
        let emptying = self.emptying();
        let mut rules = self.rules.iter();
        !rules.any(|rule| is_to_be_raised(rule, &emptying))
    }

    /// What is observed now.
    async fn facts(&self) -> Result<StageFacts, Failure> {
        let facts = self.look().await?;
        if !facts.precedes_scheduling() {
            return Ok(facts);
        }
        // The pod is scheduled, whether or not its claims can be read once more.
        Ok(Box::pin(self.look()).await.unwrap_or(facts))
    }

    async fn look(&self) -> Result<StageFacts, Failure> {
        let view = ClusterView::of(self.live.clone(), Detail::Names).await?;
        // Rules that cannot be read must not be taken for rules that were removed.
        view.rules()?;
        if !view.knows_usage() {
            let why = "claims can no longer be read: the pods that use the devices are unknown";
            return Err(Failure::new(ExitStatus::Failed, why));
        }
        let devices: Vec<ProposedTaint> = self
            .prepared
            .plan
            .chosen
            .set
            .emptied
            .iter()
            .map(|device: &DeviceId| {
                let taint = self.prepared.terms.taint(Effect::NoExecute);
                ProposedTaint::hypothetical(device.clone().into(), taint, view.now)
            })
            .collect();
        let view = view.with_pods_of(&devices).await?;
        let pod = pod_now(&self.prepared.pod, &view).await?;
        Ok(stage_facts(
            &self.prepared.plan,
            &StageView {
                snapshot: view.snapshot(),
                pod: pod.as_ref(),
                uid: &self.prepared.pod.uid,
                claims: &self.prepared.waiting.claims,
                rules: &self.rules,
                before: &self.prepared.before,
            },
        ))
    }

    async fn evict(&self, pod: &PlannedEviction) -> Result<EvictionReply, Failure> {
        let answer = evict(&self.live.client, &pod.name, &pod.uid, WriteMode::Store).await;
        let printer = &self.context.printer;
        Ok(match answer.map_err(failed)? {
            EvictionAnswer::Accepted => {
                printer.note(&format!("evicted pod {}", pod.name));
                EvictionReply::Accepted
            }
            EvictionAnswer::Gone => EvictionReply::Gone,
            EvictionAnswer::Refused(message) => {
                printer.note(&format!(
                    "eviction of pod {} refused, will retry ({message})",
                    pod.name
                ));
                EvictionReply::Refused(message)
            }
            EvictionAnswer::Unknown(error) => {
                printer.warn(&format!(
                    "cannot tell whether pod {} was evicted: {error}; checking again",
                    pod.name
                ));
                EvictionReply::Unknown
            }
        })
    }

    /// Gives the rules effect NoExecute where pods have to leave, which was confirmed before.
    async fn raise(&mut self, changer: &mut Changer<'_>) -> Result<(), Failure> {
        let emptying = self.emptying();
        let to = Effect::NoExecute;
        self.context
            .printer
            .note("evicting the remaining pods with effect NoExecute");
        for rule in &mut self.rules {
            if !is_to_be_raised(rule, &emptying) {
                continue;
            }
            let now = self.live.client.server_time();
            let patch = RulePatch::effect(&to, &self.semantics, now);
            if let Some(stored) = changer.patch(rule, &patch, still_exists).await? {
                *rule = stored.fact;
            }
        }
        Ok(())
    }
}

/// The pod as it is now; absent where it is gone.
async fn pod_now(pod: &Pod, view: &ClusterView<impl ReadState>) -> Result<Option<Pod>, Failure> {
    let name = &pod.name;
    match view.find_pods(PodQuery::One(name)).await? {
        PodQueryResult::These(pods, _) => Ok(pods.into_iter().next()),
        PodQueryResult::WithoutClaims | PodQueryResult::Gone => Ok(None),
        PodQueryResult::Denied(why) => Err(Failure::new(
            ExitStatus::Failed,
            format!("pod {name} can no longer be read: {why}"),
        )),
    }
}

/// Waits until the scheduler has placed a pod for which it has evicted others itself.
///
/// # Errors
///
/// When the pod cannot be read.
pub(crate) async fn until_scheduled(
    pod: &Pod,
    view: &ClusterView,
    limits: StageLimits,
) -> Result<StageEnd, Failure> {
    let run = StageRun::new(limits);
    let began = Instant::now();
    loop {
        let now = pod_now(pod, view).await?;
        let facts = StageFacts::of_pod(now.as_ref(), &pod.uid);
        match run.next(&facts, began.elapsed()) {
            StageStep::WaitUntil(until) => sleep(until.saturating_sub(began.elapsed())).await,
            StageStep::Finished(end) => return Ok(end),
            // There is nobody to evict, and no rule.
            StageStep::Evict(_) | StageStep::Raise | StageStep::Lift => sleep(LOOK).await,
        }
    }
}
