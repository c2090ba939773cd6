//! Measures a preview over a long and narrow way. Run by `benches/far.sh`.

use std::{fs, process::Command, time::Duration};

use super::road::Road;
use crate::{
    cluster::live::large::{DRIVER, curl, load_nodes, measured, plugin, say, urls},
    harness::{ControlPlane, Variant},
};

const NODES: usize = 300;
const RUNS: usize = 9;
/// Each way.
const DELAY: Duration = Duration::from_millis(50);
const BITS_PER_SECOND: f64 = 20e6;

#[tokio::test]
#[ignore = "a measurement of minutes: benches/far.sh"]
async fn measure() {
    let plugin = plugin();
    let plane = ControlPlane::start(&Variant::serving("v1"));
    load_nodes(&plane, NODES).await;
    let server = plane.server().trim_start_matches("https://");
    let road = Road::start(server.parse().expect("an address"), DELAY, BITS_PER_SECOND);
    let far = format!("https://{}", road.address);
    let kubeconfig = plane.folder().join("far.yaml");
    let text = fs::read_to_string(plane.kubeconfig()).expect("a kubeconfig");
    fs::write(&kubeconfig, text.replace(plane.server(), &far)).expect("a kubeconfig");
    let cache = plane.folder().join("far-cache");
    let run = |program: &std::path::Path, words: &[&str]| {
        let mut command = plane.command(program);
        command
            .args(words)
            .env("KUBECONFIG", &kubeconfig)
            .env("KUBECACHEDIR", &cache);
        command
    };
    let kubectl_path = plane.kubectl_path();
    let kubectl = || run(&kubectl_path, &["get", "resourceclaims", "-A"]);
    // kubectl's discovery cache is warm in every run but this.
    fastest(1, kubectl);
    say(
        "| preview of | plugin, s | curl, s | ratio | at most | curl over HTTP/2, s | kubectl get resourceclaims -A, s |",
    );
    say("|---|---|---|---|---|---|---|");
    for (name, devices, most) in [
        ("one device", format!("{DRIVER}/node-0007/gpu-0"), 1.2),
        ("the driver", DRIVER.to_owned(), 1.1),
    ] {
        let words = ["preview", &devices, "-o", "json"];
        let preview = || run(&plugin, &words);
        let warm = fastest(RUNS, preview);
        let asked = urls(&far, run(&plugin, &words).arg("-v"));
        let by_curl = |version: &str| {
            let mut command = curl(&plane, &asked);
            command.args([version, "--compressed", "--parallel-immediate"]);
            command
        };
        let plain = fastest(RUNS, || by_curl("--http1.1"));
        let multiplexed = fastest(RUNS, || by_curl("--http2"));
        fastest(1, kubectl);
        let claims = fastest(RUNS, kubectl);
        let ratio = warm.as_secs_f64() / plain.as_secs_f64();
        let [warm, plain, multiplexed, claims] =
            [warm, plain, multiplexed, claims].map(|took| took.as_secs_f64());
        say(&format!(
            "| {name} | {warm:.2} | {plain:.2} | {ratio:.2} | {most} | {multiplexed:.2} | {claims:.2} |"
        ));
    }
}

/// The shortest of some runs.
fn fastest(runs: usize, command: impl Fn() -> Command) -> Duration {
    let took = (0..runs).map(|_| measured(&mut command()).0);
    took.min().expect("there are runs")
}
