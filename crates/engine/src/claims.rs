//! Effects of taints on each claim.
//!
//! Everything about a claim that does not depend on which pod uses it: which of its devices are
//! selected, and which taints would drive its users away, and when.

use std::cell::OnceCell;

use foldhash::HashMap;
use jiff::Timestamp;

use super::devices::{Allocated, DeviceTable};
use super::impact::{Cause, DeviceTaint, Origin};
use super::select::RuleIndex;
use super::semantics::Semantics;
use super::tolerate::{Deadline, deadline, tolerates};
use crate::model::{AllocationResult, Effect, NamespacedName, ResourceClaim, Taint, Uid};

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
