//! Permissions that a drain needs, checked before anything is tainted.

use std::collections::BTreeMap;

use super::act::object_version;
use crate::cluster::{AccessQuery, Permission, Purpose, WriteAnswer, WriteMode, restart};
use crate::commands::work::access::{refuse_missing, try_evictions};
use crate::commands::work::connect::failed;
use crate::commands::work::mutation_context::MutationContext;
use crate::decide::drain::{RestartState, UnitPod};
use crate::error::Failure;
use crate::model::{Kind, Uid};

/// Asks for the permissions to change rules, and to list pods: without the list, replacements are not found.
pub(super) async fn refuse_missing_permissions(mutation: &MutationContext) -> Result<(), Failure> {
    // `get` for a response that is lost.
    let rules = ["create", "get", "patch"].map(|verb| Permission::new(verb, Kind::DeviceTaintRule));
    let permissions = rules
        .into_iter()
        .chain([Permission::new("list", Kind::Pod)]);
    let queries = permissions.map(|permission| AccessQuery {
        permission,
        namespace: None,
    });
    refuse_missing(queries, Purpose::Drain, &mutation.live()?.client).await
}

/// Tries an eviction in each namespace, and the restart of each Deployment, by requests that are not carried out.
pub(super) async fn check_evictions(
    leaving: &[UnitPod],
    restarts: &BTreeMap<Uid, RestartState>,
    mutation: &MutationContext,
) -> Result<(), Failure> {
    let client = &mutation.live()?.client;
    let unchanged = |failure: Failure| failure.detail("nothing was changed");
    try_evictions(leaving.iter().map(|pod| (&pod.name, &pod.uid)), client).await?;
    for (uid, state) in restarts {
        let on = object_version(uid, state);
        let at = mutation.view.now;
        let tried = restart(client, &state.owner, &on, at, WriteMode::DryRun).await;
        match tried.map_err(|error| unchanged(failed(error)))? {
            WriteAnswer::Accepted | WriteAnswer::Outdated => {}
            WriteAnswer::Refused(message) => {
                let owner = state.describe();
                let text = format!("{owner} cannot be restarted: {message}");
                return Err(unchanged(Failure::refused(text)));
            }
            WriteAnswer::Unknown(error) => return Err(unchanged(failed(error))),
        }
    }
    Ok(())
}
