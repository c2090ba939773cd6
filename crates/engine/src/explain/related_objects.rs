//! The part of a snapshot that concerns one pod.

use foldhash::HashSet;

use crate::eviction::entry_of;
use crate::model::{NamespacedName, ObjectName, Pod, ResourceClaim, Snapshot};

/// The part of `snapshot` that decides about `pod`: its claims and those that are reserved for it, the consumers of
/// these, the slices of their pools, and all rules and classes.
///
/// Small enough to be changed and asked about again and again.
pub fn related_objects(snapshot: &Snapshot, pod: &Pod) -> Snapshot {
    let claims: Vec<ResourceClaim> = related_claims(snapshot, pod).cloned().collect();
    let results = claims.iter().flat_map(|claim| &claim.allocation);
    let pools: HashSet<(&str, &str)> = results
        .flat_map(|allocation| &allocation.results)
        .map(|result| (result.device.driver.as_str(), result.device.pool.as_str()))
        .collect();
    let slices = snapshot
        .slices
        .iter()
        .filter(|slice| {
            let pool = (slice.driver.as_str(), slice.pool.name.as_str());
            pools.contains(&pool)
        })
        .cloned()
        .collect();
    // The other consumers are needed too: up to 1.35 an outdated reservation of one of them hides the pod.
    let consumers: HashSet<&str> = claims
        .iter()
        .flat_map(|claim| &claim.reserved_for)
        .map(|consumer| consumer.name.as_str())
        .collect();
    let namespace = &pod.name.namespace;
    let pods = snapshot
        .pods
        .iter()
        .filter(|other| {
            other.name == pod.name
                || (other.name.namespace == *namespace
                    && consumers.contains(other.name.name.as_str()))
        })
        .cloned()
        .collect();
    // Rules and classes stay whole: any of them may select a device of the pod, and they are few.
    Snapshot {
        pods,
        slices,
        claims,
        rules: snapshot.rules.clone(),
        classes: snapshot.classes.clone(),
        ..Snapshot::default()
    }
}

/// The claims of `pod`, and those that it owns or that are reserved for it.
pub fn related_claims<'a>(
    snapshot: &'a Snapshot,
    pod: &Pod,
) -> impl Iterator<Item = &'a ResourceClaim> {
    let claims = snapshot.claims.iter();
    claims.filter(move |claim| concerns(claim, pod))
}

/// The names of the claims that the pod refers to, as far as they are known.
pub(super) fn claims_of(pod: &Pod) -> impl Iterator<Item = &ObjectName> {
    let named = pod
        .claims
        .iter()
        .filter_map(|entry| entry_of(&entry.source));
    named
        .map(|(name, _)| name)
        .chain(&pod.extended_resource_claim)
}

fn concerns(claim: &ResourceClaim, pod: &Pod) -> bool {
    let NamespacedName { namespace, name } = &claim.name;
    let mut reserved = claim.reserved_for.iter();
    *namespace == pod.name.namespace
        && (claims_of(pod).any(|own| own == name)
            || reserved.any(|consumer| consumer.uid == pod.uid)
            || claim
                .controller
                .as_ref()
                .is_some_and(|owner| owner.uid == pod.uid))
}
