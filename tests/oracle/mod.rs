//! Is the engine's answer the real controller's?
//!
//! Random clusters are given to both: to the engine through the same decoding as `--from`, and to
//! Kubernetes' own device-taint-eviction controller, which runs as a library in virtual time
//! (`tests/oracle/controller`). A difference is shrunk and printed as YAML that `--from` can read.
//!
//! Expressions that select devices are compared with Kubernetes' own environment in `expressions`.
//!
//! | variable | means |
//! |---|---|
//! | `DEVICETAINT_ORACLE` | an oracle for another Kubernetes version, see `tests/oracle/versions` |
//! | `DEVICETAINT_ORACLE_CASES` | cases a family and seed, instead of the usual number; 2,500 are 5,000 clusters to explain |
//! | `DEVICETAINT_ORACLE_CLUSTERS` | clusters a seed to place claims in, instead of the usual number |
//! | `DEVICETAINT_ORACLE_SEED` | the seed of the fresh cases, to repeat a run |

mod compare;
mod condition;
mod explain;
mod expressions;
pub mod placement;
pub mod process;
pub mod run;
mod subject;

use crate::case::Family;
use crate::harness::number_in;
use run::{Run, fresh_seed};

/// Cases of a family with a fixed seed, the same on every machine: past agreement stays.
const FIXED: usize = if crate::IS_FULL { 5_000 } else { 1_000 };
/// Cases of a family with a fresh seed, fewer: each run looks where no run has looked before.
const FRESH: usize = if crate::IS_FULL { 1_000 } else { 500 };
/// Cases of a family and seed that are explained pod by pod; 2,500 by hand, which are 5,000 clusters.
const EXPLAINED: usize = if crate::IS_FULL { 150 } else { 40 };
const FIXED_SEED: u64 = 0x5055;
/// Clusters of a seed in which claims are placed; 5,000 by hand, see AGREEMENT.md.
const CLUSTERS: u64 = if crate::IS_FULL { 400 } else { 100 };

#[test]
fn previews_of_the_fixed_cases_agree_with_the_controller() {
    Run::new(Family::Previews, FIXED_SEED, FIXED).compare();
}

#[test]
fn timelines_of_the_fixed_cases_agree_with_the_controller() {
    Run::new(Family::Timelines, FIXED_SEED, FIXED).compare();
}

#[test]
fn previews_of_fresh_cases_agree_with_the_controller() {
    Run::new(Family::Previews, fresh_seed(), FRESH).compare();
}

#[test]
fn timelines_of_fresh_cases_agree_with_the_controller() {
    Run::new(Family::Timelines, fresh_seed(), FRESH).compare();
}

#[test]
fn what_is_explained_of_fixed_cases_is_what_previews_say_and_single_changes_do() {
    explain::compare(FIXED_SEED, EXPLAINED);
}

#[test]
fn what_is_explained_of_fresh_cases_is_what_previews_say_and_single_changes_do() {
    explain::compare(fresh_seed(), EXPLAINED);
}

#[test]
fn what_a_pod_waits_for_is_what_the_allocator_says() {
    let compared = placement::wait(FIXED_SEED, clusters() / 8);
    assert!(compared, "nothing to compare");
    let _ = placement::wait(fresh_seed() >> 32, clusters() / 2);
}

#[test]
fn after_the_evictions_that_make_room_the_allocator_places_the_claim() {
    placement::make_room(FIXED_SEED, 1_000);
    placement::make_room(fresh_seed() >> 32, clusters());
}

#[test]
fn no_claim_of_the_fixed_clusters_is_said_to_have_no_replacement_that_has_one() {
    placement::compare(FIXED_SEED, clusters());
}

#[test]
fn no_claim_of_fresh_clusters_is_said_to_have_no_replacement_that_has_one() {
    placement::compare(fresh_seed() >> 32, clusters());
}

fn clusters() -> u64 {
    number_in("DEVICETAINT_ORACLE_CLUSTERS").unwrap_or(CLUSTERS)
}
