//! Explanation of a pending pod: its requests, and what excludes devices from them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::root_cause::{
    away_drivers, message, node_exclusion, not_checked, pending_fixes, scheduler_message,
};
use super::view::SingleChange;
use crate::assess::{Basis, closed_line, completeness};
use crate::engine::allocator::{
    ChoiceDiagnosis, Exclusion, PendingClaim, RootCause, SearchBasis, TaintOwner, diagnose,
};
use crate::engine::closed_nodes::{closed_nodes, other_nodes};
use crate::engine::explain::{Chain, PendingPod, RequestOrigin};
use crate::engine::{ProposedTaint, current_slices};
use crate::model::{DeviceClass, DeviceId, Kind, NodeName, RequestKind, RequestTerms, Snapshot};
use crate::naming::phrase::counted;
use crate::report::taint::{ObjectReference, Taint};

/// Number of reasons that text shows below a request; the first selector and taint are shown beside them.
const SHOWN: usize = 2;

/// Number of devices of one reason in JSON.
const LISTED: usize = 100;

/// A request of a pending pod, or one alternative of it, with its usable and excluded devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingRequest {
    /// The claim; null for an extended resource, for which the scheduler creates a claim.
    pub claim: Option<ObjectReference>,
    /// The request, as REQUEST or REQUEST/SUBREQUEST, or the extended resource.
    pub request: String,
    /// The device class of the request.
    pub device_class_name: String,
    /// Devices that the request needs; null if it requests all devices of a node.
    pub needed_device_count: Option<i64>,
    /// Number of devices that match the device class.
    pub class_device_count: usize,
    /// Number of devices that match the device class and the selectors of the request, on nodes where the pod can be
    /// scheduled.
    pub matching_device_count: usize,
    /// The devices on the node that has most of what the pod needs; null if no matching device is local to a node.
    pub best_node: Option<BestNode>,
    /// Devices that match the request and are available to it, ordered by name. For a request with admin
    /// access, these include devices in use.
    pub usable_devices: Vec<String>,
    /// Reasons why the other devices are not usable, those of most devices first. A device counts once, for its first
    /// reason.
    pub excluded: Vec<Excluded>,
}

/// Devices for a request on one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BestNode {
    /// Name of the node.
    pub name: String,
    /// Number of devices of the node that match the request and are available to it.
    pub usable_device_count: usize,
    /// Number of devices of the node that match the request.
    pub matching_device_count: usize,
}

/// A reason why devices cannot be allocated to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Excluded {
    /// Code of the reason.
    pub reason: ExclusionReason,
    /// The reason as text.
    pub message: String,
    /// The taint that excludes the devices; null if the reason is not Taint.
    pub taint: Option<Taint>,
    /// Number of devices that this reason excludes first.
    pub device_count: usize,
    /// These devices, ordered by name; at most 100.
    pub devices: Vec<String>,
}

/// Why a device cannot be allocated, in the order in which reasons are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum ExclusionReason {
    /// A selector of the device class does not match.
    Class,
    /// A selector of the request does not match.
    Selector,
    /// A selector fails with an error, so the scheduler cannot schedule the pod.
    Fails,
    /// The device is on a node that does not exist, or on which the pod cannot be scheduled.
    Node,
    /// Not all ResourceSlices of the pool are published.
    IncompletePool,
    /// The ResourceSlices of the pool contradict each other.
    InvalidPool,
    /// The total capacity is less than requested.
    TooSmall,
    /// The device is allocated to another claim.
    Held,
    /// Too little of the capacity is left.
    Amount,
    /// The request does not tolerate a taint.
    Taint,
    /// The device may match, but data is missing.
    Unknown,
}

