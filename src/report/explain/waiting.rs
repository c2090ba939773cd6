//! Explanation of a pending pod: its requests, and what keeps devices from them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fixes::SingleChange;
use super::origin::{published, published_taint};
use super::pending_fixes::changes;
use super::request_text::{terms_of, terms_path};
use super::root_cause::{
    SearchedNodes, not_checked, plural, root_cause, scheduler_message, scheduling_exclusion, some,
};
use super::step::{ALL, FieldReference, Step, StepType};
use crate::assess::{Basis, closed_line, completeness};
use crate::engine::ProposedTaint;
use crate::engine::allocator::{
    ChoiceDiagnosis, Exclusion, PendingClaim, RootCause, SearchBasis, TaintOwner, diagnose,
};
use crate::engine::closed_nodes::{closed_nodes, other_nodes};
use crate::engine::explain::{Chain, PendingPod};
use crate::model::{
    self, DeviceClass, DeviceId, Kind, NamespacedName, RequestTerms, ResourceClaim, Snapshot,
};
use crate::naming::phrase::counted;
use crate::report::casing::pascal_case;
use crate::report::reference::ObjectReference;
use crate::report::taint::Taint;

/// So many reasons stand below a request in short.
const SHOWN: usize = 2;

/// So many of them are in JSON.
const LISTED: usize = 100;

/// A request that waits for devices, or one alternative of it, with its usable and excluded devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingRequest {
    /// The claim.
    pub claim: ObjectReference,
    /// The request, as REQUEST or REQUEST/SUBREQUEST.
    pub request: String,
    /// The device class of the request.
    pub device_class_name: String,
    /// Devices that the request needs; null if it requests all devices of a node.
    pub needed_device_count: Option<i64>,
    /// Devices that match the request and are available to it, ordered by name. For a request with admin
    /// access, these include devices in use.
    pub usable_devices: Vec<String>,
    /// Reasons why devices are not usable for the request. A device counts for each reason that excludes it.
    pub excluded: Vec<Excluded>,
}

/// A reason why devices cannot be allocated to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Excluded {
    /// Code of the reason. `Class`: a selector of the device class does not match. `Selector`: a selector of
    /// the request does not match. `Fails`: a selector fails with an error, so the scheduler cannot schedule
    /// the pod. `Node`: the device is on a node that does not exist, or on which the pod cannot run. `Taint`: the
    /// request does not tolerate a taint. `Held`: the device is allocated to another claim. `Amount`: too
    /// little of the capacity is left. `TooSmall`: the total capacity is less than requested.
    /// `IncompletePool`: not all ResourceSlices of the pool are published. `InvalidPool`: the ResourceSlices
    /// of the pool contradict each other. `Unknown`: the device may match, but data is missing.
    pub reason: String,
    /// The reason as text.
    pub message: String,
    /// Object and field that state the reason; null if no single object does.
    pub field_ref: Option<FieldReference>,
    /// The expression that is false (Class, Selector) or fails (Fails); null for other reasons.
    pub expression: Option<String>,
    /// The taint that excludes the devices; null if the reason is not Taint.
    pub taint: Option<Taint>,
    /// Number of devices that this reason excludes.
    pub device_count: usize,
    /// Number of devices that only `reason` excludes.
    pub solely_excluded_device_count: usize,
    /// The devices that this reason excludes, ordered by name; at most 100.
    pub devices: Vec<String>,
}

/// Root cause for a pod that waits for devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RootCauseCode {
    /// Devices are not the cause: a node has all the devices that the pod needs, and nothing that was evaluated
    /// keeps the pod off that node. Either the scheduler has not tried yet, or the cause is something else, such
    /// as too little free CPU or memory.
    Elsewhere,
    /// A taint: it is enough to remove any one of the taints in `fixes`.
    Taint,
    /// Several taints: it is not enough to remove only one of them. `combinedFix` lists the taints to remove together.
    Taints,
    /// A constraint of the claim: without it, some node has enough devices.
    Constraint,
    /// A constraint of the claim together with taints: without both, some node has enough devices.
    ConstraintAndTaints,
    /// Some nodes have enough devices, but the pod cannot be scheduled there: it has a scheduling gate, or these nodes
    /// are cordoned or tainted, or excluded by the pod's node selector or node affinity.
    Pod,
    /// There are too few devices on every node on which the pod can be scheduled; without any taint, there would also be too few.
    Devices,
    /// The device class does not exist.
    Class,
    /// A CEL expression fails with an error, so the scheduler cannot schedule the pod.
    Fails,
    /// Unknown, because data is missing.
    Unknown,
}

