//! Objects of a dedication, and what is done about each.

use super::terms::{Namespaces, Terms};
use crate::decide::draft::RuleDraft;
use crate::error::Failure;
use crate::model::{DeviceSelector, Kind};
use crate::naming::keys;
use crate::naming::labels::Requirement;
use crate::naming::rule;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The kinds of a dedication's objects, in the order in which they are created: policies before the taint.
pub const KINDS: [Kind; 5] = [
    Kind::MutatingAdmissionPolicy,
    Kind::MutatingAdmissionPolicyBinding,
    Kind::ValidatingAdmissionPolicy,
    Kind::ValidatingAdmissionPolicyBinding,
    Kind::DeviceTaintRule,
];

/// An object of a dedication as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredObject {
    /// Its kind.
    pub kind: Kind,
    /// The object, with everything in its spec that the server would fill in.
    pub object: Value,
}

/// Change that an object needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is created.
    Create,
    /// It is changed to the terms.
    Configure,
    /// It is as it should be.
    Keep,
}

impl Terms {
    /// The objects, in the order in which they are created, at the versions of mutating policies and rules that
    /// the server has.
    pub fn objects(&self, mutating: &str, rules: &str) -> Vec<DesiredObject> {
        let name = self.policy_name();
        let validating = "admissionregistration.k8s.io/v1";
        let [mutates, mutates_in, rejects, rejects_in, taints] = KINDS;
        let policies = [
            (mutates, mutating, mutating_policy(self)),
            (mutates_in, mutating, mutating_binding(self, &name)),
            (rejects, validating, validating_policy(self)),
            (rejects_in, validating, validating_binding(&name)),
        ];
        let policies = policies.map(|(kind, version, spec)| DesiredObject {
            kind,
            object: json!({
                "apiVersion": version, "kind": kind.as_str(),
                "metadata": {"name": name, "labels": self.labels()}, "spec": spec,
            }),
        });
        let rules = self.devices.iter().map(|device| DesiredObject {
            kind: taints,
            object: self.rule(device).object(rules),
        });
        policies.into_iter().chain(rules).collect()
    }

    fn policy_name(&self) -> String {
        format!("dedicated-{}", self.name)
    }

    fn labels(&self) -> BTreeMap<String, String> {
        let labels = [
            (keys::MANAGED_BY, keys::THIS_PROGRAM),
            (keys::DEDICATION, &self.name),
        ];
        labels
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    }

    fn rule(&self, device: &DeviceSelector) -> RuleDraft {
        let reason = self.reason.clone();
        let reason = reason.unwrap_or_else(|| format!("dedicated to {}", self.namespaces_text()));
        // With the name: two dedications of one device must not write to the same rule.
        let key = format!("{}={}", keys::DEDICATED, self.name);
        RuleDraft {
            name: rule::name(device, &key),
            selector: device.clone(),
            taint: self.taint(),
            labels: self.labels(),
            annotations: [(keys::REASON.to_owned(), reason)].into(),
            manifest: None,
        }
    }

    /// A claim by which the policies are tried: without tolerations, or with the one that is rejected outside.
    pub fn probe(&self, version: &str, namespace: &str, is_tolerating: bool) -> Value {
        let taint = self.taint();
        let toleration = json!({
            "key": taint.key, "value": taint.value, "effect": taint.effect.as_str(),
        });
        let tolerations = Vec::from_iter(is_tolerating.then_some(toleration));
        json!({
            "apiVersion": version, "kind": Kind::ResourceClaim.as_str(),
            "metadata": {"generateName": "devicetaint-probe-", "namespace": namespace},
            "spec": {"devices": {"requests": [{"name": "probe", "exactly": {
                "deviceClassName": "probe.devicetaint.dev", "tolerations": tolerations,
            }}]}},
        })
    }

    /// True if the toleration was added to a probe.
    pub fn is_tolerated(&self, probe: &Value) -> bool {
        let tolerations = &probe["spec"]["devices"]["requests"][0]["exactly"]["tolerations"];
        let mut tolerations = tolerations.as_array().into_iter().flatten();
        tolerations.any(|one| one["key"] == keys::DEDICATED && one["value"] == self.name)
    }

    /// True if a claim was rejected by the policy of this dedication, according to the server's message.
    pub fn is_rejection(&self, message: &str) -> bool {
        message.contains(&format!("'{}'", self.policy_name()))
    }
}

/// The object as kubectl names it: `devicetaintrule.resource.k8s.io/NAME`.
pub fn full_name(kind: Kind, object: &Value) -> String {
    let word = kind.as_str().to_ascii_lowercase();
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    format!("{word}.{}/{name}", kind.group())
}

impl DesiredObject {
    /// The object as kubectl names it.
    pub fn full_name(&self) -> String {
        full_name(self.kind, &self.object)
    }

    /// The object with a note who created it: `user`, unless the one that was `found` says so.
    #[must_use]
    pub fn created_by(mut self, user: Option<&str>, found: Option<&Value>) -> Self {
        let key = keys::CREATED_BY;
        let noted = found.and_then(|found| found["metadata"]["annotations"][key].as_str());
        if let Some(user) = noted
            .or(user)
            .filter(|_| self.kind == Kind::DeviceTaintRule)
        {
            self.object["metadata"]["annotations"][key] = json!(user);
        }
        self
    }

