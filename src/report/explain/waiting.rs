//! What does a pod wait for, and what keeps it?

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{SingleChange, terms_path};
use super::origin::published;
use super::releasing::changes;
use super::step::{About, FieldSource, Step};
use crate::engine::ConsideredTaint;
use crate::engine::explain::{Chain, Wanted};
use crate::engine::placement::{Blame, ChoiceProspect, Exclusion, TaintOwner, Waiting, prospect};
use crate::model::{
    ClaimSpec, DeviceClass, DeviceId, NamespacedName, RequestTerms, ResourceClaim, Snapshot, Wish,
};
use crate::report::impact::replacements::sight;
use crate::report::metadata::Basis;
use crate::report::table::counted;

/// So many devices are named as examples.
const NAMED: usize = 3;
/// So many of them are in JSON.
const LISTED: usize = 100;

/// What there is for a request that waits, or for one alternative of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingRequest {
    /// The claim, as NAMESPACE/NAME.
    pub claim: String,
    /// The request, as REQUEST or REQUEST/SUBREQUEST.
    pub request: String,
    /// The device class that it names.
    pub class: String,
    /// How many devices it needs; null where it wants all of a node.
    pub needs: Option<i64>,
    /// The devices that it could use, by name.
    pub usable: Vec<String>,
    /// What keeps all others from it; a device is counted with each reason.
    pub excluded: Vec<Excluded>,
}

/// One reason for which devices cannot serve a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Excluded {
    /// Which: class, selector, node, taint, held, amount, incomplete-pool, invalid-pool, unknown.
    pub reason: String,
    /// What keeps them away, in words.
    pub text: String,
    /// Where that stands; null where it stands in each device's own objects.
    pub source: Option<FieldSource>,
    /// The expression that said no, for class and selector; null for others.
    pub expression: Option<String>,
    /// The taint, as KEY[=VALUE]:EFFECT; null for other reasons.
    pub taint: Option<String>,
    /// The rule whose taint it is; null for other taints and other reasons.
    pub rule: Option<String>,
    /// How many devices it keeps away.
    pub devices: usize,
    /// How many of them nothing else keeps away.
    pub alone: usize,
    /// The first hundred of them, by name.
    pub names: Vec<String>,
}

/// What keeps a pod that waits for devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlameCode {
    /// No device: some node has all that it needs, so that the scheduler has not come to it, or
    /// something else keeps it from the node.
    Elsewhere,
    /// Any one of the taints that are among the changes.
    Taint,
    /// Several taints together.
    Taints,
    /// Devices, of which no node has enough, with taints or without.
    Devices,
    /// A device class that is not there.
    Class,
    /// Nobody knows.
    Unknown,
}

impl From<&Blame> for BlameCode {
    fn from(blame: &Blame) -> Self {
        match blame {
            Blame::Elsewhere => Self::Elsewhere,
            Blame::Taints(_) => Self::Taint,
            Blame::AllTaints => Self::Taints,
            Blame::Devices => Self::Devices,
            Blame::NoClass(_) => Self::Class,
            Blame::Unknown(_) => Self::Unknown,
        }
    }
}

/// What a pod waits for.
pub(super) struct Waits {
    /// What keeps it.
    pub(super) code: BlameCode,
    /// What keeps it, in words.
    pub(super) blame: String,
    /// What there is for each request.
    pub(super) requests: Vec<WaitingRequest>,
    /// The changes each of which would give it devices.
    pub(super) changes: Vec<SingleChange>,
    /// For each of the requests its claim and where it stands there.
    places: Vec<(NamespacedName, String)>,
}

/// What the pod of the chain waits for; absent where it waits for no device.
pub(super) fn of(
    chain: &Chain<'_>,
    supposed: &[ConsideredTaint],
    basis: &Basis<'_>,
) -> Option<Waits> {
    let snapshot = &basis.reading.snapshot;
    let unallocated = |claim: &&ResourceClaim| claim.allocation.is_none();
    let mut waiting = chain.links.iter().filter_map(|link| link.claim);
    if chain.pod.deletion.is_some() || !waiting.any(|claim| unallocated(&claim)) {
        return None;
    }
    let Some(wanted) = Wanted::of(chain, snapshot) else {
        return Some(Waits {
            code: BlameCode::Unknown,
            blame: "what its claims ask for is not known".to_owned(),
            requests: Vec::new(),
            changes: Vec::new(),
            places: Vec::new(),
        });
    };
    let question = Waiting {
        snapshot,
        claim: &wanted.claim,
        nodes: &wanted.nodes,
        considered: supposed,
        known: (basis.semantics, sight(basis.reading)),
    };
    let found = prospect(&question);
    let view = |choice: &ChoiceProspect| told(choice, &wanted, snapshot);
    let views = found.choices.iter().filter_map(view);
    let (requests, places): (Vec<_>, Vec<_>) = views.unzip();
    Some(Waits {
        changes: changes(&found, &wanted, &question),
        code: BlameCode::from(&found.blame),
        blame: blame(&found.blame),
        requests,
        places,
    })
}