impl From<&RootCause> for RootCauseCode {
    fn from(blame: &RootCause) -> Self {
        match blame {
            RootCause::Elsewhere => Self::Elsewhere,
            RootCause::Taints(_) => Self::Taint,
            RootCause::TaintCombination(_) => Self::Taints,
            RootCause::Constraints(_) => Self::Constraint,
            RootCause::ConstraintsAndTaints(_) => Self::ConstraintAndTaints,
            RootCause::Devices => Self::Devices,
            RootCause::NoClass(_) => Self::Class,
            RootCause::Fails(_) => Self::Fails,
            RootCause::Unknown(_) => Self::Unknown,
        }
    }
}

/// What a pod waits for.
pub(super) struct PendingReasons {
    pub(super) code: RootCauseCode,
    /// What the pod does, and what keeps it, in words.
    pub(super) message: String,
    /// What there is for each request, what was not checked, and what the scheduler says, a line each.
    pub(super) why: Vec<String>,
    pub(super) requests: Vec<WaitingRequest>,
    /// The changes each of which would give it devices.
    pub(super) fixes: Vec<SingleChange>,
    /// Those that would only together.
    pub(super) combined_fix: Vec<SingleChange>,
    /// For each of the requests its claim and where it stands there.
    places: Vec<(NamespacedName, String)>,
}

/// The kinds that say which devices a claim could get.
const USABLE_BY: [Kind; 3] = [
    Kind::ResourceSlice,
    Kind::DeviceTaintRule,
    Kind::ResourceClaim,
];

