//! Reads and evictions until the pod is scheduled, and the removal of the rules, whatever the result.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::prepare::Prepared;
use crate::cluster::{Detail, PodQuery, PodQueryResult, delete_pod};
use crate::commands::context::Context;
use crate::commands::work::changer::Changer;
use crate::commands::work::cluster_view::{ClusterView, ReadState};
use crate::commands::work::connect::{Live, evict_pod, failed, logged};
use crate::decide::drain::EvictionReply;
use crate::decide::make_room::{
    PlannedEviction, PodProgress, RoomEnd, RoomFacts, RoomRun, RoomStep, RoomView, left_of,
    progress,
};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Pod, Uid};
use crate::output::StatusLine;

/// Pause between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Time in which a server carries out a change whose reply is not waited for.
const IN_FLIGHT: Duration = Duration::from_millis(500);
/// Time for which removing the rules is tried again.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pauses before removing the rules is tried again, first and at most.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// Evictions that make room for a pod.
pub(crate) struct RoomEvictions<'a> {
    pub(crate) live: &'a Live,
    pub(crate) prepared: &'a Prepared,
    /// The rules, as this run has made them.
    pub(crate) rules: Vec<DeviceTaintRule>,
    pub(crate) context: &'a Context,
}

impl RoomEvictions<'_> {
    /// Evicts pods, and waits until the pod is scheduled. The rules are still there then.
    ///
    /// # Errors
    ///
    /// The cluster cannot be read, or a pod cannot be evicted for another reason than a budget.
    pub(crate) async fn run(&self, mut run: RoomRun) -> Result<RoomEnd, Failure> {
        let began = Instant::now();
        let printer = &self.context.printer;
        let mut status = StatusLine::new(printer);
        // Evictions are tried again and again: each line about them is printed once.
        let mut printed = BTreeSet::new();
        let mut note = |line: String| {
            if printed.insert(line.clone()) {
                printer.note(&line);
            }
        };
        loop {
            let facts = Box::pin(self.facts()).await?;
            match run.next(&facts, began.elapsed()) {
                RoomStep::Evict(uid) => {
                    if let Some(pod) = self.planned(&uid) {
                        note(format!("evicting pod {}", pod.name));
                        let reply = self.evict(pod).await?;
                        retry_line(pod, &reply).into_iter().for_each(&mut note);
                        run.replied(&uid, reply, began.elapsed());
                    }
                }
                RoomStep::Delete(uid) => {
                    if let Some(pod) = self.planned(&uid) {
                        let why = "its eviction stays refused";
                        note(format!("deleting pod {}: {why}", pod.name));
                        let reply = self.delete(pod).await?;
                        retry_line(pod, &reply).into_iter().for_each(&mut note);
                        run.replied(&uid, reply, began.elapsed());
                    }
                }
                RoomStep::Wait => {
                    let left = run.left(&facts).join("; ");
                    let line = format!("waiting for pod {}: {left}", self.prepared.pod.name);
                    self.context.log.left(&left);
                    status.say(&line, &line);
                    sleep(LOOK).await;
                }
                RoomStep::Finished(end) => return Ok(end),
            }
        }
    }

    fn planned(&self, uid: &Uid) -> Option<&PlannedEviction> {
        self.prepared.plan.pods.iter().find(|pod| pod.uid == *uid)
    }

    /// The facts now.
    async fn facts(&self) -> Result<RoomFacts, Failure> {
        let facts = self.look().await?;
        if !facts.precedes_scheduling() {
            return Ok(facts);
        }
        // The pod is scheduled, whether or not its claims can be read once more.
        Ok(Box::pin(self.look()).await.unwrap_or(facts))
    }

    async fn look(&self) -> Result<RoomFacts, Failure> {
        let view = ClusterView::of(self.live.clone(), Detail::Names).await?;
        // Rules that cannot be read must not be taken for rules that were removed.
        view.rules()?;
        if !view.device_basis().knows_usage() {
            let why = "claims can no longer be read: the pods that use the devices are unknown";
            return Err(Failure::new(ExitStatus::Failed, why));
        }
        let view = view.with_pods_of(&self.prepared.taints).await?;
        let pod = pod_now(&self.prepared.pod, &view).await?;
        let seen = RoomView {
            snapshot: view.snapshot(),
            pod: pod.as_ref(),
            uid: &self.prepared.pod.uid,
            claims: &self.prepared.waiting.claims,
            rules: &self.rules,
            before: &self.prepared.before,
        };
        Ok(RoomFacts::new(&self.prepared.plan, &seen))
    }

    async fn evict(&self, pod: &PlannedEviction) -> Result<EvictionReply, Failure> {
        let grace = pod.is_shortened.then_some(pod.grace_period_seconds);
        let (log, client) = (&self.context.log, &self.live.client);
        evict_pod(log, client, &pod.name, &pod.uid, grace).await
    }

    async fn delete(&self, pod: &PlannedEviction) -> Result<EvictionReply, Failure> {
        let (client, grace) = (&self.live.client, pod.grace_period_seconds);
        let request = delete_pod(client, &pod.name, &pod.uid, grace);
        logged(&self.context.log, &pod.name, request).await
    }
}

