//! Permissions that a drain needs, asked for before anything is tainted.

use std::collections::BTreeSet;

use super::prepare::DrainRequest;
use crate::cluster::{AccessQuery, Permission, Purpose, WriteMode, evict};
use crate::commands::work::access::refuse_missing;
use crate::commands::work::connect::failed;
use crate::commands::work::mutation_context::MutationContext;
use crate::decide::drain::{Means, RestartPlan, UnitPod};
use crate::error::Failure;
use crate::model::Kind;

/// The way on for whoever may not evict pods.
const RESTART: &str = "to restart the owners of pods, without evictions: --by restart";

impl DrainRequest {
    /// Whether the user may record the drain on its rules, and whether they may evict, asked in each
    /// namespace by an eviction that is not carried out. The owners in `restarts` may be restarted.
    pub(super) async fn check_permission(
        &self,
        leaving: &[UnitPod],
        restarts: Option<&RestartPlan>,
        mutation: &MutationContext,
    ) -> Result<(), Failure> {
        let client = &mutation.live.client;
        let needed = needed_access();
        refuse_missing(needed, Purpose::Drain, client).await?;
        match self.limits.means {
            Means::Restart | Means::Taint => return Ok(()),
            // Also of pods whose owners are restarted: they are evicted where that is not possible any more.
            Means::Auto | Means::Eviction => {}
        }
        let mut asked = BTreeSet::new();
        for pod in leaving {
            if !asked.insert(&pod.name.namespace) {
                continue;
            }
            let client = &mutation.live.client;
            let tried = evict(client, &pod.name, &pod.uid, WriteMode::DryRun).await;
            // A budget that refuses now may allow the eviction later.
            tried.map_err(|error| {
                let is_denied = error.denied().is_some();
                let failure = failed(error).detail("nothing was changed");
                if is_denied && restarts.is_some_and(RestartPlan::replaces_evictions) {
                    failure.hint(RESTART)
                } else {
                    failure
                }
            })?;
        }
        Ok(())
    }
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
