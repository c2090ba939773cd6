//! Claims and templates that tolerate a taint.

use crate::decide::choice::{not_found, wrong_name, wrong_name_or_taint};
use crate::engine;
use crate::engine::Semantics;
use crate::engine::tolerate::tolerates;
use crate::error::Failure;
use crate::model::{
    AllocationResult, ClaimSpec, DeviceId, DeviceTaintRule, Effect, Kind, NamespacedName,
    RequestKind, RequestTerms, Snapshot, Taint, Toleration,
};
use crate::naming::device;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Degree to which a taint is tolerated.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Tolerance {
    /// By a toleration that names the key of the taint.
    Key,
    /// By a wildcard toleration: one without a key, which matches every key.
    Wildcard,
}

impl Tolerance {
    /// The word for it in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Wildcard => "wildcard",
        }
    }
}

/// Kind of object that tolerates a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TolerantKind {
    /// A claim.
    Claim,
    /// A template, from which claims are made.
    Template,
}

impl TolerantKind {
    /// The kind of object.
    pub fn kind(self) -> Kind {
        match self {
            Self::Claim => Kind::ResourceClaim,
            Self::Template => Kind::ResourceClaimTemplate,
        }
    }

    /// The kind in a word that kubectl takes.
    pub fn word(self) -> &'static str {
        match self {
            Self::Claim => "resourceclaim",
            Self::Template => "resourceclaimtemplate",
        }
    }
}

/// A claim or template that tolerates a taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tolerant {
    /// Kind of the object.
    pub kind: TolerantKind,
    /// Namespace and name.
    pub name: NamespacedName,
    /// How.
    pub tolerance: Tolerance,
    /// True if it only watches: all of its requests that tolerate the taint have admin access.
    pub admin_access: bool,
    /// The tolerations that do it, as they are written, each once.
    pub by: Vec<Toleration>,
    /// The devices that a claim holds for requests that tolerate the taint.
    pub devices: Vec<DeviceId>,
}

/// Degree to which `toleration` tolerates `taint`, if it does.
///
/// Upstream: `ToleratesTaint` of `resourceclaim/devicetoleration.go`, as the scheduler asks.
pub fn tolerance_of(toleration: &Toleration, taint: &Taint) -> Option<Tolerance> {
    tolerates(toleration, taint).then_some(if toleration.key.is_empty() {
        Tolerance::Wildcard
    } else {
        Tolerance::Key
    })
}

/// All claims and templates that tolerate one of `taints`, in the order of kind and name.
pub fn tolerants(snapshot: &Snapshot, taints: &[Taint]) -> Vec<Tolerant> {
    let claims = snapshot.claims.iter().filter_map(|claim| {
        let results = claim.allocation.iter().flat_map(|found| &found.results);
        let spec = claim.spec.as_deref()?;
        tolerant(TolerantKind::Claim, &claim.name, spec, results, taints)
    });
    let templates = snapshot.templates.iter().filter_map(|template| {
        let (kind, name) = (TolerantKind::Template, &template.name);
        tolerant(kind, name, &template.spec, [], taints)
    });
    let mut found: Vec<Tolerant> = claims.chain(templates).collect();
    found.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
    found
}

fn tolerant<'r>(
    kind: TolerantKind,
    name: &NamespacedName,
    spec: &ClaimSpec,
    results: impl IntoIterator<Item = &'r AllocationResult>,
    taints: &[Taint],
) -> Option<Tolerant> {
    let mut tolerances: Vec<Tolerance> = Vec::new();
    let mut by: Vec<Toleration> = Vec::new();
    let mut tolerating: BTreeSet<String> = BTreeSet::new();
    let mut admin_access = true;
    for (request, terms) in requests(spec) {
        for toleration in &terms.tolerations {
            let how = |taint| tolerance_of(toleration, taint);
            let Some(how) = taints.iter().find_map(how) else {
                continue;
            };
            tolerances.push(how);
            tolerating.insert(request.clone());
            admin_access &= terms.admin_access;
            if !by.contains(toleration) {
                by.push(toleration.clone());
            }
        }
    }
    let results = results.into_iter();
    let held = results.filter(|result| tolerating.contains(&*result.request));
    Some(Tolerant {
        kind,
        name: name.clone(),
        tolerance: tolerances.into_iter().min()?,
        admin_access,
        by,
        devices: held.map(|result| result.device.clone()).collect(),
    })
}

