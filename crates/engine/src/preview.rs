//! Preview: the verdicts on pods if the proposed taints were there.
//!
//! Takes a [`Snapshot`] and the taints that are asked about, and gives one [`Impact`]: what each of
//! them counts on its own, as the controller does, and what happens to each pod when all of them are
//! there, beside the taints of drivers and of other rules.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::claims::Templates;
use super::claims::{ClaimTable, key_of};
use super::devices::{DeviceEntry, DeviceTable, pool_warnings};
use super::eviction::{AffectedPods, VerdictEvaluator};
use super::impact::{
    Cause, Counts, DeviceImpact, DeviceTaint, Impact, Origin, PodImpact, RuleImpact,
};
use super::select::{ProposedTaint, RuleIndex, RuleTaint, proposed_rules};
use super::semantics::Semantics;
use crate::model::{Namespace, ResourceClaim, Snapshot};

/// Impact of the `proposed` taints on the cluster in `snapshot` at `now`.
///
/// A proposed taint that stands for an existing rule replaces it. Taints of drivers and of other
/// rules count for when a pod leaves, not for which devices and pods are listed.
///
/// Costs O(rules + devices + claims + pods).
pub fn preview<'a>(
    snapshot: &'a Snapshot,
    proposed: &'a [ProposedTaint],
    now: Timestamp,
    semantics: &Semantics,
) -> Impact<'a> {
    let rules = RuleIndex::new(rules_of(snapshot, proposed), semantics);
    let devices = DeviceTable::new(&snapshot.slices, &snapshot.claims, &rules);
    let claims = ClaimTable::new(&devices, &rules, now);
    let reached = if semantics.stale_reservation_hides {
        AffectedPods::new(snapshot, &claims)
    } else {
        AffectedPods::default()
    };
    let evaluator = VerdictEvaluator {
        claims: &claims,
        reached: &reached,
        templates: &Templates::new(snapshot),
        semantics,
        now,
    };
    let mut pods: Vec<PodImpact<'a>> = snapshot
        .pods
        .iter()
        .filter_map(|pod| evaluator.evaluate(pod))
        .collect();
    pods.sort_by_key(|impact| &impact.pod.name);

    let selected = devices.sorted(|entry| is_selected(entry, proposed));
    let mut warnings = pool_warnings(&snapshot.slices, &devices, &selected);
    warnings.extend(rules.warnings());
    Impact {
        rules: count(proposed, &devices, &claims, &pods),
        devices: selected_devices(&selected, &devices, &claims, &rules),
        pods,
        warnings,
    }
}

/// The devices that the `proposed` taints select, as [`preview`] gives them; pods are not looked at.
///
/// Costs O(rules + devices + claims).
pub fn tainted_devices<'a>(
    snapshot: &'a Snapshot,
    proposed: &'a [ProposedTaint],
    now: Timestamp,
    semantics: &Semantics,
) -> Vec<DeviceImpact<'a>> {
    let rules = RuleIndex::new(rules_of(snapshot, proposed), semantics);
    let devices = DeviceTable::new(&snapshot.slices, &snapshot.claims, &rules);
    let claims = ClaimTable::new(&devices, &rules, now);
    let selected = devices.sorted(|entry| is_selected(entry, proposed));
    selected_devices(&selected, &devices, &claims, &rules)
}

/// The proposed taints in their order, then the rules that exist beside them.
fn rules_of<'a>(snapshot: &'a Snapshot, proposed: &'a [ProposedTaint]) -> Vec<RuleTaint<'a>> {
    let asked = proposed_rules(proposed);
    asked.chain(existing_rules(snapshot, proposed)).collect()
}

/// The rules of the cluster that no proposed taint stands for.
pub(crate) fn existing_rules<'a>(
    snapshot: &'a Snapshot,
    proposed: &'a [ProposedTaint],
) -> impl Iterator<Item = RuleTaint<'a>> {
    let replaced: foldhash::HashSet<&str> = proposed
        .iter()
        .filter_map(|proposed| proposed.rule.as_ref())
        .map(|name| name.as_str())
        .collect();
    let mut rules: Vec<_> = snapshot
        .rules
        .iter()
        .filter(|rule| !replaced.contains(rule.name.as_str()))
        .collect();
    // The API lists rules in no fixed order, and no answer may depend on it.
    rules.sort_by_key(|rule| &rule.name);
    rules.into_iter().map(|rule| RuleTaint {
        origin: Origin::Rule(&rule.name),
        name: Some(&rule.name),
        selector: rule.selector.as_ref(),
        taint: &rule.taint,
    })
}

/// The proposed taints come first in the index, so that their places are those of the question.
fn is_selected(entry: &DeviceEntry<'_>, proposed: &[ProposedTaint]) -> bool {
    entry
        .rules
        .first()
        .is_some_and(|place| (*place as usize) < proposed.len())
}

