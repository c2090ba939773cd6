//! What does an impact report count?

use std::collections::BTreeSet;

use super::view::{Device, Outcome, Pod, Summary};

/// Counts every thing once, however many taints, claims or devices lead to it.
pub(super) fn summary(pods: &[Pod], devices: &[Device]) -> Summary {
    let with = |outcome| pods.iter().filter(|pod| pod.outcome == outcome).count();
    let evicted = || pods.iter().filter(|pod| pod.outcome.is_evicted());
    let times = || evicted().filter_map(|pod| pod.evict_at);
    Summary {
        devices: devices.len(),
        claims: distinct(devices.iter().flat_map(|device| &device.claims)),
        pods: evicted().count(),
        pods_now: with(Outcome::EvictedNow),
        pods_later: with(Outcome::EvictedLater),
        pods_tolerating: with(Outcome::Tolerates),
        pods_terminating: with(Outcome::Terminating),
        pods_not_evicted: with(Outcome::NotEvicted),
        namespaces: distinct(evicted().map(|pod| &pod.namespace)),
        nodes: distinct(evicted().filter_map(|pod| pod.node.as_ref())),
        workloads: distinct(evicted().map(top_owner)),
        first_eviction: times().min(),
        last_eviction: times().max(),
    }
}

fn distinct<T: Ord>(things: impl Iterator<Item = T>) -> usize {
    things.collect::<BTreeSet<_>>().len()
}

/// Namespace, kind and name of what would create the pod again, or of the pod itself.
fn top_owner(pod: &Pod) -> (&str, &str, &str) {
    let (kind, name) = match pod.workload.as_ref().or(pod.owner.as_ref()) {
        Some(owner) => (owner.kind.as_str(), owner.name.as_str()),
        None => ("Pod", pod.name.as_str()),
    };
    (&pod.namespace, kind, name)
}
