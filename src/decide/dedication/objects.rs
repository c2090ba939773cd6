//! The objects of a dedication beside its rules.

use serde_json::{Value, json};

use super::expressions::{
    ALL_REQUESTS, CLAIM_REQUESTS, added, is_exempt, message, mutation, tolerates_nothing,
};
use super::terms::{Members, Terms};
use crate::model::{Kind, RuleMetadata, Taint};
use crate::naming::labels::Requirement;

/// The kinds of objects that let claims in and keep others out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyKind {
    /// Adds the toleration.
    Mutating,
    /// Says in which namespaces.
    MutatingBinding,
    /// Refuses the toleration elsewhere.
    Validating,
    /// Says that it is refused.
    ValidatingBinding,
}

impl PolicyKind {
    /// All of them, in the order in which they are made: who is let in first, and before the taint.
    pub const ALL: [Self; 4] = [
        Self::Mutating,
        Self::MutatingBinding,
        Self::Validating,
        Self::ValidatingBinding,
    ];

    /// The kind of object.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Mutating => Kind::MutatingAdmissionPolicy,
            Self::MutatingBinding => Kind::MutatingAdmissionPolicyBinding,
            Self::Validating => Kind::ValidatingAdmissionPolicy,
            Self::ValidatingBinding => Kind::ValidatingAdmissionPolicyBinding,
        }
    }

    /// The object as kubectl names it: `mutatingadmissionpolicy.admissionregistration.k8s.io/NAME`.
    #[must_use]
    pub fn full_name(self, name: &str) -> String {
        let kind = self.kind();
        let word = kind.as_str().to_ascii_lowercase();
        format!("{word}.{}/{name}", kind.group())
    }
}

/// An object of a dedication as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredObject {
    /// What it is.
    pub kind: PolicyKind,
    /// What it is called.
    pub name: String,
    /// The whole object, with everything that the server would fill in.
    pub object: Value,
}

/// The objects of a dedication, in the order in which they are made, where policies that change objects
/// are served at the version `mutating`.
#[must_use]
pub fn objects(terms: &Terms, mutating: Option<&str>) -> Vec<DesiredObject> {
    let name = terms.object_name();
    let one = |kind: PolicyKind| {
        let spec = match kind {
            PolicyKind::Mutating => mutating_policy(terms),
            PolicyKind::MutatingBinding => mutating_binding(terms),
            PolicyKind::Validating => validating_policy(terms),
            PolicyKind::ValidatingBinding => validating_binding(terms),
        };
        let (label, value) = terms.label();
        DesiredObject {
            kind,
            name: name.clone(),
            object: json!({
                "apiVersion": api_version_of(kind, mutating),
                "kind": kind.kind().as_str(),
                "metadata": {
                    "name": name,
                    "labels": {RuleMetadata::MANAGED_BY: RuleMetadata::THIS_PROGRAM, label: value},
                },
                "spec": spec,
            }),
        }
    };
    PolicyKind::ALL.into_iter().map(one).collect()
}

/// The version of a policy's API; that of policies that change objects is `v1` unless the server has an older one.
fn api_version_of(kind: PolicyKind, mutating: Option<&str>) -> String {
    match (kind, mutating) {
        (PolicyKind::Mutating | PolicyKind::MutatingBinding, Some(version)) => version.to_owned(),
        (PolicyKind::Mutating | PolicyKind::MutatingBinding, None)
        | (PolicyKind::Validating | PolicyKind::ValidatingBinding, _) => {
            format!("{}/v1", kind.kind().group())
        }
    }
}

fn resources(resources: &[&str]) -> Value {
    // Of every version as it is sent: see `expressions`.
    json!({
        "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
        "resourceRules": [{
            "apiGroups": ["resource.k8s.io"], "apiVersions": ["*"], "operations": ["CREATE"],
            "resources": resources, "scope": "*",
        }],
    })
}

fn mutating_policy(terms: &Terms) -> Value {
    // `IfNeeded`: a request that another policy adds after this one would lack the toleration.
    json!({
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": resources(&["resourceclaims"]),
        "variables": [
            {"name": "requests", "expression": CLAIM_REQUESTS},
            {"name": "added", "expression": added(terms)},
        ],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": mutation()}}],
    })
}

fn mutating_binding(terms: &Terms) -> Value {
    // Empty selectors are the server's defaults: left out here, a comparison would take them for changes.
    json!({
        "policyName": terms.object_name(),
        "matchResources": {
            "matchPolicy": "Equivalent", "objectSelector": {},
            "namespaceSelector": namespace_selector(&terms.members),
        },
    })
}

