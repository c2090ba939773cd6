//! Removal of the rules that keep devices for a pod, whatever happened.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::commands::work::changer::Changer;
use crate::commands::work::connect::failed;
use crate::decide::make_room::{left_of, leftover};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Uid};

/// Within which a server has carried out a change that was sent, and whose answer nobody waits for.
const IN_FLIGHT: Duration = Duration::from_millis(500);
/// How long removing the rules is tried.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long is waited before it is tried again, first and at most.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// Removes all rules for the pod with this UID, again and again where something is in the way that passes.
///
/// `was_stopped` says that a change may still be on its way.
///
/// # Errors
///
/// When a rule could not be removed.
pub(crate) async fn remove_left(
    uid: &Uid,
    was_stopped: bool,
    changer: &mut Changer<'_>,
) -> Result<(), Failure> {
    if was_stopped {
        sleep(IN_FLIGHT).await;
    }
    let began = Instant::now();
    let [mut pause, longest] = PAUSES;
    loop {
        let failure = match try_remove(changer, |rules| left_of(rules, uid)).await {
            Ok(_) => return Ok(()),
            Err(failure) => failure,
        };
        let passes = failure.status() == ExitStatus::TryAgain;
        if !passes || began.elapsed() >= PATIENCE {
            return Err(failure
                .context("the rules that keep the devices could not be removed")
                .hint("remove them with `kubectl devicetaint make-room --cleanup`"));
        }
        let text = format!("cannot remove the rules yet: {failure}; trying again");
        changer.context().printer.note(&text);
        sleep(pause).await;
        pause = pause.saturating_mul(2).min(longest);
    }
}

/// Removes all rules that this plugin has made to keep devices for pods, and says how many there were.
///
/// # Errors
///
/// When a rule could not be removed.
pub(crate) async fn remove_all(changer: &mut Changer<'_>) -> Result<usize, Failure> {
    try_remove(changer, leftover).await
}

async fn try_remove(
    changer: &mut Changer<'_>,
    chosen: impl Fn(&[DeviceTaintRule]) -> Vec<DeviceTaintRule>,
) -> Result<usize, Failure> {
    let listed = changer.listed().await.map_err(failed)?;
    let left = chosen(&listed);
    let mut first: Option<Failure> = None;
    for rule in &left {
        // One that cannot be removed must not keep the others.
        if let Err(failure) = changer.delete(rule).await {
            let name = format!("rule {} was not removed", rule.name);
            first = Some(match first {
                None => failure.detail(name),
                Some(first) => first.detail(name),
            });
        }
    }
    first.map_or(Ok(left.len()), Err)
}