/// Each request, and each alternative of one, with its name in allocations.
fn requests(spec: &ClaimSpec) -> impl Iterator<Item = (String, &RequestTerms)> {
    spec.requests.iter().flat_map(|request| {
        let name = &request.name;
        match &request.kind {
            RequestKind::Exactly(terms) => vec![(name.to_string(), terms)],
            RequestKind::FirstAvailable(all) => {
                let named = all
                    .iter()
                    .map(|(one, terms)| (format!("{name}/{one}"), terms));
                named.collect()
            }
            // `unreadable` names the claims that ask so: they do not count as claims that tolerate nothing.
            RequestKind::Unknown => Vec::new(),
        }
    })
}

/// The claims of which it is not known what they tolerate: nothing was read of what they ask for, or they
/// ask in a way of a later version.
pub fn unreadable(snapshot: &Snapshot) -> Vec<&NamespacedName> {
    let is_unknown = |spec: Option<&ClaimSpec>| {
        spec.is_none_or(|spec| {
            spec.requests
                .iter()
                .any(|request| request.kind == RequestKind::Unknown)
        })
    };
    let claims = snapshot
        .claims
        .iter()
        .filter(|claim| is_unknown(claim.spec.as_deref()))
        .map(|claim| &claim.name);
    let templates = snapshot
        .templates
        .iter()
        .filter(|one| is_unknown(Some(&one.spec)))
        .map(|one| &one.name);
    claims.chain(templates).collect()
}

/// The taint that was typed: what has `=` or `:` in it is one.
///
/// # Errors
///
/// A taint that can be none, without an effect, or with effect None; what is a part of a device at most.
pub fn typed_taint(text: &str) -> Result<Option<Taint>, Failure> {
    if !text.contains(['=', ':']) {
        return Ok(None);
    }
    if !text.contains(':') {
        return Err(
            Failure::usage(format!("taint {text} needs an effect")).hint(format!(
                "add an effect: {text}:NoSchedule or {text}:NoExecute"
            )),
        );
    }
    let taint = device::parse_taint(text).map_err(wrong_name)?;
    if taint.effect == Effect::None {
        return Err(needs_none(text, [&taint]));
    }
    Ok(Some(taint))
}

/// The taints of the rule or the device that was typed; such with effect None need no toleration.
///
/// # Errors
///
/// The text names neither an existing rule nor an existing device, or one without taint.
pub fn taints_meant(
    text: &str,
    rules: &[DeviceTaintRule],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Result<Vec<Taint>, Failure> {
    // The name of a rule has no slash, and the full name of a device has two or more.
    let taints = if text.contains('/') {
        of_device(text, snapshot, semantics)?
    } else {
        let rule = rules.iter().find(|rule| rule.name.as_str() == text);
        let names = rules.iter().map(|rule| rule.name.to_string());
        let rule = rule.ok_or_else(|| not_found("rule", text, names))?;
        vec![rule.taint.clone()]
    };
    let mut meant: Vec<Taint> = Vec::new();
    for taint in taints.iter().cloned() {
        // Rules made at different times give the same taint, and one toleration covers it.
        let taint = Taint {
            time_added: None,
            ..taint
        };
        if taint.effect != Effect::None && !meant.contains(&taint) {
            meant.push(taint);
        }
    }
    if meant.is_empty() {
        return Err(needs_none(text, &taints));
    }
    Ok(meant)
}

/// The failure for something that has none but these taints, which have effect None.
fn needs_none<'t>(text: &str, taints: impl IntoIterator<Item = &'t Taint>) -> Failure {
    let Some(taint) = taints.into_iter().next() else {
        return Failure::usage(format!("{text} needs no toleration: it has no taint"));
    };
    let evicting = Taint {
        effect: Effect::NoExecute,
        ..taint.clone()
    };
    Failure::usage(format!("{text} needs no toleration: it has effect None")).hint(format!(
        "for effect NoExecute: `kubectl devicetaint tolerations {evicting}`"
    ))
}

