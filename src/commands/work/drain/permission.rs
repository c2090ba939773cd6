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
    /// Whether the user may record the drain on its rules and ask kubelets; and whether they may evict, asked in each
    /// namespace by an eviction that is not carried out. The owners in `restarts` may be restarted.
    pub(super) async fn check_permission(
        &self,
        leaving: &[UnitPod],
        restarts: Option<&RestartPlan>,
        mutation: &MutationContext,
    ) -> Result<(), Failure> {
        let client = &mutation.live.client;
        let needed = needed_access(self.debug_namespace.as_deref());
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

/// What a drain needs beside evictions and restarts, however it goes on; also to create debug pods in a namespace, if
/// it asks kubelets through them.
fn needed_access(debug_namespace: Option<&str>) -> Vec<AccessQuery> {
    // `delete` for the rule by which the controller's count is compared, `get` where a response is lost.
    let rules = ["create", "delete", "get", "patch"].map(|verb| AccessQuery {
        permission: Permission::new(verb, Kind::DeviceTaintRule),
        namespace: None,
    });
    let pods = debug_namespace.into_iter().flat_map(|namespace| {
        Permission::debug_pods().map(|permission| AccessQuery {
            permission,
            namespace: Some(namespace.into()),
        })
    });
    // Replacements and the pods of owners are found in lists alone: without them, no pod would ever be evicted.
    let list = AccessQuery {
        permission: Permission::new("list", Kind::Pod),
        namespace: None,
    };
    rules.into_iter().chain([list]).chain(pods).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_needs_rules_and_the_pods_of_all_namespaces_and_debug_pods_in_theirs() {
        let needed = |debug_namespace: Option<&str>| -> Vec<String> {
            let needed = needed_access(debug_namespace).into_iter();
            needed
                .map(|query| {
                    let place = query.namespace.map(|namespace| format!(" in {namespace}"));
                    format!("{}{}", query.permission, place.unwrap_or_default())
                })
                .collect()
        };
        let always = [
            "create devicetaintrules.resource.k8s.io",
            "delete devicetaintrules.resource.k8s.io",
            "get devicetaintrules.resource.k8s.io",
            "patch devicetaintrules.resource.k8s.io",
            "list pods",
        ];
        assert_eq!(needed(None), always);
        let with_debug_pods = needed(Some("gpu-operator"));
        assert_eq!(with_debug_pods[..5], always);
        assert!(!with_debug_pods[5..].is_empty());
        for query in &with_debug_pods[5..] {
            assert!(query.ends_with(" in gpu-operator"), "{query}");
        }
    }
}
