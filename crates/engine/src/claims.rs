//! Effects of taints on each claim.
//!
//! Everything about a claim that does not depend on which pod uses it: which of its devices are
//! selected, and which taints would drive its users away, and when.

use super::devices::{Allocated, DeviceTable, current_slices};
use super::impact::{Cause, DeviceTaint, Impact, Origin};
use super::select::RuleIndex;
use super::semantics::Semantics;
use super::tolerate::{Deadline, deadline, tolerates};
use crate::model::{
    AllocationResult, ClaimSource, ClaimSpec, DriverName, Effect, NamespacedName, ObjectName, Pod,
    RequestKind, ResourceClaim, Snapshot, Taint, Toleration, Uid,
};
use foldhash::{HashMap, HashSet, HashSetExt};
use jiff::Timestamp;
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// A claim that a proposed taint selects a device of, or that something evicts from.
#[derive(Debug)]
pub(crate) struct AffectedClaim<'a> {
    pub(crate) claim: &'a ResourceClaim,
    /// The devices that a proposed taint selects, in the order of the allocation.
    pub(crate) selected: Vec<Allocated<'a>>,
    /// Everything that evicts its users, unordered.
    pub(crate) causes: Vec<Cause<'a>>,
    /// True if a considered `NoExecute` taint is tolerated forever on some device.
    pub(crate) tolerated: bool,
    /// True if the scheduler takes a proposed taint as tolerated that evicts all the same.
    pub(crate) schedule_only: bool,
    /// True if the scheduler would take a proposed taint that evicts as tolerated if its effect were `NoSchedule`.
    pub(crate) no_schedule: bool,
}

impl AffectedClaim<'_> {
    pub(crate) fn is_evicted_by_considered(&self) -> bool {
        self.causes.iter().any(Cause::is_proposed)
    }
}

/// The affected claims, found by name.
#[derive(Debug, Default)]
pub(crate) struct ClaimTable<'a> {
    pub(crate) affected: Vec<AffectedClaim<'a>>,
    by_name: HashMap<(&'a str, &'a str), u32>,
    /// Places of claims by the UID of their controller; few questions need it.
    by_controller: OnceCell<HashMap<&'a str, Vec<u32>>>,
}

impl<'a> ClaimTable<'a> {
    /// Evaluates every claim that holds a device.
    ///
    /// Upstream: `claimEvictionTime` in `device_taint_eviction.go`.
    pub(crate) fn new(devices: &DeviceTable<'a>, rules: &RuleIndex<'a>, now: Timestamp) -> Self {
        let mut table = Self::default();
        for allocation in devices.allocations() {
            let Some(affected) = evaluate(allocation, devices, rules, now) else {
                continue;
            };
            let place = u32::try_from(table.affected.len()).unwrap_or(u32::MAX);
            table.by_name.insert(key_of(&affected.claim.name), place);
            table.affected.push(affected);
        }
        table
    }

    pub(crate) fn find(&self, namespace: &str, name: &str) -> Option<&AffectedClaim<'a>> {
        let place = self.by_name.get(&(namespace, name))?;
        self.affected.get(*place as usize)
    }

    /// The affected claims that were generated for the pod with this UID.
    pub(crate) fn generated_for(&self, pod: &Uid) -> impl Iterator<Item = &AffectedClaim<'a>> {
        let places = self.by_controller.get_or_init(|| {
            let mut places: HashMap<&'a str, Vec<u32>> = HashMap::default();
            for (place, affected) in (0_u32..).zip(&self.affected) {
                if let Some(controller) = &affected.claim.controller {
                    places
                        .entry(controller.uid.as_str())
                        .or_default()
                        .push(place);
                }
            }
            places
        });
        let places = places.get(pod.as_str()).into_iter().flatten();
        places.filter_map(|place| self.affected.get(*place as usize))
    }
}

/// Namespace and name, as [`ClaimTable::find`] takes them.
pub(crate) fn key_of(name: &NamespacedName) -> (&str, &str) {
    (name.namespace.as_str(), name.name.as_str())
}

/// Effect of the taints on a claim, of which `allocation` has all devices.
fn evaluate<'a>(
    allocation: &[Allocated<'a>],
    devices: &DeviceTable<'a>,
    rules: &RuleIndex<'a>,
    now: Timestamp,
) -> Option<AffectedClaim<'a>> {
    let mut affected = AffectedClaim {
        claim: allocation.first()?.claim,
        selected: Vec::new(),
        causes: Vec::new(),
        tolerated: false,
        schedule_only: false,
        no_schedule: false,
    };
    let semantics = rules.semantics();
    for allocated in allocation {
        let result = allocated.result;
        let entry = devices.entry(allocated.device);
        for taint in entry.driver_taints() {
            affected.weigh(result, taint, now, semantics);
        }
        let mut selected = false;
        for place in &entry.rules {
            let rule = rules.rule(*place);
            selected |= matches!(rule.origin, Origin::Proposed(_));
            affected.weigh(result, rule.as_device_taint(), now, semantics);
        }
        if selected {
            push(&mut affected.selected, *allocated);
        }
    }
    (!affected.selected.is_empty() || !affected.causes.is_empty()).then_some(affected)
}

