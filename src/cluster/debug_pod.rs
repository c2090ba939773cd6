//! A pod that asks a kubelet from within its node, and is gone again.
//!
//! It is made, looked at until it has ended, read, and removed: whoever makes one removes it whatever
//! happens. It may do nothing to the node: the kubelet's socket and notes are mounted to be read.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::api::ApiClient;
use super::client::body_reader::{BodyCollector, BodyReader};
use super::client::request::{Change, JSON, Read};
use super::client::retry::{ATTEMPTS, AttemptFailure};
use super::client::write::WriteOutcome;
use super::error::ClusterError;
use super::path::escaped;
use super::permission::Permission;

/// Where the kubelet's folder is in the pod.
const MOUNTED: &str = "/kubelet";
/// How much longer than it is waited for the pod may be there, should nobody be left to remove it.
const LONGER: Duration = Duration::from_secs(240);

/// What pod is wanted.
#[derive(Clone, Debug)]
pub struct DebugPodRequest<'a> {
    /// The node that it runs on, past the scheduler.
    pub node: &'a str,
    /// The image, which has this program as its entry point.
    pub image: &'a str,
    /// The root folder of the node's kubelet.
    pub root: &'a str,
    /// What the program is asked.
    pub arguments: &'a [&'a str],
    /// For how long it is waited for.
    pub patience: Duration,
}

/// How far such a pod is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DebugPodState {
    /// It has not ended; with why it does not start, where somebody says so.
    Waiting(Option<String>),
    /// It cannot start.
    Stuck(String),
    /// It has ended well, and its log is the answer.
    Done,
    /// It has failed; its log may say why.
    Failed(String),
}

/// A pod that is to be made, or was.
#[derive(Clone, Debug)]
pub struct DebugPod {
    client: ApiClient,
    namespace: String,
    name: String,
}

/// Why a pod was not made.
#[derive(Debug)]
pub enum NotMade {
    /// The server has not made it.
    Refused(ClusterError),
    /// Whether it was made is unknown: the caller has to remove it.
    Lost(ClusterError),
}

