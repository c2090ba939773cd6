//! The chain of references from a pod to its taints, link by link.

use crate::claims::claim_names;
use crate::devices::{Allocated, DeviceEntry, DeviceTable, current_slices};
use crate::eviction::{ClaimReference, entry_of, reserved_for_group, validity};
use crate::impact::{DeviceTaint, NotEvicted, Origin, PodImpact, Verdict};
use crate::model::{
    AllocationResult, ClaimSource, DeviceId, Effect, ObjectName, Pod, ResourceClaim, ResourceSlice,
    Snapshot, Taint, Toleration,
};
use crate::preview;
use crate::select::{ProposedTaint, RuleIndex, proposed_rules};
use crate::semantics::Semantics;
use crate::tolerate::{Deadline, TolerationDecision, decision};
use jiff::Timestamp;

/// Everything between a pod and its verdict.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// One for each entry of its spec, in its order, then that of its extended resources.
    pub links: Vec<ClaimLink<'a>>,
}

/// Through which entry a pod refers to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimEntry<'a> {
    /// An entry of its spec: its place, and what it says.
    Entry(usize, &'a ClaimSource),
    /// The claim that was made for its extended resources.
    ExtendedResource(&'a ObjectName),
}

/// From a pod to a claim, and on to its devices.
#[derive(Clone, Debug)]
pub struct ClaimLink<'a> {
    /// Where the pod says it.
    pub place: ClaimEntry<'a>,
    /// The claim, if there is one of that name.
    pub claim: Option<&'a ResourceClaim>,
    /// Reservation for the pod.
    pub reservation: Reservation,
    /// Obstacle that keeps it from counting for the pod, if any; absent where it is not reserved for it.
    pub validity: Option<Option<NotEvicted>>,
    /// Devices that it holds, in the order of the allocation.
    pub devices: Vec<HeldDevice<'a>>,
    /// The claim that was generated for the pod, but that the pod's status does not name: the eviction controller
    /// ignores it.
    pub unlisted: Option<&'a ResourceClaim>,
}

impl<'a> ClaimLink<'a> {
    /// The template that the claim was generated from, if it was.
    pub fn template(&self) -> Option<&'a ObjectName> {
        match self.place {
            ClaimEntry::Entry(_, ClaimSource::Template { template, .. }) => Some(template),
            ClaimEntry::Entry(..) | ClaimEntry::ExtendedResource(_) => None,
        }
    }
}

/// Reservation of a claim for a pod, by its UID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// For it, at that place.
    Current(usize),
    /// For it by its UID, at that place, and under another name.
    Renamed(usize),
    /// For its PodGroup.
    Group(usize),
    /// At that place for an earlier pod of its name.
    Former(usize),
    /// Not for the pod.
    Absent,
}

/// A device that a claim of the pod holds.
#[derive(Clone, Debug)]
pub struct HeldDevice<'a> {
    /// Its place in the allocation.
    pub place: usize,
    /// Result of the claim's allocation.
    pub result: &'a AllocationResult,
    /// Where it is published.
    pub publication: Publication<'a>,
    /// Its taints: those of rules in the order of the question, then its driver's.
    pub taints: Vec<EvaluatedTaint<'a>>,
}

/// Publication of a device in a slice that counts.
#[derive(Clone, Copy, Debug)]
pub enum Publication<'a> {
    /// In this slice of the pool's newest generation, at that place in it.
    Current(&'a ResourceSlice, usize),
    /// Only in slices of older generations than this one, of which this is one.
    Outdated(&'a ResourceSlice, i64),
    /// In none.
    Nowhere,
}

/// A taint on a device, held against the tolerations of the claim.
#[derive(Clone, Debug)]
pub struct EvaluatedTaint<'a> {
    /// Origin of the taint.
    pub origin: Origin<'a>,
    /// The taint.
    pub taint: &'a Taint,
    /// Its place among those of the driver, for one of them.
    pub place: Option<usize>,
    /// When it drives the pod away, and which toleration says so; absent for an effect that evicts no pods.
    pub decision: Option<TolerationDecision>,
}

impl EvaluatedTaint<'_> {
    /// True if it drives the pod away, sooner or later.
    pub fn evicts(&self) -> bool {
        self.decision
            .is_some_and(|decision| decision.deadline != Deadline::Never)
    }
}

