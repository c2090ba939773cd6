//! Verdicts of this project on a cluster that a real control plane has.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kubectl_devicetaint::cluster::{
    self, ApiClient, Connection, ConnectionOptions, Environment, FileSource, Limits, ServedKinds,
    Silent,
};
use kubectl_devicetaint::engine::{Origin, ProposedTaint, Semantics, preview};
use kubectl_devicetaint::model::{DeviceSelector, Effect, Minor, Reading, Taint};
use serde_json::{Value, json};

use crate::harness::{ControlPlane, VERSION};

/// The behaviour of the release that the control plane runs.
pub fn semantics() -> Semantics {
    let release = Minor::parse(VERSION).expect("a release");
    Semantics::of(release).expect("a known release")
}

/// The whole server with its budgets, read as the live commands read it.
pub async fn reading_with_budgets(plane: &ControlPlane) -> Reading {
    let (client, served) = connect(plane).await;
    let reading = cluster::read_devices(&client, &served, cluster::Detail::Names).await;
    let reading = reading.expect("everything can be read");
    let reading =
        cluster::read_pods_and_disruption_inputs(&client, &served, reading, None, |_| true).await;
    let reading = reading.expect("everything can be read");
    assert_eq!(reading.gaps, [], "the administrator may read everything");
    reading
}

async fn connect(plane: &ControlPlane) -> (ApiClient, ServedKinds) {
    let options = ConnectionOptions {
        kubeconfig: Some(plane.kubeconfig().to_owned()),
        request_timeout: Some(Duration::from_secs(60)),
        ..ConnectionOptions::default()
    };
    let connection = Connection::load(&options, &Environment::default(), &Silent)
        .await
        .expect("the kubeconfig is complete");
    let client = ApiClient::new(connection, Arc::new(Silent)).expect("the credentials work");
    let served = cluster::discover(&client)
        .await
        .expect("the server answers");
    (client, served)
}

/// The pods that are deleted at `now`, by namespace and name, read from the objects as `--from` reads
/// them. Those that are terminating already are not among them.
pub fn evicted(objects: &[Value], now: Timestamp) -> BTreeSet<String> {
    let list = json!({
        "apiVersion": "v1", "kind": "List", "items": objects,
        "metadata": {"annotations": {
            "devicetaint.dev/observed-at": now.to_string(),
            "devicetaint.dev/kinds": "ResourceSlice,ResourceClaim,DeviceTaintRule,Pod,DeviceClass",
        }},
    });
    let reading = cluster::read(
        &[FileSource::Stdin],
        &mut list.to_string().as_bytes(),
        &Limits::default(),
    )
    .expect("the server's objects can be read");
    // A taint without evictions covers every device; the rules and the drivers' taints are there.
    let harmless = [ProposedTaint {
        rule: None,
        selector: Some(DeviceSelector::default()),
        taint: Taint {
            key: "example.com/harmless".to_owned(),
            value: String::new(),
            effect: Effect::NoSchedule,
            time_added: Some(now),
        },
    }];
    let impact = preview(&reading.snapshot, &harmless, now, &semantics());
    let evicted = impact.pods.iter().filter(|pod| {
        let acts = |origin| match origin {
            Origin::Proposed(_) => false,
            Origin::Rule(_) | Origin::ResourceSlice(_) => true,
        };
        pod.pod.deletion.is_none()
            && pod.earliest().is_some_and(|at| at <= now)
            && pod.causes.iter().any(|cause| acts(cause.origin))
    });
    evicted.map(|pod| pod.pod.name.to_string()).collect()
}
