//! A namespace with devices that are all in use, and a pod of a higher priority that waits for one.

use serde_json::{Value, json};

use crate::cluster::drained::stage::{Stage, plane, pod_spec};
use crate::cluster::rules::support::Run;
use crate::harness::{DEADLINE, Reference, block_on, random_suffix, wait_for};

/// Tolerations that a claim needs so that devices can be kept for it.
pub fn tolerations() -> Value {
    json!([
        {"key": "devicetaint.dev/make-room", "operator": "Exists", "effect": "NoSchedule"},
    ])
}

/// The stage with priorities, and a monitor on each node.
pub struct Scene {
    pub stage: Stage,
    /// The name of a priority class of value 1000, and of one of value 2000.
    classes: [String; 2],
}

impl Scene {
    pub fn new() -> Self {
        let stage = Stage::monitored();
        let suffix = random_suffix();
        let classes = [1000, 2000].map(|value| (format!("p{value}-{suffix}"), value));
        let made = classes.clone().map(|(name, value)| {
            json!({
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": name}, "value": value,
            })
        });
        block_on(plane().create(&made));
        let scene = Self {
            stage,
            classes: classes.map(|(name, _)| name),
        };
        scene.template("critical", 1, Some(tolerations()));
        scene
    }

    /// A template of claims.
    pub fn template(&self, name: &str, count: u32, tolerations: Option<Value>) {
        let world = &self.stage.world;
        let mut exactly = json!({"deviceClassName": world.driver, "count": count});
        if let Some(tolerations) = tolerations {
            exactly["tolerations"] = tolerations;
        }
        let template = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
            "metadata": {"name": name, "namespace": world.namespace},
            "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}},
        });
        block_on(plane().create(&[template]));
    }

    /// Creates a pod of this rank, 0 or 1 for the priorities 1000 and 2000, that waits; until the scheduler reports so.
    pub fn pending(&self, name: &str, template: &str, rank: usize) {
        let mut spec = pod_spec(template);
        spec["priorityClassName"] = json!(self.classes[rank]);
        let namespace = &self.stage.world.namespace;
        let metadata = json!({"name": name, "namespace": namespace, "labels": {"app": name}});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        block_on(plane().create(&[pod]));
        self.until_unschedulable(name);
    }

    fn until_unschedulable(&self, name: &str) {
        block_on(wait_for("the pod is unschedulable", DEADLINE, async || {
            let pod = self.get(name).await?;
            let conditions = pod["status"]["conditions"].as_array()?.clone();
            let said = conditions
                .iter()
                .any(|it| it["type"] == "PodScheduled" && it["reason"] == "Unschedulable");
            said.then_some(())
        }));
    }

    pub async fn get(&self, name: &str) -> Option<Value> {
        let world = &self.stage.world;
        plane().get(&Reference::pod(&world.namespace, name)).await
    }

    /// The node of a pod.
    pub fn node_of(&self, name: &str) -> Option<String> {
        let pod = block_on(self.get(name))?;
        pod["spec"]["nodeName"].as_str().map(str::to_owned)
    }

    /// Runs `make-room` for a pod.
    pub fn make_room(&self, rest: &str) -> Run {
        self.stage.run(&self.line(rest))
    }

    /// The command for the pod `critical`.
    pub fn line(&self, rest: &str) -> String {
        let namespace = &self.stage.world.namespace;
        format!("make-room pod/critical -n {namespace} {rest}")
    }

    /// No rule of the driver is there.
    #[track_caller]
    pub fn without_rules(&self) {
        let rules = block_on(self.stage.world.rules());
        assert_eq!(rules, Vec::<Value>::new());
    }

    /// Deletes a pod, and waits until it is gone.
    pub fn delete(&self, name: &str) {
        let world = &self.stage.world;
        block_on(plane().end_pod(&world.namespace, name));
    }
}