impl<'a> Chain<'a> {
    /// The chain of `pod`.
    pub fn new(pod: &'a Pod, input: &ExplainInput<'a>) -> Self {
        let ExplainInput {
            snapshot,
            taints,
            semantics,
            ..
        } = input;
        let rules = RuleIndex::new(proposed_rules(taints).collect(), semantics);
        // The same tables and decisions as for a preview, kept with what they were made from: an explanation that
        // had rules of its own could contradict the verdict it explains.
        let table = DeviceTable::new(&snapshot.slices, &snapshot.claims, &rules);
        let builder = ChainBuilder {
            input,
            rules: &rules,
            table: &table,
        };
        let entries = pod.claims.iter().enumerate().map(|(place, entry)| {
            let meant = entry_of(&entry.source);
            (ClaimEntry::Entry(place, &entry.source), meant)
        });
        let extended = pod.extended_resource_claim.iter().map(|name| {
            let meant = Some((name, ClaimReference::ExtendedResource));
            (ClaimEntry::ExtendedResource(name), meant)
        });
        let links = entries.chain(extended);
        Self {
            pod,
            links: links
                .map(|(place, meant)| builder.link(pod, place, meant))
                .collect(),
        }
    }

    /// The taints of the claims that count for the pod.
    pub fn counting(&self) -> impl Iterator<Item = &EvaluatedTaint<'a>> {
        let links = self.links.iter().filter(|link| link.validity == Some(None));
        let devices = links.flat_map(|link| &link.devices);
        devices.flat_map(|device| &device.taints)
    }
}

/// Publication of a device, and its taints without tolerations; absent where no slice publishes it and no claim holds
/// it.
pub fn on_device<'a>(
    id: &DeviceId,
    input: &ExplainInput<'a>,
) -> Option<(Publication<'a>, Vec<EvaluatedTaint<'a>>)> {
    let rules = proposed_rules(input.taints).collect();
    let rules = RuleIndex::new(rules, input.semantics);
    let snapshot = input.snapshot;
    let table = DeviceTable::new(&snapshot.slices, &snapshot.claims, &rules);
    let builder = ChainBuilder {
        input,
        rules: &rules,
        table: &table,
    };
    let entry = table.entries.iter().find(|entry| entry.id() == *id)?;
    Some((builder.publication(entry, id), builder.taints(entry, &[])))
}

/// Input from which links are made.
struct ChainBuilder<'a, 'b> {
    input: &'b ExplainInput<'a>,
    rules: &'b RuleIndex<'a>,
    table: &'b DeviceTable<'a>,
}