impl<'a> AffectedClaim<'a> {
    /// Takes one taint on one allocated device into account.
    fn weigh(
        &mut self,
        result: &'a AllocationResult,
        taint: DeviceTaint<'a>,
        now: Timestamp,
        semantics: &Semantics,
    ) {
        let DeviceTaint { origin, taint } = taint;
        if taint.effect != Effect::NoExecute {
            return;
        }
        let proposed = matches!(origin, Origin::Proposed(_));
        match deadline(taint, &result.tolerations, now, semantics) {
            // Upstream ignores a taint that is tolerated forever: it is no reason of an eviction for another taint
            // either.
            Deadline::Never => self.tolerated |= proposed,
            Deadline::At(at) => {
                self.schedule_only |= proposed && is_schedulable(result, taint);
                self.no_schedule |= proposed && is_schedulable_despite_no_schedule(result, taint);
                let device = &result.device;
                push(
                    &mut self.causes,
                    Cause {
                        origin,
                        device,
                        taint,
                        at,
                    },
                );
            }
        }
    }
}

/// Most claims hold one device with one taint: the first takes the space of one, not of four.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
    list.push(item);
}

/// True if the scheduler takes `taint` as tolerated: it counts neither the effect that a toleration leaves out nor its
/// seconds.
fn is_schedulable(result: &AllocationResult, taint: &Taint) -> bool {
    result
        .tolerations
        .iter()
        .any(|toleration| tolerates(toleration, taint))
}

/// As [`is_schedulable`], if the effect of `taint` were `NoSchedule`.
fn is_schedulable_despite_no_schedule(result: &AllocationResult, taint: &Taint) -> bool {
    // Few claims have tolerations, and only these need a copy of the taint.
    !result.tolerations.is_empty()
        && is_schedulable(
            result,
            &Taint {
                effect: Effect::NoSchedule,
                ..taint.clone()
            },
        )
}

/// Devices of some drivers, and pods that use them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Devices published in slices of their pool's newest generation, or allocated.
    pub devices: usize,
    /// Pods that a claim with a device of these drivers is reserved for, without those already
    /// terminating.
    pub pods: usize,
}

/// The drivers of the devices that `impact` selects.
pub fn drivers_of(impact: &Impact<'_>) -> BTreeSet<DriverName> {
    impact
        .devices
        .iter()
        .map(|device| device.id.driver.clone())
        .collect()
}

/// Number of devices that the `drivers` publish, and of pods that use them.
pub fn usage(snapshot: &Snapshot, drivers: &BTreeSet<DriverName>) -> Usage {
    // Devices that only an older generation of their pool has are gone, unless a claim holds them.
    let current = current_slices(&snapshot.slices);
    let published = current.iter().map(|slice| slice.devices.len()).sum();
    let mut devices = HashSet::with_capacity(published);
    for slice in current
        .into_iter()
        .filter(|slice| drivers.contains(&slice.driver))
    {
        for device in &slice.devices {
            devices.insert((&slice.driver, &slice.pool.name, &device.name));
        }
    }
    let mut consumers = HashSet::new();
    let mut claims = HashSet::new();
    for claim in &snapshot.claims {
        let results = claim
            .allocation
            .iter()
            .flat_map(|allocation| &allocation.results);
        let mut holds = false;
        for result in results.filter(|result| drivers.contains(&result.device.driver)) {
            holds = true;
            devices.insert((
                &result.device.driver,
                &result.device.pool,
                &result.device.device,
            ));
        }
        if holds {
            claims.insert((claim.name.namespace.as_str(), claim.name.name.as_str()));
            consumers.extend(claim.reserved_for.iter().map(|consumer| &consumer.uid));
        }
    }
    let uses = |pod: &Pod| {
        // As for evictions, both are needed: the claim is reserved for the pod, and the pod names it.
        consumers.contains(&pod.uid)
            && claim_names(pod).any(|name| claims.contains(&(pod.name.namespace.as_str(), name)))
    };
    let running = snapshot.pods.iter().filter(|pod| pod.deletion.is_none());
    Usage {
        devices: devices.len(),
        pods: running.filter(|pod| uses(pod)).count(),
    }
}

