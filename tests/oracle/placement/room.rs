//! Pods that `make-room` would evict, with the allocator as judge.

use std::collections::BTreeSet;

use kubectl_devicetaint::assess::completeness;
use kubectl_devicetaint::engine::Semantics;
use kubectl_devicetaint::engine::allocator::room::{
    RoomCost, RoomQuestion, RoomSet, RoomTier, room,
};
use kubectl_devicetaint::engine::allocator::{PendingClaim, SearchBasis};
use kubectl_devicetaint::model::{Reading, Uid};
use serde_json::{Value, json};

use super::cluster::{Cluster, cluster};
use super::compare::read;
use super::waiting::waits_for_all;
use crate::harness::go_program::say;
use crate::oracle::process::Oracle;
use crate::oracle::subject::Subject;

/// Number of clusters that the oracle is given at once.
const BATCH: u64 = 100;

/// Selects the pods to evict for a claim that waits in each of `number` clusters of a seed: once they are
/// evicted, the allocator places the claim on some node, and fails on none.
pub fn make_room(seed: u64, number: u64) {
    let mut oracle = Oracle::start();
    let semantics = Subject::of(&mut oracle).semantics;
    let (mut judged, mut evicted, mut none) = (0_usize, 0_usize, 0_usize);
    let mut done = 0;
    while done < number {
        let mut asked = Vec::new();
        for place in done..number.min(done + BATCH) {
            let seed = seed.wrapping_mul(1_000_003).wrapping_add(place);
            let mut made = cluster(seed);
            waits_for_all(&mut made);
            let Some((set, pods)) = chosen(&read(&made), &semantics) else {
                none += 1;
                continue;
            };
            evicted += set.evicted.len();
            evict(&mut made, &pods);
            asked.push((seed, made, set));
        }
        let requests: Vec<Value> = asked
            .iter()
            .map(|(_, made, _)| {
                json!({
                    "op": "allocate", "nodes": made.nodes, "classes": made.classes, "slices": made.slices,
                    "claims": made.claims, "rules": made.rules, "place": ["ml/claim-0"],
                })
            })
            .collect();
        for ((seed, made, set), answer) in asked.iter().zip(oracle.ask(&requests)) {
            let nodes = answer["placements"]["ml/claim-0"]["nodes"].as_object();
            let nodes = nodes.expect("nodes");
            let is_placed = nodes.values().any(|answer| answer == "placed");
            let fails = ends_the_attempt(&answer);
            assert!(
                is_placed && !fails,
                "{seed}: {answer:#}\n{set:#?}\n{}",
                serde_yaml::to_string(&made.list()).expect("YAML")
            );
            judged += 1;
        }
        done += BATCH;
    }
    // In few clusters, all claims may find devices without evictions.
    let is_enough = number < 1_000 || evicted > 0 && none > 0;
    assert!(judged > 0 && is_enough, "nothing to compare");
    say(&format!(
        "make-room: in {number} clusters of seed {seed}, the allocator places the claim after each of {judged} chosen sets of {evicted} pods; in {none} no set was chosen"
    ));
}

/// The set that is chosen, and the names of its pods.
fn chosen(reading: &Reading, semantics: &Semantics) -> Option<(RoomSet, BTreeSet<String>)> {
    let snapshot = &reading.snapshot;
    let claim = snapshot
        .claims
        .iter()
        .find(|claim| claim.name.name.as_str() == "claim-0")?;
    let others = snapshot
        .pods
        .iter()
        .filter(|pod| pod.name.name.as_str() != "pod-0");
    let (uids, names): (Vec<Uid>, Vec<String>) = others
        .map(|pod| (pod.uid.clone(), pod.name.name.to_string()))
        .unzip();
    let none = BTreeSet::new();
    let reserved = BTreeSet::new();
    let question = RoomQuestion {
        waiting: PendingClaim {
            snapshot,
            claim,
            nodes: &[],
            selectors: &[],
            proposed: &[],
            basis: SearchBasis {
                semantics,
                completeness: completeness(reading),
            },
        },
        evictable: &uids,
        leaving: &none,
        reserved: &reserved,
    };
    let cost = |set: &[usize]| RoomCost {
        pods: set.len(),
        ..RoomCost::NONE
    };
    let best = room(&question, RoomTier::ShortGrace, &cost).best?;
    let evicted = best.evicted.iter().map(|place| names[*place].clone());
    let evicted = evicted.collect();
    Some((best, evicted))
}

/// The claims of these pods release their devices.
fn evict(made: &mut Cluster, pods: &BTreeSet<String>) {
    for claim in &mut made.claims {
        let user = claim["status"]["reservedFor"][0]["name"].as_str();
        if user.is_some_and(|user| pods.contains(user)) {
            claim.as_object_mut().expect("a claim").remove("status");
        }
    }
}

/// True if some node has an error that ends the scheduler's attempt, and not one of the node alone
/// (`ErrFailedAllocationOnNode`).
pub(super) fn ends_the_attempt(answer: &Value) -> bool {
    let nodes = answer["placements"]["ml/claim-0"]["fatal"].as_array();
    nodes.is_some_and(|nodes| !nodes.is_empty())
}
