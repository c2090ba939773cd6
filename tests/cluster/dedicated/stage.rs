//! A node with devices, namespaces, and claims in them.

use std::sync::OnceLock;

use serde_json::{Value, json};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::cluster::rules::support::{Run, World};
use crate::harness::{
    At, ControlPlane, DEADLINE, Fault, Reference, Reply, Variant, driver_name,
    objects::{class, pod, slice},
    random_suffix, wait_for,
};

/// The API group of policies.
pub const ADMISSION: &str = "admissionregistration.k8s.io";

/// The resources of a dedication's policies and bindings.
pub const POLICIES: [&str; 4] = [
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];

/// The control plane of these tests.
pub fn plane() -> &'static ControlPlane {
    static PLANE: OnceLock<ControlPlane> = OnceLock::new();
    PLANE.get_or_init(|| ControlPlane::start(&Variant::default()))
}

/// Dedications refuse tolerations of every taint in all namespaces: who has such in claims of its own must not
/// share the control plane with another dedication meanwhile.
static SHARED: RwLock<()> = RwLock::const_new(());

/// A stage beside others, for who makes no claims with tolerations of every taint.
pub async fn stage() -> (World<'static>, RwLockReadGuard<'static, ()>) {
    let shared = SHARED.read().await;
    (build().await, shared)
}

/// The devices of a stage.
const DEVICES: [&str; 3] = ["gpu-0", "gpu-1", "gpu-2"];

/// A stage with no dedication but its own.
pub async fn stage_alone() -> (World<'static>, RwLockWriteGuard<'static, ()>) {
    let alone = SHARED.write().await;
    let world = build().await;
    // The server forgets policies a moment after they are gone.
    let asked = claim(
        &world,
        &world.namespace,
        "asked",
        json!([{"operator": "Exists"}]),
    );
    wait_for("policies of others are forgotten", DEADLINE, async || {
        dry_run(&asked).await
    })
    .await;
    (world, alone)
}

/// A node of its own with devices, on which the scheduler puts pods.
async fn build() -> World<'static> {
    let (driver, node) = (driver_name(), format!("node-{}", random_suffix()));
    let plane = plane();
    plane.ready_node(&node).await;
    let slice = slice(&driver, &node, &DEVICES);
    plane.create(&[class(&driver), slice]).await;
    let mut world = World::bare(plane, driver, node);
    world.namespace = plane.namespace().await;
    world
}

