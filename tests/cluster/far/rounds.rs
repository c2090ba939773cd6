//! How often does the plugin wait for the server, one answer after the other?

use std::{path::PathBuf, process::Output, time::Duration};

use serde_json::{Value, json};

use crate::harness::{
    At, ControlPlane, Fault, PLUGIN, Proxy, Seen, driver_name,
    objects::{allocation, bound, claim, pod, reserved, slice},
    random_suffix,
};

/// So late every answer is, that what is asked side by side is asked before any answer.
const LATE: Duration = Duration::from_millis(250);
/// A machine that is busy may ask late what it could have asked at once; not every time.
const TRIES: usize = 4;

/// How many answers stand behind one another, each asked for when the one before had come.
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
    cache: PathBuf,
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
            cache: plane.folder().join(format!("far-{}", random_suffix())),
        }
    }

    fn run(&self, words: &[&str]) -> (Output, usize) {
        self.proxy.plan([(At::From(1), Fault::Late(LATE))]);
        let output = self
            .plane
            .command(PLUGIN)
            .args(words)
            .env("KUBECONFIG", &self.proxy.kubeconfig)
            .env("KUBECACHEDIR", &self.cache)
            .output()
            .expect("it can be run");
        assert!(output.status.success(), "{output:?}");
        (output, rounds(&self.proxy.seen()))
    }

    /// The fewest rounds of some tries, `forgetful` or not.
    fn fewest(&self, words: &[&str], forgetful: bool, at_most: usize) -> usize {
        let mut fewest = usize::MAX;
        for _ in 0..TRIES {
            if forgetful {
                let _ = std::fs::remove_dir_all(&self.cache);
            }
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
    // What there is; devices and claims; the pod that they name, and its node.
    assert_eq!(far.fewest(preview, true, 3), 3, "nothing is remembered");
    // Devices and claims; the pod that they name, and its node.
    assert_eq!(
        far.fewest(preview, false, 2),
        2,
        "it is remembered what there is"
    );
    let (output, _) = far.run(preview);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(
        report["affectedPods"].as_array().map(Vec::len),
        Some(1),
        "{report:#}"
    );
    // What is free is not held by anybody.
    assert_eq!(far.fewest(&["devices", "--free", &far.driver], false, 1), 1);
}

/// A tunnel begins on this machine, and so does a server next door: the address does not tell.
#[tokio::test]
async fn what_is_measured_decides_about_compression() {
    let far = Far::new().await;
    let words = ["devices", "-o", "name"];
    let asked_with = |late: bool, more: &[&str]| {
        let plan = late.then_some((At::From(1), Fault::Late(LATE)));
        far.proxy.plan(plan);
        let output = far
            .plane
            .command(PLUGIN)
            .args(words)
            .args(more)
            .env("KUBECONFIG", &far.proxy.kubeconfig)
            .env("KUBECACHEDIR", &far.cache)
            .output()
            .expect("it can be run");
        assert!(output.status.success(), "{output:?}");
        let lists = far.proxy.seen_at("/apis/resource.k8s.io/v1/resource");
        let gzip = lists.iter().filter(|seen| seen.accept_encoding == "gzip");
        (gzip.count(), lists.len())
    };
    let asked = |late| asked_with(late, &[]);
    // Far away at once: nothing is known, and the first answers are late.
    assert_eq!(asked(true), (2, 2));
    assert_eq!(asked(true), (2, 2), "as it was remembered");
    assert_eq!(asked_with(true, &["--disable-compression"]), (0, 2));
    let link = far.cache.join("devicetaint");
    let kept = find(&link).expect("what was measured is kept");
    let text = std::fs::read_to_string(&kept).expect("a file");
    let near = json!({"micros": 900, "bytesPerSecond": null});
    std::fs::write(&kept, near.to_string()).expect("a file");
    assert_eq!(asked(false), (0, 2), "next door, after {text}");
    // What is remembered of another day costs one slow run, and no more.
    assert_eq!(asked(true).1, 2);
    assert_eq!(asked(true), (2, 2), "measured anew");
    for broken in ["", "[]", "{\"micros\": -1}"] {
        std::fs::write(&kept, broken).expect("a file");
        assert_eq!(asked(true), (2, 2), "{broken:?}");
    }
}

/// The only file below a folder.
fn find(folder: &std::path::Path) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(folder).ok()?.flatten();
    let entry = entries.next()?.path();
    if entry.is_dir() {
        find(&entry)
    } else {
        Some(entry)
    }
}
