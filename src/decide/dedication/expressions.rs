//! The expressions of a dedication's policies (CEL).
//!
//! They read claims as they are sent, in any version: `v1beta1` has the fields of a request beside its
//! name, later versions under `exactly`. A policy that matched one version and had the others converted
//! would refuse those: mutating policies cannot convert back (Kubernetes 1.37, `unknown conversion`).

use std::collections::BTreeSet;

use serde_json::json;

use super::terms::{Members, Terms};
use crate::model::Effect;
use crate::naming::labels::Requirement;

/// The tolerations that are added, as a list.
pub(super) fn added(terms: &Terms) -> String {
    let taint = terms.taint();
    format!(
        r#"[{{"key": "{}", "operator": "Equal", "value": "{}", "effect": "{}"}}]"#,
        taint.key, taint.value, taint.effect
    )
}

/// The requests of a claim.
pub(super) const CLAIM_REQUESTS: &str = "object.spec.?devices.?requests.orValue([])";

/// The requests of a claim, or of those that are made from a template.
pub(super) const ALL_REQUESTS: &str =
    "(has(object.spec.spec) ? object.spec.spec : object.spec).?devices.?requests.orValue([])";

/// The changes that add the tolerations: to each request, and to each alternative of one.
///
/// What is there already is not added again: policies are evaluated twice where another one has changed
/// the object.
pub(super) fn mutation() -> String {
    // `add` replaces the list that is there (RFC 6902), so that one operation is enough with and without
    // tolerations.
    let change = |path: &str, of: &str| {
        format!(
            r#"JSONPatch{{op: "add", path: "/spec/devices/requests/" + string(i) + "{path}/tolerations",
    value: {}}}"#,
            completed(of)
        )
    };
    let exactly = change("/exactly", "request.exactly");
    let bare = change("", "request");
    let alternative = change(r#"/firstAvailable/" + string(j) + ""#, "alternative");
    format!(
        "variables.requests.transformList(i, request, has(request.exactly),\n  {exactly})\n\
         + variables.requests.transformList(i, request, !has(request.exactly) && !has(request.firstAvailable),\n  {bare})\n\
         + variables.requests.transformList(i, request, has(request.firstAvailable),\n  \
         request.firstAvailable.transformList(j, alternative,\n  {alternative})).flatten()"
    )
}

/// The tolerations of a request with those that it lacks.
fn completed(of: &str) -> String {
    let present = format!("{of}.?tolerations.orValue([])");
    format!(
        "{present} + variables.added.filter(added, !{present}.exists(found,\n      \
         found.?key.orValue(\"\") == added.key && found.?value.orValue(\"\") == added.value\n      \
         && found.?effect.orValue(\"\") == added.effect && found.?operator.orValue(\"Equal\") == \"Equal\"\n      \
         && !has(found.tolerationSeconds)))"
    )
}

/// Whether the object is of a namespace that may tolerate the taint.
pub(super) fn is_exempt(terms: &Terms) -> String {
    let mut exempt = vec![match &terms.members {
        Members::Namespaces(names) => format!("request.namespace in {}", json!(names)),
        Members::Selected(selector) => {
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

/// Whether no request tolerates the taint, by its key or with a toleration of every taint.
///
/// Upstream: `ToleratesTaint` of `resourceclaim/devicetoleration.go`, for the effect of the taint.
pub(super) fn tolerates_nothing(terms: &Terms) -> String {
    let (key, value) = (json!(Terms::KEY), json!(terms.name));
    // A toleration without an effect is for all of them.
    let effects = ["", Effect::NoSchedule.as_str()];
    let any = |of: &str| {
        format!(
            "{of}.?tolerations.orValue([]).exists(found, found.?key.orValue(\"\") in [\"\", {key}]\n    \
             && (found.?operator.orValue(\"Equal\") == \"Exists\" || found.?value.orValue(\"\") == {value})\n    \
             && found.?effect.orValue(\"\") in {})",
            json!(effects)
        )
    };
    let (exactly, bare, alternative) =
        (any("request.?exactly"), any("request"), any("alternative"));
    format!(
        "!variables.requests.exists(request, ({exactly}\n  || {bare}\n  || \
         request.?firstAvailable.orValue([]).exists(alternative, {alternative})))"
    )
}

/// The message of a refusal.
pub(super) fn message(terms: &Terms) -> String {
    format!(
        "devices tainted {}={} are dedicated to {} (dedication {}); claims in other namespaces \
         must not tolerate this taint, by its key or with a wildcard toleration",
        Terms::KEY,
        terms.name,
        terms.members_line(),
        terms.name
    )
}