/// A pod, as far as it is looked at.
#[derive(Deserialize)]
struct Pod {
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: String,
    message: String,
    reason: String,
    container_statuses: Vec<Container>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Container {
    state: State,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct State {
    waiting: Option<Waiting>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Waiting {
    reason: String,
    message: String,
}

impl DebugPod {
    /// A pod in this namespace that is not made yet, and has a name already: who is stopped while it is being
    /// made can say what has to be removed.
    #[must_use]
    pub fn new(client: &ApiClient, namespace: &str) -> Self {
        Self {
            client: client.clone(),
            namespace: namespace.to_owned(),
            // Found by nobody by chance, and told from others.
            name: format!("devicetaint-{:08x}", suffix()),
        }
    }

    /// Makes the pod.
    ///
    /// # Errors
    ///
    /// When it was not made, or nobody knows.
    pub async fn create(&self, request: &DebugPodRequest<'_>) -> Result<(), NotMade> {
        let change = Change {
            method: Method::POST,
            content_type: JSON,
            body: object(&self.namespace, &self.name, request)
                .to_string()
                .into_bytes(),
        };
        let target = self.target("create", "pods", &self.collection());
        match self.client.write(&target, &change).await {
            WriteOutcome::Done(_) => Ok(()),
            WriteOutcome::Unmade(error) => Err(NotMade::Refused(error)),
            // A refusal may come after the pod was made.
            WriteOutcome::Refused(error) | WriteOutcome::Lost(error) => Err(NotMade::Lost(error)),
        }
    }

    /// Namespace and name, for whoever has to remove it by hand.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Its name in its namespace.
    #[must_use]
    pub fn bare_name(&self) -> &str {
        &self.name
    }

    /// How far it is.
    ///
    /// # Errors
    ///
    /// As any read.
    pub async fn state(&self) -> Result<DebugPodState, ClusterError> {
        let read = self.target("get", "pods", &self.path());
        let body = self.client.json(&read).await?;
        let pod: Pod = serde_json::from_slice(&body).map_err(|error| {
            self.client
                .error(&read, AttemptFailure::Unreadable(error.to_string()))
        })?;
        Ok(state(&pod.status))
    }

    /// What it has printed.
    ///
    /// # Errors
    ///
    /// As any read.
    pub async fn log(&self) -> Result<String, ClusterError> {
        let read = self.target("get", "pods/log", &format!("{}/log", self.path()));
        let log = self.client.try_read(&read, ATTEMPTS, Text::default);
        log.await
            .map_err(|failure| self.client.error(&read, failure))
    }

    /// Its namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Removes it at once, and says whether it was there.
    ///
    /// # Errors
    ///
    /// As any change; one that is gone is removed.
    pub async fn remove(&self) -> Result<bool, ClusterError> {
        let change = Change {
            method: Method::DELETE,
            content_type: JSON,
            // Without a grace period the API removes the pod at once, even if its node no longer responds.
            body: br#"{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0}"#.to_vec(),
        };
        let target = self.target("delete", "pods", &self.path());
        match self.client.write(&target, &change).await {
            WriteOutcome::Done(_) => Ok(true),
            WriteOutcome::Refused(ClusterError::NotFound { .. }) => Ok(false),
            WriteOutcome::Unmade(error)
            | WriteOutcome::Refused(error)
            | WriteOutcome::Lost(error) => Err(error),
        }
    }

    fn collection(&self) -> String {
        format!("/api/v1/namespaces/{}/pods", escaped(&self.namespace))
    }

    fn path(&self) -> String {
        format!("{}/{}", self.collection(), escaped(&self.name))
    }

    fn target(&self, verb: &'static str, resource: &str, path: &str) -> Read {
        Read {
            path: path.to_owned(),
            accept: JSON,
            permission: Permission {
                verb,
                group: String::new(),
                resource: resource.to_owned(),
            },
        }
    }
}

/// The pod as it is sent: root, since only root may open the socket, and nothing else that root could do.
fn object(namespace: &str, name: &str, request: &DebugPodRequest<'_>) -> Value {
    let mount = |name: &str, below: &str| json!({"name": name, "mountPath": format!("{MOUNTED}/{below}"), "readOnly": true});
    let volume = |name: &str, below: &str, kind: &str| {
        let path = format!("{}/{below}", request.root);
        json!({"name": name, "hostPath": {"path": path, "type": kind}})
    };
    let security = json!({
        "runAsUser": 0, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    });
    let socket = format!("{MOUNTED}/pod-resources/kubelet.sock");
    let arguments = request
        .arguments
        .iter()
        .copied()
        .chain(["--socket", &socket]);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": namespace,
            "labels": {"app.kubernetes.io/managed-by": "kubectl-devicetaint"},
        },
        "spec": {
            "nodeName": request.node, "restartPolicy": "Never", "activeDeadlineSeconds": deadline(request.patience),
            // The pod is root on the node, so it gets no credentials of the cluster.
            "automountServiceAccountToken": false, "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 0,
            // `nodeName` bypasses the scheduler, but a NoExecute taint of the node would still evict the pod.
            "tolerations": [{"operator": "Exists"}],
            "containers": [{
                "name": "podresources", "image": request.image, "securityContext": security,
                "args": arguments.collect::<Vec<_>>(),
                "volumeMounts": [mount("socket", "pod-resources"), mount("notes", "dra_manager_state")],
            }],
            "volumes": [
                volume("socket", "pod-resources", "Directory"),
                volume("notes", "dra_manager_state", "File"),
            ],
        },
    })
}

/// After how many seconds a kubelet ends the pod; a server takes no more than what fits into 32 bits.
fn deadline(patience: Duration) -> i32 {
    i32::try_from(patience.saturating_add(LONGER).as_secs()).unwrap_or(i32::MAX)
}

/// What tells this pod from others; where there is no randomness, nothing, and a second one is refused.
fn suffix() -> u32 {
    getrandom::u32().unwrap_or_default()
}