/// Root cause for a pending pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum RootCauseCode {
    /// Devices are not the cause: a node has all the devices that the pod needs, and nothing that was evaluated
    /// keeps the pod off that node. Either the scheduler has not tried yet, or the cause is something else, such
    /// as too little free CPU or memory.
    Elsewhere,
    /// A taint: it is enough to remove any one of the taints in `fixes`, or to tolerate it.
    Taint,
    /// Several taints: it is not enough to remove only one of them.
    Taints,
    /// A constraint of the claim: without it, some node has enough devices.
    Constraint,
    /// Some nodes have enough devices, but the pod cannot be scheduled there: it has a scheduling gate, or these nodes
    /// are cordoned or tainted, or excluded by the pod's node selector or node affinity.
    Pod,
    /// A driver publishes no devices on a node where claims hold some.
    Driver,
    /// There are too few free devices on every node on which the pod can be scheduled; without any taint, there would also
    /// be too few.
    Devices,
    /// No node on which the pod can be scheduled has enough devices, even if all are free and no taint excludes them.
    Never,
    /// The device class does not exist.
    Class,
    /// A CEL expression fails with an error, so the scheduler cannot schedule the pod.
    Fails,
    /// Unknown, because data is missing.
    Unknown,
}

impl From<&RootCause> for RootCauseCode {
    fn from(cause: &RootCause) -> Self {
        match cause {
            RootCause::Elsewhere => Self::Elsewhere,
            RootCause::Taints(_) => Self::Taint,
            RootCause::SeveralTaints => Self::Taints,
            RootCause::Constraints(_) => Self::Constraint,
            RootCause::Devices => Self::Devices,
            RootCause::Never => Self::Never,
            RootCause::NoClass(_) => Self::Class,
            RootCause::Fails(_) => Self::Fails,
            RootCause::Unknown(_) => Self::Unknown,
        }
    }
}

/// Why a pod is pending.
pub(super) struct PendingReasons {
    pub(super) code: RootCauseCode,
    /// The root cause in words.
    pub(super) message: String,
    /// Devices for each request, unchecked causes, and the message of the scheduler.
    pub(super) why: Vec<String>,
    pub(super) requests: Vec<WaitingRequest>,
    pub(super) fixes: Vec<SingleChange>,
}

/// The reasons for which the pod of the chain waits; absent if it does not wait for devices.
pub(super) fn of(
    chain: &Chain<'_>,
    assumed: &[ProposedTaint],
    basis: &Basis<'_>,
) -> Option<PendingReasons> {
    let snapshot = &basis.reading.snapshot;
    if !PendingPod::waits(chain, snapshot) {
        return None;
    }
    let Some(wanted) = PendingPod::of(chain, snapshot) else {
        return Some(PendingReasons {
            code: RootCauseCode::Unknown,
            message: "waits for devices: the requests of its claims are unknown".to_owned(),
            why: scheduler_message(chain).into_iter().collect(),
            requests: Vec::new(),
            fixes: Vec::new(),
        });
    };
    let closed = closed_nodes(chain.pod, snapshot);
    let mut selectors = wanted.selectors.clone();
    selectors.extend(other_nodes(&closed));
    let question = PendingClaim {
        snapshot,
        claim: &wanted.claim,
        nodes: &wanted.nodes,
        selectors: &selectors,
        proposed: assumed,
        basis: SearchBasis {
            semantics: basis.semantics,
            completeness: completeness(basis.reading),
        },
    };
    let found = diagnose(&question);
    let on_closed_too = PendingClaim {
        selectors: &wanted.selectors,
        ..question
    };
    let cause = &found.root_cause;
    let away = away_drivers(&found, chain.pod, basis.reading);
    let exclusion = node_exclusion(cause, chain.pod, &on_closed_too, &closed);
    // On the only node of the pod the driver is the cause, whatever other nodes have.
    let is_bound = chain.pod.only_node().is_some() && chain.pod.gates().is_empty();
    let away = away.filter(|_| is_bound || exclusion.is_none());
    let (code, message, uncordons) = match (away, exclusion) {
        (Some(away), _) => (RootCauseCode::Driver, away, Vec::new()),
        (None, Some(exclusion)) => (RootCauseCode::Pod, exclusion.message, exclusion.cordoned),
        (None, None) => {
            let message = message(cause, wanted.claim.spec.as_deref());
            (RootCauseCode::from(cause), message, Vec::new())
        }
    };
    let mut fixes = pending_fixes(&found, &wanted, &question);
    fixes.extend(uncordons.iter().map(SingleChange::uncordoning));
    let best = best_node(&found.choices, snapshot);
    let requests: Vec<WaitingRequest> = found
        .choices
        .iter()
        .enumerate()
        .filter_map(|(number, choice)| {
            request(choice, &wanted, best.get(number).cloned(), snapshot)
        })
        .collect();
    let is_known = |kind: &Kind| basis.reading.without(*kind).is_none();
    let knows_usable = [
        Kind::ResourceSlice,
        Kind::DeviceTaintRule,
        Kind::ResourceClaim,
    ]
    .iter()
    .all(is_known);
    let lines = requests.iter().flat_map(|one| one.lines(knows_usable));
    // Where the pod itself is the cause, unchecked nodes explain nothing.
    let unchecked = not_checked(code, snapshot).map(str::to_owned);
    let why = lines.chain(closed_line(&closed)).chain(unchecked);
    Some(PendingReasons {
        code,
        message,
        why: why.chain(scheduler_message(chain)).collect(),
        requests,
        fixes,
    })
}