/// Counts of the controller for each proposed taint alone.
///
/// The rules among the reasons of a pod do not depend on each other, so that one pass serves all of them.
///
/// Upstream: `countPendingPods` and `countTaintedDevices` in `device_taint_eviction.go`.
fn count<'a>(
    proposed: &'a [ProposedTaint],
    devices: &DeviceTable<'a>,
    claims: &ClaimTable<'a>,
    pods: &[PodImpact<'a>],
) -> Vec<RuleImpact<'a>> {
    let mut counts = vec![Counts::default(); proposed.len()];
    for entry in &devices.entries {
        for place in considered_places(entry, proposed.len()) {
            add(&mut counts[place].published_devices, entry.times_published);
        }
    }
    for affected in &claims.affected {
        for selected in &affected.selected {
            let entry = devices.entry(selected.device);
            for place in considered_places(entry, proposed.len()) {
                add(&mut counts[place].allocated_devices, 1);
            }
        }
    }
    count_pods(pods, &mut counts);
    let mut terminating = vec![0; proposed.len()];
    let mut staying = vec![0; proposed.len()];
    for impact in pods {
        let evicted: BTreeSet<usize> = impact.causes.iter().filter_map(considered_place).collect();
        for place in places_of(impact, devices, claims, proposed.len()) {
            if impact.pod.deletion.is_some() {
                add(&mut terminating[place], 1);
            } else if !evicted.contains(&place) && !impact.pod.phase.is_terminal() {
                add(&mut staying[place], 1);
            }
        }
    }
    proposed
        .iter()
        .zip(counts)
        .zip(terminating.into_iter().zip(staying))
        .map(|((proposed, counts), (terminating, staying))| RuleImpact {
            proposed,
            counts,
            terminating,
            staying,
        })
        .collect()
}

/// The places of the proposed taints that select a device of the pod.
fn places_of<'a>(
    impact: &PodImpact<'a>,
    devices: &DeviceTable<'a>,
    claims: &ClaimTable<'a>,
    len: usize,
) -> BTreeSet<usize> {
    let used = impact.claims.iter().filter_map(|used| {
        let (namespace, name) = key_of(used.claim);
        claims.find(namespace, name)
    });
    let selected = used.flat_map(|claim| &claim.selected);
    selected
        .flat_map(|selected| considered_places(devices.entry(selected.device), len))
        .collect()
}

fn considered_places(entry: &DeviceEntry<'_>, len: usize) -> impl Iterator<Item = usize> {
    entry
        .rules
        .iter()
        .map(|place| *place as usize)
        // Places ascend, and those of the proposed taints come first.
        .take_while(move |place| *place < len)
}

fn add(count: &mut usize, more: usize) {
    *count = count.saturating_add(more);
}

/// Adds the pods, which are ordered by namespace, and their namespaces.
fn count_pods(pods: &[PodImpact<'_>], counts: &mut [Counts]) {
    let mut last: Vec<Option<&Namespace>> = vec![None; counts.len()];
    for impact in pods.iter().filter(|impact| impact.pod.deletion.is_none()) {
        let mut places: Vec<usize> = impact.causes.iter().filter_map(considered_place).collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            add(&mut counts[place].pods, 1);
            let namespace = Some(&impact.pod.name.namespace);
            if last[place] != namespace {
                add(&mut counts[place].namespaces, 1);
                last[place] = namespace;
            }
        }
    }
}

fn considered_place(cause: &Cause<'_>) -> Option<usize> {
    match cause.origin {
        Origin::Proposed(place) => Some(place),
        Origin::Rule(_) | Origin::ResourceSlice(_) => None,
    }
}

fn selected_devices<'a>(
    selected: &[u32],
    devices: &DeviceTable<'a>,
    claims: &ClaimTable<'a>,
    rules: &RuleIndex<'a>,
) -> Vec<DeviceImpact<'a>> {
    let mut holders: Vec<Vec<&'a ResourceClaim>> = vec![Vec::new(); devices.entries.len()];
    for affected in &claims.affected {
        for selected in &affected.selected {
            let held = &mut holders[selected.device as usize];
            if !held
                .last()
                .is_some_and(|last| std::ptr::eq(*last, affected.claim))
            {
                held.push(affected.claim);
            }
        }
    }
    let mut impacts = Vec::new();
    for place in selected {
        let entry = devices.entry(*place);
        let mut claims = std::mem::take(&mut holders[*place as usize]);
        claims.sort_by_key(|claim| &claim.name);
        claims.dedup_by_key(|claim| &claim.name);
        impacts.push(DeviceImpact {
            id: entry.id(),
            node: entry.node(),
            published: entry.published.is_some(),
            claims,
            taints: taints_of(entry, rules),
        });
    }
    impacts
}

/// The taints that a device has without the proposed ones: the driver's, then the rules' by name.
pub(crate) fn taints_of<'a>(
    entry: &DeviceEntry<'a>,
    rules: &RuleIndex<'a>,
) -> Vec<DeviceTaint<'a>> {
    let from_rules = entry.rules.iter().map(|place| rules.rule(*place));
    let existing = from_rules.filter_map(|rule| match rule.origin {
        Origin::Proposed(_) => None,
        Origin::Rule(_) | Origin::ResourceSlice(_) => Some(rule.as_device_taint()),
    });
    entry.driver_taints().chain(existing).collect()
}