/// Reasons that do not pass by themselves.
const HOPELESS: [&str; 6] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CreateContainerConfigError",
    "CreateContainerError",
];

fn state(status: &Status) -> DebugPodState {
    let why = |reason: &str, message: &str| match message {
        "" => reason.to_owned(),
        message => format!("{reason}: {message}"),
    };
    match status.phase.as_str() {
        "Succeeded" => return DebugPodState::Done,
        "Failed" => return DebugPodState::Failed(why(&status.reason, &status.message)),
        _ => {}
    }
    let mut containers = status.container_statuses.iter();
    let waiting = containers.find_map(|container| container.state.waiting.as_ref());
    match waiting {
        Some(waiting) if HOPELESS.contains(&waiting.reason.as_str()) => {
            DebugPodState::Stuck(why(&waiting.reason, &waiting.message))
        }
        Some(waiting) => DebugPodState::Waiting(Some(why(&waiting.reason, &waiting.message))),
        None => DebugPodState::Waiting(None),
    }
}

/// A whole body that is text.
#[derive(Debug, Default)]
struct Text(BodyCollector);

impl BodyReader for Text {
    type Output = String;

    fn push(&mut self, bytes: &[u8]) -> Result<(), AttemptFailure> {
        self.0.push(bytes)
    }

    fn finish(self) -> Result<String, AttemptFailure> {
        String::from_utf8(self.0.into_bytes())
            .map_err(|error| AttemptFailure::Unreadable(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(status: Value) -> DebugPodState {
        state(&serde_json::from_value(status).unwrap())
    }

    #[test]
    fn what_cannot_start_is_told_from_what_takes_its_time() {
        let waits = |reason: &str| json!({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": reason, "message": "why"}}}]});
        assert_eq!(seen(json!({})), DebugPodState::Waiting(None));
        assert_eq!(
            seen(waits("ContainerCreating")),
            DebugPodState::Waiting(Some("ContainerCreating: why".to_owned()))
        );
        assert_eq!(
            seen(waits("ImagePullBackOff")),
            DebugPodState::Stuck("ImagePullBackOff: why".to_owned())
        );
        assert_eq!(seen(json!({"phase": "Succeeded"})), DebugPodState::Done);
        assert_eq!(
            seen(json!({"phase": "Failed", "reason": "NodeAffinity", "message": "no"})),
            DebugPodState::Failed("NodeAffinity: no".to_owned())
        );
    }

    #[test]
    fn the_pod_reads_the_kubelets_folder_and_can_do_nothing_else() {
        let request = DebugPodRequest {
            node: "node-7",
            image: "example.com/plugin:1",
            root: "/var/lib/kubelet",
            arguments: &["podresources", "list"],
            patience: Duration::from_secs(60),
        };
        let pod = object("ops", "a", &request);
        let container = &pod["spec"]["containers"][0];
        assert_eq!(pod["metadata"]["namespace"], "ops");
        assert_eq!(pod["spec"]["activeDeadlineSeconds"], 300);
        let patient = DebugPodRequest {
            patience: Duration::from_secs(3_600),
            ..request
        };
        let patient = object("ops", "a", &patient);
        assert_eq!(patient["spec"]["activeDeadlineSeconds"], 3_840);
        assert_eq!(deadline(Duration::MAX), i32::MAX);
        assert_eq!(pod["spec"]["nodeName"], "node-7");
        assert_eq!(
            pod["spec"]["volumes"][0]["hostPath"]["path"],
            "/var/lib/kubelet/pod-resources"
        );
        let mounts = container["volumeMounts"].as_array().unwrap();
        assert!(mounts.iter().all(|mount| mount["readOnly"] == true));
        assert_eq!(
            container["securityContext"]["capabilities"]["drop"],
            json!(["ALL"])
        );
        assert_eq!(
            container["args"],
            json!([
                "podresources",
                "list",
                "--socket",
                "/kubelet/pod-resources/kubelet.sock"
            ])
        );
    }
}
