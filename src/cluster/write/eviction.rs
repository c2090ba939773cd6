//! Evictions of pods through the API that respects budgets.

use http::Method;
use serde_json::{Value, json};

use super::make::WriteMode;
use crate::cluster::client::api::ApiClient;
use crate::cluster::client::request::{Change, JSON, Read};
use crate::cluster::client::write::WriteOutcome;
use crate::cluster::error::ClusterError;
use crate::cluster::path::escaped;
use crate::cluster::permission::Permission;
use crate::model::{Kind, NamespacedName, Uid};

/// Result of an eviction request.
#[derive(Debug)]
pub enum EvictionAnswer {
    /// The pod is on its way out.
    Accepted,
    /// It is gone, or another pod has its name.
    Gone,
    /// It may not go now, in the server's words: a budget, or several of them, keep it.
    Refused(String),
    /// It is not known whether it was evicted.
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
) -> Result<EvictionAnswer, ClusterError> {
    let (namespace, name) = (pod.namespace.as_str(), pod.name.as_str());
    let query = match mode {
        WriteMode::Store => "",
        WriteMode::DryRun => "?dryRun=All",
    };
    let target = Read {
        path: format!(
            "/api/v1/namespaces/{}/pods/{}/eviction{query}",
            escaped(namespace),
            escaped(name)
        ),
        accept: JSON,
        permission: Permission::evictions(),
    };
    let body = json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": delete_options(uid, grace),
    });
    let change = Change {
        method: Method::POST,
        content_type: JSON,
        body: body.to_string().into_bytes(),
    };
    match client.write(&target, &change).await {
        WriteOutcome::Done(_) => Ok(EvictionAnswer::Accepted),
        WriteOutcome::Unmade(error) => Err(error),
        WriteOutcome::Refused(error) | WriteOutcome::Lost(error) => classified(error),
    }
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
) -> Result<EvictionAnswer, ClusterError> {
    let (namespace, name) = (pod.namespace.as_str(), pod.name.as_str());
    let target = Read {
        path: format!(
            "/api/v1/namespaces/{}/pods/{}",
            escaped(namespace),
            escaped(name)
        ),
        accept: JSON,
        permission: Permission::new("delete", Kind::Pod),
    };
    let change = Change {
        method: Method::DELETE,
        content_type: JSON,
        body: delete_options(uid, Some(grace)).to_string().into_bytes(),
    };
    match client.write(&target, &change).await {
        WriteOutcome::Done(_) => Ok(EvictionAnswer::Accepted),
        WriteOutcome::Unmade(error) => Err(error),
        WriteOutcome::Refused(error) | WriteOutcome::Lost(error) => classified(error),
    }
}

fn delete_options(uid: &Uid, grace: Option<i64>) -> Value {
    let mut options = json!({"preconditions": {"uid": uid.as_str()}});
    if let Some(grace) = grace {
        options["gracePeriodSeconds"] = grace.into();
    }
    options
}

/// Result for an error.
fn classified(error: ClusterError) -> Result<EvictionAnswer, ClusterError> {
    if matches!(
        error,
        ClusterError::NotFound { .. } | ClusterError::Conflict { .. }
    ) {
        return Ok(EvictionAnswer::Gone);
    }
    if let ClusterError::Refused {
        status, message, ..
    } = &error
        && keeps(*status, message)
    {
        return Ok(EvictionAnswer::Refused(message.clone()));
    }
    // An admission webhook keeps it, for example because its owner asked for that.
    if let ClusterError::Invalid { message, .. } = error {
        return Ok(EvictionAnswer::Refused(message));
    }
    // A user without permission, or a request that the server does not understand, has evicted no pod.
    let is_denied = matches!(
        error,
        ClusterError::Forbidden { .. } | ClusterError::Unauthorized { .. }
    );
    let is_refused = matches!(error, ClusterError::Refused { status, .. } if status < 500);
    if is_denied || is_refused {
        Err(error)
    } else {
        // Everything else may have come after the eviction.
        Ok(EvictionAnswer::Unknown(error))
    }
}

/// True if a budget keeps the pod: 429, or 500 where several budgets match it, which the server does not decide.
fn keeps(status: u16, message: &str) -> bool {
    status == 429 || (status == 500 && message.contains("more than one PodDisruptionBudget"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cluster::error::Server;

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
            Ok(EvictionAnswer::Refused(message)) => Some(message),
            Ok(EvictionAnswer::Accepted | EvictionAnswer::Gone | EvictionAnswer::Unknown(_))
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
            Ok(EvictionAnswer::Unknown(_))
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
            assert!(matches!(classified(error), Ok(EvictionAnswer::Gone)));
        }
        let invalid = ClusterError::Invalid {
            path: path(),
            message: "no".to_owned(),
        };
        assert!(matches!(
            classified(invalid),
            Ok(EvictionAnswer::Refused(message)) if message == "no"
        ));
    }
}
