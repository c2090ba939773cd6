//! Users with only the permissions of a test.

use std::{path::PathBuf, sync::atomic::Ordering};

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ControlPlane, DEADLINE, wait_for};

/// User that the API server knows by a token.
#[derive(Clone, Debug, Deserialize)]
pub struct User {
    /// The name under which the server speaks of the user.
    pub name: String,
    pub token: String,
    /// A file with which the user reaches the server.
    pub kubeconfig: PathBuf,
}

impl ControlPlane {
    /// A user of the test's own, who may do in all namespaces what `rules` allow: the `rules` of a
    /// ClusterRole, empty for no permissions.
    pub async fn kubeconfig_for(&self, rules: &[Value]) -> User {
        let index = self.users_taken.fetch_add(1, Ordering::Relaxed);
        let users = self.ready.users.as_deref().unwrap_or_default();
        let user = users
            .get(index)
            .expect("there are more users than tests need")
            .clone();
        self.allow("User", &user.name, rules).await;
        user
    }

    /// Allows a subject, a `User` or a `Group`, what the `rules` of a ClusterRole allow, and waits until the server knows:
    /// it takes a moment to notice new roles.
    pub async fn allow(&self, kind: &str, subject: &str, rules: &[Value]) {
        let group = "rbac.authorization.k8s.io";
        let version = format!("{group}/v1");
        self.create(&[
            json!({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": subject}, "rules": rules}),
            json!({
                "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": subject},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": subject},
                "subjects": [{"apiGroup": group, "kind": kind, "name": subject}],
            }),
        ])
        .await;
        for rule in rules {
            let attributes = json!({
                "group": rule["apiGroups"][0],
                "resource": rule["resources"][0],
                "verb": rule["verbs"][0],
                "name": rule["resourceNames"][0].as_str().unwrap_or_default(),
            });
            let review = json!({
                "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                "spec": {"user": subject, "groups": [subject], "resourceAttributes": attributes},
            });
            let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            wait_for("the permissions are in force", DEADLINE, async || {
                let answer = self.request(Method::POST, path, Some(&review)).await;
                let answer = answer.and_then(super::Answer::success).ok()?;
                (answer["status"]["allowed"] == true).then_some(())
            })
            .await;
        }
    }
}