impl<'a> ChainBuilder<'a, '_> {
    fn link(
        &self,
        pod: &'a Pod,
        place: ClaimEntry<'a>,
        meant: Option<(&'a ObjectName, ClaimReference)>,
    ) -> ClaimLink<'a> {
        let mut link = ClaimLink {
            place,
            claim: None,
            reservation: Reservation::Absent,
            validity: None,
            devices: Vec::new(),
            unlisted: None,
        };
        let Some((name, reference)) = meant else {
            link.unlisted = self.unlisted(pod, place);
            return link;
        };
        let mut claims = self.input.snapshot.claims.iter();
        // A reference is by name within the namespace of the pod. Whether it is the same claim as when the pod was
        // made is decided by the reservation, which has UIDs.
        let found = claims
            .find(|claim| claim.name.name == *name && claim.name.namespace == pod.name.namespace);
        let Some(claim) = found else {
            return link;
        };
        link.claim = Some(claim);
        link.reservation = reservation(pod, claim);
        let validity = validity(pod, claim, reference, self.input.semantics);
        link.validity = validity.map(|validity| validity.obstacle);
        let mut allocations = self.table.allocations();
        let own = |allocation: &&[Allocated<'a>]| {
            let first = allocation.first();
            first.is_some_and(|first| std::ptr::eq(first.claim, claim))
        };
        let allocation = allocations.find(own).unwrap_or_default();
        let devices = allocation.iter().enumerate();
        link.devices = devices
            .map(|(place, allocated)| self.device(place, allocated))
            .collect();
        link
    }

    /// The claim that the pod owns and that none of its entries names.
    //
    // A patch of the pod's status may drop `resourceClaimStatuses`; the claim controller adds the entry again when it
    // syncs the pod.
    fn unlisted(&self, pod: &Pod, entry: ClaimEntry<'_>) -> Option<&'a ResourceClaim> {
        let ClaimEntry::Entry(index, ClaimSource::Template { .. }) = entry else {
            return None;
        };
        let owned = self.input.snapshot.claims.iter().filter(|claim| {
            let owner = claim.controller.as_ref();
            owner.is_some_and(|owner| owner.uid == pod.uid)
                && claim.name.namespace == pod.name.namespace
                && !claim_names(pod).any(|name| name == claim.name.name.as_str())
        });
        // Upstream: `handleClaim` generates the name from both; of long names only a part is left.
        let prefix = format!("{}-{}-", pod.name.name, pod.claims.get(index)?.name);
        owned.max_by_key(|claim| claim.name.name.as_str().starts_with(&prefix))
    }

    fn device(&self, place: usize, allocated: &Allocated<'a>) -> HeldDevice<'a> {
        let entry = self.table.entry(allocated.device);
        let result = allocated.result;
        HeldDevice {
            place,
            result,
            publication: self.publication(entry, &result.device),
            taints: self.taints(entry, &result.tolerations),
        }
    }

    fn taints(
        &self,
        entry: &DeviceEntry<'a>,
        tolerations: &[Toleration],
    ) -> Vec<EvaluatedTaint<'a>> {
        let of_rules = entry.rules.iter().map(|place| {
            let taint = self.rules.rule(*place).as_device_taint();
            self.evaluated(tolerations, taint)
        });
        let of_driver = entry.driver_taints().enumerate().map(|(place, taint)| {
            let evaluated = self.evaluated(tolerations, taint);
            EvaluatedTaint {
                place: Some(place),
                ..evaluated
            }
        });
        of_rules.chain(of_driver).collect()
    }

    fn evaluated(&self, tolerations: &[Toleration], taint: DeviceTaint<'a>) -> EvaluatedTaint<'a> {
        let DeviceTaint { origin, taint } = taint;
        let evicts = taint.effect == Effect::NoExecute;
        let semantics = self.input.semantics;
        EvaluatedTaint {
            origin,
            taint,
            place: None,
            decision: evicts.then(|| decision(taint, tolerations, self.input.now, semantics)),
        }
    }

    fn publication(&self, entry: &DeviceEntry<'a>, id: &DeviceId) -> Publication<'a> {
        if let Some(published) = entry.published {
            let mut devices = published.slice.devices.iter();
            // The device and not its name, which a pool may have twice.
            let place = devices
                .position(|device| std::ptr::eq(device, published.device))
                .unwrap_or_default();
            return Publication::Current(published.slice, place);
        }
        let slices = &self.input.snapshot.slices;
        let is_of_pool =
            |slice: &&ResourceSlice| slice.driver == id.driver && slice.pool.name == id.pool;
        let current = current_slices(slices);
        let newest = current.into_iter().find(is_of_pool);
        let named = slices
            .iter()
            .filter(is_of_pool)
            .find(|slice| slice.devices.iter().any(|device| device.name == id.device));
        match (named, newest) {
            (Some(slice), Some(newest)) => Publication::Outdated(slice, newest.pool.generation),
            (Some(_) | None, _) => Publication::Nowhere,
        }
    }
}

fn reservation(pod: &Pod, claim: &ResourceClaim) -> Reservation {
    let place = |is_it: &dyn Fn(&crate::model::ConsumerReference) -> bool| {
        claim.reserved_for.iter().position(is_it)
    };
    // From the most to the least certain. The UID decides in Kubernetes; a name alone is that of an earlier pod,
    // as a StatefulSet makes them.
    let named = place(&|one| one.uid == pod.uid && one.name == pod.name.name);
    if let Some(place) = named {
        return Reservation::Current(place);
    }
    if let Some(place) = place(&|one| one.uid == pod.uid) {
        return Reservation::Renamed(place);
    }
    if reserved_for_group(pod, claim) {
        let group = place(&|one| {
            &*one.resource == "podgroups" && Some(&one.name) == pod.pod_group.as_ref()
        });
        return Reservation::Group(group.unwrap_or_default());
    }
    let former = place(&|one| &*one.resource == "pods" && one.name == pod.name.name);
    former.map_or(Reservation::Absent, Reservation::Former)
}

/// Input of an explanation.
#[derive(Clone, Debug)]
pub struct ExplainInput<'a> {
    /// The cluster, at least around the pods that are asked about.
    pub snapshot: &'a Snapshot,
    /// Number of the taints that were asked about; they come first. Zero where things are asked about as they are.
    pub assumed: usize,
    /// The taints that were asked about, then those of all other rules, as they are.
    pub taints: &'a [ProposedTaint],
    /// For which moment.
    pub now: Timestamp,
    /// Behaviour of that version of Kubernetes.
    pub semantics: &'a Semantics,
}

/// The taints of a question: those that are asked about, then those of the rules that none of them
/// stands for, by name and as they are.
pub fn taints_of(
    snapshot: &Snapshot,
    assumed: &[ProposedTaint],
    now: Timestamp,
) -> Vec<ProposedTaint> {
    let is_meant = |name| assumed.iter().any(|one| one.rule.as_ref() == Some(name));
    let mut others: Vec<_> = snapshot
        .rules
        .iter()
        .filter(|rule| !is_meant(&rule.name))
        .collect();
    others.sort_by_key(|rule| &rule.name);
    let others = others
        .into_iter()
        .map(|rule| ProposedTaint::of_changed_rule(rule, &rule.taint.effect, now));
    assumed.iter().cloned().chain(others).collect()
}

impl<'a> ExplainInput<'a> {
    /// The taints that were asked about.
    pub fn assumed(&self) -> &'a [ProposedTaint] {
        self.taints.get(..self.assumed).unwrap_or_default()
    }
}

