//! Whatever happens on the way, there is a complete answer or an error: never a shorter list.

use std::{process::Output, time::Duration};

use futures::{StreamExt, stream};
use serde_json::Value;

use super::scene::{Scene, V1, json_of};
use crate::harness::{At, ControlPlane, Fault, Proxy, Reply, Seen, Variant};

const CLAIMS: &str = "/apis/resource.k8s.io/v1/resourceclaims";
const ALWAYS: usize = usize::MAX;
/// Places at which a list is cut.
const PLACES: usize = if crate::IS_FULL { 200 } else { 30 };
const AT_ONCE: usize = 6;

/// How a run through a proxy ended.
struct Run {
    output: Output,
    /// The requests for claims.
    requests: Vec<Seen>,
}

impl Run {
    fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// The devices with the pods that use them, which is where a lost claim would show.
    fn answer(&self) -> Value {
        json_of(&self.output)["items"].clone()
    }
}

async fn run(scene: &Scene<'_>, fault: Fault, times: usize) -> Run {
    let proxy = Proxy::start(scene.plane);
    proxy.plan([(At::Path(CLAIMS.to_owned(), times), fault)]);
    let mut arguments = vec![
        "devices",
        &scene.driver,
        "-o",
        "json",
        "--request-timeout=5s",
    ];
    let flags = proxy.flags();
    arguments.extend(flags.iter().map(String::as_str));
    let command = scene.command(scene.plane.kubeconfig(), &arguments);
    let output = tokio::process::Command::from(command).output().await;
    Run {
        output: output.expect("the plugin can be run"),
        requests: proxy.seen_at(CLAIMS),
    }
}

async fn complete(scene: &Scene<'_>) -> Value {
    let run = run(scene, Fault::Reset, 0).await;
    assert_eq!(run.code(), Some(0), "{}", run.said());
    let answer = run.answer();
    assert_eq!(answer.as_array().map(Vec::len), Some(2), "{answer:#}");
    answer
}

#[tokio::test]
async fn a_list_that_is_cut_anywhere_is_never_a_shorter_one() {
    let plane = ControlPlane::of(&Variant::serving("v1"));
    let scene = Scene::new(plane, V1).await;
    let expected = complete(&scene).await;
    let (scene, expected) = (&scene, &expected);
    let runs = (0..PLACES).map(|place| async move {
        let thousandths = place * 1000 / PLACES;
        let fault = if place % 2 == 0 {
            Fault::ends(thousandths)
        } else {
            Fault::breaks(thousandths)
        };
        // Every other pair of places never heals.
        let times = if place % 4 < 2 { 1 } else { ALWAYS };
        let what = format!("{fault:?}, {times} times");
        let run = run(scene, fault, times).await;
        let said = run.said();
        if times == 1 {
            assert_eq!(run.code(), Some(0), "{what}: {said}");
            assert_eq!(run.answer(), *expected, "{what}");
        } else {
            assert_eq!(run.code(), Some(75), "{what}: {said}");
            assert!(run.output.stdout.is_empty(), "{what}");
            assert!(said.contains("error: "), "{what}: {said}");
        }
        assert!(run.requests.len() > 1, "{what}");
    });
    stream::iter(runs)
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<()>>()
        .await;
}

#[tokio::test]
async fn whatever_follows_a_list_makes_it_unbelievable() {
    let plane = ControlPlane::of(&Variant::serving("v1"));
    let scene = Scene::new(plane, V1).await;
    let expected = complete(&scene).await;
    let status = br#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcdserver: request timed out","code":500}"#;
    for more in [
        &status[..],
        b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status",
        b"\0",
        b"\n",
    ] {
        let run = run(&scene, Fault::appended(more), 1).await;
        assert_eq!(run.code(), Some(0), "{}", run.said());
        assert_eq!(run.answer(), expected);
        assert!(run.requests.len() > 1);
        let run = self::run(&scene, Fault::appended(more), ALWAYS).await;
        assert_eq!(run.code(), Some(75), "{more:?} {}", run.said());
    }
}

#[tokio::test]
async fn a_busy_server_is_asked_again_when_it_says() {
    let plane = ControlPlane::of(&Variant::serving("v1"));
    let scene = Scene::new(plane, V1).await;
    let expected = complete(&scene).await;
    for answer in ["429 Too Many Requests", "503 Service Unavailable"] {
        let answer = Reply::bare(answer, &["Retry-After: 1"]);
        let run = run(&scene, Fault::Answer(answer.clone()), 2).await;
        assert_eq!(run.code(), Some(0), "{}", run.said());
        assert_eq!(run.answer(), expected);
        let pauses = run.requests.windows(2).map(|pair| pair[1].at - pair[0].at);
        let patient = pauses.filter(|pause| *pause >= Duration::from_secs(1));
        assert_eq!(patient.count(), 2, "{:?}", run.requests);
        assert_eq!(run.said().matches("is busy").count(), 2, "{}", run.said());
        let run = self::run(&scene, Fault::Answer(answer), ALWAYS).await;
        assert_eq!(run.code(), Some(75), "{}", run.said());
        assert!(run.said().contains("error: "), "{}", run.said());
    }
}

#[tokio::test]
async fn a_connection_that_is_reset_or_silent_ends_in_an_answer_or_an_error() {
    let plane = ControlPlane::of(&Variant::serving("v1"));
    let scene = Scene::new(plane, V1).await;
    let expected = complete(&scene).await;
    let once = run(&scene, Fault::Reset, 1).await;
    match once.code() {
        Some(0) => assert_eq!(once.answer(), expected),
        code => assert_eq!(code, Some(75), "{}", once.said()),
    }
    for fault in [Fault::Reset, Fault::Silence] {
        let run = run(&scene, fault, ALWAYS).await;
        assert_eq!(run.code(), Some(75), "{}", run.said());
        assert!(run.output.stdout.is_empty());
        assert!(run.said().contains("error: "), "{}", run.said());
    }
}