/// Reason for which a pod is evicted again.
fn retry_line(pod: &PlannedEviction, reply: &EvictionReply) -> Option<String> {
    let name = &pod.name;
    match reply {
        EvictionReply::Accepted | EvictionReply::Gone => None,
        EvictionReply::Refused(why) => {
            Some(format!("pod {name} is not evicted, trying again: {why}"))
        }
        EvictionReply::Unknown(why) => Some(format!(
            "cannot tell whether pod {name} was evicted: {why}; checking again"
        )),
    }
}

/// The pod as it is now; absent where it is gone.
async fn pod_now(pod: &Pod, view: &ClusterView<impl ReadState>) -> Result<Option<Pod>, Failure> {
    let name = &pod.name;
    match view.find_pods(PodQuery::One(name)).await? {
        PodQueryResult::These(pods, _) => Ok(pods.into_iter().next()),
        PodQueryResult::WithoutClaims | PodQueryResult::Gone => Ok(None),
    }
}

/// Waits until the scheduler has placed a pod for which it has preempted others itself.
///
/// # Errors
///
/// The pod cannot be read.
pub(crate) async fn until_scheduled(
    pod: &Pod,
    view: &ClusterView,
    timeout: Duration,
) -> Result<RoomEnd, Failure> {
    let began = Instant::now();
    loop {
        let now = pod_now(pod, view).await?;
        match progress(now.as_ref(), &pod.uid) {
            PodProgress::Scheduled(node) => return Ok(RoomEnd::Scheduled(node, [].into())),
            PodProgress::Gone => return Ok(RoomEnd::Gone),
            PodProgress::Pending(message) if began.elapsed() >= timeout => {
                return Ok(RoomEnd::TimedOut(message.into_iter().collect()));
            }
            PodProgress::Pending(_) => sleep(LOOK).await,
        }
    }
}

/// Removes all rules for the pod with this UID, again and again while a retry may help.
///
/// With `was_stopped`, a change may still be on its way.
///
/// # Errors
///
/// A rule could not be removed.
pub(crate) async fn remove_left(
    uid: &Uid,
    was_stopped: bool,
    changer: &Changer<'_>,
) -> Result<(), Failure> {
    if was_stopped {
        sleep(IN_FLIGHT).await;
    }
    let began = Instant::now();
    let [mut pause, longest] = PAUSES;
    loop {
        let failure = match try_remove(uid, changer).await {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        if failure.status() != ExitStatus::TryAgain || began.elapsed() >= PATIENCE {
            return Err(failure
                .context("cannot remove the rules that keep other pods off the devices")
                .hint(
                    "remove them with `kubectl devicetaint remove -l devicetaint.dev/make-room`",
                ));
        }
        let text = format!("cannot remove the rules yet: {failure}; trying again");
        changer.context().printer.note(&text);
        sleep(pause).await;
        pause = pause.saturating_mul(2).min(longest);
    }
}

/// Removes all rules for the pod with this UID; the failure of one does not keep the others.
async fn try_remove(uid: &Uid, changer: &Changer<'_>) -> Result<(), Failure> {
    let listed = changer.listed().await.map_err(failed)?;
    let mut first: Option<Failure> = None;
    for rule in &left_of(&listed, uid) {
        if let Err(failure) = changer.delete(rule).await {
            let name = format!("rule {} was not removed", rule.name);
            first = Some(first.unwrap_or(failure).detail(name));
        }
    }
    first.map_or(Ok(()), Err)
}