/// The terms of a request at `index` of the merged claim, and its name, as REQUEST or REQUEST/ALTERNATIVE.
pub(super) fn terms_of(
    wanted: &PendingPod,
    index: usize,
    alternative: Option<usize>,
) -> Option<(&RequestOrigin, String, &RequestTerms)> {
    let origin = wanted.origins.get(index)?;
    let request = wanted.claim.spec.as_deref()?.requests.get(index)?;
    let (name, terms) = match (&request.kind, alternative) {
        (RequestKind::Exactly(terms), _) => (origin.name.to_string(), terms),
        (RequestKind::FirstAvailable(all), Some(alternative)) => {
            let (name, terms) = all.get(alternative)?;
            (format!("{}/{name}", origin.name), terms)
        }
        (RequestKind::FirstAvailable(_), None) | (RequestKind::Unknown, _) => return None,
    };
    Some((origin, name, terms))
}

/// True if the device matches the request and is where the pod can be scheduled, free or not.
fn is_matching(exclusions: &[Exclusion]) -> bool {
    let first = exclusions.first().map(ExclusionReason::from);
    first.is_none_or(|reason| reason > ExclusionReason::Node)
}

/// The node with most of the devices that the requests need: for each choice, its devices; empty without such a node.
fn best_node(choices: &[ChoiceDiagnosis], snapshot: &Snapshot) -> Vec<BestNode> {
    let current = current_slices(&snapshot.slices);
    let devices = current
        .iter()
        .flat_map(|slice| slice.devices.iter().map(move |device| (slice, device)));
    let nodes: BTreeMap<DeviceId, &NodeName> = devices
        .filter_map(|(slice, device)| Some((slice.id_of(device), slice.node_of(device)?)))
        .collect();
    let mut counts: BTreeMap<&NodeName, Vec<(usize, usize)>> = BTreeMap::new();
    for (number, choice) in choices.iter().enumerate() {
        let mut add = |id: &DeviceId, usable: usize| {
            let Some(node) = nodes.get(id) else { return };
            let counts = counts
                .entry(node)
                .or_insert_with(|| vec![(0, 0); choices.len()]);
            if let Some((free, all)) = counts.get_mut(number) {
                *free = free.saturating_add(usable);
                *all = all.saturating_add(1);
            }
        };
        choice.usable.iter().for_each(|id| add(id, 1));
        let matching = choice.excluded.iter().filter(|(_, why)| is_matching(why));
        matching.for_each(|(id, _)| add(id, 0));
    }
    // More free devices than a request needs are no help for the others.
    let served = |counts: &[(usize, usize)]| -> usize {
        let each = counts.iter().zip(choices).map(|((free, _), choice)| {
            let needs = choice.needs.and_then(|needs| usize::try_from(needs).ok());
            needs.map_or(*free, |needs| needs.min(*free))
        });
        each.sum()
    };
    let all = |counts: &[(usize, usize)]| -> usize { counts.iter().map(|(_, all)| all).sum() };
    let counts = counts.into_iter().rev();
    let best = counts.max_by_key(|(_, counts)| (served(counts), all(counts)));
    let best = best.into_iter().flat_map(|(name, counts)| {
        counts.into_iter().map(|(usable, matching)| BestNode {
            name: name.to_string(),
            usable_device_count: usable,
            matching_device_count: matching,
        })
    });
    best.collect()
}

