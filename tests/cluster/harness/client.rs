//! Any Kubernetes object as JSON: get, create, patch, delete.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, mpsc},
};

use http::{Method, Request, StatusCode, header::CONTENT_TYPE};
use http_body_util::BodyExt;
use kube::{
    Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

use super::{ControlPlane, wait};

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";

/// Reference to an object, as `kubectl get` would need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl Reference {
    /// An object outside namespaces.
    pub fn cluster(api_version: &str, kind: &str, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: None,
            name: name.to_owned(),
        }
    }

    /// An object in a namespace.
    pub fn namespaced(api_version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..Self::cluster(api_version, kind, name)
        }
    }

    /// A pod.
    pub fn pod(namespace: &str, name: &str) -> Self {
        Self::namespaced("v1", "Pod", namespace, name)
    }

    /// A claim in `v1`.
    pub fn claim(namespace: &str, name: &str) -> Self {
        Self::namespaced("resource.k8s.io/v1", "ResourceClaim", namespace, name)
    }

    /// A rule in `v1`.
    pub fn rule(name: &str) -> Self {
        Self::cluster("resource.k8s.io/v1", "DeviceTaintRule", name)
    }

    /// The object itself; its namespace counts even if the kind has none.
    pub fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: object["metadata"]["namespace"].as_str().map(str::to_owned),
            name: text(&object["metadata"]["name"]),
        }
    }
}

/// Answer of the server.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub body: Value,
}

impl Answer {
    /// The body, or the server's explanation.
    pub fn success(self) -> Result<Value, String> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        Err(format!(
            "{}: {}",
            self.status,
            self.body["message"].as_str().unwrap_or("no message")
        ))
    }
}

/// A kind as discovery describes it.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    plural: String,
    namespaced: bool,
    pub(super) has_status: bool,
}

/// A connection with the administrator's token.
pub(super) struct Client {
    kube: kube::Client,
    /// As `kube`, which retries on a server that answers "later".
    once: kube::Client,
    /// By API version and kind.
    kinds: Mutex<BTreeMap<(String, String), Arc<Kind>>>,
}

impl Client {
    pub(super) fn new(kubeconfig: &Path) -> Self {
        let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("the kubeconfig can be read");
        let (sender, receiver) = mpsc::channel();
        // The connection's background task belongs to the runtime that makes it.
        wait::runtime().spawn(async move {
            let config =
                Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
            let config = config.expect("the kubeconfig is complete");
            let mut once = config.clone();
            once.default_retry = false;
            let clients = [config, once].map(|config| {
                kube::Client::try_from(config).expect("the kubeconfig makes a client")
            });
            let _ = sender.send(clients);
        });
        let [kube, once] = receiver.recv().expect("there is a client");
        Self {
            kube,
            once,
            kinds: Mutex::default(),
        }
    }

    /// The connection itself, for data that JSON cannot hold.
    pub(super) fn kube(&self) -> kube::Client {
        self.kube.clone()
    }

    /// Sends a request; an error is a server that does not answer.
    async fn send(&self, request: Request<Vec<u8>>) -> Result<Answer, String> {
        Self::send_by(self.kube.clone(), request).await
    }

    async fn send_by(kube: kube::Client, request: Request<Vec<u8>>) -> Result<Answer, String> {
        let answer = async move {
            let response = kube
                .send(request.map(Body::from))
                .await
                .map_err(|error| format!("{error}"))?;
            let (head, body) = response.into_parts();
            let bytes = body
                .collect()
                .await
                .map_err(|error| format!("{error}"))?
                .to_bytes();
            let body = serde_json::from_slice(&bytes)
                .unwrap_or_else(|_| json!({"message": String::from_utf8_lossy(&bytes)}));
            Ok(Answer {
                status: head.status,
                body,
            })
        };
        wait::runtime()
            .spawn(answer)
            .await
            .map_err(|error| format!("{error}"))?
    }

    pub(super) async fn kind(&self, api_version: &str, kind: &str) -> Result<Arc<Kind>, String> {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(known) = self.kinds.lock().expect("no panic in here").get(&key) {
            return Ok(known.clone());
        }
        let path = group_path(api_version);
        let request = Request::get(&path)
            .body(Vec::new())
            .expect("the path is a URI");
        let list = self
            .send(request)
            .await?
            .success()
            .map_err(|error| format!("{path}: {error}"))?;
        let resources = list["resources"].as_array().cloned().unwrap_or_default();
        let named = |resource: &&Value| {
            resource["kind"] == kind && !resource["name"].as_str().unwrap_or_default().contains('/')
        };
        let resource = resources
            .iter()
            .find(named)
            .ok_or_else(|| format!("the server does not serve {kind} in {api_version}"))?;
        let plural = resource["name"].as_str().unwrap_or_default().to_owned();
        let status = format!("{plural}/status");
        let found = Arc::new(Kind {
            namespaced: resource["namespaced"] == true,
            has_status: resources.iter().any(|resource| resource["name"] == *status),
            plural,
        });
        self.kinds
            .lock()
            .expect("no panic in here")
            .insert(key, found.clone());
        Ok(found)
    }

