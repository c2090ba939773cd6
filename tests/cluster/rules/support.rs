//! Parts shared by the tests of rules: a world of a test's own, and runs of the program.

use std::process::Output;

use serde_json::{Value, json};

use crate::harness::{
    ControlPlane, DEADLINE, Reference, driver_name,
    objects::{self, allocation, bound, claim, class, pod, reserved, slice},
    random_suffix, wait_for,
};

/// The key of every taint in these tests.
pub const KEY: &str = "example.com/maintenance";

/// A driver with two devices on a node of its own, and a namespace.
pub struct World<'a> {
    pub plane: &'a ControlPlane,
    pub driver: String,
    pub node: String,
    pub namespace: String,
}

/// Output and exit status of the program.
#[derive(Debug)]
pub struct Run {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
            code: output.status.code().unwrap_or(-1),
        }
    }
}

impl Run {
    /// Fails unless it ended with `code`.
    #[track_caller]
    pub fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Fails unless standard error contains `text`.
    #[track_caller]
    pub fn saying(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "no {text:?} in {self:#?}");
        self
    }
}

impl<'a> World<'a> {
    /// Publishes `gpu-0` and `gpu-1`, so that who loses one may find the other.
    pub async fn new(plane: &'a ControlPlane) -> Self {
        let driver = driver_name();
        let node = format!("node-{}", random_suffix());
        plane
            .create(&[
                class(&driver),
                objects::node(&node),
                slice(&driver, &node, &["gpu-0", "gpu-1"]),
            ])
            .await;
        Self {
            namespace: plane.namespace().await,
            plane,
            driver,
            node,
        }
    }

    /// Nothing is published yet, and there is no namespace.
    pub fn bare(plane: &'a ControlPlane, driver: String, node: String) -> Self {
        Self {
            plane,
            driver,
            node,
            namespace: String::new(),
        }
    }

    /// The device as an argument.
    pub fn device(&self, name: &str) -> String {
        format!("{}/{}/{name}", self.driver, self.node)
    }

    /// A running pod that uses a device.
    pub async fn pod(&self, name: &str, device: &str) {
        self.pod_in(&self.namespace, name, device).await;
    }

    /// A running pod in any namespace that uses a device.
    pub async fn pod_in(&self, namespace: &str, name: &str, device: &str) {
        let allocation = allocation(&self.driver, &self.node, device);
        let claim = claim(namespace, name, &self.driver);
        let pod = bound(pod(namespace, name, name), &self.node);
        let claim = reserved(claim, allocation, name);
        self.plane.create(&[pod, claim]).await;
    }

    /// A running pod that takes an hour to stop.
    pub async fn patient_pod(&self, name: &str, device: &str) {
        let allocation = allocation(&self.driver, &self.node, device);
        let mut patient = bound(pod(&self.namespace, name, name), &self.node);
        patient["spec"]["terminationGracePeriodSeconds"] = json!(3600);
        let claim = claim(&self.namespace, name, &self.driver);
        let claim = reserved(claim, allocation, name);
        self.plane.create(&[patient, claim]).await;
    }

    /// A pod that tolerates the taint for some seconds.
    pub async fn tolerant_pod(&self, name: &str, device: &str, seconds: i64) {
        let mut allocation = allocation(&self.driver, &self.node, device);
        allocation["allocation"]["devices"]["results"][0]["tolerations"] = json!([{
            "key": KEY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds,
        }]);
        let claim = claim(&self.namespace, name, &self.driver);
        let pod = bound(pod(&self.namespace, name, name), &self.node);
        let claim = reserved(claim, allocation, name);
        self.plane.create(&[pod, claim]).await;
    }

    /// Runs the program with the words of `line`; `GPU0` and `GPU1` are the devices.
    pub fn run(&self, line: &str) -> Run {
        let words = self.words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.plane.plugin(&words).into()
    }

    /// Runs the program through kubectl.
    pub fn run_by_kubectl(&self, line: &str) -> Run {
        let words = self.words(line);
        let mut arguments = vec!["devicetaint"];
        arguments.extend(words.iter().map(String::as_str));
        self.plane.kubectl(&arguments).into()
    }

    /// Runs commands, one a line: its exit code, the command, by kubectl if it begins so, and texts in its output.
    #[track_caller]
    pub fn follow(&self, script: &str) {
        for line in script.lines() {
            let mut cells = line.trim().split(" | ");
            let code = cells.next().and_then(|code| code.parse().ok());
            let command = cells.next().expect("a command");
            let run = match command.strip_prefix("kubectl ") {
                Some(command) => self.run_by_kubectl(command),
                None => self.run(command),
            };
            let run = run.ended(code.expect("a code"));
            for text in cells.map(str::trim) {
                let is_shown = run.stdout.contains(text) || run.stderr.contains(text);
                assert!(is_shown, "{command}: no {text:?} in {run:#?}");
            }
        }
    }

    /// The words of `line`, for who runs the program in another way.
    pub fn words(&self, line: &str) -> Vec<String> {
        let line = line
            .replace("GPU0", &self.device("gpu-0"))
            .replace("GPU1", &self.device("gpu-1"))
            .replace("DRIVER", &self.driver);
        line.split_whitespace().map(str::to_owned).collect()
    }

    /// Adds a rule for `gpu-0` and returns its name.
    pub fn add(&self, taint: &str) -> String {
        let run = self.run(&format!("add GPU0 {taint} --yes")).ended(0);
        name_in(&run.stdout)
    }

    /// The rule as the server has it.
    pub async fn rule(&self, name: &str) -> Option<Value> {
        self.plane.get(&Reference::rule(name)).await
    }

    /// All rules of this driver, without values that differ from run to run.
    pub async fn rules(&self) -> Vec<Value> {
        let path = self.plane.path(&Reference::rule("x")).await;
        let path = path.trim_end_matches("/x");
        let list = self.plane.request(http::Method::GET, path, None).await;
        let list = list.expect("an answer").success().expect("a list");
        let items = list["items"].as_array().cloned().unwrap_or_default();
        items
            .into_iter()
            .filter(|rule| rule["spec"]["deviceSelector"]["driver"] == *self.driver)
            .map(|mut rule| {
                let metadata = &rule["metadata"];
                let mut annotations = metadata["annotations"].clone();
                if let Some(annotations) = annotations.as_object_mut() {
                    annotations.retain(|key, _| !key.ends_with("-by-run"));
                }
                let kept = json!({
                    "name": metadata["name"], "labels": metadata["labels"],
                    "annotations": annotations, "generation": metadata["generation"],
                });
                rule["metadata"] = kept;
                rule["spec"]["taint"]["timeAdded"] = Value::Null;
                rule["status"] = Value::Null;
                rule
            })
            .collect()
    }

    /// Waits until the pod is terminating.
    pub async fn until_evicted(&self, pod: &str) {
        wait_for("the pod is evicted", DEADLINE, async || {
            let pod = self
                .plane
                .get(&Reference::pod(&self.namespace, pod))
                .await?;
            pod["metadata"]["deletionTimestamp"]
                .is_string()
                .then_some(())
        })
        .await;
    }
}

/// The rule's name in `devicetaintrule.resource.k8s.io/NAME VERB`.
pub fn name_in(line: &str) -> String {
    let (_, rest) = line.split_once('/').expect("TYPE/NAME");
    rest.split_whitespace().next().expect("a name").to_owned()
}
