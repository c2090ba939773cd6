//! A claim that is reserved for the UID of a pod under another name: the controller counts that pod, and
//! does not evict it.

use serde_json::json;

use crate::harness::objects::{allocation, bound, claim, pod, reserved, slice};
use crate::harness::{ControlPlane, DEADLINE, Reference, Variant, driver_name, wait_for};

#[tokio::test]
async fn a_pod_that_is_reserved_for_under_another_name_is_counted_and_not_evicted() {
    // The other controllers would remove what is odd about the reservation.
    let variant = Variant::default()
        .with_only_controller("device-taint-eviction-controller")
        .without_scheduler();
    let plane = ControlPlane::start(&variant);
    let (driver, namespace) = (driver_name(), plane.namespace().await);
    let using = |name: &str, device: &str| {
        let claim = claim(&namespace, name, &driver);
        let pod = bound(pod(&namespace, name, name), "node");
        [
            pod,
            reserved(claim, allocation(&driver, "node", device), name),
        ]
    };
    plane
        .create(&[slice(&driver, "node", &["gpu-0", "gpu-1"])])
        .await;
    plane.create(&using("named", "gpu-0")).await;
    let [renamed, mut claim] = using("renamed", "gpu-1");
    let made = plane.create(&[renamed]).await;
    claim["status"]["reservedFor"] = json!([
        {"resource": "pods", "name": "somebody", "uid": made[0]["metadata"]["uid"]},
    ]);
    let claim = plane.create(&[claim]).await;
    assert_eq!(claim[0]["status"]["reservedFor"][0]["name"], "somebody");

    let taint = "example.com/broken=x";
    let run = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let output = plane.plugin(&words);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{line}: {output:?}");
        text
    };
    // The controller's own words, with rules that are made for that.
    let shown = run(&format!(
        "preview {driver} {taint}:NoExecute --publish --cleanup"
    ));
    assert!(
        shown.contains("\n1 pod in 1 namespace would be evicted now.\n"),
        "{shown}"
    );
    assert!(
        shown.contains("2 pods would be evicted in 1 namespace"),
        "{shown}"
    );

    run(&format!(
        "add {driver} {taint}:NoExecute --yes --name evicts-{driver}"
    ));
    let is_deleted = |name: &'static str| {
        let (plane, reference) = (&plane, Reference::pod(&namespace, name));
        async move {
            let pod = plane.get(&reference).await?;
            pod["metadata"]["deletionTimestamp"]
                .is_string()
                .then_some(())
        }
    };
    wait_for(
        "the eviction of the pod that is named",
        DEADLINE,
        async || is_deleted("named").await,
    )
    .await;
    let rule = format!("evicts-{driver}");
    // It goes on counting the other one, and never comes to it.
    wait_for("a condition about the other one", DEADLINE, async || {
        let message = plane.rule_condition(&rule).await["message"].clone();
        let message = message.as_str().unwrap_or_default();
        message
            .starts_with("1 pod needs to be evicted in 1 namespace.")
            .then_some(())
    })
    .await;
    plane.force_delete_pod(&namespace, "named").await;
    // What the controller says is not done is not said to be done; but it is said why that may be wrong.
    let wait = format!("wait {rule} --for evicted --timeout 2s");
    let waited = plane.plugin(&wait.split(' ').collect::<Vec<_>>());
    let told = String::from_utf8_lossy(&waited.stderr);
    assert_eq!(waited.status.code(), Some(5), "{told}");
    assert!(
        told.contains("although no pod is left to evict; the condition may be stale"),
        "{told}"
    );
    assert_eq!(is_deleted("renamed").await, None);
}