impl Waits {
    /// What there is for the requests of the claim.
    pub(super) fn steps_of(&self, claim: &ResourceClaim) -> Vec<Step> {
        let all = self.requests.iter().zip(&self.places);
        let own = all.filter(|(_, (name, _))| *name == claim.name);
        own.map(|(request, (name, path))| request.step(name, path))
            .collect()
    }
}

impl WaitingRequest {
    fn step(&self, claim: &NamespacedName, path: &str) -> Step {
        let needs = match self.needs {
            Some(count) => counted(usize::try_from(count).unwrap_or_default(), "device"),
            None => "all devices of a node".to_owned(),
        };
        let text = format!("request {}: {needs} of class {}", self.request, self.class);
        let usable = match self.usable.as_slice() {
            [] => "no device could serve it".to_owned(),
            names => format!(
                "{} could serve it: {}",
                counted(names.len(), "device"),
                some(names)
            ),
        };
        let excluded = self.excluded.iter().map(Excluded::step);
        Step::new(
            About::Request,
            text,
            FieldSource::new("ResourceClaim", claim, path),
        )
        .with([Step::new(About::Usable, usable, None).holding(!self.usable.is_empty())])
        .with(excluded)
    }
}

impl Excluded {
    fn step(&self) -> Step {
        let alone = match self.alone {
            alone if alone == self.devices => String::new(),
            0 => ", but not it alone".to_owned(),
            alone => format!(", {alone} of them alone"),
        };
        let text = format!(
            "{} {}{alone}: {}",
            counted(self.devices, "device"),
            self.text,
            some(&self.names)
        );
        let expression = self.expression.iter();
        let expression = expression.map(|text| Step::new(About::Note, text.clone(), None));
        Step::new(About::Excluded, text, self.source.clone())
            .holding(false)
            .with(expression)
    }
}

/// The first of the names, and how many more there are.
fn some(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let more = names.len().saturating_sub(NAMED);
    match more {
        0 => shown.join(", "),
        more => format!("{} (+{more})", shown.join(", ")),
    }
}

fn blame(blame: &Blame) -> String {
    match blame {
        Blame::Elsewhere => "some node has all that it needs, so that no taint is to blame; the \
                             scheduler has not come to it, or something else keeps it from the node"
            .to_owned(),
        Blame::Taints(owners) => {
            let owners: Vec<String> = owners.iter().map(owner).collect();
            format!(
                "{} to blame, without {} there would be enough",
                match owners.as_slice() {
                    [only] => format!("{only} is"),
                    several => format!("each of {} is", several.join(", ")),
                },
                if owners.len() == 1 {
                    "it"
                } else {
                    "any of them"
                }
            )
        }
        Blame::AllTaints => {
            "several taints together are to blame: without all of them there would be enough"
                .to_owned()
        }
        Blame::Devices => {
            "no taint is to blame: no node has all that it needs, with taints or without".to_owned()
        }
        Blame::NoClass(class) => format!("there is no device class {class}"),
        Blame::Unknown(why) => {
            let why: Vec<String> = why.iter().map(ToString::to_string).collect();
            format!("what keeps it is not known: {}", why.join("; "))
        }
    }
}

/// Whose taint it is.
fn owner(owner: &TaintOwner) -> String {
    match owner {
        TaintOwner::Rule(name) => format!("the taint of rule {name}"),
        TaintOwner::Supposed(_) => "the taint that is asked about".to_owned(),
        TaintOwner::Driver(device) => format!("the driver's taint on {device}"),
    }
}

/// What is asked for, and where that stands.
struct Asked<'a> {
    claim: NamespacedName,
    path: String,
    terms: &'a RequestTerms,
    class: Option<&'a DeviceClass>,
}

fn told(
    choice: &ChoiceProspect,
    wanted: &Wanted,
    snapshot: &Snapshot,
) -> Option<(WaitingRequest, (NamespacedName, String))> {
    let (claim, place) = wanted.origins.get(choice.request)?;
    let mut claims = snapshot.claims.iter();
    let spec = claims.find(|known| known.name == *claim)?.spec.as_deref()?;
    let (name, terms) = terms_of(spec, *place, choice.alternative)?;
    let request = spec.requests.get(*place)?;
    let asked = Asked {
        claim: claim.clone(),
        path: terms_path(&request.wish, *place, |_| choice.alternative)?,
        terms,
        class: snapshot
            .classes
            .iter()
            .find(|class| class.name == terms.class),
    };
    type Found<'f> = (usize, usize, Vec<String>, Option<&'f DeviceId>);
    let mut reasons: BTreeMap<Reason, Found<'_>> = BTreeMap::new();
    for (device, exclusions) in &choice.excluded {
        for exclusion in exclusions {
            let found = reasons.entry(reason(exclusion)).or_default();
            let (devices, alone, names, first) = found;
            first.get_or_insert(device);
            *devices = devices.saturating_add(1);
            *alone = alone.saturating_add(usize::from(exclusions.len() == 1));
            if names.len() < LISTED {
                names.push(device.to_string());
            }
        }
    }
    let mut excluded: Vec<Excluded> = reasons
        .into_iter()
        .map(|(reason, (devices, alone, names, first))| Excluded {
            devices,
            alone,
            names,
            ..asked.excluded(reason, first.and_then(|id| published(id, snapshot)))
        })
        .collect();
    excluded.sort_by_key(|one| std::cmp::Reverse((one.alone, one.devices)));
    let view = WaitingRequest {
        claim: claim.to_string(),
        request: name,
        class: terms.class.to_string(),
        needs: choice.needs,
        usable: choice.usable.iter().map(ToString::to_string).collect(),
        excluded,
    };
    Some((view, (asked.claim, asked.path)))
}