/// Verdict about a pod, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodVerdict {
    /// It is deleted then; a moment in the past means at once.
    Evicted {
        /// When.
        at: Timestamp,
    },
    /// It tolerates what would evict it forever.
    Tolerates,
    /// It is on its way out already.
    Terminating,
    /// A taint is on a device of it, and yet the controller does not evict it.
    NotEvicted(NotEvicted),
    /// No taint of the question is on a device that it uses.
    Untouched,
}

impl From<&Verdict> for PodVerdict {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Evicted { at } => Self::Evicted { at: *at },
            Verdict::Tolerates => Self::Tolerates,
            Verdict::Terminating => Self::Terminating,
            Verdict::NotEvicted(why) => Self::NotEvicted(*why),
        }
    }
}

impl ExplainInput<'_> {
    /// Verdict about `pod`, whose chain this is: by the taints that were asked about, or else by all that exist.
    pub fn verdict(&self, pod: &Pod, chain: &Chain<'_>) -> PodVerdict {
        if self.assumed == 0 {
            return self.present(pod, chain);
        }
        let impact = preview(self.snapshot, self.assumed(), self.now, self.semantics);
        assumed(impact.pods.iter().find(|one| one.pod.uid == pod.uid))
    }

    /// Verdict about `pod` if all taints of the question exist.
    pub fn present(&self, pod: &Pod, chain: &Chain<'_>) -> PodVerdict {
        let impact = preview(self.snapshot, self.taints, self.now, self.semantics);
        present(chain, impact.pods.iter().find(|one| one.pod.uid == pod.uid))
    }
}

/// Verdict of a preview; a pod that it does not name is hit by none of its taints.
fn assumed(impact: Option<&PodImpact<'_>>) -> PodVerdict {
    impact.map_or(PodVerdict::Untouched, |impact| {
        PodVerdict::from(&impact.verdict)
    })
}

/// Verdict about a pod by everything that exists: by the rules, as a preview of all of them says, and by its drivers,
/// whose taints a preview does not ask about.
fn present(chain: &Chain<'_>, impact: Option<&PodImpact<'_>>) -> PodVerdict {
    // Asked first, since a preview does not name a pod whose devices only drivers taint.
    if chain.pod.deletion.is_some() {
        return PodVerdict::Terminating;
    }
    let by_rules = impact.map(|impact| PodVerdict::from(&impact.verdict));
    // The preview of all rules has considered the taints of drivers on the same devices, and gives the earliest
    // time.
    if let Some(verdict @ PodVerdict::Evicted { .. }) = by_rules {
        return verdict;
    }
    let of_drivers = chain.counting().filter(|evaluated| is_driver(evaluated));
    let due = of_drivers.filter_map(|evaluated| match evaluated.decision?.deadline {
        Deadline::At(at) => Some(at),
        Deadline::Never => None,
    });
    if let Some(at) = due.min() {
        return PodVerdict::Evicted { at };
    }
    // Tolerations do not matter where the controller does not look at the pod at all.
    let hidden = PodVerdict::NotEvicted(NotEvicted::HiddenByStaleReservation);
    if by_rules == Some(hidden) {
        return hidden;
    }
    let is_tolerated = |evaluated: &EvaluatedTaint<'_>| {
        let decision = evaluated.decision;
        decision.is_some_and(|decision| decision.deadline == Deadline::Never)
    };
    if chain.counting().any(is_tolerated) {
        return PodVerdict::Tolerates;
    }
    by_rules.unwrap_or_else(|| by_drivers(chain))
}

/// Verdict where only drivers taint devices of the pod, and none of these taints evicts it.
fn by_drivers(chain: &Chain<'_>) -> PodVerdict {
    let mut obstacle = None;
    for link in &chain.links {
        let Some(validity) = link.validity else {
            continue;
        };
        let mut taints = link.devices.iter().flat_map(|device| &device.taints);
        match validity {
            _ if taints.next().is_none() => {}
            None => return PodVerdict::NotEvicted(NotEvicted::EffectDoesNotEvict),
            Some(found) => obstacle = obstacle.or(Some(found)),
        }
    }
    obstacle.map_or(PodVerdict::Untouched, PodVerdict::NotEvicted)
}

fn is_driver(evaluated: &EvaluatedTaint<'_>) -> bool {
    match evaluated.origin {
        Origin::ResourceSlice(_) => evaluated.taint.effect == Effect::NoExecute,
        Origin::Proposed(_) | Origin::Rule(_) => false,
    }
}