    /// The change that it needs, `found` being the object of its name.
    ///
    /// # Errors
    ///
    /// An object that is not of the dedication, or is being deleted.
    pub fn step(&self, found: Option<&Value>, dedication: &str) -> Result<Step, Failure> {
        let Some(found) = found else {
            return Ok(Step::Create);
        };
        // The name alone proves nothing.
        if !is_of(found, dedication) {
            return Err(Failure::refused(format!(
                "{} exists and does not belong to dedication {dedication}",
                self.full_name()
            ))
            .hint("choose another name: --name"));
        }
        if found["metadata"]["deletionTimestamp"].is_string() {
            return Err(
                Failure::refused(format!("{} is being deleted", self.full_name()))
                    .hint("run the same command again after the deletion"),
            );
        }
        Ok(if self.has_spec_of(found) {
            Step::Keep
        } else {
            Step::Configure
        })
    }

    /// Refuses the object as it would be `applied`, if other programs keep fields in its spec: a
    /// condition that they added could let claims past a policy.
    ///
    /// # Errors
    ///
    /// As it says.
    pub fn check_applied(&self, applied: &Value) -> Result<(), Failure> {
        if self.has_spec_of(applied) {
            return Ok(());
        }
        Err(Failure::refused(format!(
            "{} has fields of other programs in its spec",
            self.full_name()
        ))
        .hint("compare it with the output of --dry-run=client -o yaml: kubectl diff -f -"))
    }

    fn has_spec_of(&self, other: &Value) -> bool {
        let mut spec = other["spec"].clone();
        // The server's time of the taint.
        if let Some(taint) = spec.get_mut("taint").and_then(Value::as_object_mut) {
            taint.remove("timeAdded");
        }
        spec == self.object["spec"]
    }
}

/// True if an object is of the dedication: its label says so.
pub fn is_of(object: &Value, dedication: &str) -> bool {
    object["metadata"]["labels"][keys::DEDICATION] == dedication
}

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
            key = keys::DEDICATED,
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
    let (key, value) = (json!(keys::DEDICATED), json!(terms.name));
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
        keys::DEDICATED,
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
    use crate::decide::testing::selector;

    const MUTATING: &str = "admissionregistration.k8s.io/v1beta1";

    fn objects(name: &str) -> Vec<DesiredObject> {
        let mut terms = terms(name, &["a"]);
        terms.devices = vec![selector("gpu-0"), selector("gpu-1")];
        terms.objects(MUTATING, "resource.k8s.io/v1")
    }

    #[test]
    fn policies_come_before_the_taint_and_all_have_the_label() {
        let all = objects("research");
        let kinds: Vec<Kind> = all[..5].iter().map(|one| one.kind).collect();
        assert_eq!(kinds, KINDS);
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|one| is_of(&one.object, "research")));
        assert_eq!(all[0].object["apiVersion"], MUTATING);
        assert_eq!(all[5].object["spec"]["taint"]["effect"], "NoSchedule");
    }

    #[test]
    fn dedications_of_one_device_have_rules_of_their_own() {
        assert_ne!(objects("a")[4].full_name(), objects("b")[4].full_name());
    }

    #[test]
    fn an_object_is_created_kept_or_configured_and_one_of_others_is_refused() {
        for wanted in objects("a") {
            assert_eq!(wanted.step(None, "a").unwrap(), Step::Create);
            let mut found = wanted.object.clone();
            if wanted.kind == Kind::DeviceTaintRule {
                found["spec"]["taint"]["timeAdded"] = json!("2026-11-21T01:00:00Z");
            }
            assert_eq!(wanted.step(Some(&found), "a").unwrap(), Step::Keep);
            assert!(wanted.step(Some(&found), "b").is_err());
            found["spec"]["matchConditions"] = json!([{"name": "never", "expression": "false"}]);
            assert_eq!(wanted.step(Some(&found), "a").unwrap(), Step::Configure);
            assert!(wanted.check_applied(&found).is_err());
            assert!(wanted.check_applied(&wanted.object).is_ok());
            found["metadata"]["deletionTimestamp"] = json!("2026-11-21T01:00:00Z");
            assert!(wanted.step(Some(&found), "a").is_err());
        }
    }

    #[test]
    fn a_rule_keeps_the_note_of_who_created_it() {
        let rule = objects("a").pop().unwrap();
        let by =
            |one: &DesiredObject| one.object["metadata"]["annotations"][keys::CREATED_BY].clone();
        let of_alice = rule.clone().created_by(Some("alice"), None);
        assert_eq!(by(&of_alice), "alice");
        let by_bob = rule.created_by(Some("bob"), Some(&of_alice.object));
        assert_eq!(by(&by_bob), "alice");
    }

    #[test]
    fn a_probe_is_rejected_by_the_policy_with_this_name_or_gets_this_toleration() {
        let terms = terms("a", &["a"]);
        assert!(terms.is_tolerated(&terms.probe("v1", "a", true)));
        assert!(!terms.is_tolerated(&terms.probe("v1", "a", false)));
        assert!(terms.is_rejection("ValidatingAdmissionPolicy 'dedicated-a' with binding"));
        assert!(!terms.is_rejection("ValidatingAdmissionPolicy 'dedicated-ab' with binding"));
    }

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
