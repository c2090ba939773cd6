//! All claims that a pending pod waits for, merged into one, since one node has to serve them all.

use super::chain::{Chain, ClaimLink};
use crate::devices::current_slices;
use crate::eviction::entry_of;
use crate::model::{
    ClaimSpec, DeviceAmount, DeviceClass, DeviceRequest, NamespacedName, NodeName, NodeSelector,
    ObjectName, Pod, RequestKind, RequestTerms, ResourceClaim, ResourceSlice, Snapshot,
};
use foldhash::HashSet;
use std::sync::Arc;

/// Prefix of the extended resource that each device class has, followed by the name of the class.
///
/// Upstream: `ResourceDeviceClassPrefix` in `k8s.io/api/resource/v1`.
const CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// All that a pod waits for, as one claim: its claims have to be served on the same node.
#[derive(Clone, Debug)]
pub struct PendingPod {
    /// The claim that stands for all.
    pub claim: ResourceClaim,
    /// The origin of each of its requests.
    pub origins: Vec<RequestOrigin>,
    /// The nodes to which the pod is bound by claims that hold devices already.
    pub nodes: Vec<NodeName>,
    /// Required node selectors of the pod, all of which have to hold.
    pub selectors: Vec<NodeSelector>,
}

/// Origin of a request in the merged claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestOrigin {
    /// The claim; absent for an extended resource of a container, for which the scheduler creates a claim.
    pub claim: Option<NamespacedName>,
    /// The template that the claim was generated from, if it was.
    pub template: Option<ObjectName>,
    /// The name of the request, or of the extended resource.
    pub name: Arc<str>,
}

impl PendingPod {
    /// True if the pod waits for devices: for a claim without an allocation, or for extended resources of a device
    /// class. A terminating pod is not scheduled any more.
    pub fn waits(chain: &Chain<'_>, snapshot: &Snapshot) -> bool {
        let mut claims = chain.links.iter().filter_map(|link| link.claim);
        chain.pod.deletion.is_none()
            && (claims.any(|claim| claim.allocation.is_none())
                || !extended(chain.pod, snapshot).is_empty())
    }

    /// Devices that the pod of the chain waits for; absent if it waits for none, or if the requests of a claim were not
    /// read.
    pub fn of(chain: &Chain<'_>, snapshot: &Snapshot) -> Option<Self> {
        let links = chain.links.iter();
        let waiting: Vec<(&ClaimLink<'_>, &ResourceClaim)> = links
            .filter_map(|link| Some((link, link.claim?)))
            .filter(|(_, claim)| claim.allocation.is_none())
            .collect();
        let mut spec = ClaimSpec::default();
        let mut origins = Vec::new();
        for (number, (link, claim)) in waiting.iter().enumerate() {
            let own = claim.spec.as_deref()?;
            // Requests of different claims may have the same name, and constraints refer to requests by name. A
            // single claim keeps its names, which are printed.
            let named = |name: &str| -> Arc<str> {
                match waiting.len() {
                    1 => name.into(),
                    _ => format!("{number}:{name}").into(),
                }
            };
            for request in &own.requests {
                origins.push(RequestOrigin {
                    claim: Some(claim.name.clone()),
                    template: link.template().cloned(),
                    name: Arc::clone(&request.name),
                });
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
        for request in extended(chain.pod, snapshot) {
            origins.push(RequestOrigin {
                claim: None,
                template: None,
                name: Arc::clone(&request.name),
            });
            spec.requests.push(request);
        }
        if spec.requests.is_empty() && waiting.is_empty() {
            return None;
        }
        let current = current_slices(&snapshot.slices);
        let links = chain.links.iter();
        let mut nodes: Vec<NodeName> = links.flat_map(|link| nodes_of(link, &current)).collect();
        nodes.sort();
        nodes.dedup();
        let scheduling = chain.pod.scheduling.as_ref();
        Some(Self {
            claim: ResourceClaim {
                name: chain.pod.name.clone(),
                spec: Some(Arc::new(spec)),
                ..ResourceClaim::default()
            },
            origins,
            nodes,
            selectors: scheduling.map_or_else(Vec::new, |scheduling| scheduling.nodes.clone()),
        })
    }
}

/// The requests that the scheduler makes of a pod's extended resources, one for each of a container that a device class
/// serves; none once it has made the claim.
///
/// Upstream: `createRequestsAndMappings` in `pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go`.
fn extended(pod: &Pod, snapshot: &Snapshot) -> Vec<DeviceRequest> {
    if pod.node.is_some() || pod.extended_resource_claim.is_some() {
        return Vec::new();
    }
    let requests = pod.extended_resources.iter().filter_map(|(name, count)| {
        let serves = |class: &&DeviceClass| {
            class.extended_resource.as_deref() == Some(&**name)
                || name.strip_prefix(CLASS_PREFIX) == Some(class.name.as_str())
        };
        let class = snapshot.classes.iter().find(serves)?;
        Some(DeviceRequest {
            name: Arc::clone(name),
            kind: RequestKind::Exactly(RequestTerms {
                class: class.name.clone(),
                amount: DeviceAmount::Exactly(*count),
                ..RequestTerms::default()
            }),
        })
    });
    requests.collect()
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
    claims.filter(move |claim| {
        let NamespacedName { namespace, name } = &claim.name;
        let owner = claim.controller.as_ref().map(|owner| &owner.uid);
        let mut users = claim.reserved_for.iter().map(|consumer| &consumer.uid);
        *namespace == pod.name.namespace
            && (claims_of(pod).any(|own| own == name)
                || users.any(|user| *user == pod.uid)
                || owner == Some(&pod.uid))
    })
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
