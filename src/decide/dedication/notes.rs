//! What to know before devices are dedicated.

use std::collections::BTreeSet;

use super::namespaces::KnownNamespaces;
use super::terms::Terms;
use super::tolerating::{lacking, tolerants};
use crate::assess::DeviceBasis;
use crate::model::{DeviceId, Effect, Kind};
use crate::naming::phrase::{counted, few};

/// Who has the devices now, which claims cannot use them yet, and who could use them all the same; one
/// line each.
#[must_use]
pub fn notes(
    terms: &Terms,
    devices: &BTreeSet<DeviceId>,
    namespaces: &KnownNamespaces,
    basis: &DeviceBasis<'_>,
) -> Vec<String> {
    let snapshot = &basis.reading.snapshot;
    if !basis.reading.known.contains(&Kind::ResourceClaim) {
        return vec![
            "it is unknown which claims hold these devices: claims were not read".to_owned(),
        ];
    }
    let mut notes = Vec::new();
    let is_member = |namespace: &str| namespaces.lets_in(terms, namespace) == Some(true);
    let holders = snapshot.claims.iter().filter(|claim| {
        // Admin access takes a device from nobody.
        let mut results = claim.exclusive_results();
        results.any(|result| devices.contains(&result.device))
            && !is_member(claim.name.namespace.as_str())
    });
    let holders: Vec<String> = holders.map(|claim| claim.name.to_string()).collect();
    // With NoExecute they do not keep them, and the preview shows who is evicted.
    if !holders.is_empty() && terms.effect != Effect::NoExecute {
        let claims = match holders.len() {
            1 => "1 claim in another namespace keeps".to_owned(),
            many => format!("{} in other namespaces keep", counted(many, "claim")),
        };
        notes.push(format!(
            "{claims} devices of this dedication: {}",
            few(&holders)
        ));
    }
    let tolerated = terms.tolerated();
    let made_before: Vec<String> = snapshot
        .claims
        .iter()
        .filter(|claim| {
            is_member(claim.name.namespace.as_str())
                && claim.allocation.is_none()
                && claim
                    .spec
                    .as_ref()
                    .is_some_and(|spec| lacking(spec, &tolerated))
        })
        .map(|claim| claim.name.to_string())
        .collect();
    if !made_before.is_empty() {
        notes.push(format!(
            "the admission policies add the toleration only to new claims; to get the dedicated devices, recreate these claims: {}",
            few(&made_before)
        ));
    }
    let others: Vec<String> = tolerants(snapshot, &tolerated)
        .into_iter()
        .filter(|one| !is_member(one.name.namespace.as_str()) && !one.admin_access)
        .map(|one| format!("{} {}", one.kind.word(), one.name))
        .collect();
    if !others.is_empty() {
        notes.push(format!(
            "claims or templates in other namespaces already tolerate the taint: {}",
            few(&others)
        ));
    }
    notes
}