/// What the pod of the chain waits for; absent where it waits for no device.
pub(super) fn of(
    chain: &Chain<'_>,
    assumed: &[ProposedTaint],
    basis: &Basis<'_>,
) -> Option<PendingReasons> {
    let snapshot = &basis.reading.snapshot;
    let unallocated = |claim: &&ResourceClaim| claim.allocation.is_none();
    let mut waiting = chain.links.iter().filter_map(|link| link.claim);
    // A pod that is terminating is not scheduled any more, whatever its claims lack.
    if chain.pod.deletion.is_some() || !waiting.any(|claim| unallocated(&claim)) {
        return None;
    }
    let Some(wanted) = PendingPod::of(chain, snapshot) else {
        return Some(PendingReasons {
            code: RootCauseCode::Unknown,
            message: "waits for devices: the requests of its claims are unknown".to_owned(),
            why: scheduler_message(chain).into_iter().collect(),
            requests: Vec::new(),
            fixes: Vec::new(),
            combined_fix: Vec::new(),
            places: Vec::new(),
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
    let view = |choice: &ChoiceDiagnosis| describe(choice, &wanted, snapshot);
    let views = found.choices.iter().filter_map(view);
    let (requests, places): (Vec<_>, Vec<_>) = views.unzip();
    let (mut fixes, combined_fix) = changes(&found, &wanted, &question);
    let on_closed_too = PendingClaim {
        selectors: &wanted.selectors,
        ..question
    };
    let scheduling_exclusion =
        scheduling_exclusion(&found.root_cause, chain.pod, &on_closed_too, &closed);
    let cordoned = scheduling_exclusion.iter().flat_map(|it| &it.cordoned);
    fixes.extend(cordoned.map(SingleChange::uncordoning));
    // Where the pod itself is the cause, what was not checked on nodes explains nothing.
    let unchecked = match &scheduling_exclusion {
        Some(_) => None,
        None => not_checked(&found.root_cause, snapshot),
    };
    let is_known = |kind: &Kind| basis.reading.without(*kind).is_none();
    let knows_usable = USABLE_BY.iter().all(is_known);
    let why = requests.iter().flat_map(|one| one.lines(knows_usable));
    let why = why.chain(closed_line(&closed));
    let why = why.chain(unchecked.map(str::to_owned));
    Some(PendingReasons {
        why: why.chain(scheduler_message(chain)).collect(),
        fixes,
        combined_fix,
        code: scheduling_exclusion.as_ref().map_or_else(
            || RootCauseCode::from(&found.root_cause),
            |_| RootCauseCode::Pod,
        ),
        message: match scheduling_exclusion {
            Some(exclusion) => exclusion.message,
            None => {
                let searched = SearchedNodes::of(chain.pod, &closed);
                root_cause(&found.root_cause, wanted.claim.spec.as_deref(), searched)
            }
        },
        requests,
        places,
    })
}

impl PendingReasons {
    /// What there is for the requests of the claim.
    pub(super) fn steps_of(&self, claim: &ResourceClaim) -> Vec<Step> {
        let all = self.requests.iter().zip(&self.places);
        let own = all.filter(|(_, (name, _))| *name == claim.name);
        own.map(|(request, (name, path))| request.step(name, path))
            .collect()
    }
}

impl WaitingRequest {
    /// What there is for it, and what keeps most devices from it, a line each. Without devices, taints or claims
    /// it is not known which devices it could get.
    fn lines(&self, knows_usable: bool) -> Vec<String> {
        let needs = match self.needed_device_count {
            Some(count) => count.to_string(),
            None => "all matching devices of a node at once".to_owned(),
        };
        let usable = match self.usable_devices.len() {
            _ if !knows_usable => "the number of matching free devices is unknown".to_owned(),
            1 => "1 matches and is available".to_owned(),
            usable => format!("{usable} match and are available"),
        };
        let first = format!(
            "request {} of class {}: needs {needs}; {usable}",
            self.request, self.device_class_name,
        );
        // What an expression excludes was not asked for; one that fails is the answer.
        let kept = || self.excluded.iter().filter(|one| one.expression.is_none());
        let more = kept().count().saturating_sub(SHOWN);
        let more = (more > 0).then(|| format!("  and {}{ALL}", counted(more, "more reason")));
        let kept = kept()
            .take(SHOWN)
            .map(|one| format!("  {} {}", counted(one.device_count, "device"), one.message));
        [first].into_iter().chain(kept).chain(more).collect()
    }

    fn step(&self, claim: &NamespacedName, path: &str) -> Step {
        let needs = match self.needed_device_count {
            Some(count) => counted(usize::try_from(count).unwrap_or_default(), "device"),
            None => "all matching devices of a node at once".to_owned(),
        };
        let text = format!(
            "request {}: {needs} of class {}",
            self.request, self.device_class_name
        );
        let usable = match self.usable_devices.as_slice() {
            [] => "no matching free device".to_owned(),
            names => format!(
                "{} {} and {} free: {}",
                counted(names.len(), "device"),
                plural(names.len(), "fits", "fit"),
                plural(names.len(), "is", "are"),
                some(names)
            ),
        };
        Step::new(
            StepType::Request,
            text,
            FieldReference::new("ResourceClaim", claim, path),
        )
        .with(
            [
                Step::new(StepType::Usable, usable, None)
                    .satisfied(!self.usable_devices.is_empty()),
            ],
        )
        .with(self.excluded.iter().map(Excluded::step))
    }
}

impl Excluded {
    fn step(&self) -> Step {
        let others = match self
            .device_count
            .saturating_sub(self.solely_excluded_device_count)
        {
            0 => String::new(),
            others if others == self.device_count => {
                " (also excluded for other reasons)".to_owned()
            }
            others => format!(" ({others} of them also excluded for other reasons)"),
        };
        let text = format!(
            "{} {}{others}: {}",
            counted(self.device_count, "device"),
            self.message,
            some(&self.devices)
        );
        let expression = self
            .expression
            .iter()
            .map(|text| Step::new(StepType::Note, text.clone(), None));
        Step::new(StepType::Excluded, text, self.field_ref.clone())
            .satisfied(false)
            .with(expression)
    }
}

/// What is asked for, and where that stands.
struct RequestedItem<'a> {
    claim: NamespacedName,
    path: String,
    terms: &'a RequestTerms,
    class: Option<&'a DeviceClass>,
}

fn describe(
    choice: &ChoiceDiagnosis,
    wanted: &PendingPod,
    snapshot: &Snapshot,
) -> Option<(WaitingRequest, (NamespacedName, String))> {
    let (claim, place) = wanted.origins.get(choice.request)?;
    let mut claims = snapshot.claims.iter();
    let spec = claims.find(|known| known.name == *claim)?.spec.as_deref()?;
    let (name, terms) = terms_of(spec, *place, choice.alternative)?;
    let request = spec.requests.get(*place)?;
    let asked = RequestedItem {
        claim: claim.clone(),
        path: terms_path(&request.kind, *place, choice.alternative),
        terms,
        class: snapshot
            .classes
            .iter()
            .find(|class| class.name == terms.class),
    };
    type Found<'f> = (
        usize,
        usize,
        Vec<String>,
        Option<(&'f DeviceId, &'f Exclusion)>,
    );
    let stands = |(id, exclusion): (&DeviceId, &Exclusion)| match exclusion.taint() {
        Some((taint, TaintOwner::Driver(..))) => published_taint(id, taint, snapshot),
        Some((_, TaintOwner::Rule(_) | TaintOwner::Proposed(_))) | None => published(id, snapshot),
    };
    let mut reasons: BTreeMap<Reason, Found<'_>> = BTreeMap::new();
    for (device, exclusions) in &choice.excluded {
        for exclusion in exclusions {
            let found = reasons.entry(reason(exclusion)).or_default();
            let (devices, alone, names, first) = found;
            first.get_or_insert((device, exclusion));
            *devices = devices.saturating_add(1);
            *alone = alone.saturating_add(usize::from(exclusions.len() == 1));
            // Most devices of a large cluster may have one reason: the count goes on where the names end.
            if names.len() < LISTED {
                names.push(device.to_string());
            }
        }
    }
    let mut excluded: Vec<Excluded> = reasons
        .into_iter()
        .map(|(reason, (devices, alone, names, first))| Excluded {
            solely_excluded_device_count: alone,
            devices: names,
            ..asked.excluded(reason, devices, first.and_then(stands))
        })
        .collect();
    // Devices that nothing else keeps away come first: there, one change is enough.
    excluded
        .sort_by_key(|one| std::cmp::Reverse((one.solely_excluded_device_count, one.device_count)));
    let view = WaitingRequest {
        claim: claim.into(),
        request: name,
        device_class_name: terms.class.to_string(),
        needed_device_count: choice.needs,
        usable_devices: choice.usable.iter().map(ToString::to_string).collect(),
        excluded,
    };
    Some((view, (asked.claim, asked.path)))
}

/// A reason that several devices have in common.
type Reason = (
    &'static str,
    Option<usize>,
    Option<model::Taint>,
    String,
    Option<TaintOwner>,
);

fn reason(exclusion: &Exclusion) -> Reason {
    let plain = |code: &'static str| (code, None, None, String::new(), None);
    let failing = |code: &'static str, place: usize, why: &String| {
        (code, Some(place), None, why.clone(), None)
    };
    match exclusion {
        Exclusion::Class(place) => ("class", Some(*place), None, String::new(), None),
        Exclusion::Selector(place) => ("selector", Some(*place), None, String::new(), None),
        Exclusion::Node => plain("node"),
        Exclusion::Tainted(taint, owner) => {
            let owner = match owner {
                // Those of a driver are much the same on every device.
                TaintOwner::Driver(..) => None,
                TaintOwner::Rule(_) | TaintOwner::Proposed(_) => Some(owner.clone()),
            };
            let mut taint = taint.clone();
            if owner.is_none() {
                // The time differs from device to device, and would make each a reason of its own.
                taint.time_added = None;
            }
            ("taint", None, Some(taint), String::new(), owner)
        }
        Exclusion::Held(_) => plain("held"),
        Exclusion::Amount => plain("amount"),
        Exclusion::TooSmall => plain("too-small"),
        Exclusion::OtherDevices => plain("constraint"),
        Exclusion::PodUnschedulable(why) => ("pod", None, None, why.clone(), None),
        Exclusion::Failing(why) => ("failing", None, None, why.clone(), None),
        Exclusion::ClassFails(place, why) => failing("class-fails", *place, why),
        Exclusion::SelectorFails(place, why) => failing("selector-fails", *place, why),
        Exclusion::Incomplete => plain("incomplete-pool"),
        Exclusion::Invalid => plain("invalid-pool"),
        Exclusion::Unknown(why) => ("unknown", None, None, why.clone(), None),
    }
}