fn request(
    choice: &ChoiceDiagnosis,
    wanted: &PendingPod,
    best_node: Option<BestNode>,
    snapshot: &Snapshot,
) -> Option<WaitingRequest> {
    let (origin, name, terms) = terms_of(wanted, choice.request, choice.alternative)?;
    let asked = RequestedItem { terms, snapshot };
    let mut groups: BTreeMap<(ExclusionReason, String), Excluded> = BTreeMap::new();
    for (device, exclusions) in &choice.excluded {
        // Each device counts once, so that the numbers add up.
        let Some(first) = exclusions.first() else {
            continue;
        };
        let message = asked.message(first);
        let group = groups
            .entry((ExclusionReason::from(first), message.clone()))
            .or_insert_with(|| excluded(first, message));
        group.device_count = group.device_count.saturating_add(1);
        // Most devices of a large cluster may have one reason: the count includes devices that are not named.
        if group.devices.len() < LISTED {
            group.devices.push(device.to_string());
        }
    }
    let count = |is_meant: &dyn Fn(&[Exclusion]) -> bool| {
        let all = choice.excluded.iter();
        let meant = all.filter(|(_, exclusions)| is_meant(exclusions)).count();
        choice.usable.len().saturating_add(meant)
    };
    let is_of_class = |all: &[Exclusion]| !matches!(all, [Exclusion::Class(_), ..]);
    let mut excluded: Vec<Excluded> = groups.into_values().collect();
    excluded.sort_by_key(|one| std::cmp::Reverse(one.device_count));
    Some(WaitingRequest {
        claim: origin.claim.as_ref().map(ObjectReference::from),
        request: name,
        device_class_name: terms.class.to_string(),
        needed_device_count: choice.needs,
        class_device_count: count(&is_of_class),
        matching_device_count: count(&is_matching),
        best_node,
        usable_devices: choice.usable.iter().map(ToString::to_string).collect(),
        excluded,
    })
}

impl WaitingRequest {
    /// Numbers of devices, and the reasons that exclude most of them, a line each.
    fn lines(&self, knows_usable: bool) -> Vec<String> {
        let needs = match self.needed_device_count {
            Some(count) => count.to_string(),
            None => "all matching devices of a node".to_owned(),
        };
        let (matching, of_class) = (self.matching_device_count, self.class_device_count);
        let found = match &self.best_node {
            _ if !knows_usable => "the number of free devices is unknown".to_owned(),
            _ if of_class == 0 => "no device matches the class".to_owned(),
            _ if matching == 0 => format!("0 of {of_class} devices match{}", self.mismatch()),
            Some(node) => format!(
                "best node {}: {} of {} devices free",
                node.name, node.usable_device_count, node.matching_device_count
            ),
            None => format!("{} of {matching} devices free", self.usable_devices.len()),
        };
        let first = format!(
            "request {} of class {}: needs {needs}; {found}",
            self.request, self.device_class_name
        );
        // Devices that the class excludes were not requested.
        let reasons = self.excluded.iter();
        let reasons: Vec<&Excluded> = reasons
            .filter(|one| one.reason != ExclusionReason::Class)
            .collect();
        let is_first = |place: usize, one: &Excluded| {
            let mut before = reasons.iter().take(place);
            !before.any(|other| other.reason == one.reason)
        };
        let decides = [ExclusionReason::Selector, ExclusionReason::Taint];
        let is_shown = |place: usize, one: &Excluded| {
            place < SHOWN || (decides.contains(&one.reason) && is_first(place, one))
        };
        let shown: Vec<String> = reasons
            .iter()
            .enumerate()
            .filter(|(place, one)| is_shown(*place, one))
            .map(|(_, one)| format!("  {}: {}", one.message, one.device_count))
            .collect();
        let more = reasons.len().saturating_sub(shown.len());
        let more =
            (more > 0).then(|| format!("  and {} (all: -o json)", counted(more, "more reason")));
        [first].into_iter().chain(shown).chain(more).collect()
    }

