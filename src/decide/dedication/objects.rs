//! Objects of a dedication, and what is done about each.

use serde_json::{Value, json};

use super::policies::{mutating_binding, mutating_policy, validating_binding, validating_policy};
use super::terms::Terms;
use crate::decide::draft::RuleDraft;
use crate::error::Failure;
use crate::model::{Kind, RuleMetadata, Taint};
use crate::naming::rule;

/// Kinds of the objects of a dedication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKind {
    /// Adds the toleration.
    MutatingPolicy,
    /// Names the namespaces in which it is added.
    MutatingBinding,
    /// Rejects the toleration elsewhere.
    ValidatingPolicy,
    /// Puts that policy into effect.
    ValidatingBinding,
    /// Taints devices.
    Rule,
}

impl ObjectKind {
    /// All of them, in the order in which they are created: policies before the taint.
    pub const ALL: [Self; 5] = [
        Self::MutatingPolicy,
        Self::MutatingBinding,
        Self::ValidatingPolicy,
        Self::ValidatingBinding,
        Self::Rule,
    ];

    /// The kind in the API.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::MutatingPolicy => Kind::MutatingAdmissionPolicy,
            Self::MutatingBinding => Kind::MutatingAdmissionPolicyBinding,
            Self::ValidatingPolicy => Kind::ValidatingAdmissionPolicy,
            Self::ValidatingBinding => Kind::ValidatingAdmissionPolicyBinding,
            Self::Rule => Kind::DeviceTaintRule,
        }
    }

    /// The object as kubectl names it: `validatingadmissionpolicy.admissionregistration.k8s.io/NAME`.
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
    /// Its kind.
    pub kind: ObjectKind,
    /// Its name.
    pub name: String,
    /// The object, with everything in its spec that the server would fill in.
    pub object: Value,
}

/// What is done about an object.
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
    /// The objects, in the order in which they are created; versions are those that the server has.
    #[must_use]
    pub fn objects(&self, mutating: &str, rules: &str) -> Vec<DesiredObject> {
        let policy = self.policy_name();
        let policy_of = |kind: ObjectKind, version: &str, spec: Value| DesiredObject {
            kind,
            name: policy.clone(),
            object: json!({
                "apiVersion": version, "kind": kind.kind().as_str(),
                "metadata": {"name": policy, "labels": self.labels()}, "spec": spec,
            }),
        };
        let validating = format!("{}/v1", Kind::ValidatingAdmissionPolicy.group());
        let mut objects = vec![
            policy_of(ObjectKind::MutatingPolicy, mutating, mutating_policy(self)),
            policy_of(
                ObjectKind::MutatingBinding,
                mutating,
                mutating_binding(self, &policy),
            ),
            policy_of(
                ObjectKind::ValidatingPolicy,
                &validating,
                validating_policy(self),
            ),
            policy_of(
                ObjectKind::ValidatingBinding,
                &validating,
                validating_binding(&policy),
            ),
        ];
        objects.extend(self.rules().into_iter().map(|draft| DesiredObject {
            kind: ObjectKind::Rule,
            object: draft.object(rules),
            name: draft.name,
        }));
        objects
    }

    /// The name of its policies and bindings.
    #[must_use]
    pub fn policy_name(&self) -> String {
        format!("dedicated-{}", self.name)
    }

    fn labels(&self) -> Value {
        json!({
            RuleMetadata::MANAGED_BY: RuleMetadata::THIS_PROGRAM,
            RuleMetadata::DEDICATION: self.name,
        })
    }

    fn rules(&self) -> Vec<RuleDraft> {
        let reason = self.reason.clone();
        let reason = reason.unwrap_or_else(|| format!("dedicated to {}", self.namespaces_text()));
        // Two dedications of one device must not write to the same rule.
        let key = format!("{}={}", Taint::DEDICATED, self.name);
        let labels = [
            (RuleMetadata::MANAGED_BY, RuleMetadata::THIS_PROGRAM),
            (RuleMetadata::DEDICATION, &self.name),
        ];
        let draft = |selector: &_| RuleDraft {
            name: rule::name(selector, &key),
            selector: Clone::clone(selector),
            taint: self.taint(),
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            annotations: [(RuleMetadata::REASON.to_owned(), reason.clone())].into(),
            manifest: None,
        };
        self.devices.iter().map(draft).collect()
    }

    /// A claim by which the policies are tried: with the toleration, or with none.
    #[must_use]
    pub fn probe(&self, version: &str, namespace: &str, is_tolerating: bool) -> Value {
        let taint = self.taint();
        let toleration = json!({
            "key": taint.key, "operator": "Equal", "value": taint.value,
            "effect": taint.effect.as_str(),
        });
        let tolerations = if is_tolerating {
            vec![toleration]
        } else {
            Vec::new()
        };
        json!({
            "apiVersion": version, "kind": Kind::ResourceClaim.as_str(),
            "metadata": {"generateName": "devicetaint-probe-", "namespace": namespace},
            "spec": {"devices": {"requests": [{"name": "probe", "exactly": {
                "deviceClassName": "probe.devicetaint.dev", "tolerations": tolerations,
            }}]}},
        })
    }

    /// Whether a claim was rejected by the policy of this dedication, according to the server's message.
    #[must_use]
    pub fn is_rejection(&self, message: &str) -> bool {
        message.contains(&format!("'{}'", self.policy_name()))
    }

    /// Whether the toleration was added to a probe.
    #[must_use]
    pub fn is_tolerated(&self, probe: &Value) -> bool {
        let tolerations = &probe["spec"]["devices"]["requests"][0]["exactly"]["tolerations"];
        let mut tolerations = tolerations.as_array().into_iter().flatten();
        tolerations.any(|one| one["key"] == Taint::DEDICATED && one["value"] == self.name)
    }
}