    /// The path of the object's collection.
    async fn collection(&self, reference: &Reference) -> Result<String, String> {
        let kind = self.kind(&reference.api_version, &reference.kind).await?;
        let group = group_path(&reference.api_version);
        let plural = &kind.plural;
        Ok(match (&reference.namespace, kind.namespaced) {
            (Some(namespace), true) => format!("{group}/namespaces/{namespace}/{plural}"),
            (None, true) => format!("{group}/namespaces/default/{plural}"),
            (_, false) => format!("{group}/{plural}"),
        })
    }
}

fn group_path(api_version: &str) -> String {
    if api_version.contains('/') {
        format!("/apis/{api_version}")
    } else {
        format!("/api/{api_version}")
    }
}

impl ControlPlane {
    /// Asks if a pod may be evicted, once, without evicting it; an error is a server that does not answer.
    pub async fn may_evict(&self, namespace: &str, name: &str) -> Result<Answer, String> {
        let eviction = json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
        });
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction?dryRun=All");
        let request = Request::post(&path)
            .header(CONTENT_TYPE, JSON)
            .body(serde_json::to_vec(&eviction).expect("JSON can be written"));
        let request = request.map_err(|error| format!("{path}: {error}"))?;
        Client::send_by(self.client.once.clone(), request).await
    }

    /// Sends any request as administrator; an error is a server that does not answer.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        let kind = if method == Method::PATCH {
            MERGE_PATCH
        } else {
            JSON
        };
        let content = body
            .map(|body| serde_json::to_vec(body).expect("JSON can be written"))
            .unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, kind)
            .body(content);
        self.client
            .send(request.map_err(|error| format!("{path}: {error}"))?)
            .await
    }

    /// Answer of the server to a GET by the administrator, as it comes: status, kind of content, and bytes.
    /// Headers are added to the request.
    pub async fn raw(
        &self,
        path: &str,
        headers: &[(String, String)],
    ) -> Result<(StatusCode, String, Vec<u8>), String> {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::empty());
        let request = request.map_err(|error| format!("{path}: {error}"))?;
        let kube = self.client.kube();
        let answer = async move {
            let response = kube.send(request).await;
            let (head, body) = response.map_err(|error| error.to_string())?.into_parts();
            let bytes = body.collect().await.map_err(|error| error.to_string())?;
            let kind = head.headers.get(CONTENT_TYPE);
            let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
            Ok((head.status, kind.to_owned(), bytes.to_bytes().to_vec()))
        };
        let answered = wait::runtime().spawn(answer).await;
        answered.map_err(|error| error.to_string())?
    }

    /// The object as it is now, or nothing if there is none.
    pub async fn get(&self, reference: &Reference) -> Option<Value> {
        let path = self.path(reference).await;
        let answer = self
            .request(Method::GET, &path, None)
            .await
            .unwrap_or_else(|error| panic!("GET {path}: {error}"));
        match answer.status {
            StatusCode::NOT_FOUND => None,
            _ => Some(
                answer
                    .success()
                    .unwrap_or_else(|error| panic!("GET {path}: {error}")),
            ),
        }
    }

    /// Creates one object without its status and returns the server's answer, whatever it is.
    pub async fn post(&self, object: &Value) -> Result<Answer, String> {
        let path = self.client.collection(&Reference::of(object)).await?;
        self.request(Method::POST, &path, Some(object)).await
    }

    /// Merges `patch` into the object and returns the result.
    pub async fn patch(&self, reference: &Reference, patch: &Value) -> Value {
        let path = self.path(reference).await;
        self.changed(Method::PATCH, &path, Some(patch)).await
    }

    /// Merges `status` into the status of the object and returns the object.
    pub async fn patch_status(&self, reference: &Reference, status: &Value) -> Value {
        let path = format!("{}/status", self.path(reference).await);
        self.changed(Method::PATCH, &path, Some(&json!({"status": status})))
            .await
    }

    /// Asks for the deletion of an object that exists; a bound pod stays, terminating.
    pub async fn delete(&self, reference: &Reference) {
        let path = self.path(reference).await;
        self.changed(Method::DELETE, &path, None).await;
    }

    /// Removes a pod at once, as the kubelet does when its containers have ended.
    pub async fn force_delete_pod(&self, namespace: &str, name: &str) {
        let path = self.path(&Reference::pod(namespace, name)).await;
        self.changed(
            Method::DELETE,
            &path,
            Some(&json!({"gracePeriodSeconds": 0})),
        )
        .await;
    }

    /// As [`Self::force_delete_pod`], and waits until the pod is gone.
    pub async fn end_pod(&self, namespace: &str, name: &str) {
        self.force_delete_pod(namespace, name).await;
        let pod = Reference::pod(namespace, name);
        wait::wait_for("the pod is gone", wait::DEADLINE, async || {
            self.get(&pod).await.is_none().then_some(())
        })
        .await;
    }

    async fn changed(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let answer = self.request(method.clone(), path, body).await;
        answer
            .and_then(Answer::success)
            .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// The path of the object; panics if its kind is not served.
    pub async fn path(&self, reference: &Reference) -> String {
        let collection = self
            .client
            .collection(reference)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        format!("{collection}/{}", reference.name)
    }
}