fn terms_of(
    spec: &ClaimSpec,
    place: usize,
    alternative: Option<usize>,
) -> Option<(String, &RequestTerms)> {
    let request = spec.requests.get(place)?;
    match (&request.wish, alternative) {
        (Wish::Exactly(terms), _) => Some((request.name.to_string(), terms)),
        (Wish::FirstAvailable(all), Some(alternative)) => {
            let (name, terms) = all.get(alternative)?;
            Some((format!("{}/{name}", request.name), terms))
        }
        (Wish::FirstAvailable(_), None) | (Wish::Unknown, _) => None,
    }
}

/// A reason that several devices have in common.
type Reason = (
    &'static str,
    Option<usize>,
    String,
    String,
    Option<TaintOwner>,
);

fn reason(exclusion: &Exclusion) -> Reason {
    let plain = |code: &'static str| (code, None, String::new(), String::new(), None);
    match exclusion {
        Exclusion::Class(place) => ("class", Some(*place), String::new(), String::new(), None),
        Exclusion::Selector(place) => {
            ("selector", Some(*place), String::new(), String::new(), None)
        }
        Exclusion::Node => plain("node"),
        Exclusion::Tainted(taint, owner) => {
            let owner = match owner {
                // Those of a driver are much the same on every device.
                TaintOwner::Driver(_) => None,
                TaintOwner::Rule(_) | TaintOwner::Supposed(_) => Some(owner.clone()),
            };
            ("taint", None, taint.to_string(), String::new(), owner)
        }
        Exclusion::Held(_) => plain("held"),
        Exclusion::Amount => plain("amount"),
        Exclusion::Incomplete => plain("incomplete-pool"),
        Exclusion::Invalid => plain("invalid-pool"),
        Exclusion::Unknown(why) => ("unknown", None, String::new(), why.clone(), None),
    }
}

impl Asked<'_> {
    /// The reason in words, and where it stands.
    fn excluded(
        &self,
        (code, place, taint, why, owner): Reason,
        published: Option<FieldSource>,
    ) -> Excluded {
        let class = &self.terms.class;
        let place = place.unwrap_or_default();
        let rule = match &owner {
            Some(TaintOwner::Rule(name)) => Some(name.to_string()),
            Some(TaintOwner::Supposed(_) | TaintOwner::Driver(_)) | None => None,
        };
        let (text, source, expression) = match code {
            "class" => {
                let path = format!(".spec.selectors[{place}].cel.expression");
                let expressions = self.class.map(|class| &class.expressions);
                (
                    format!("out: class {class} does not choose them"),
                    FieldSource::new("DeviceClass", class, path),
                    expressions.and_then(|all| all.get(place).cloned()),
                )
            }
            "selector" => {
                let path = format!("{}.selectors[{place}].cel.expression", self.path);
                (
                    "out: a selector of the request does not choose them".to_owned(),
                    FieldSource::new("ResourceClaim", &self.claim, path),
                    self.terms.expressions.get(place).map(ToString::to_string),
                )
            }
            "taint" => {
                let (whose, source) = match (&rule, &owner) {
                    (Some(rule), _) => (
                        format!("rule {rule}"),
                        FieldSource::new("DeviceTaintRule", rule, ".spec.taint"),
                    ),
                    (None, Some(_)) => ("the question".to_owned(), FieldSource::question()),
                    (None, None) => ("their driver".to_owned(), published),
                };
                let tolerations = &self.terms.tolerations;
                let tolerated = if tolerations.is_empty() {
                    "the request tolerates none"
                } else {
                    "the request does not tolerate it"
                };
                (
                    format!("kept out by taint {taint} of {whose}, {tolerated}"),
                    source,
                    None,
                )
            }
            "node" => (
                "out: no node that counts can use them".to_owned(),
                published,
                None,
            ),
            "held" => ("held by other claims".to_owned(), None, None),
            "amount" => ("of which too little is left".to_owned(), None, None),
            "incomplete-pool" => (
                "in pools that are not published whole".to_owned(),
                None,
                None,
            ),
            "invalid-pool" => ("in pools that contradict themselves".to_owned(), None, None),
            _ => (format!("of which nobody knows: {why}"), None, None),
        };
        Excluded {
            reason: code.to_owned(),
            text,
            source,
            expression,
            taint: Some(taint).filter(|taint| !taint.is_empty()),
            rule,
            devices: 0,
            alone: 0,
            names: Vec::new(),
        }
    }
}