impl DesiredObject {
    /// The object as kubectl names it.
    #[must_use]
    pub fn full_name(&self) -> String {
        self.kind.full_name(&self.name)
    }

    /// The object with a note who created it: `user`, unless the one that was `found` says so.
    #[must_use]
    pub fn created_by(mut self, user: Option<&str>, found: Option<&Value>) -> Self {
        let key = RuleMetadata::CREATED_BY;
        let noted = found.and_then(|found| found["metadata"]["annotations"][key].as_str());
        if let Some(user) = noted.or(user).filter(|_| self.kind == ObjectKind::Rule) {
            self.object["metadata"]["annotations"][key] = json!(user);
        }
        self
    }

    /// What is done about it, `found` being the object of its name.
    ///
    /// # Errors
    ///
    /// An object that is not of this dedication, or is being deleted.
    pub fn step(&self, found: Option<&Value>, dedication: &str) -> Result<Step, Failure> {
        let Some(found) = found else {
            return Ok(Step::Create);
        };
        // The name alone proves nothing.
        if !is_of(found, dedication) {
            return Err(Failure::refused(format!(
                "{} exists and does not belong to dedication {dedication}; nothing was changed",
                self.full_name()
            ))
            .hint("choose another name: --name"));
        }
        if found["metadata"]["deletionTimestamp"].is_string() {
            return Err(Failure::refused(format!(
                "{} is being deleted; nothing was changed",
                self.full_name()
            ))
            .hint("run the same command again after the deletion"));
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
            "{} has fields of other programs in its spec; nothing was changed",
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

/// Whether an object is of the dedication: its label says so.
#[must_use]
pub fn is_of(object: &Value, dedication: &str) -> bool {
    object["metadata"]["labels"][RuleMetadata::DEDICATION] == dedication
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::dedication::testing::terms;
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
        assert!(all.iter().map(|one| one.kind).is_sorted());
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|one| is_of(&one.object, "research")));
        assert_eq!(all[0].object["apiVersion"], MUTATING);
        assert_eq!(all[5].object["spec"]["taint"]["effect"], "NoSchedule");
    }

    #[test]
    fn dedications_of_one_device_have_rules_of_their_own() {
        assert_ne!(objects("a")[4].name, objects("b")[4].name);
    }

    #[test]
    fn an_object_is_created_kept_or_configured_and_one_of_others_is_refused() {
        for wanted in objects("a") {
            assert_eq!(wanted.step(None, "a").unwrap(), Step::Create);
            let mut found = wanted.object.clone();
            if wanted.kind == ObjectKind::Rule {
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
        let by = |one: &DesiredObject| {
            one.object["metadata"]["annotations"][RuleMetadata::CREATED_BY].clone()
        };
        let of_alice = rule.clone().created_by(Some("alice"), None);
        assert_eq!(by(&of_alice), "alice");
        let by_bob = rule.created_by(Some("bob"), Some(&of_alice.object));
        assert_eq!(by(&by_bob), "alice");
    }

    #[test]
    fn a_probe_is_rejected_by_this_policy_or_gets_this_toleration() {
        let terms = terms("a", &["a"]);
        assert!(terms.is_rejection("ValidatingAdmissionPolicy 'dedicated-a' with binding"));
        assert!(!terms.is_rejection("ValidatingAdmissionPolicy 'dedicated-ab' with binding"));
        assert!(terms.is_tolerated(&terms.probe("v1", "a", true)));
        assert!(!terms.is_tolerated(&terms.probe("v1", "a", false)));
    }
}
