//! What does a command do with a cluster, and what must its user be allowed to do for that?
//!
//! One table: whoever may not do one thing is shown the role for all of it, so that nobody asks for
//! one permission after the other.

use super::Permission;
use crate::model::Kind;

/// What is done with a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Reading what a preview needs, from the cluster alone.
    Preview,
    /// A preview that is compared with what the controller says, by rules that are made for that.
    Publish,
    /// Making rules, and completing those that an interrupted run has made.
    Add,
    /// Making rules stronger, and waiting for what they do.
    Escalate,
    /// Making rules weaker.
    Deescalate,
    /// Deleting rules, and waiting until their devices are free of them.
    Remove,
    /// Listing rules with what they hit.
    List,
    /// Everything about rules, with events and nodes.
    Describe,
    /// Waiting for what rules do.
    Wait,
    /// Listing devices with their users.
    Devices,
    /// Saving everything that a preview needs.
    Snapshot,
}

/// Some verbs, and what they are for.
#[derive(Clone, Copy, Debug)]
struct Need(&'static [&'static str], What);

/// What a command looks at or changes.
#[derive(Clone, Copy, Debug)]
enum What {
    /// Every kind that a preview is made from.
    Facts,
    Pods,
    Rules,
    Nodes,
    Events,
}

/// Lists of everything, and pods by their names.
const FACTS: Need = Need(&["list"], What::Facts);
const PODS: Need = Need(&["get"], What::Pods);
const WATCH: Need = Need(&["watch"], What::Facts);
/// Whether a node can end its pods.
const NODES: Need = Need(&["get"], What::Nodes);

impl Purpose {
    /// Every purpose.
    pub const ALL: [Self; 11] = [
        Self::Preview,
        Self::Publish,
        Self::Add,
        Self::Escalate,
        Self::Deescalate,
        Self::Remove,
        Self::List,
        Self::Describe,
        Self::Wait,
        Self::Devices,
        Self::Snapshot,
    ];

    /// In one word, which is part of the name of a role.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// All that a user must be allowed to do, whatever flags are given.
    #[must_use]
    pub fn permissions(self) -> Vec<Permission> {
        let needs = self.row().1.iter();
        needs
            .flat_map(|Need(verbs, what)| {
                let verbs = verbs.iter();
                verbs.flat_map(|verb| what.permissions(verb))
            })
            .collect()
    }

    #[rustfmt::skip] // One line per purpose.
    fn row(self) -> (&'static str, &'static [Need]) {
        match self {
            Self::Preview    => ("preview",    &[FACTS, PODS]),
            Self::Publish    => ("publish",    &[FACTS, PODS, Need(&["get", "create", "patch", "delete"], What::Rules)]),
            Self::Add        => ("add",        &[FACTS, PODS, Need(&["get", "create", "patch"], What::Rules)]),
            Self::Escalate   => ("escalate",   &[FACTS, PODS, Need(&["get", "patch"], What::Rules), WATCH, NODES]),
            Self::Deescalate => ("deescalate", &[FACTS, PODS, Need(&["get", "patch"], What::Rules)]),
            Self::Remove     => ("remove",     &[FACTS, PODS, Need(&["get", "delete"], What::Rules), WATCH, NODES]),
            Self::List       => ("list",       &[FACTS, PODS]),
            Self::Describe   => ("describe",   &[FACTS, PODS, Need(&["get"], What::Rules), Need(&["list"], What::Events), NODES]),
            Self::Wait       => ("wait",       &[FACTS, PODS, Need(&["get"], What::Rules), WATCH, NODES]),
            Self::Devices    => ("devices",    &[FACTS, PODS]),
            Self::Snapshot   => ("snapshot",   &[FACTS]),
        }
    }
}

impl What {
    fn permissions(self, verb: &'static str) -> Vec<Permission> {
        let core = |resource: &str| Permission {
            verb,
            group: String::new(),
            resource: resource.to_owned(),
        };
        match self {
            Self::Facts => Kind::ALL
                .into_iter()
                .map(|kind| Permission::new(verb, kind))
                .collect(),
            Self::Pods => vec![Permission::new(verb, Kind::Pod)],
            Self::Rules => vec![Permission::new(verb, Kind::DeviceTaintRule)],
            Self::Nodes => vec![core("nodes")],
            Self::Events => vec![core("events")],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_purpose_has_a_name_of_its_own() {
        let names: BTreeSet<_> = Purpose::ALL.map(Purpose::name).into();
        assert_eq!(names.len(), Purpose::ALL.len());
    }

    #[test]
    fn what_only_looks_changes_nothing() {
        let writers: Vec<_> = Purpose::ALL
            .into_iter()
            .filter(|purpose| !purpose.permissions().iter().all(Permission::is_read))
            .collect();
        let expected = [
            Purpose::Publish,
            Purpose::Add,
            Purpose::Escalate,
            Purpose::Deescalate,
            Purpose::Remove,
        ];
        assert_eq!(writers, expected);
    }

    #[test]
    fn every_kind_is_listed_for_every_purpose() {
        for purpose in Purpose::ALL {
            let permissions = purpose.permissions();
            for kind in Kind::ALL {
                let list = Permission::new("list", kind);
                assert!(permissions.contains(&list), "{purpose:?}: {list}");
            }
        }
    }
}
