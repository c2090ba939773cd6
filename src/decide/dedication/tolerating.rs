//! Claims and templates that tolerate a taint.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::tolerate::tolerates;
use crate::model::{
    ClaimSpec, DeviceId, Kind, NamespacedName, RequestKind, RequestTerms, Snapshot, Taint,
    Toleration,
};

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
    /// The devices that a claim holds.
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
        Some(Tolerant {
            name: claim.name.clone(),
            devices: results.map(|result| result.device.clone()).collect(),
            ..tolerant(TolerantKind::Claim, claim.spec.as_deref()?, taints)?
        })
    });
    let templates = snapshot.templates.iter().filter_map(|template| {
        Some(Tolerant {
            name: template.name.clone(),
            ..tolerant(TolerantKind::Template, &template.spec, taints)?
        })
    });
    let mut found: Vec<Tolerant> = claims.chain(templates).collect();
    found.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
    found
}

fn tolerant(kind: TolerantKind, spec: &ClaimSpec, taints: &[Taint]) -> Option<Tolerant> {
    let mut found: Vec<(Tolerance, bool, &Toleration)> = Vec::new();
    for request in requests(spec) {
        for toleration in &request.tolerations {
            let tolerance = taints
                .iter()
                .find_map(|taint| tolerance_of(toleration, taint));
            found.extend(tolerance.map(|how| (how, request.admin_access, toleration)));
        }
    }
    let mut by: Vec<Toleration> = Vec::new();
    for (_, _, toleration) in &found {
        if !by.contains(toleration) {
            by.push((*toleration).clone());
        }
    }
    Some(Tolerant {
        kind,
        // The callers put in whose spec it is, and what a claim holds.
        name: NamespacedName {
            namespace: "".into(),
            name: "".into(),
        },
        tolerance: found.iter().map(|(how, _, _)| *how).min()?,
        admin_access: found.iter().all(|(_, admin, _)| *admin),
        by,
        devices: Vec::new(),
    })
}

/// Each request, and each alternative of one.
fn requests(spec: &ClaimSpec) -> impl Iterator<Item = &RequestTerms> {
    spec.requests
        .iter()
        .flat_map(|request| match &request.kind {
            RequestKind::Exactly(terms) => vec![terms],
            RequestKind::FirstAvailable(all) => all.iter().map(|(_, terms)| terms).collect(),
            // `unreadable` names the claims that ask so: they do not count as claims that tolerate nothing.
            RequestKind::Unknown => Vec::new(),
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::decide::dedication::testing::{claim, terms, toleration};
    use crate::model::ResourceClaimTemplate;

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
}
