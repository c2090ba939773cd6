//! Permissions that a drain needs, asked for before anything is tainted.

use std::collections::BTreeSet;

use crate::cluster::{AccessQuery, Permission, Purpose, WriteMode, evict};
use crate::commands::work::access::refuse_missing;
use crate::commands::work::connect::failed;
use crate::commands::work::mutation_context::MutationContext;
use crate::decide::drain::UnitPod;
use crate::error::Failure;
use crate::model::Kind;

/// Whether the user may record the drain on its rules, and whether they may evict, asked in each namespace by an eviction
/// that is not carried out.
pub(super) async fn check_permission(
    leaving: &[UnitPod],
    mutation: &MutationContext,
) -> Result<(), Failure> {
    let client = &mutation.live.client;
    refuse_missing(needed_access(), Purpose::Drain, client).await?;
    let mut asked = BTreeSet::new();
    for pod in leaving {
        if asked.insert(&pod.name.namespace) {
            let tried = evict(client, &pod.name, &pod.uid, None, WriteMode::DryRun).await;
            // A budget that refuses now may allow the eviction later.
            tried.map_err(|error| failed(error).detail("nothing was changed"))?;
        }
    }
    Ok(())
}

/// Permissions that a drain needs beside evictions and restarts.
fn needed_access() -> Vec<AccessQuery> {
    // `get` where a response is lost.
    let rules = ["create", "get", "patch"].map(|verb| AccessQuery {
        permission: Permission::new(verb, Kind::DeviceTaintRule),
        namespace: None,
    });
    // Replacements and the pods of owners are found in lists alone: without them, no pod would ever be evicted.
    let list = AccessQuery {
        permission: Permission::new("list", Kind::Pod),
        namespace: None,
    };
    rules.into_iter().chain([list]).collect()
}
