//! Restarts of Deployments whose pods leave: asked for before anything is tainted, and carried out.

use jiff::Timestamp;

use super::unit::UnitDrain;
use crate::cluster::{ApiClient, ObjectVersion, RestartAnswer, WriteMode, restart};
use crate::commands::work::connect::failed;
use crate::decide::drain::{RestartPlan, RestartReply, RestartState, tainted_since};
use crate::error::Failure;
use crate::model::Uid;

/// Whether the user may restart all owners of the plan, asked by restarts that are not carried out.
///
/// # Errors
///
/// When the user may not, or admission does not let the Deployment be changed so.
pub(super) async fn may_restart(
    plan: &RestartPlan,
    client: &ApiClient,
    now: Timestamp,
) -> Result<(), Failure> {
    for (uid, planned) in &plan.owners {
        let state = &planned.state;
        let on = version(uid, state);
        let tried = restart(client, &state.owner, &on, now, WriteMode::DryRun).await;
        let tried = tried.map_err(failed);
        let open = tried.and_then(|answer| may_be_restarted(&state.describe(), answer));
        open.map_err(|failure| failure.detail("nothing was changed"))?;
    }
    Ok(())
}

/// That an owner can be restarted, as the answer to a restart says that was not carried out.
fn may_be_restarted(owner: &str, answer: RestartAnswer) -> Result<(), Failure> {
    match answer {
        // Who may not is told so before the state of the object is compared.
        RestartAnswer::Accepted | RestartAnswer::Changed => Ok(()),
        RestartAnswer::Refused(message) => Err(Failure::refused(format!(
            "{owner} cannot be restarted: {message}"
        ))),
        RestartAnswer::Unknown(error) => Err(failed(error)),
    }
}

impl UnitDrain<'_, '_, '_> {
    /// Restarts the owner, and says what became of that.
    pub(super) async fn restart(
        &self,
        owner: &Uid,
        state: &RestartState,
    ) -> Result<RestartReply, Failure> {
        let (client, printer) = (&self.order.live.client, &self.order.context.printer);
        let (unit, name) = (&self.unit.name, state.describe());
        // By this time later runs see that the drain has restarted it: it must not be before the taints.
        let at = client.server_time().max(tainted_since(&self.rules));
        let Some(at) = at else {
            printer.warn(&format!(
                "unit {unit}: {name} is not restarted: the server's time is unknown"
            ));
            return Ok(RestartReply::Refused);
        };
        let on = version(owner, state);
        let answer = restart(client, &state.owner, &on, at, WriteMode::Store).await;
        Ok(match answer.map_err(failed)? {
            RestartAnswer::Accepted => {
                printer.note(&format!("unit {unit}: restarted {name}"));
                RestartReply::Accepted
            }
            RestartAnswer::Changed => RestartReply::Changed,
            RestartAnswer::Refused(message) => {
                printer.warn(&format!(
                    "unit {unit}: {name} cannot be restarted: {message}"
                ));
                RestartReply::Refused
            }
            RestartAnswer::Unknown(error) => {
                printer.warn(&format!(
                    "cannot tell whether {name} was restarted: {error}; checking again"
                ));
                RestartReply::Unknown
            }
        })
    }
}

/// The state of the Deployment that was decided on.
fn version(uid: &Uid, state: &RestartState) -> ObjectVersion {
    ObjectVersion {
        uid: uid.to_string(),
        resource_version: state.resource_version.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ExitStatus;

    #[test]
    fn an_owner_that_admission_keeps_as_it_is_cannot_be_restarted() {
        let refused = |answer| may_be_restarted("Deployment a/web", answer).err();
        assert!(refused(RestartAnswer::Accepted).is_none());
        assert!(refused(RestartAnswer::Changed).is_none());
        let failure = refused(RestartAnswer::Refused("no".to_owned())).expect("a refusal");
        let text = "Deployment a/web cannot be restarted: no";
        assert_eq!(
            (failure.status(), &*failure.to_string()),
            (ExitStatus::Refused, text)
        );
    }
}
