//! Permissions that can be had one by one: groups, each of which may do one thing.

use http::Method;
use serde_json::{Value, json};

use crate::cluster::rules::support::World;
use crate::harness::{ControlPlane, DEADLINE, Reference, wait_for};

/// Something that one may or may not do.
#[derive(Clone, Copy, Debug)]
pub struct Right {
    pub verbs: &'static [&'static str],
    /// Group and plural of each kind; the first is the one that is named.
    pub kinds: &'static [(&'static str, &'static str)],
}

const READ: &[&str] = &["get", "list", "watch"];
const DRA: &str = "resource.k8s.io";

/// Rights on everything that is read, and, verb by verb, on rules.
pub const RIGHTS: [Right; 11] = [
    right(READ, &[(DRA, "resourceslices")]),
    right(READ, &[(DRA, "resourceclaims")]),
    right(READ, &[("", "pods")]),
    right(
        READ,
        &[
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
    ),
    right(READ, &[("", "nodes")]),
    right(READ, &[("", "events"), ("events.k8s.io", "events")]),
    right(&["get"], RULES),
    right(&["list", "watch"], RULES),
    right(&["create"], RULES),
    right(&["patch", "update"], RULES),
    right(&["delete"], RULES),
];

/// Places in [`RIGHTS`].
pub const GET_RULES: usize = 6;
pub const PATCH_RULES: usize = 9;

const RULES: &[(&str, &str)] = &[(DRA, "devicetaintrules")];

const fn right(
    verbs: &'static [&'static str],
    kinds: &'static [(&'static str, &'static str)],
) -> Right {
    Right { verbs, kinds }
}

/// Subset of several rights, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

    /// Flags with which the administrator impersonates a user with these rights.
    pub fn flags(self, prefix: &str, rights: &[Right]) -> String {
        let mut flags = format!(" --as={prefix}-{}", self.0);
        for place in (0..rights.len()).filter(|place| self.has(*place)) {
            flags.push_str(&format!(" --as-group={prefix}-{place}"));
        }
        flags
    }
}

/// Makes a group for each right, `PREFIX-0` and so on, and waits until the server knows.
pub async fn grant(plane: &ControlPlane, prefix: &str, rights: &[Right]) {
    for (place, right) in rights.iter().enumerate() {
        let kinds = right.kinds.iter();
        let rules: Vec<Value> = kinds
            .map(|(group, plural)| json!({"apiGroups": [group], "resources": [plural], "verbs": right.verbs}))
            .collect();
        plane
            .allow("Group", &format!("{prefix}-{place}"), &rules)
            .await;
    }
}

/// True if a text names a lacking right.
pub fn names(text: &str, lacking: &[Right]) -> bool {
    let mut kinds = lacking.iter().flat_map(|right| right.kinds);
    kinds.any(|(_, plural)| text.contains(plural))
}

/// A pod on `gpu-0` that should have ended: its node is gone, which is unknown without permission to read nodes.
pub async fn overdue_pod(world: &World<'_>, rule: &str) {
    let plane = world.plane;
    world.pod("overdue", "gpu-0").await;
    let node = Reference::cluster("v1", "Node", &world.node);
    let overdue = Reference::pod(&world.namespace, "overdue");
    for (reference, seconds) in [(node, 0), (overdue, 1)] {
        let path = plane.path(&reference).await;
        let brief = json!({"gracePeriodSeconds": seconds});
        let answer = plane.request(Method::DELETE, &path, Some(&brief)).await;
        answer.expect("an answer").success().expect("it is deleted");
    }
    let line = format!("describe {rule}");
    wait_for("the node is gone", DEADLINE, async || {
        let shown = world.run(&line).stdout;
        shown.contains("does not exist").then_some(())
    })
    .await;
}
