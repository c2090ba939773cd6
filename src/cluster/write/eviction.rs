//! Evictions of pods through the API that respects budgets, their deletion, and restarts of Deployments as
//! `kubectl rollout restart` does them.

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::make::{MERGE_PATCH, WriteMode};
use super::objects::ObjectVersion;
use crate::cluster::client::api::ApiClient;
use crate::cluster::client::target::{Change, JSON, Read, escaped, pod_path};
use crate::cluster::client::write::WriteOutcome;
use crate::cluster::error::ClusterError;
use crate::cluster::permission::Permission;
use crate::model::{Kind, NamespacedName, Rollout, Uid};
use crate::naming::keys;

/// Result of the eviction or deletion of a pod, or of a restart.
#[derive(Debug)]
pub enum WriteAnswer {
    /// The pod is on its way out, or the Deployment replaces all its pods.
    Accepted,
    /// The object is gone, or not the one that it was decided on.
    Outdated,
    /// It may not be done now, in the words of the server (a budget, or several of them, keep the pod) or of an
    /// admission webhook.
    Refused(String),
    /// It is not known whether it was done.
    Unknown(ClusterError),
}

/// Asks for the eviction of the pod with this UID, within `grace` seconds if that is set, else within its own grace
/// period. The result of a dry run holds at that moment only.
///
/// An eviction names the pod by its UID, so that one that is sent twice evicts no other pod.
///
/// # Errors
///
/// When it was not made for another reason than a budget, such as a missing permission.
///
/// Upstream: `EvictionREST.Create` in `pkg/registry/core/pod/storage/eviction.go`.
pub async fn evict(
    client: &ApiClient,
    pod: &NamespacedName,
    uid: &Uid,
    grace: Option<i64>,
    mode: WriteMode,
) -> Result<WriteAnswer, ClusterError> {
    let dry_run = match mode {
        WriteMode::Store => "",
        WriteMode::DryRun => "?dryRun=All",
    };
    let path = format!("{}/eviction{dry_run}", pod_path(pod));
    let body = json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": pod.name.as_str(), "namespace": pod.namespace.as_str()},
        "deleteOptions": delete_options(uid, grace),
    });
    let change = Change::new(Method::POST, JSON, &body);
    send(client, Read::json(path, Permission::evictions()), change).await
}

/// Deletes the pod with this UID, which PodDisruptionBudgets do not prevent, within `grace` seconds.
///
/// # Errors
///
/// The pod was not deleted, for example because a permission is missing.
pub async fn delete_pod(
    client: &ApiClient,
    pod: &NamespacedName,
    uid: &Uid,
    grace: i64,
) -> Result<WriteAnswer, ClusterError> {
    let target = Read::json(pod_path(pod), Permission::new("delete", Kind::Pod));
    let options = delete_options(uid, Some(grace));
    send(client, target, Change::new(Method::DELETE, JSON, &options)).await
}

fn delete_options(uid: &Uid, grace: Option<i64>) -> Value {
    let mut options = json!({"preconditions": {"uid": uid.as_str()}});
    if let Some(grace) = grace {
        options["gracePeriodSeconds"] = grace.into();
    }
    options
}

/// Restarts the Deployment, if it is in the state `on`: all its pods are replaced, by its own strategy. What a dry run
/// answers holds at that moment only.
///
/// A restart names the state that it was decided on, so that one that is sent twice restarts once.
///
/// # Errors
///
/// When it was not made for another reason, such as a missing permission.
///
/// Upstream: `defaultObjectRestarter` of kubectl.
pub async fn restart(
    client: &ApiClient,
    deployment: &NamespacedName,
    on: &ObjectVersion,
    at: Timestamp,
    mode: WriteMode,
) -> Result<WriteAnswer, ClusterError> {
    let (namespace, name) = (deployment.namespace.as_str(), deployment.name.as_str());
    let dry_run = match mode {
        WriteMode::Store => "",
        WriteMode::DryRun => "&dryRun=All",
    };
    let path = format!(
        "/apis/apps/v1/namespaces/{}/deployments/{}?fieldManager={}&fieldValidation=Strict{dry_run}",
        escaped(namespace),
        escaped(name),
        keys::THIS_PROGRAM,
    );
    let target = Read::json(path, Permission::new("patch", Kind::Deployment));
    let change = Change::new(Method::PATCH, MERGE_PATCH, &patch(on, at));
    send(client, target, change).await
}

