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
        let name = &user.name;
        let group = "rbac.authorization.k8s.io";
        let version = format!("{group}/v1");
        self.create(&[
            json!({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}),
            json!({
                "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": name},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
                "subjects": [{"apiGroup": group, "kind": "User", "name": name}],
            }),
        ])
        .await;
        for rule in rules {
            wait_for("the permissions are in force", DEADLINE, async || {
                self.allowed(name, rule).await.then_some(())
            })
            .await;
        }
        user
    }

    /// True if the user may already do the first thing that `rule` allows. The server takes a moment to
    /// notice new roles.
    async fn allowed(&self, user: &str, rule: &Value) -> bool {
        let attributes = json!({
            "group": rule["apiGroups"][0],
            "resource": rule["resources"][0],
            "verb": rule["verbs"][0],
            "name": rule["resourceNames"][0].as_str().unwrap_or_default(),
        });
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": attributes},
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = self
            .request(Method::POST, path, Some(&review))
            .await
            .expect("the server answers");
        answer.success().expect("a review can be made")["status"]["allowed"] == true
    }
}
