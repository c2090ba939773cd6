//! Counts the waits for the server, one answer after the other.

use std::{process::Output, time::Duration};

use serde_json::Value;

use crate::harness::{
    At, ControlPlane, Fault, PLUGIN, Proxy, Seen, driver_name,
    objects::{allocation, bound, claim, pod, reserved, slice},
};

/// Delay of every answer, so long that parallel requests are sent before any answer.
const LATE: Duration = Duration::from_millis(250);
/// A busy machine may delay parallel requests; not every time.
const TRIES: usize = 4;

/// Number of answers in sequence, each requested when the one before had come.
fn rounds(seen: &[Seen]) -> usize {
    let mut depths: Vec<usize> = Vec::new();
    for (number, request) in seen.iter().enumerate() {
        let before = seen[..number].iter().zip(&depths);
        let answered = before.filter(|(earlier, _)| earlier.at + LATE <= request.at);
        depths.push(1 + answered.map(|(_, depth)| *depth).max().unwrap_or(0));
    }
    depths.into_iter().max().unwrap_or(0)
}

struct Far {
    plane: &'static ControlPlane,
    proxy: Proxy,
    driver: String,
}

impl Far {
    /// A server far away, with one device that a pod holds.
    async fn new() -> Self {
        let plane = ControlPlane::shared();
        let (driver, namespace) = (driver_name(), plane.namespace().await);
        let status = allocation(&driver, &driver, "gpu-0");
        plane
            .create(&[
                slice(&driver, &driver, &["gpu-0"]),
                reserved(claim(&namespace, "c", &driver), status, "p"),
                bound(pod(&namespace, "p", "c"), &driver),
            ])
            .await;
        Self {
            plane,
            proxy: Proxy::start(plane),
            driver,
        }
    }

    fn run(&self, words: &[&str]) -> (Output, usize) {
        self.proxy.plan([(At::From(1), Fault::Late(LATE))]);
        let output = self
            .plane
            .command(PLUGIN)
            .args(words)
            .env("KUBECONFIG", &self.proxy.kubeconfig)
            .output()
            .expect("it can be run");
        assert!(output.status.success(), "{output:?}");
        (output, rounds(&self.proxy.seen()))
    }

    /// The fewest rounds of some tries.
    fn fewest(&self, words: &[&str], at_most: usize) -> usize {
        let mut fewest = usize::MAX;
        for _ in 0..TRIES {
            fewest = fewest.min(self.run(words).1);
            if fewest <= at_most {
                break;
            }
        }
        fewest
    }
}

#[tokio::test]
async fn no_more_rounds_than_the_question_needs() {
    let far = Far::new().await;
    let device = format!("{0}/{0}/gpu-0", far.driver);
    let preview: &[&str] = &["preview", &device, "-o", "json"];
    // Discovery; devices and claims; the pod that they name, and its node.
    assert_eq!(far.fewest(preview, 3), 3);
    let (output, _) = far.run(preview);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(
        report["affectedPods"].as_array().map(Vec::len),
        Some(1),
        "{report:#}"
    );
    // Free devices are held by no claim.
    assert_eq!(far.fewest(&["devices", "--free", &far.driver], 2), 2);
}

/// A tunnel begins on this machine, and so does a near server: the address does not tell.
#[tokio::test]
async fn a_late_server_is_asked_for_compressed_lists() {
    let far = Far::new().await;
    let asked_with = |more: &[&str]| {
        far.proxy.plan([(At::From(1), Fault::Late(LATE))]);
        let output = far
            .plane
            .command(PLUGIN)
            .args(["devices", "-o", "name"])
            .args(more)
            .env("KUBECONFIG", &far.proxy.kubeconfig)
            .output()
            .expect("it can be run");
        assert!(output.status.success(), "{output:?}");
        let mut lists = far.proxy.seen();
        lists.retain(|seen| seen.path.starts_with("/apis/resource.k8s.io/v1/resource"));
        let gzip = lists.iter().filter(|seen| seen.takes_gzip);
        (gzip.count(), lists.len())
    };
    assert_eq!(asked_with(&[]), (2, 2));
    assert_eq!(asked_with(&["--disable-compression"]), (0, 2));
}
