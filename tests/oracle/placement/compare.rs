//! What the engine says of a cluster, beside what the allocator does.

use kubectl_devicetaint::cluster::{self, FileSource, Limits};
use kubectl_devicetaint::engine::allocator::{
    Completeness, NodeFilter, Placeability, Replacement, SearchBasis, replacement,
};
use kubectl_devicetaint::engine::{ProposedTaint, Semantics, preview};
use kubectl_devicetaint::model::{Minor, Reading, Taint};
use serde_json::{Value, json};

use super::cluster::{Cluster, cluster};
use crate::harness::go_program::say;
use crate::oracle::process::Oracle;
use crate::oracle::subject::Subject;

/// How many clusters the oracle is given at once.
const BATCH: u64 = 100;
/// So much of what the allocator cannot place has to be found, in percent: some 95 are in long runs, and a short one
/// of fresh clusters has seventy claims, of which chance may take ten.
const FOUND: usize = 75;

/// How often both said what.
#[derive(Default)]
struct Tally {
    placed: usize,
    failed: usize,
    /// Of those that the allocator cannot place, "no replacement" and "not known".
    found: usize,
    unknown: usize,
    /// Of those that the allocator places, "not known".
    doubted: usize,
}

/// Compares `number` clusters of a seed: never "no replacement" for a claim that the allocator places,
/// never a bound below what it places together, and most of what it cannot place is found.
pub fn compare(seed: u64, number: u64) {
    let mut oracle = Oracle::start();
    let semantics = Subject::of(&mut oracle).semantics;
    let mut tally = Tally::default();
    let mut done = 0;
    while done < number {
        let seeds: Vec<u64> = (done..number.min(done + BATCH))
            .map(|place| seed.wrapping_mul(1_000_003).wrapping_add(place))
            .collect();
        let clusters: Vec<(Cluster, Reading)> = seeds
            .iter()
            .map(|seed| {
                let made = cluster(*seed).stored_by(semantics.version.minor);
                let reading = read(&made);
                (made, reading)
            })
            .collect();
        let proposed: Vec<Vec<ProposedTaint>> = clusters
            .iter()
            .map(|(_, reading)| proposed(reading))
            .collect();
        let answers: Vec<Replacement<'_>> = clusters
            .iter()
            .zip(&proposed)
            .map(|((_, reading), proposed)| ours(reading, proposed, &semantics))
            .collect();
        let requests: Vec<Value> = clusters
            .iter()
            .zip(&answers)
            .map(|((made, _), ours)| request(made, ours))
            .collect();
        for (((theirs, ours), (made, _)), seed) in oracle
            .ask(&requests)
            .iter()
            .zip(&answers)
            .zip(&clusters)
            .zip(&seeds)
        {
            if let Some(difference) = tally.add(ours, theirs) {
                let yaml = serde_yaml::to_string(&made.list()).expect("YAML");
                panic!(
                    "cluster {seed}: {difference}\n\ntheirs: {theirs:#}\n\nours: {ours:#?}\n\n# read this with --from\n{yaml}"
                );
            }
        }
        done += seeds.len() as u64;
    }
    tally.report(seed, number, semantics.version);
}

/// The cluster, read as `--from` reads it.
pub fn read(made: &Cluster) -> Reading {
    let text = made.list().to_string();
    let mut bytes = text.as_bytes();
    cluster::read(&[FileSource::Stdin], &mut bytes, &Limits::default()).expect("well-formed")
}

fn proposed(reading: &Reading) -> Vec<ProposedTaint> {
    let rules = reading.snapshot.rules.iter();
    rules
        .map(|rule| ProposedTaint {
            rule: Some(rule.name.clone()),
            selector: rule.selector.clone(),
            taint: Taint {
                ..rule.taint.clone()
            },
        })
        .collect()
}

fn ours<'a>(
    reading: &'a Reading,
    proposed: &'a [ProposedTaint],
    semantics: &Semantics,
) -> Replacement<'a> {
    let now = "2026-11-21T01:00:34Z".parse().expect("a time");
    let impact = preview(&reading.snapshot, proposed, now, semantics);
    replacement(
        &reading.snapshot,
        proposed,
        &impact,
        NodeFilter::Cordoned,
        SearchBasis {
            semantics,
            completeness: Completeness::COMPLETE,
        },
    )
}

fn request(made: &Cluster, ours: &Replacement<'_>) -> Value {
    let names: Vec<String> = ours
        .claims
        .iter()
        .map(|one| one.claim.name.to_string())
        .collect();
    json!({
        "op": "allocate",
        "nodes": made.nodes,
        "classes": made.classes,
        "slices": made.slices,
        "claims": made.claims,
        "rules": made.rules,
        "place": names,
        "together": names,
    })
}

impl Tally {
    /// Counts what both say; what must not be is told.
    fn add(&mut self, ours: &Replacement<'_>, theirs: &Value) -> Option<String> {
        assert!(
            theirs.get("error").is_none(),
            "the oracle cannot answer: {theirs}"
        );
        let together = theirs["together"].as_u64().expect("a number") as usize;
        if together > ours.joint_bound.at_most {
            return Some(format!(
                "at most {} of {} can be placed, but the allocator places {together}",
                ours.joint_bound.at_most, ours.joint_bound.claims
            ));
        }
        for outlook in &ours.claims {
            let name = outlook.claim.name.to_string();
            let nodes = theirs["placements"][&name]["nodes"]
                .as_object()
                .expect("nodes");
            let is_placed = nodes.values().any(|answer| answer == "placed");
            match (is_placed, &outlook.placeability) {
                (true, Placeability::Unplaceable) => {
                    return Some(format!(
                        "{name} has a replacement, we say that there is none"
                    ));
                }
                (true, Placeability::Placeable) => self.placed += 1,
                (true, Placeability::Unknown(_)) => {
                    self.placed += 1;
                    self.doubted += 1;
                }
                (false, Placeability::Unplaceable) => {
                    self.failed += 1;
                    self.found += 1;
                }
                (false, Placeability::Unknown(_)) => {
                    self.failed += 1;
                    self.unknown += 1;
                }
                (false, Placeability::Placeable) => self.failed += 1,
            }
        }
        None
    }

    fn report(&self, seed: u64, clusters: u64, version: Minor) {
        let share = |part: usize, whole: usize| {
            format!(
                "{part} of {whole} ({:.1} %)",
                100.0 * part as f64 / whole.max(1) as f64
            )
        };
        let Self {
            placed,
            failed,
            found,
            unknown,
            doubted,
        } = self;
        say(&format!(
            "allocator of Kubernetes {version}: {clusters} clusters of seed {seed}: of the claims that it can place 0 of {placed} are said to have no replacement ({} not known), of those that it cannot place {} are found ({} not known)",
            share(*doubted, *placed),
            share(*found, *failed),
            share(*unknown, *failed),
        ));
        assert!(*placed > 0 && *failed > 0, "nothing to compare");
        assert!(
            found * 100 >= failed * FOUND,
            "{found} of {failed} are found"
        );
    }
}
