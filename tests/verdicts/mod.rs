//! A dump of a real cluster, and the real controller's messages about 40 rules there.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use kubectl_devicetaint::cluster::{FileSource, Limits, read};
use kubectl_devicetaint::engine::condition::preview_message;
use kubectl_devicetaint::engine::{ProposedTaint, Semantics, preview};
use kubectl_devicetaint::model::{DeviceSelector, Effect, Taint};
use serde::Deserialize;

/// A rule with effect None that was created there, and the message of its condition.
#[derive(Deserialize)]
struct Verdict {
    selector: Selector,
    key: String,
    #[serde(default)]
    value: String,
    message: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Selector {
    driver: Option<String>,
    pool: Option<String>,
    device: Option<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/real-cluster")
}

fn verdicts() -> Vec<Verdict> {
    let text = std::fs::read_to_string(folder().join("verdicts.jsonl")).expect("verdicts");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a verdict"))
        .collect()
}

/// Asks about every selector, and compares to the letter.
fn agrees(file: &str) {
    let source = FileSource::from(folder().join(file).as_path());
    let reading = read(&[source], &mut std::io::empty(), &Limits::default()).expect("a dump");
    let now = reading.observed_at.expect("a time");
    let verdicts = verdicts();
    assert_eq!(verdicts.len(), 40);
    for verdict in verdicts {
        let proposed = [proposed(&verdict, now)];
        let impact = preview(&reading.snapshot, &proposed, now, &Semantics::assumed());
        let message = preview_message(&impact.rules[0].counts);
        assert_eq!(message, verdict.message, "{file}: {:?}", verdict.selector);
    }
}

fn proposed(verdict: &Verdict, now: Timestamp) -> ProposedTaint {
    let selector = DeviceSelector {
        driver: verdict.selector.driver.as_deref().map(Into::into),
        pool: verdict.selector.pool.as_deref().map(Into::into),
        device: verdict.selector.device.as_deref().map(Into::into),
        ..DeviceSelector::default()
    };
    let taint = Taint {
        key: verdict.key.clone(),
        value: verdict.value.clone(),
        effect: Effect::None,
        time_added: None,
    };
    ProposedTaint::hypothetical(selector, taint, now)
}

#[test]
fn dump_at_v1_as_json_gives_the_controllers_verdicts() {
    agrees("cluster-v1.json");
}

#[test]
fn dump_at_v1_as_yaml_gives_the_controllers_verdicts() {
    agrees("cluster-v1.yaml");
}

#[test]
fn dump_at_v1beta2_gives_the_controllers_verdicts() {
    agrees("cluster-v1beta2.json");
}
