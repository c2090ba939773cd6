//! All claims a pending pod waits for, merged into one, since one node has to serve them all.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::chain::{Chain, ClaimLink};
use crate::engine::devices::current_slices;
use crate::model::{
    ClaimSpec, DeviceRequest, NamespacedName, NodeName, NodeSelector, ObjectName, ResourceClaim,
    ResourceSlice, Snapshot, Uid,
};

/// All that a pod waits for, as one claim: its claims have to be served on the same node.
#[derive(Clone, Debug)]
pub struct PendingPod {
    /// The claim that stands for all.
    pub claim: ResourceClaim,
    /// For each of its requests the claim that it is of, and its place there.
    pub origins: Vec<(NamespacedName, usize)>,
    /// The templates that its claims were generated from, by claim.
    pub templates: BTreeMap<NamespacedName, ObjectName>,
    /// The nodes to which the pod is bound by claims that hold devices already.
    pub nodes: Vec<NodeName>,
    /// Which nodes the pod insists on, all of which have to hold.
    pub selectors: Vec<NodeSelector>,
}

impl PendingPod {
    /// What the pod of the chain waits for; absent where no claim of it waits, or where what one asks
    /// for was not read.
    #[must_use]
    pub fn of(chain: &Chain<'_>, snapshot: &Snapshot) -> Option<Self> {
        let claims: Vec<&ResourceClaim> = chain
            .links
            .iter()
            .filter_map(|link| link.claim)
            .filter(|claim| claim.allocation.is_none())
            .collect();
        let mut spec = ClaimSpec::default();
        let mut origins = Vec::new();
        for (number, claim) in claims.iter().enumerate() {
            let own = claim.spec.as_deref()?;
            // Requests of different claims may have the same name, and constraints refer to requests by name. A
            // number keeps them apart; a single claim keeps its names, which are printed.
            let named = |name: &str| -> Arc<str> {
                if claims.len() == 1 {
                    name.into()
                } else {
                    format!("{number}:{name}").into()
                }
            };
            for (place, request) in own.requests.iter().enumerate() {
                origins.push((claim.name.clone(), place));
                spec.requests.push(DeviceRequest {
                    name: named(&request.name),
                    kind: request.kind.clone(),
                });
            }
            for constraint in &own.constraints {
                let mut constraint = constraint.clone();
                // An empty list means all requests of its own claim, and would mean all of all claims after the
                // merge.
                if constraint.requests.is_empty() {
                    let all = own.requests.iter().map(|request| Arc::clone(&request.name));
                    constraint.requests = all.collect();
                }
                for request in &mut constraint.requests {
                    *request = named(request);
                }
                spec.constraints.push(constraint);
            }
        }
        if claims.is_empty() {
            return None;
        }
        let current = current_slices(&snapshot.slices);
        let mut nodes: Vec<NodeName> = chain
            .links
            .iter()
            .flat_map(|link| nodes_of(link, &current))
            .collect();
        nodes.sort();
        nodes.dedup();
        Some(Self {
            claim: ResourceClaim {
                name: chain.pod.name.clone(),
                uid: Uid::from(""),
                controller: None,
                spec: Some(Arc::new(spec)),
                allocation: None,
                reserved_for: Vec::new(),
            },
            origins,
            templates: chain
                .links
                .iter()
                .filter_map(|link| Some((link.claim?.name.clone(), link.template()?.clone())))
                .collect(),
            nodes,
            selectors: chain
                .pod
                .scheduling
                .as_ref()
                .map_or_else(Vec::new, |scheduling| scheduling.nodes.clone()),
        })
    }
}

/// The nodes of the devices that a claim holds, as far as each is local to one.
fn nodes_of(link: &ClaimLink<'_>, current: &[&ResourceSlice]) -> Vec<NodeName> {
    let devices = link.devices.iter().filter_map(|held| {
        let id = &held.result.device;
        let slices = current
            .iter()
            .filter(|slice| slice.driver == id.driver && slice.pool.name == id.pool);
        let mut nodes = slices.flat_map(|slice| {
            let named = slice
                .devices
                .iter()
                .filter(|device| device.name == id.device);
            named.filter_map(|device| slice.node_of(device))
        });
        nodes.next().cloned()
    });
    devices.collect()
}
