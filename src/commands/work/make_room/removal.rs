//! Removal of the rules that keep devices for a pod, whatever happened.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::commands::work::changer::Changer;
use crate::commands::work::connect::failed;
use crate::decide::make_room::{is_removal_tried_again, left_of};
use crate::error::Failure;
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
        let failure = match try_remove(uid, changer).await {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        if !is_removal_tried_again(failure.status(), PATIENCE.saturating_sub(began.elapsed())) {
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

/// Removes these rules; what became of one does not keep the others.
///
/// # Errors
///
/// When a rule could not be removed.
async fn remove_these(rules: &[DeviceTaintRule], changer: &mut Changer<'_>) -> Result<(), Failure> {
    let mut first: Option<Failure> = None;
    for rule in rules {
        if let Err(failure) = changer.delete(rule).await {
            let name = format!("rule {} was not removed", rule.name);
            first = Some(match first {
                None => failure.detail(name),
                Some(first) => first.detail(name),
            });
        }
    }
    first.map_or(Ok(()), Err)
}

/// Removes all rules for the pod with this UID that are there.
async fn try_remove(uid: &Uid, changer: &mut Changer<'_>) -> Result<(), Failure> {
    let listed = changer.listed().await.map_err(failed)?;
    remove_these(&left_of(&listed, uid), changer).await
}
