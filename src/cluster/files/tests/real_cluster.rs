//! Output of kubectl on a real cluster.

use super::support::{data, read_files};
use crate::model::Reading;

fn read(name: &str) -> Reading {
    read_files(&[data("real-cluster").join(name)]).expect(name)
}

#[test]
fn json_and_yaml_are_the_same_cluster() {
    assert_eq!(read("cluster-v1.json"), read("cluster-v1.yaml"));
}

#[test]
fn an_older_version_is_the_same_cluster_apart_from_rules_and_classes() {
    let mut expected = read("cluster-v1.json").snapshot;
    expected.rules.clear();
    expected.classes.clear();
    let mut snapshot = read("cluster-v1beta2.json").snapshot;
    snapshot.classes.clear();
    assert_eq!(snapshot, expected);
}

#[test]
fn all_that_a_preview_needs_is_there() {
    let reading = read("cluster-v1.json");
    let snapshot = &reading.snapshot;
    assert_eq!(snapshot.slices.len(), 13);
    assert_eq!(snapshot.claims.len(), 21);
    assert_eq!(snapshot.rules.len(), 1);
    assert_eq!(snapshot.classes.len(), 3);
    assert!(!snapshot.pods.is_empty() && snapshot.pods.len() <= 27);
    assert_eq!(
        reading
            .version
            .map(|version| version.to_string())
            .as_deref(),
        Some("1.37")
    );
    assert_eq!(reading.gaps, []);
    assert_eq!(reading.warnings, []);
    assert!(reading.observed_at.is_some());
}

#[test]
fn missing_rules_are_a_gap() {
    let gaps = read("cluster-v1beta2.json").gaps;
    let missing: Vec<_> = gaps.iter().map(|gap| gap.what.as_str()).collect();
    assert_eq!(missing, ["devicetaintrules"]);
}
