//! The terms of a dedication: its name, its namespaces, and namespaces in which claims may tolerate the taint.

use std::collections::{BTreeMap, BTreeSet};

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

/// Everything from which the objects of a dedication are made, but the devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Its name, which is the value of the taint.
    pub name: String,
    /// Who is let in.
    pub members: Members,
    /// Namespaces outside whose claims may tolerate the taint all the same.
    pub allowed: BTreeSet<String>,
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
        // Also the name of its objects is the value of a label.
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
            effect: Effect::NoSchedule,
            time_added: None,
        }
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
    fn names_that_no_taint_or_object_can_have_are_refused() {
        assert!(Terms::check_name("research-1").is_ok());
        for name in ["", "Research", "a b", "a-", &"a".repeat(54), "a.b"] {
            assert!(Terms::check_name(name).is_err(), "{name}");
        }
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
