//! The terms of a dedication: its name, who is let in, and what is allowed elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::error::Failure;
use crate::model::{Effect, RuleMetadata, Taint};
use crate::naming::labels::LabelSelector;
use crate::naming::phrase::counted;
use crate::naming::validate;

/// Up to so many namespaces are named in messages.
const NAMED: usize = 5;

/// Whose claims are let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// Those of the namespaces with these names.
    Namespaces(BTreeSet<String>),
    /// Those of the namespaces with such labels.
    Selected(LabelSelector),
}

/// Whether requests with admin access may tolerate the taint in any namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminAccess {
    /// They may.
    Allowed,
    /// They are refused as all others.
    Refused,
}

/// Everything from which the objects of a dedication are made, but the devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Its name, which is the value of the taint.
    pub name: String,
    /// Who is let in.
    pub members: Members,
    /// Namespaces outside whose claims may tolerate the taint all the same.
    pub allowed: BTreeSet<String>,
    /// Whether requests with admin access may.
    pub admin_access: AdminAccess,
    /// The effect of the taint: `NoSchedule`, or `NoExecute` where others are evicted.
    pub effect: Effect,
}

impl Terms {
    /// The key of the taint of every dedication.
    pub const KEY: &str = Taint::DEDICATED;

    /// The name of a dedication, which is a taint's value and part of the names of objects.
    ///
    /// # Errors
    ///
    /// What can be none of these.
    pub fn check_name(name: &str) -> Result<(), Failure> {
        // Also the name of its objects is the value of a label: that of the batch of its rules.
        let is_label = validate::taint_value(&object_name(name)).is_ok() && !name.contains('.');
        match validate::rule(name) {
            Ok(()) if is_label => Ok(()),
            Ok(()) | Err(_) => Err(Failure::usage(format!(
                "{name:?} is not a valid dedication name: it becomes the value of a taint and part \
                 of object names"
            ))
            .hint("use lower-case letters, digits and -, at most 53 characters")),
        }
    }

    /// The taint of the devices.
    #[must_use]
    pub fn taint(&self) -> Taint {
        Taint {
            key: Self::KEY.to_owned(),
            value: self.name.clone(),
            effect: self.effect.clone(),
            time_added: None,
        }
    }

    /// The taints that claims of the members tolerate: where others are evicted, both effects, so that a
    /// weaker taint lets them in too.
    #[must_use]
    pub fn tolerated(&self) -> Vec<Taint> {
        let effects = match self.effect {
            Effect::NoExecute => vec![Effect::NoSchedule, Effect::NoExecute],
            Effect::None | Effect::NoSchedule | Effect::Unknown(_) => vec![Effect::NoSchedule],
        };
        let of_effect = |effect| Taint {
            effect,
            ..self.taint()
        };
        effects.into_iter().map(of_effect).collect()
    }

    /// What its policies and their bindings are called, and what the taint's rules carry.
    #[must_use]
    pub fn object_name(&self) -> String {
        object_name(&self.name)
    }

    /// The label by which everything of the dedication is found.
    #[must_use]
    pub fn label(&self) -> (String, String) {
        (RuleMetadata::DEDICATION.to_owned(), self.name.clone())
    }

    /// Whether claims of a namespace with these labels are let in.
    #[must_use]
    pub fn lets_in(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        match &self.members {
            Members::Namespaces(names) => names.contains(namespace),
            Members::Selected(selector) => selector.matches(labels),
        }
    }

    /// Who is let in, in words.
    #[must_use]
    pub fn members_line(&self) -> String {
        match &self.members {
            Members::Namespaces(names) if names.len() > NAMED => counted(names.len(), "namespace"),
            Members::Namespaces(names) => {
                let list: Vec<&str> = names.iter().map(String::as_str).collect();
                let noun = if list.len() == 1 {
                    "namespace"
                } else {
                    "namespaces"
                };
                format!("{noun} {}", list.join(", "))
            }
            Members::Selected(selector) => format!("namespaces with {selector}"),
        }
    }