fn patch(on: &ObjectVersion, at: Timestamp) -> Value {
    // To the second, as kubectl writes it.
    let at = at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    json!({
        // Preconditions: the server replies 409 Conflict if the object has another uid or resourceVersion.
        "metadata": {"uid": on.uid, "resourceVersion": on.resource_version},
        "spec": {"template": {"metadata": {"annotations": {Rollout::RESTARTED_AT: at}}}},
    })
}

async fn send(
    client: &ApiClient,
    target: Read,
    change: Change,
) -> Result<WriteAnswer, ClusterError> {
    match client.write(&target, &change).await {
        WriteOutcome::Done(_) => Ok(WriteAnswer::Accepted),
        WriteOutcome::Unmade(error) => Err(error),
        WriteOutcome::Refused(error) | WriteOutcome::Lost(error) => classified(error),
    }
}

/// Result for an error.
fn classified(error: ClusterError) -> Result<WriteAnswer, ClusterError> {
    if matches!(
        error,
        ClusterError::NotFound { .. } | ClusterError::Conflict { .. }
    ) {
        return Ok(WriteAnswer::Outdated);
    }
    if let ClusterError::Refused {
        status, message, ..
    } = &error
        && keeps(*status, message)
    {
        return Ok(WriteAnswer::Refused(message.clone()));
    }
    // An admission webhook keeps it, for example because its owner asked for that.
    if let ClusterError::Invalid { message, .. } = error {
        return Ok(WriteAnswer::Refused(message));
    }
    // A user without permission, or a request that the server does not understand, has changed nothing.
    let is_denied = matches!(
        error,
        ClusterError::Forbidden { .. } | ClusterError::Unauthorized { .. }
    );
    let is_refused = matches!(error, ClusterError::Refused { status, .. } if status < 500);
    if is_denied || is_refused {
        Err(error)
    } else {
        // Everything else may have come after the change.
        Ok(WriteAnswer::Unknown(error))
    }
}

/// True if a budget keeps the pod: 429, or 500 where several budgets match it, which the server does not decide.
fn keeps(status: u16, message: &str) -> bool {
    status == 429 || (status == 500 && message.contains("more than one PodDisruptionBudget"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::error::Server;
    use std::sync::Arc;

    fn refused(status: u16, message: &str) -> ClusterError {
        ClusterError::Refused {
            server: Arc::new(Server {
                cluster: None,
                url: "https://s".to_owned(),
            }),
            path: "/p".to_owned(),
            status,
            message: message.to_owned(),
        }
    }

    #[test]
    fn a_budget_keeps_the_pod_and_other_failures_are_none_of_its() {
        let kept = |error| match classified(error) {
            Ok(WriteAnswer::Refused(message)) => Some(message),
            Ok(WriteAnswer::Accepted | WriteAnswer::Outdated | WriteAnswer::Unknown(_))
            | Err(_) => None,
        };
        let several = "This pod has more than one PodDisruptionBudget, which the eviction \
                       subresource does not support.";
        assert_eq!(kept(refused(429, "needs 3")).as_deref(), Some("needs 3"));
        assert_eq!(kept(refused(500, several)).as_deref(), Some(several));
        assert!(kept(refused(500, "etcd is away")).is_none());
        assert!(classified(refused(400, "what?")).is_err());
        assert!(matches!(
            classified(refused(500, "etcd is away")),
            Ok(WriteAnswer::Unknown(_))
        ));
    }

    #[test]
    fn who_is_gone_is_gone_and_what_admission_denies_stays() {
        let path = || "/p".to_owned();
        for error in [
            ClusterError::NotFound { path: path() },
            ClusterError::Conflict {
                path: path(),
                message: "uid".to_owned(),
            },
        ] {
            assert!(matches!(classified(error), Ok(WriteAnswer::Outdated)));
        }
        let invalid = ClusterError::Invalid {
            path: path(),
            message: "no".to_owned(),
        };
        assert!(matches!(
            classified(invalid),
            Ok(WriteAnswer::Refused(message)) if message == "no"
        ));
    }

    #[test]
    fn a_restart_names_the_state_that_it_was_decided_on() {
        let on = ObjectVersion {
            uid: "u".to_owned(),
            resource_version: "7".to_owned(),
        };
        let at = "2026-01-01T00:00:00.25Z".parse().expect("a time");
        assert_eq!(
            patch(&on, at),
            json!({
                "metadata": {"uid": "u", "resourceVersion": "7"},
                "spec": {"template": {"metadata": {"annotations": {
                    "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z",
                }}}},
            })
        );
    }
}
