//! Restarts of Deployments, as `kubectl rollout restart` does them.

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::make::{MERGE_PATCH, WriteMode};
use super::stored::ObjectVersion;
use crate::cluster::client::api::ApiClient;
use crate::cluster::client::request::{Change, JSON, Read};
use crate::cluster::client::write::WriteOutcome;
use crate::cluster::error::ClusterError;
use crate::cluster::path::escaped;
use crate::cluster::permission::Permission;
use crate::model::{Kind, NamespacedName, Rollout, RuleMetadata};

/// Result of a restart request.
#[derive(Debug)]
pub enum RestartAnswer {
    /// The Deployment replaces all its pods.
    Accepted,
    /// It is not as it was decided on any more, or gone.
    Changed,
    /// It may not be changed so, in the words of the server or of an admission webhook.
    Refused(String),
    /// It is not known whether it was restarted.
    Unknown(ClusterError),
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
) -> Result<RestartAnswer, ClusterError> {
    let (namespace, name) = (deployment.namespace.as_str(), deployment.name.as_str());
    let dry_run = match mode {
        WriteMode::Store => "",
        WriteMode::DryRun => "&dryRun=All",
    };
    let target = Read {
        path: format!(
            "/apis/apps/v1/namespaces/{}/deployments/{}?fieldManager={}&fieldValidation=Strict{dry_run}",
            escaped(namespace),
            escaped(name),
            RuleMetadata::THIS_PROGRAM,
        ),
        accept: JSON,
        permission: Permission::new("patch", Kind::Deployment),
    };
    let change = Change {
        method: Method::PATCH,
        content_type: MERGE_PATCH,
        body: patch(on, at).to_string().into_bytes(),
    };
    match client.write(&target, &change).await {
        WriteOutcome::Done(_) => Ok(RestartAnswer::Accepted),
        WriteOutcome::Unmade(error) => Err(error),
        WriteOutcome::Refused(error) | WriteOutcome::Lost(error) => classified(error),
    }
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

/// Result for an error.
fn classified(error: ClusterError) -> Result<RestartAnswer, ClusterError> {
    if matches!(
        error,
        ClusterError::NotFound { .. } | ClusterError::Conflict { .. }
    ) {
        return Ok(RestartAnswer::Changed);
    }
    if let ClusterError::Invalid { message, .. } = error {
        return Ok(RestartAnswer::Refused(message));
    }
    let is_denied = matches!(
        error,
        ClusterError::Forbidden { .. } | ClusterError::Unauthorized { .. }
    );
    let is_refused = matches!(error, ClusterError::Refused { status, .. } if status < 500);
    if is_denied || is_refused {
        Err(error)
    } else {
        // Everything else may have come after the change.
        Ok(RestartAnswer::Unknown(error))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cluster::error::Server;

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

    #[test]
    fn who_was_first_is_looked_at_and_what_admission_denies_is_not_restarted() {
        let path = || "/p".to_owned();
        let refused = |status| ClusterError::Refused {
            server: Arc::new(Server {
                cluster: None,
                url: "https://s".to_owned(),
            }),
            path: path(),
            status,
            message: "no".to_owned(),
        };
        let message = || "no".to_owned();
        for error in [
            ClusterError::NotFound { path: path() },
            ClusterError::Conflict {
                path: path(),
                message: message(),
            },
        ] {
            assert!(matches!(classified(error), Ok(RestartAnswer::Changed)));
        }
        let invalid = ClusterError::Invalid {
            path: path(),
            message: message(),
        };
        assert!(matches!(classified(invalid), Ok(RestartAnswer::Refused(_))));
        assert!(classified(refused(400)).is_err());
        assert!(matches!(
            classified(refused(500)),
            Ok(RestartAnswer::Unknown(_))
        ));
    }
}
