//! Admission policies of a dedication, and their expressions (CEL).
//!
//! The expressions read claims and templates as they are sent, in any version: `v1beta1` has the
//! fields of a request beside its name, later versions under `exactly`. A policy that matched one
//! version and had the others converted would refuse those: mutating policies cannot convert back
//! (Kubernetes 1.37, `unknown conversion`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::terms::{Namespaces, Terms};
use crate::model::Taint;
use crate::naming::labels::Requirement;

/// Expression that adds the toleration on creation, and restores it on update.
///
/// A claim's spec is immutable, and the team's manifest lacks the toleration that was added to the
/// stored claim: without the update, `kubectl apply` of the manifest would fail the second time. On
/// update, tolerations of dedications are the only difference that is taken back, and none is added.
fn mutation() -> String {
    // `add` replaces the list that is there (RFC 6902), so that one operation is enough.
    let patches = |list: &str, index: &str, shape: &str, path: &str, of: &str, stored: &str| {
        let present = format!("{of}.?tolerations.orValue([])");
        let stored = format!("{stored}.?tolerations.orValue([])");
        let same = "found.?key.orValue(\"\") == added.key && found.?value.orValue(\"\") == added.value \
                    && found.?effect.orValue(\"\") == added.effect && found.?operator.orValue(\"Equal\") == \"Equal\" \
                    && !has(found.tolerationSeconds)";
        format!(
            "{list}.transformList({index},\n  {shape} && (oldObject == null || ({stored} != {present}\n    \
             && {present}.all(sent, sent in {stored})\n    \
             && {stored}.all(kept, kept in {present} || kept.?key.orValue(\"\") == \"{key}\"))),\n  \
             JSONPatch{{op: \"add\", path: variables.path + string(i) + {path},\n    \
             value: oldObject != null ? {stored} : {present}\n      \
             + variables.added.filter(added, !{present}.exists(found, {same}))}})",
            key = Taint::DEDICATED,
        )
    };
    let all = "variables.requests";
    let stored = "variables.stored[?i]";
    let exactly = patches(
        all,
        "i, request",
        "has(request.exactly)",
        "\"/exactly/tolerations\"",
        "request.exactly",
        &format!("{stored}.?exactly"),
    );
    let bare = patches(
        all,
        "i, request",
        "!has(request.exactly) && !has(request.firstAvailable)",
        "\"/tolerations\"",
        "request",
        stored,
    );
    let alternative = patches(
        "request.firstAvailable",
        "j, alternative",
        "true",
        "\"/firstAvailable/\" + string(j) + \"/tolerations\"",
        "alternative",
        &format!("{stored}.?firstAvailable[?j]"),
    );
    format!(
        "{exactly}\n+ {bare}\n\
         + {all}.transformList(i, request, has(request.firstAvailable),\n{alternative}).flatten()"
    )
}

/// Variables of both policies: the requests of a claim, or of a template's claims.
///
/// A claim without requests is stored with `requests: null`.
fn requests(name: &str, object: &str) -> [Value; 2] {
    let found = format!("{name}OrNull");
    let spec = format!("(has({object}.spec.spec) ? {object}.spec.spec : {object}.spec)");
    let present = format!("{spec}.?devices.?requests.orValue(null)");
    let present = if object == "oldObject" {
        format!("oldObject == null ? null : {present}")
    } else {
        present
    };
    [
        json!({"name": found, "expression": present}),
        json!({
            "name": name,
            "expression": format!("variables.{found} == null ? [] : variables.{found}"),
        }),
    ]
}

/// Expression that is true in namespaces that may tolerate the taint.
fn is_exempt(terms: &Terms) -> String {
    let mut exempt = vec![match &terms.namespaces {
        Namespaces::Named(names) => format!("request.namespace in {}", json!(names)),
        Namespaces::Labelled(selector) => {
            let requirements = selector.requirements().iter().map(requirement);
            format!("({})", requirements.collect::<Vec<_>>().join(" && "))
        }
    }];
    if !terms.allowed.is_empty() {
        exempt.push(format!("request.namespace in {}", json!(terms.allowed)));
    }
    exempt.join(" || ")
}

fn requirement(requirement: &Requirement) -> String {
    let labels = "namespaceObject.metadata.?labels.orValue({})";
    let is_in = |key: &String, values: &BTreeSet<String>| {
        let key = json!(key);
        format!(
            "({key} in {labels} && {labels}[{key}] in {})",
            json!(values)
        )
    };
    match requirement {
        Requirement::In(key, values) => is_in(key, values),
        // As everywhere in Kubernetes, this includes namespaces without the label.
        Requirement::NotIn(key, values) => format!("!{}", is_in(key, values)),
        Requirement::Exists(key) => format!("{} in {labels}", json!(key)),
        Requirement::Absent(key) => format!("!({} in {labels})", json!(key)),
    }
}

/// Expression that is true if no request tolerates the taint, by its key or with a wildcard.
///
/// The effect does not count: whatever the effect of the taint becomes, no toleration is left over.
///
/// Upstream: `ToleratesTaint` of `resourceclaim/devicetoleration.go`.
fn tolerates_nothing(terms: &Terms) -> String {
    let (key, value) = (json!(Taint::DEDICATED), json!(terms.name));
    let any = |of: &str| {
        format!(
            "{of}.?tolerations.orValue([]).exists(found, found.?key.orValue(\"\") in [\"\", {key}]\n    \
             && (found.?operator.orValue(\"Equal\") != \"Equal\" || found.?value.orValue(\"\") == {value}))"
        )
    };
    let (exactly, bare, alternative) =
        (any("request.?exactly"), any("request"), any("alternative"));
    format!(
        "!variables.requests.exists(request, ({exactly}\n  || {bare}\n  || \
         request.?firstAvailable.orValue([]).exists(alternative, {alternative})))"
    )
}