/// The names of the claims that the pod uses, as far as they are known.
pub fn claim_names(pod: &Pod) -> impl Iterator<Item = &str> {
    let named = pod.claims.iter().filter_map(|claim| match &claim.source {
        ClaimSource::Claim(name) => Some(name.as_str()),
        ClaimSource::Template { generated, .. } => generated.as_ref().map(|name| name.as_str()),
        ClaimSource::Unknown => None,
    });
    named.chain(
        pod.extended_resource_claim
            .as_ref()
            .map(|name| name.as_str()),
    )
}

/// The known templates, by namespace and name.
#[derive(Debug, Default)]
pub(crate) struct Templates<'a> {
    by_name: HashMap<(&'a str, &'a str), &'a ClaimSpec>,
}

/// Tolerations of a replacement for the proposed taints that evict the pod.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReplacementTolerations {
    /// The scheduler takes a taint as tolerated that evicts all the same.
    pub(crate) schedule_only: bool,
    /// The scheduler would take a taint as tolerated if its effect were `NoSchedule`.
    pub(crate) no_schedule: bool,
    /// A taint is tolerated forever, so that the replacement can get the same device and keep it.
    pub(crate) forever: bool,
}

impl ReplacementTolerations {
    /// Both together: one claim is enough.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            schedule_only: self.schedule_only || other.schedule_only,
            no_schedule: self.no_schedule || other.no_schedule,
            forever: self.forever || other.forever,
        }
    }
}

impl<'a> Templates<'a> {
    /// Those of `snapshot`.
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        let templates = snapshot.templates.iter();
        Self {
            by_name: templates
                .map(|template| (key_of(&template.name), &*template.spec))
                .collect(),
        }
    }

    /// The spec of the claim that a replacement of `pod` gets instead of its claim of this name.
    pub(crate) fn spec(&self, pod: &Pod, claim: &ObjectName) -> Option<&'a ClaimSpec> {
        if self.by_name.is_empty() {
            return None;
        }
        let key = (
            pod.name.namespace.as_str(),
            template_of(pod, claim)?.as_str(),
        );
        self.by_name.get(&key).copied()
    }

    /// Tolerations of the claim that a replacement of `pod` uses instead of `claim`.
    pub(crate) fn tolerations(
        &self,
        pod: &Pod,
        claim: &AffectedClaim<'a>,
        now: Timestamp,
        semantics: &Semantics,
    ) -> ReplacementTolerations {
        let Some(spec) = self.spec(pod, &claim.claim.name.name) else {
            return ReplacementTolerations {
                schedule_only: claim.schedule_only,
                no_schedule: claim.no_schedule,
                forever: false,
            };
        };
        let causes = claim.causes.iter().filter(|cause| cause.is_proposed());
        let each = causes.map(|cause| {
            let tolerations = tolerations(spec, claim, cause);
            let tolerated = |taint: &Taint| tolerations.iter().any(|one| tolerates(one, taint));
            let no_schedule = Taint {
                effect: Effect::NoSchedule,
                ..cause.taint.clone()
            };
            let forever = deadline(cause.taint, &tolerations, now, semantics) == Deadline::Never;
            ReplacementTolerations {
                schedule_only: !forever && tolerated(cause.taint),
                no_schedule: tolerated(&no_schedule),
                forever,
            }
        });
        each.fold(
            ReplacementTolerations::default(),
            ReplacementTolerations::or,
        )
    }
}

/// The template from which the claim of this name was made for `pod`.
pub(crate) fn template_of<'p>(pod: &'p Pod, claim: &ObjectName) -> Option<&'p ObjectName> {
    pod.claims.iter().find_map(|entry| match &entry.source {
        ClaimSource::Template {
            template,
            generated: Some(name),
        } if name == claim => Some(template),
        ClaimSource::Template { .. } | ClaimSource::Claim(_) | ClaimSource::Unknown => None,
    })
}

/// Tolerations of the requests of `spec` that stand for those whose device has the taint; of all requests where the
/// template names other ones than the claim.
fn tolerations(spec: &ClaimSpec, claim: &AffectedClaim<'_>, cause: &Cause<'_>) -> Vec<Toleration> {
    let mut selected = claim.selected.iter().map(|selected| selected.result);
    let held = selected.find(|result| result.device == *cause.device);
    let name = held.map(|result| result.request.split('/').next().unwrap_or_default());
    let is_meant = |other: &str| Some(other) == name;
    let has_name = spec.requests.iter().any(|request| is_meant(&request.name));
    let requests = spec
        .requests
        .iter()
        .filter(|request| !has_name || is_meant(&request.name));
    let tolerations = requests.flat_map(|request| match &request.kind {
        RequestKind::Exactly(terms) => terms.tolerations.clone(),
        RequestKind::FirstAvailable(choices) => {
            let terms = choices.iter().map(|(_, terms)| terms);
            terms.flat_map(|terms| terms.tolerations.clone()).collect()
        }
        RequestKind::Unknown => Vec::new(),
    });
    tolerations.collect()
}
