//! The namespaces of a dedication: whether they are there, and whether they are fit for one.

use std::collections::BTreeMap;

use super::terms::{Members, Terms};
use crate::error::Failure;
use crate::naming::nearest::nearest;

/// A namespace as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceFact {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// What is known of the namespaces of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownNamespaces {
    /// These are all there are.
    Read(Vec<NamespaceFact>),
    /// They may not be read, for this reason.
    Unread(String),
}

impl KnownNamespaces {
    /// The namespaces that the terms let in; absent where that cannot be known.
    #[must_use]
    pub fn members(&self, terms: &Terms) -> Option<Vec<&str>> {
        match self {
            Self::Read(all) => {
                let members = all
                    .iter()
                    .filter(|one| terms.lets_in(&one.name, &one.labels));
                Some(members.map(|one| one.name.as_str()).collect())
            }
            Self::Unread(_) => None,
        }
    }
}

const SYSTEM: &str = "kube-system";

/// Refuses namespaces that are not there, and a selector that lets in none or kube-system.
///
/// # Errors
///
/// As it says; also when namespaces may not be read.
pub fn refuse_namespaces(terms: &Terms, known: &KnownNamespaces) -> Result<(), Failure> {
    let is_named = match &terms.members {
        Members::Namespaces(names) => names.contains(SYSTEM),
        Members::Selected(_) => false,
    };
    let members = known.members(terms);
    if is_named || members.is_some_and(|members| members.contains(&SYSTEM)) {
        return Err(refused_system(&terms.members));
    }
    let all = match known {
        KnownNamespaces::Read(all) => all,
        KnownNamespaces::Unread(why) => {
            let verb = match &terms.members {
                Members::Namespaces(names) if names.len() == 1 => "exists",
                Members::Namespaces(_) | Members::Selected(_) => "exist",
            };
            return Err(Failure::refused(format!(
                "cannot tell whether {} {verb}: {why}",
                terms.members_line()
            )));
        }
    };
    let absent = |name: &&String| all.iter().all(|one| one.name != **name);
    match &terms.members {
        Members::Namespaces(names) => match names.iter().chain(&terms.allowed).find(absent) {
            None => Ok(()),
            Some(name) => Err(no_such(name, all)),
        },
        Members::Selected(selector) if known.members(terms).is_some_and(|all| all.is_empty()) => {
            Err(Failure::usage(format!(
                "no namespace matches the labels {selector}"
            )))
        }
        Members::Selected(_) => match terms.allowed.iter().find(absent) {
            None => Ok(()),
            Some(name) => Err(no_such(name, all)),
        },
    }
}

fn refused_system(members: &Members) -> Failure {
    let failure = Failure::usage(format!(
        "namespace {SYSTEM} cannot be part of a dedication: its claims are used by system \
        components"
    ));
    match members {
        Members::Namespaces(_) => {
            failure.hint("remove it from --to; to let its claims tolerate the taint, use --allow")
        }
        Members::Selected(_) => failure.hint(format!(
            "exclude it: 'kubernetes.io/metadata.name!={SYSTEM}'"
        )),
    }
}

fn no_such(name: &str, all: &[NamespaceFact]) -> Failure {
    let failure = Failure::usage(format!("namespace {name} not found"));
    match nearest(name, all.iter().map(|one| one.name.clone())).first() {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::dedication::testing::{by_labels, terms};

    fn known() -> KnownNamespaces {
        let of = |name: &str, team: &str| NamespaceFact {
            name: name.to_owned(),
            labels: [("team", team), ("kubernetes.io/metadata.name", name)]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
        };
        KnownNamespaces::Read(vec![
            of("research", "ml"),
            of("kube-system", "core"),
            of("web", "web"),
        ])
    }

    fn refused(terms: &Terms, known: &KnownNamespaces) -> Option<String> {
        let failure = refuse_namespaces(terms, known).err()?;
        Some(failure.to_string())
    }

    #[test]
    fn namespaces_have_to_be_there_unless_they_may_be_missing() {
        assert_eq!(refused(&terms("a", &["research"]), &known()), None);
        let gone = terms("a", &["reserch"]);
        let failure = refuse_namespaces(&gone, &known()).unwrap_err();
        assert_eq!(failure.to_string(), "namespace reserch not found");
        assert_eq!(failure.hints()[0], "did you mean research?");
        let mut allowing = terms("a", &["research"]);
        allowing.allowed = ["gone".to_owned()].into();
        assert!(refused(&allowing, &known()).unwrap().contains("gone"));
        assert!(
            refused(&by_labels("a", "team=none"), &known())
                .unwrap()
                .contains("no namespace matches")
        );
    }

    #[test]
    fn kube_system_is_never_a_member() {
        for terms in [
            by_labels("a", "team!=web"),
            by_labels("a", "team"),
            terms("a", &["kube-system"]),
        ] {
            let failure = refuse_namespaces(&terms, &known()).unwrap_err();
            assert!(
                failure.to_string().contains("namespace kube-system"),
                "{failure}"
            );
        }
        assert_eq!(refused(&by_labels("a", "team=ml"), &known()), None);
        let unread = KnownNamespaces::Unread("denied".to_owned());
        let named = terms("a", &["kube-system"]);
        let failure = refuse_namespaces(&named, &unread).unwrap_err();
        assert!(
            failure.to_string().contains("namespace kube-system"),
            "{failure}"
        );
    }

    #[test]
    fn what_is_unknown_is_not_taken_for_there() {
        let unread = KnownNamespaces::Unread("denied".to_owned());
        let terms = terms("a", &["research"]);
        assert!(refused(&terms, &unread).unwrap().contains("cannot tell"));
        assert_eq!(unread.members(&terms), None);
    }
}
