//! Permissions that can be had one by one: groups, each of which may do one thing.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{ControlPlane, DEADLINE, wait_for};

/// Something that one may or may not do.
#[derive(Clone, Copy, Debug)]
pub struct Right {
    pub verbs: &'static [&'static str],
    /// Group and plural of each kind; the first is the one that is named.
    pub kinds: &'static [(&'static str, &'static str)],
}

const READ: &[&str] = &["get", "list", "watch"];
const DRA: &str = "resource.k8s.io";

/// What is read, kind by kind.
pub const READING: [Right; 7] = [
    Right {
        verbs: READ,
        kinds: &[(DRA, "resourceslices")],
    },
    Right {
        verbs: READ,
        kinds: &[(DRA, "resourceclaims")],
    },
    Right {
        verbs: READ,
        kinds: &[(DRA, "devicetaintrules")],
    },
    Right {
        verbs: READ,
        kinds: &[("", "pods")],
    },
    Right {
        verbs: READ,
        kinds: &[
            (DRA, "deviceclasses"),
            (DRA, "resourceclaimtemplates"),
            ("policy", "poddisruptionbudgets"),
            ("apps", "replicasets"),
            ("apps", "deployments"),
            ("apps", "statefulsets"),
            ("apps", "daemonsets"),
            ("batch", "jobs"),
            ("batch", "cronjobs"),
            ("leaderworkerset.x-k8s.io", "leaderworkersets"),
            ("jobset.x-k8s.io", "jobsets"),
            ("scheduling.k8s.io", "podgroups"),
            ("scheduling.x-k8s.io", "podgroups"),
        ],
    },
    Right {
        verbs: READ,
        kinds: &[("", "nodes")],
    },
    Right {
        verbs: READ,
        kinds: &[("", "events"), ("events.k8s.io", "events")],
    },
];

/// The right to read rules in [`READING`].
pub const READ_RULES: usize = 2;
/// The right to read nodes in [`READING`].
pub const READ_NODES: usize = 5;

/// What can be done to rules, verb by verb.
pub const WRITING: [Right; 5] = [
    Right {
        verbs: &["get"],
        kinds: &[(DRA, "devicetaintrules")],
    },
    Right {
        verbs: &["list", "watch"],
        kinds: &[(DRA, "devicetaintrules")],
    },
    Right {
        verbs: &["create"],
        kinds: &[(DRA, "devicetaintrules")],
    },
    Right {
        verbs: &["patch", "update"],
        kinds: &[(DRA, "devicetaintrules")],
    },
    Right {
        verbs: &["delete"],
        kinds: &[(DRA, "devicetaintrules")],
    },
];

/// Which of several rights somebody has, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subset(pub usize);

impl Subset {
    pub fn has(self, place: usize) -> bool {
        self.0 >> place & 1 == 1
    }

    /// The rights that are not in it.
    pub fn lacking(self, rights: &'static [Right]) -> Vec<Right> {
        let places = (0..rights.len()).filter(|place| !self.has(*place));
        places.map(|place| rights[place]).collect()
    }

    pub fn is_complete(self, rights: &[Right]) -> bool {
        self.0 + 1 == 1 << rights.len()
    }

    /// Flags with which the administrator becomes somebody who has these rights, and those of the
    /// groups that are named beside.
    pub fn flags(self, prefix: &str, rights: &[Right], beside: &[&str]) -> String {
        let mut flags = format!(" --as={prefix}-{}", self.0);
        for place in (0..rights.len()).filter(|place| self.has(*place)) {
            flags.push_str(&format!(" --as-group={prefix}-{place}"));
        }
        for group in beside {
            flags.push_str(&format!(" --as-group={group}"));
        }
        flags
    }
}

/// Makes a group for each right, `PREFIX-0` and so on, and waits until the server knows.
pub async fn grant(plane: &ControlPlane, prefix: &str, rights: &[Right]) {
    let rbac = "rbac.authorization.k8s.io";
    let version = format!("{rbac}/v1");
    for (place, right) in rights.iter().enumerate() {
        let name = format!("{prefix}-{place}");
        let rules: Vec<Value> = right
            .kinds
            .iter()
            .map(|(group, plural)| {
                json!({"apiGroups": [group], "resources": [plural], "verbs": right.verbs})
            })
            .collect();
        plane
            .create(&[
                json!({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}),
                json!({
                    "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": name},
                    "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
                    "subjects": [{"apiGroup": rbac, "kind": "Group", "name": name}],
                }),
            ])
            .await;
    }
    for (place, right) in rights.iter().enumerate() {
        let (group, plural) = right.kinds[0];
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": prefix, "groups": [format!("{prefix}-{place}")],
                "resourceAttributes": {"group": group, "resource": plural, "verb": right.verbs[0]},
            },
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        wait_for("the permissions are in force", DEADLINE, async || {
            let answer = plane.request(Method::POST, path, Some(&review)).await;
            let body = answer.and_then(crate::harness::Answer::success).ok()?;
            (body["status"]["allowed"] == true).then_some(())
        })
        .await;
    }
}

/// Whether a text names something that is lacking.
pub fn names(text: &str, lacking: &[Right]) -> bool {
    let mut kinds = lacking.iter().flat_map(|right| right.kinds);
    kinds.any(|(_, plural)| text.contains(plural))
}
