//! Terms of a dedication: name, namespaces and devices.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::error::Failure;
use crate::model::{DeviceSelector, Effect, Taint};
use crate::naming::labels::{self, LabelSelector};
use crate::naming::phrase::counted;
use crate::naming::phrase::nearest;

/// Up to so many namespaces are named in messages.
const NAMED: usize = 5;
/// Namespace of system components, whose claims must not wait for dedicated devices.
const SYSTEM: &str = "kube-system";

/// Namespaces whose claims may use the devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// Those with these names.
    Named(BTreeSet<String>),
    /// Those with such labels.
    Labelled(LabelSelector),
}

/// Description of a dedication, from which all its objects are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Its name, the value of the taint.
    pub name: String,
    /// Namespaces whose new claims get the toleration.
    pub namespaces: Namespaces,
    /// Other namespaces in which claims with the toleration are accepted.
    pub allowed: BTreeSet<String>,
    /// The devices, one rule for each selector.
    pub devices: Vec<DeviceSelector>,
    /// Reason noted on the rules.
    pub reason: Option<String>,
}

/// A namespace as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceFact {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// True if it is being deleted, so that nothing can be created in it.
    pub is_terminating: bool,
}

impl From<&Value> for NamespaceFact {
    fn from(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let labels = metadata["labels"].as_object().into_iter().flatten();
        Self {
            name: text(&metadata["name"]),
            labels: labels
                .map(|(key, value)| (key.clone(), text(value)))
                .collect(),
            is_terminating: metadata["deletionTimestamp"].is_string(),
        }
    }
}

impl Terms {
    /// Checks the name of a dedication, which is a label's value and part of object names.
    ///
    /// # Errors
    ///
    /// A name that cannot be one of these.
    pub fn check_name(name: &str) -> Result<(), Failure> {
        let is_label = labels::taint_value(name).is_ok() && !name.contains('.');
        match labels::rule(name) {
            Ok(()) if is_label => Ok(()),
            Ok(()) | Err(_) => Err(Failure::usage(format!(
                "{name:?} is not a valid dedication name"
            ))
            .hint("use lower-case letters, digits and -, at most 63 characters")),
        }
    }

    /// The taint of the devices. Its effect is never raised: the policies add a toleration of NoSchedule.
    pub fn taint(&self) -> Taint {
        Taint {
            key: Taint::DEDICATED.to_owned(),
            value: self.name.clone(),
            effect: Effect::NoSchedule,
            time_added: None,
        }
    }

    /// True if claims of a namespace with these labels get the toleration.
    pub fn has(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        match &self.namespaces {
            Namespaces::Named(names) => names.contains(namespace),
            Namespaces::Labelled(selector) => selector.matches(labels),
        }
    }

    /// True if claims with the toleration are accepted in this namespace.
    pub fn accepts(&self, namespace: &NamespaceFact) -> bool {
        self.has(&namespace.name, &namespace.labels) || self.allowed.contains(&namespace.name)
    }

    /// The namespaces as text: `namespace research`.
    pub fn namespaces_text(&self) -> String {
        match &self.namespaces {
            Namespaces::Named(names) if names.len() > NAMED => counted(names.len(), "namespace"),
            Namespaces::Named(names) => {
                let list: Vec<&str> = names.iter().map(String::as_str).collect();
                let plural = if list.len() == 1 { "" } else { "s" };
                format!("namespace{plural} {}", list.join(", "))
            }
            Namespaces::Labelled(selector) => format!("namespaces with {selector}"),
        }
    }

    /// Refuses namespaces that do not exist, labels that no namespace has, and kube-system.
    ///
    /// # Errors
    ///
    /// The first of these, `all` being the namespaces of the cluster.
    pub fn refuse_namespaces(&self, all: &[NamespaceFact]) -> Result<(), Failure> {
        let mut members = all.iter().filter(|one| self.has(&one.name, &one.labels));
        let is_system = members.clone().any(|one| one.name == SYSTEM);
        let named = match &self.namespaces {
            Namespaces::Named(names) => Some(names),
            Namespaces::Labelled(_) => None,
        };
        if is_system || named.is_some_and(|names| names.contains(SYSTEM)) {
            return Err(Failure::usage(format!(
                "namespace {SYSTEM} cannot be part of a dedication: system components use its claims"
            ))
            .hint(match named {
                Some(_) => "to accept its claims: --allow kube-system",
                None => "exclude it: 'kubernetes.io/metadata.name!=kube-system'",
            }));
        }
        let mut wanted = named.into_iter().flatten().chain(&self.allowed);
        if let Some(missing) = wanted.find(|name| all.iter().all(|one| one.name != **name)) {
            let failure = Failure::usage(format!("namespace {missing} not found"));
            let near = nearest(missing, all.iter().map(|one| one.name.clone()));
            return Err(near
                .first()
                .map(|near| format!("did you mean {near}?"))
                .into_iter()
                .fold(failure, Failure::hint));
        }
        match members.next() {
            Some(_) => Ok(()),
            None => Err(Failure::usage(format!(
                "there are no {}",
                self.namespaces_text()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::dedication::testing::{by_labels, namespace, terms};
    use crate::error::ExitStatus;

    #[test]
    fn names_that_no_taint_or_object_can_have_are_refused() {
        assert!(Terms::check_name("research-1").is_ok());
        for name in ["", "Research", "a b", "a-", &"a".repeat(64), "a.b"] {
            assert!(Terms::check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn namespaces_must_exist_and_are_never_kube_system() {
        let all = [
            namespace("research", "ml"),
            namespace("kube-system", "core"),
            namespace("web", "web"),
        ];
        let mut allowing = terms("a", &["research"]);
        allowing.allowed = ["gone".to_owned()].into();
        for (name, terms, fine) in [
            ("exists", terms("a", &["research"]), true),
            ("missing", terms("a", &["reserch"]), false),
            ("allowed one missing", allowing, false),
            ("labels", by_labels("a", "team=ml"), true),
            ("labels of none", by_labels("a", "team=none"), false),
            ("system by label", by_labels("a", "team!=web"), false),
            ("system by name", terms("a", &["kube-system"]), false),
        ] {
            let refused = terms.refuse_namespaces(&all).err();
            assert_eq!(refused.is_none(), fine, "{name}");
            assert!(
                refused.is_none_or(|failure| failure.status() == ExitStatus::Usage),
                "{name}"
            );
        }
    }
}