    /// The terms as the policies note them.
    #[must_use]
    pub fn noted(&self) -> String {
        let mut noted = json!({"name": self.name, "effect": self.effect.as_str()});
        match &self.members {
            Members::Namespaces(names) => noted["namespaces"] = json!(names),
            Members::Selected(selector) => noted["namespaceSelector"] = json!(selector.to_string()),
        }
        if !self.allowed.is_empty() {
            noted["allow"] = json!(self.allowed);
        }
        if self.admin_access == AdminAccess::Allowed {
            noted["allowAdminAccess"] = json!(true);
        }
        noted.to_string()
    }

    /// The terms that an object notes, if it notes any that can be read.
    #[must_use]
    pub fn of_object(object: &Value) -> Option<Self> {
        let noted = &object["metadata"]["annotations"][RuleMetadata::DEDICATED_TO];
        let noted: Value = serde_json::from_str(noted.as_str()?).ok()?;
        let texts = |value: &Value| -> Option<BTreeSet<String>> {
            let texts = value.as_array()?.iter();
            texts.map(|text| Some(text.as_str()?.to_owned())).collect()
        };
        let members = match (&noted["namespaces"], noted["namespaceSelector"].as_str()) {
            (names, None) => Members::Namespaces(texts(names)?),
            (Value::Null, Some(selector)) => Members::Selected(selector.parse().ok()?),
            // `noted` never writes both: somebody has changed it, and either could be what is meant.
            (_, Some(_)) => return None,
        };
        Some(Self {
            name: noted["name"].as_str()?.to_owned(),
            members,
            allowed: if noted["allow"].is_null() {
                BTreeSet::new()
            } else {
                texts(&noted["allow"])?
            },
            // Anything but `true` refuses admin access, which is the stricter reading.
            admin_access: if noted["allowAdminAccess"] == true {
                AdminAccess::Allowed
            } else {
                AdminAccess::Refused
            },
            effect: Effect::from(noted["effect"].as_str()?),
        })
    }
}

/// What the policies of the dedication of that name are called.
#[must_use]
pub fn object_name(name: &str) -> String {
    format!("{}-{name}", Terms::KEY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::dedication::testing::{by_labels, terms};

    #[test]
    fn noted_terms_are_read_back_as_they_were() {
        let mut all = terms("research", &["research", "ml"]);
        all.allowed = ["monitoring".to_owned()].into();
        all.admin_access = AdminAccess::Allowed;
        all.effect = Effect::NoExecute;
        for terms in [
            terms("a", &["a"]),
            all,
            by_labels("a", "team in (a,b),!x,y,z!=1"),
        ] {
            let object =
                json!({"metadata": {"annotations": {RuleMetadata::DEDICATED_TO: terms.noted()}}});
            assert_eq!(Terms::of_object(&object), Some(terms));
        }
        for broken in [
            "",
            "{}",
            r#"{"name":"a","effect":"NoSchedule"}"#,
            r#"{"name":"a","effect":"NoSchedule","namespaces":[1]}"#,
        ] {
            let object = json!({"metadata": {"annotations": {RuleMetadata::DEDICATED_TO: broken}}});
            assert_eq!(Terms::of_object(&object), None, "{broken}");
        }
    }

    #[test]
    fn names_that_no_taint_or_object_can_have_are_refused() {
        assert!(Terms::check_name("research-1").is_ok());
        for name in ["", "Research", "a b", "a-", &"a".repeat(54), "a.b"] {
            assert!(Terms::check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn evicting_dedications_are_tolerated_with_both_effects() {
        let mut terms = terms("a", &["a"]);
        let tolerated = |terms: &Terms| -> Vec<String> {
            terms.tolerated().iter().map(ToString::to_string).collect()
        };
        assert_eq!(tolerated(&terms), ["dedicated=a:NoSchedule"]);
        terms.effect = Effect::NoExecute;
        assert_eq!(
            tolerated(&terms),
            ["dedicated=a:NoSchedule", "dedicated=a:NoExecute"]
        );
    }

    #[test]
    fn members_are_named_unless_there_are_many() {
        assert_eq!(terms("a", &["b"]).members_line(), "namespace b");
        assert_eq!(terms("a", &["b", "c"]).members_line(), "namespaces b, c");
        assert_eq!(
            terms("a", &["b", "c", "d", "e", "f", "g"]).members_line(),
            "6 namespaces"
        );
        assert_eq!(
            by_labels("a", "team=x").members_line(),
            "namespaces with team=x"
        );
    }
}