fn of_device(
    text: &str,
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Result<Vec<Taint>, Failure> {
    let selector =
        device::parse(text).map_err(|error| wrong_name_or_taint(error, &Effect::NoSchedule))?;
    let states = engine::devices(snapshot, semantics);
    let found: Vec<_> = states
        .iter()
        .filter(|state| device::names(&selector, &state.id))
        .collect();
    if found.is_empty() {
        let names = states.iter().map(|state| state.id.to_string());
        return Err(not_found("device", text, names));
    }
    let taints = found.iter().flat_map(|state| &state.taints);
    Ok(taints.map(|taint| taint.taint.clone()).collect())
}

/// The document that tolerates these taints: the list of tolerations of a request.
pub fn toleration_document(taints: &[Taint]) -> Value {
    json!({"tolerations": snippet(taints)})
}

fn snippet(taints: &[Taint]) -> Vec<Value> {
    let tolerations = taints.iter().map(|taint| {
        if taint.value.is_empty() {
            json!({"key": taint.key, "operator": "Exists", "effect": taint.effect.as_str()})
        } else {
            json!({
                "key": taint.key, "operator": "Equal", "value": taint.value,
                "effect": taint.effect.as_str(),
            })
        }
    });
    tolerations.collect()
}

/// Pitfalls of these lines.
pub fn traps(taints: &[Taint]) -> Vec<String> {
    let evicts = taints.iter().any(|taint| taint.effect.evicts());
    let mut lines = vec![
        "add the lines under `exactly` of each request, or to each entry of its `firstAvailable`"
            .to_owned(),
    ];
    if evicts {
        lines.push(
            "keep `effect: NoExecute`: the eviction controller ignores device tolerations without an \
             effect, so each replacement pod would be scheduled to the device and evicted again"
                .to_owned(),
        );
    } else {
        lines.push(
            "a toleration with effect NoSchedule does not tolerate effect NoExecute: if the taint \
             is escalated, pods of claims with this toleration are evicted"
                .to_owned(),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::dedication::testing::{claim, terms, toleration};
    use crate::model::ResourceClaimTemplate;
    use std::sync::Arc;

    fn taints() -> Vec<Taint> {
        vec![terms("research", &["research"]).taint()]
    }

    #[test]
    fn tolerations_by_key_and_blanket_ones_are_told_apart() {
        let taint = &taints()[0];
        for (written, expected) in [
            (
                "devicetaint.dev/dedicated=research:NoSchedule",
                Some(Tolerance::Key),
            ),
            ("devicetaint.dev/dedicated:", Some(Tolerance::Key)),
            (":", Some(Tolerance::Wildcard)),
            (":NoSchedule", Some(Tolerance::Wildcard)),
            ("devicetaint.dev/dedicated=ml:NoSchedule", None),
            ("devicetaint.dev/dedicated=research:NoExecute", None),
            (":NoExecute", None),
            ("other:", None),
        ] {
            assert_eq!(
                tolerance_of(&toleration(written), taint),
                expected,
                "{written}"
            );
        }
    }

    #[test]
    fn claims_and_templates_are_found_with_what_does_it() {
        let mut snapshot = Snapshot::default();
        snapshot.claims.push(claim("web/plain", &[""]));
        snapshot.claims.push(claim("web/blanket", &["", ":"]));
        snapshot.claims.push(claim(
            "research/named",
            &["devicetaint.dev/dedicated=research:NoSchedule", ":"],
        ));
        let spec = claim("research/template", &["devicetaint.dev/dedicated:"])
            .spec
            .unwrap();
        snapshot.templates.push(ResourceClaimTemplate {
            name: claim("research/template", &[]).name,
            spec,
        });
        let found = tolerants(&snapshot, &taints());
        let found: Vec<(String, Tolerance)> = found
            .iter()
            .map(|one| (one.name.to_string(), one.tolerance))
            .collect();
        assert_eq!(
            found,
            [
                ("research/named".to_owned(), Tolerance::Key),
                ("web/blanket".to_owned(), Tolerance::Wildcard),
                ("research/template".to_owned(), Tolerance::Key),
            ]
        );
    }

    #[test]
    fn only_a_claim_all_of_whose_tolerant_requests_ask_for_admin_access_is_a_monitor() {
        let is_monitor = |admins: [bool; 2]| {
            let mut found = claim(
                "web/monitor",
                &["devicetaint.dev/dedicated:", "devicetaint.dev/dedicated:"],
            );
            let mut spec = (**found.spec.as_ref().unwrap()).clone();
            for (request, admin) in spec.requests.iter_mut().zip(admins) {
                if let RequestKind::Exactly(terms) = &mut request.kind {
                    terms.admin_access = admin;
                }
            }
            found.spec = Some(Arc::new(spec));
            let snapshot = Snapshot {
                claims: vec![found],
                ..Snapshot::default()
            };
            tolerants(&snapshot, &taints())[0].admin_access
        };
        assert!(is_monitor([true, true]));
        assert!(!is_monitor([true, false]));
        assert!(!is_monitor([false, true]));
    }

    #[test]
    fn a_claim_of_which_nothing_is_known_is_named() {
        let mut snapshot = Snapshot::default();
        let mut unknown = claim("a/unknown", &[""]);
        unknown.spec = None;
        let mut later = claim("a/later", &[""]);
        let mut spec = (**later.spec.as_ref().unwrap()).clone();
        spec.requests[0].kind = RequestKind::Unknown;
        later.spec = Some(Arc::new(spec));
        snapshot
            .claims
            .extend([unknown, later, claim("a/known", &[""])]);
        let names: Vec<String> = unreadable(&snapshot)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(names, ["a/unknown", "a/later"]);
    }

    fn taint_of(text: &str) -> Taint {
        typed_taint(text).unwrap().unwrap()
    }

    #[test]
    fn a_word_is_a_taint_if_it_has_a_value_or_an_effect() {
        assert_eq!(taint_of("a=b:NoSchedule").to_string(), "a=b:NoSchedule");
        assert_eq!(typed_taint("drain-node-7").unwrap(), None);
        assert_eq!(typed_taint("node-7/gpu-0").unwrap(), None);
        assert_eq!(typed_taint("gpu.example.com/node-7/gpu-0").unwrap(), None);
        assert!(typed_taint("a=b").is_err());
        assert!(typed_taint("a=b:None").is_err());
    }

    #[test]
    fn lines_have_the_effect_and_tolerate_exactly_the_taint() {
        let lines = toleration_document(&[taint_of("a=b:NoExecute"), taint_of("c:NoSchedule")]);
        assert_eq!(
            lines,
            json!({"tolerations": [
                {"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute"},
                {"key": "c", "operator": "Exists", "effect": "NoSchedule"},
            ]})
        );
    }

    #[test]
    fn the_trap_is_told_for_the_effect_that_the_taint_has() {
        assert!(traps(&[taint_of("a:NoExecute")])[1].contains("keep `effect: NoExecute`"));
        assert!(traps(&[taint_of("a:NoSchedule")])[1].contains("escalated"));
    }
}