impl RequestedItem<'_> {
    /// The expression at that place, of the class or of the request, and where it stands.
    fn expression(&self, code: &str, place: usize) -> (Option<String>, Option<FieldReference>) {
        // The place counts through the selectors of the class for these codes, and of the request for all others.
        if code.starts_with("class") {
            let class = &self.terms.class;
            let path = format!(".spec.selectors[{place}].cel.expression");
            let expressions = self.class.map(|class| &class.expressions);
            return (
                expressions.and_then(|all| all.get(place).cloned()),
                FieldReference::new("DeviceClass", class, path),
            );
        }
        let path = format!("{}.selectors[{place}].cel.expression", self.path);
        (
            self.terms.expressions.get(place).map(ToString::to_string),
            FieldReference::new("ResourceClaim", &self.claim, path),
        )
    }

    /// The reason for which so many devices are out in words, and where it stands.
    fn excluded(
        &self,
        (code, place, taint, why, owner): Reason,
        devices: usize,
        published: Option<FieldReference>,
    ) -> Excluded {
        let class = &self.terms.class;
        let verb = |one, many| plural(devices, one, many);
        let (is, has) = (verb("is", "are"), verb("has", "have"));
        let (expression, stands) = self.expression(code, place.unwrap_or_default());
        let plain = |text: String| (text, None, None);
        let (text, source, expression) = match code {
            "class" => {
                let does = verb("does", "do");
                (
                    format!("{does} not match class {class}"),
                    stands,
                    expression,
                )
            }
            "selector" => {
                let does = verb("does", "do");
                let text = format!("{does} not match a selector of the request");
                (text, stands, expression)
            }
            "class-fails" | "selector-fails" => {
                let makes = verb("makes", "make");
                let whose = if code == "class-fails" {
                    format!("class {class}")
                } else {
                    "the request".to_owned()
                };
                let text = format!(
                    "{makes} a selector of {whose} fail, and then the scheduler fails with an \
                     error ({why})"
                );
                (text, stands, expression)
            }
            "taint" => {
                let (whose, source) = setter(owner.as_ref(), devices, published);
                let taint = taint.as_ref().map(ToString::to_string).unwrap_or_default();
                let text = format!(
                    "{is} excluded by taint {taint} of {whose}, which the request does not tolerate"
                );
                (text, source, None)
            }
            "node" => {
                let text = format!("{is} on nodes that do not exist, or where the pod cannot run");
                (text, published, None)
            }
            "held" => plain(format!("{is} allocated to other claims")),
            "amount" => plain(format!("{has} too little capacity left")),
            "too-small" => plain(format!("{has} less total capacity than requested")),
            "incomplete-pool" => plain(format!(
                "{is} in incomplete pools, which the scheduler skips"
            )),
            "invalid-pool" => plain(format!(
                "{is} in pools with contradictory ResourceSlices, which the scheduler skips"
            )),
            _ => plain(format!("may or may not match: {why}")),
        };
        let view = |taint: &model::Taint| match &owner {
            Some(TaintOwner::Rule(name)) => Taint::of_rule(taint, Some(name.as_str())),
            Some(TaintOwner::Proposed(_)) => Taint::of_rule(taint, None),
            Some(TaintOwner::Driver(..)) | None => Taint::of_driver(taint),
        };
        // One code for both: whose expression it is stands in the field reference.
        let reason = match code {
            "class-fails" | "selector-fails" => "fails",
            other => other,
        };
        Excluded {
            reason: pascal_case(reason),
            message: text,
            field_ref: source,
            expression,
            taint: taint.as_ref().map(view),
            device_count: devices,
            solely_excluded_device_count: 0,
            devices: Vec::new(),
        }
    }
}

/// Whose a taint is, and where it stands; `published` is where one of the devices does.
fn setter(
    owner: Option<&TaintOwner>,
    devices: usize,
    published: Option<FieldReference>,
) -> (String, Option<FieldReference>) {
    match owner {
        Some(TaintOwner::Rule(rule)) => (
            format!("rule {rule}"),
            FieldReference::new("DeviceTaintRule", rule, ".spec.taint"),
        ),
        Some(TaintOwner::Proposed(_)) => {
            ("the proposed taint".to_owned(), FieldReference::question())
        }
        Some(TaintOwner::Driver(..)) | None => {
            let driver = plural(devices, "its driver", "their driver");
            (driver.to_owned(), published)
        }
    }
}