/// A claim for one device of the class, whose request has these tolerations.
pub fn claim(world: &World<'_>, namespace: &str, name: &str, tolerations: Value) -> Value {
    let mut claim = crate::harness::objects::claim(namespace, name, &world.driver);
    if !tolerations.is_null() {
        claim["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = tolerations;
    }
    claim
}

/// A pod with a claim of its own, which the scheduler evaluates.
pub async fn waiting_pod(world: &World<'_>, namespace: &str, name: &str) {
    let plane = world.plane;
    let mut pod = pod(namespace, name, name);
    pod["spec"]["nodeSelector"] = json!(null);
    plane
        .create(&[claim(world, namespace, name, Value::Null), pod])
        .await;
}

/// The device that a claim was given, once it is.
pub async fn allocated(namespace: &str, name: &str) -> String {
    wait_for("the claim is allocated", DEADLINE, async || {
        let claim = plane().get(&Reference::claim(namespace, name)).await?;
        let result = &claim["status"]["allocation"]["devices"]["results"][0]["device"];
        Some(result.as_str()?.to_owned())
    })
    .await
}

/// Waits until the scheduler has found no place for a pod.
pub async fn unschedulable(namespace: &str, name: &str) {
    wait_for(
        "the scheduler has looked at the pod",
        DEADLINE,
        async || {
            let pod = plane().get(&Reference::pod(namespace, name)).await?;
            let conditions = pod["status"]["conditions"].as_array()?.clone();
            let is_so =
                |it: &Value| it["type"] == "PodScheduled" && it["reason"] == "Unschedulable";
            conditions.iter().any(is_so).then_some(())
        },
    )
    .await;
}

/// Waits until new claims of a namespace get the toleration of a dedication, or get it no longer.
pub async fn lets_in(world: &World<'_>, namespace: &str, dedication: &str, expected: bool) {
    let mut asked = claim(world, namespace, "asked", Value::Null);
    asked["metadata"]["name"] = json!(format!("asked-{}", random_suffix()));
    wait_for("the policy acts on new claims", DEADLINE, async || {
        let made = dry_run(&asked).await?;
        let tolerations = &made["spec"]["devices"]["requests"][0]["exactly"]["tolerations"];
        let all = tolerations.as_array().cloned().unwrap_or_default();
        let has = all.iter().any(|it| it["value"] == dedication);
        (has == expected).then_some(())
    })
    .await;
}

/// Waits until the toleration of a dedication is refused in a namespace.
pub async fn refuses(world: &World<'_>, namespace: &str, dedication: &str) -> String {
    let tolerations =
        json!([{"key": "devicetaint.dev/dedicated", "value": dedication, "effect": "NoSchedule"}]);
    let asked = claim(
        world,
        namespace,
        &format!("refused-{}", random_suffix()),
        tolerations,
    );
    wait_for("the policy refuses", DEADLINE, async || {
        let path = claims_path(namespace);
        let answer = plane()
            .request(http::Method::POST, &path, Some(&asked))
            .await;
        answer.ok()?.success().err()
    })
    .await
}

async fn dry_run(object: &Value) -> Option<Value> {
    let namespace = object["metadata"]["namespace"]
        .as_str()
        .expect("a namespace");
    let path = claims_path(namespace);
    let answer = plane()
        .request(http::Method::POST, &path, Some(object))
        .await;
    answer.ok()?.success().ok()
}

fn claims_path(namespace: &str) -> String {
    format!("/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims?dryRun=All")
}

/// The policies and bindings of a dedication that are there.
pub async fn policies(dedication: &str) -> Vec<String> {
    let mut found = Vec::new();
    for resource in POLICIES {
        let path = format!("/apis/{ADMISSION}/v1/{resource}/dedicated-{dedication}");
        let answer = plane().request(http::Method::GET, &path, None).await;
        if answer.expect("an answer").success().is_ok() {
            found.push(resource.to_owned());
        }
    }
    found
}

/// Dedicates devices, to which it has to come.
pub fn dedicate(world: &World<'_>, devices: &str, flags: &str) -> Run {
    world
        .run(&format!("dedicate {devices} {flags} --yes"))
        .ended(0)
}

/// Runs kubectl with a manifest, as a user; the error is its message.
pub fn kubectl(user: &str, verb: &[&str], manifest: &Value) -> Result<(), String> {
    let file = plane().folder().join(format!("{}.json", random_suffix()));
    std::fs::write(&file, manifest.to_string()).expect("a file");
    let (user, file) = (format!("--as={user}"), file.display().to_string());
    let output = plane().kubectl(&[verb, &[&user, "-f", &file]].concat());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    output.status.success().then_some(()).ok_or(error)
}

/// A user of claims and templates in every namespace.
pub async fn user() -> String {
    let rights = json!({
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims", "resourceclaimtemplates"], "verbs": ["*"],
    });
    plane().kubeconfig_for(&[rights]).await.name
}

/// Ends a dedication.
pub fn end(world: &World<'_>, dedication: &str) -> Run {
    world
        .run(&format!("undedicate {dedication} --yes"))
        .ended(0)
}

/// Faults of a proxy in its next run, so that the server seems to have these versions of policies, and in
/// `v1` none that change objects: as a server before 1.36.
pub fn serving(versions: &[&str]) -> [(At, Fault); 2] {
    let listed = versions.iter().map(
        |version| json!({"groupVersion": format!("{ADMISSION}/{version}"), "version": version}),
    );
    let group = json!({
        "kind": "APIGroup", "apiVersion": "v1", "name": ADMISSION,
        "versions": listed.collect::<Vec<_>>(),
    });
    let verbs = json!(["create", "delete", "get", "list", "patch", "watch"]);
    let resource = |name: &str, kind: &str| json!({"name": name, "kind": kind, "namespaced": false, "verbs": verbs});
    let resources = json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{ADMISSION}/v1"),
        "resources": [
            resource("validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
            resource("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
        ],
    });
    [
        (
            At::Path(format!("/apis/{ADMISSION}/v1"), 1),
            Fault::Answer(Reply::json("200 OK", resources.to_string())),
        ),
        (
            At::Path(format!("/apis/{ADMISSION}"), 1),
            Fault::Answer(Reply::json("200 OK", group.to_string())),
        ),
    ]
}
