//! Answers of the engine about a cluster, beside the allocator's.

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

/// Number of clusters that the oracle is given at once.
const BATCH: u64 = 100;
/// Minimum to find of the claims that the allocator cannot place, in percent: some 95 are in long runs, and a
/// short one of fresh clusters has seventy claims, of which chance may take ten.
const FOUND: usize = 75;

/// Number of claims by the answers of both.
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

/// Compares `number` clusters of a seed: never "no replacement" for a claim that the allocator places, with
/// all other allocations kept or with those of all evicted pods gone, and most of the claims that it cannot
/// place are found.
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
        let requests = |are_gone: bool| -> Vec<Value> {
            let asked = clusters.iter().zip(&answers);
            asked
                .map(|((made, _), ours)| request(made, ours, are_gone))
                .collect()
        };
        let kept = oracle.ask(&requests(false));
        let gone = oracle.ask(&requests(true));
        let both = kept.iter().zip(&gone);
        for (((theirs, ours), (made, _)), seed) in both.zip(&answers).zip(&clusters).zip(&seeds) {
            let (theirs, gone) = theirs;
            if let Some(difference) = tally.add(ours, theirs, gone) {
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

/// The question whether the allocator places the claims, with their other allocations kept, or with those of all of
/// them gone.
fn request(made: &Cluster, ours: &Replacement<'_>, are_gone: bool) -> Value {
    let names: Vec<String> = ours
        .claims
        .iter()
        .map(|one| one.claim.name.to_string())
        .collect();
    let mut claims = made.claims.clone();
    for claim in claims.iter_mut().filter(|_| are_gone) {
        let metadata = &claim["metadata"];
        let name = [&metadata["namespace"], &metadata["name"]].map(|part| part.as_str());
        let name = name.map(Option::unwrap_or_default).join("/");
        if names.contains(&name)
            && let Some(claim) = claim.as_object_mut()
        {
            claim.remove("status");
        }
    }
    json!({
        "op": "allocate",
        "nodes": made.nodes,
        "classes": made.classes,
        "slices": made.slices,
        "claims": claims,
        "rules": made.rules,
        "place": names,
    })
}

impl Tally {
    /// Counts both answers; returns a contradiction.
    fn add(&mut self, ours: &Replacement<'_>, theirs: &Value, gone: &Value) -> Option<String> {
        for answer in [theirs, gone] {
            let is_error = answer.get("error").is_some();
            assert!(!is_error, "the oracle cannot answer: {answer}");
        }
        for outlook in &ours.claims {
            let name = outlook.claim.name.to_string();
            let is_placed = |answer: &Value| {
                let nodes = answer["placements"][&name]["nodes"].as_object();
                let mut nodes = nodes.expect("nodes").values();
                nodes.any(|answer| answer == "placed")
            };
            if is_placed(gone) && outlook.placeability == Placeability::Unplaceable {
                return Some(format!(
                    "{name} has a replacement once the evicted pods are gone, we say that there is none"
                ));
            }
            let is_placed = is_placed(theirs);
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