fn resources(operations: &[&str]) -> Value {
    json!({
        "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
        "resourceRules": [{
            "apiGroups": ["resource.k8s.io"], "apiVersions": ["*"], "operations": operations,
            "resources": ["resourceclaims", "resourceclaimtemplates"], "scope": "*",
        }],
    })
}

/// The spec of the policy that adds the toleration.
pub(super) fn mutating_policy(terms: &Terms) -> Value {
    let taint = terms.taint();
    let added = format!(
        r#"[{{"key": "{}", "operator": "Equal", "value": "{}", "effect": "{}"}}]"#,
        taint.key, taint.value, taint.effect
    );
    let path = r#"(has(object.spec.spec) ? "/spec/spec" : "/spec") + "/devices/requests/""#;
    let mut variables = requests("requests", "object").to_vec();
    variables.extend(requests("stored", "oldObject"));
    variables.extend([
        json!({"name": "path", "expression": path}),
        json!({"name": "added", "expression": added}),
    ]);
    // `IfNeeded`: a request that another policy adds after this one would lack the toleration.
    json!({
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": resources(&["CREATE", "UPDATE"]),
        "variables": variables,
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": mutation()}}],
    })
}

/// The spec of the binding that adds the toleration in the namespaces of the dedication.
pub(super) fn mutating_binding(terms: &Terms, policy: &str) -> Value {
    json!({
        "policyName": policy,
        // With the server's defaults: left out here, a comparison would take them for changes.
        "matchResources": {
            "matchPolicy": "Equivalent", "objectSelector": {},
            "namespaceSelector": {"matchExpressions": match_expressions(&terms.namespaces)},
        },
    })
}

fn match_expressions(namespaces: &Namespaces) -> Vec<Value> {
    let selector = match namespaces {
        // The server gives every namespace this label.
        Namespaces::Named(names) => {
            return vec![
                json!({"key": "kubernetes.io/metadata.name", "operator": "In", "values": names}),
            ];
        }
        Namespaces::Labelled(selector) => selector,
    };
    let requirements = selector.requirements().iter();
    let expressions = requirements.map(|requirement| match requirement {
        Requirement::In(key, values) => json!({"key": key, "operator": "In", "values": values}),
        Requirement::NotIn(key, values) => {
            json!({"key": key, "operator": "NotIn", "values": values})
        }
        Requirement::Exists(key) => json!({"key": key, "operator": "Exists"}),
        Requirement::Absent(key) => json!({"key": key, "operator": "DoesNotExist"}),
    });
    expressions.collect()
}

/// The spec of the policy that rejects the toleration elsewhere.
pub(super) fn validating_policy(terms: &Terms) -> Value {
    let message = format!(
        "devices tainted {}={} are dedicated to {} (dedication {}); claims in other namespaces \
         must not tolerate this taint, by its key or with a wildcard toleration",
        Taint::DEDICATED,
        terms.name,
        terms.namespaces_text(),
        terms.name
    );
    // `Fail`: what cannot be evaluated must not pass for a claim that tolerates nothing.
    json!({
        "failurePolicy": "Fail",
        "matchConstraints": resources(&["CREATE"]),
        "variables": requests("requests", "object"),
        "validations": [{
            "expression": format!("{} || {}", is_exempt(terms), tolerates_nothing(terms)),
            "message": message,
            "reason": "Forbidden",
        }],
    })
}

/// The spec of the binding that rejects the toleration.
pub(super) fn validating_binding(policy: &str) -> Value {
    // Bound to every namespace: the policy's expression exempts those that may tolerate the taint.
    json!({"policyName": policy, "validationActions": ["Deny"]})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::dedication::testing::{by_labels, terms};

    #[test]
    fn namespaces_are_selected_by_name_or_as_the_labels_say() {
        assert_eq!(
            match_expressions(&terms("a", &["b"]).namespaces),
            [json!({"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["b"]})]
        );
        assert_eq!(
            match_expressions(&by_labels("a", "x=1,y notin (2,3),z,!w").namespaces),
            [
                json!({"key": "x", "operator": "In", "values": ["1"]}),
                json!({"key": "y", "operator": "NotIn", "values": ["2", "3"]}),
                json!({"key": "z", "operator": "Exists"}),
                json!({"key": "w", "operator": "DoesNotExist"}),
            ]
        );
    }

    #[test]
    fn namespaces_and_allowed_ones_are_exempt() {
        let mut terms = terms("research", &["a"]);
        assert_eq!(is_exempt(&terms), r#"request.namespace in ["a"]"#);
        terms.allowed = ["monitoring".to_owned()].into();
        assert_eq!(
            is_exempt(&terms),
            r#"request.namespace in ["a"] || request.namespace in ["monitoring"]"#
        );
        let labelled = is_exempt(&by_labels("a", "team=x,!y"));
        assert!(labelled.contains(" && !(\"y\" in "), "{labelled}");
    }
}