    /// The only cause for which no device matches, to follow the number.
    fn mismatch(&self) -> &'static str {
        let of_class = self.excluded.iter();
        let mut of_class = of_class.filter(|one| one.reason != ExclusionReason::Class);
        if of_class.all(|one| one.reason == ExclusionReason::Selector) {
            " the selector"
        } else {
            " where the pod can be scheduled"
        }
    }
}

impl From<&Exclusion> for ExclusionReason {
    fn from(exclusion: &Exclusion) -> Self {
        match exclusion {
            Exclusion::Class(_) => Self::Class,
            Exclusion::Selector(_) => Self::Selector,
            Exclusion::ClassFails(..) | Exclusion::SelectorFails(..) => Self::Fails,
            Exclusion::Node => Self::Node,
            Exclusion::Incomplete => Self::IncompletePool,
            Exclusion::Invalid => Self::InvalidPool,
            Exclusion::TooSmall => Self::TooSmall,
            Exclusion::Held => Self::Held,
            Exclusion::Amount => Self::Amount,
            Exclusion::Tainted(..) => Self::Taint,
            Exclusion::Unknown(_) => Self::Unknown,
        }
    }
}

/// The terms of a request, and the classes.
struct RequestedItem<'a> {
    terms: &'a RequestTerms,
    snapshot: &'a Snapshot,
}

impl RequestedItem<'_> {
    fn class_expression(&self, selector: usize) -> &str {
        let mut classes = self.snapshot.classes.iter();
        let class = classes.find(|class| class.name == self.terms.class);
        let expression = class.and_then(|class: &DeviceClass| class.expressions.get(selector));
        expression.map_or("", String::as_str)
    }

    fn expression(&self, selector: usize) -> &str {
        let expression = self.terms.expressions.get(selector);
        expression.map_or("", |text| &**text)
    }

    /// The reason as a noun phrase, the same for all devices that have it.
    fn message(&self, exclusion: &Exclusion) -> String {
        match exclusion {
            Exclusion::Class(at) => format!("no match for {}", self.class_expression(*at)),
            Exclusion::Selector(at) => format!("no match for {}", self.expression(*at)),
            Exclusion::ClassFails(at, why) => {
                format!("error in {}: {why}", self.class_expression(*at))
            }
            Exclusion::SelectorFails(at, why) => {
                format!("error in {}: {why}", self.expression(*at))
            }
            Exclusion::Node => "on nodes where the pod cannot be scheduled".to_owned(),
            Exclusion::Incomplete => "in incomplete pools, which the scheduler skips".to_owned(),
            Exclusion::Invalid => {
                "in pools with contradictory ResourceSlices, which the scheduler skips".to_owned()
            }
            Exclusion::TooSmall => "total capacity less than requested".to_owned(),
            Exclusion::Held => "allocated to other claims".to_owned(),
            Exclusion::Amount => "too little capacity left".to_owned(),
            Exclusion::Tainted(taint, owner) => {
                let owner = match owner {
                    TaintOwner::Rule(name) => format!("of rule {name}"),
                    TaintOwner::Proposed(_) => "as proposed".to_owned(),
                    TaintOwner::Driver(..) => "of the driver".to_owned(),
                };
                format!("taint {taint} {owner}, not tolerated")
            }
            Exclusion::Unknown(why) => format!("unknown: {why}"),
        }
    }
}

fn excluded(exclusion: &Exclusion, message: String) -> Excluded {
    let taint = exclusion.taint().map(|(taint, owner)| match owner {
        TaintOwner::Rule(name) => Taint::of_rule(taint, Some(name.as_str())),
        TaintOwner::Proposed(_) => Taint::of_rule(taint, None),
        TaintOwner::Driver(..) => Taint::of_driver(taint),
    });
    Excluded {
        reason: exclusion.into(),
        message,
        taint,
        device_count: 0,
        devices: Vec::new(),
    }
}