/// The members as the API selects namespaces.
fn namespace_selector(members: &Members) -> Value {
    let expressions: Vec<Value> = match members {
        // The server gives every namespace this label.
        Members::Namespaces(names) => {
            vec![json!({"key": "kubernetes.io/metadata.name", "operator": "In", "values": names})]
        }
        Members::Selected(selector) => {
            let requirements = selector.requirements().iter();
            let expression = |requirement: &Requirement| match requirement {
                Requirement::In(key, values) => {
                    json!({"key": key, "operator": "In", "values": values})
                }
                Requirement::NotIn(key, values) => {
                    json!({"key": key, "operator": "NotIn", "values": values})
                }
                Requirement::Exists(key) => json!({"key": key, "operator": "Exists"}),
                Requirement::Absent(key) => json!({"key": key, "operator": "DoesNotExist"}),
            };
            requirements.map(expression).collect()
        }
    };
    json!({"matchExpressions": expressions})
}

fn validating_policy(terms: &Terms) -> Value {
    // `Fail`: what cannot be evaluated may not pass for a claim that tolerates nothing.
    json!({
        "failurePolicy": "Fail",
        "matchConstraints": resources(&["resourceclaims", "resourceclaimtemplates"]),
        "variables": [{"name": "requests", "expression": ALL_REQUESTS}],
        "validations": [{
            "expression": format!("{} || {}", is_exempt(terms), tolerates_nothing(terms)),
            "message": message(terms),
            "reason": "Forbidden",
        }],
    })
}

fn validating_binding(terms: &Terms) -> Value {
    // It is bound to every namespace: its expression exempts those that may tolerate the taint.
    json!({"policyName": terms.object_name(), "validationActions": ["Deny"]})
}

/// The lines of a request that tolerate these taints, as they stand in a claim.
#[must_use]
pub fn snippet(taints: &[Taint]) -> Vec<Value> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::dedication::testing::{by_labels, terms};

    fn spec(terms: &Terms, kind: PolicyKind) -> Value {
        let all = objects(terms, None);
        let found = all.into_iter().find(|wanted| wanted.kind == kind);
        found.unwrap().object["spec"].clone()
    }

    #[test]
    fn who_is_let_in_comes_before_who_is_refused() {
        let kinds: Vec<PolicyKind> = objects(&terms("a", &["a"]), None)
            .iter()
            .map(|wanted| wanted.kind)
            .collect();
        assert_eq!(kinds, PolicyKind::ALL);
    }

    #[test]
    fn every_object_carries_the_label_of_its_dedication() {
        let terms = terms("research", &["a", "b"]);
        for wanted in objects(&terms, Some("admissionregistration.k8s.io/v1beta1")) {
            let metadata = &wanted.object["metadata"];
            assert_eq!(metadata["name"], "dedicated-research");
            assert_eq!(metadata["labels"][RuleMetadata::DEDICATION], "research");
            let version = match wanted.kind {
                PolicyKind::Mutating | PolicyKind::MutatingBinding => "v1beta1",
                PolicyKind::Validating | PolicyKind::ValidatingBinding => "v1",
            };
            let expected = format!("admissionregistration.k8s.io/{version}");
            assert_eq!(wanted.object["apiVersion"], expected);
        }
    }

    #[test]
    fn namespaces_are_selected_by_name_or_as_the_labels_say() {
        let selector = |terms: &Terms| {
            let spec = spec(terms, PolicyKind::MutatingBinding);
            spec["matchResources"]["namespaceSelector"]["matchExpressions"].clone()
        };
        assert_eq!(
            selector(&terms("a", &["b"])),
            json!([{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["b"]}])
        );
        assert_eq!(
            selector(&by_labels("a", "x=1,y notin (2,3),z,!w")),
            json!([
                {"key": "x", "operator": "In", "values": ["1"]},
                {"key": "y", "operator": "NotIn", "values": ["2", "3"]},
                {"key": "z", "operator": "Exists"},
                {"key": "w", "operator": "DoesNotExist"},
            ])
        );
    }

    #[test]
    fn what_is_refused_follows_the_terms() {
        let refuses = |terms: &Terms| {
            let spec = spec(terms, PolicyKind::Validating);
            spec["validations"][0]["expression"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let mut terms = terms("research", &["a"]);
        let plain = refuses(&terms);
        assert!(
            plain.starts_with(r#"request.namespace in ["a"] || !variables"#),
            "{plain}"
        );
        terms.allowed = ["monitoring".to_owned()].into();
        let all = refuses(&terms);
        assert!(
            all.contains(r#"|| request.namespace in ["monitoring"]"#),
            "{all}"
        );
        let labelled = refuses(&by_labels("a", "team=x,!y"));
        assert!(labelled.contains("namespaceObject.metadata"), "{labelled}");
    }
}
