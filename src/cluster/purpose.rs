//! The permissions that each command needs: the table that roles are generated from.

use super::permission::Permission;
use crate::model::{self, Kind, Saving};

/// Some verbs, and what they are for.
#[derive(Clone, Copy, Debug)]
struct Need(&'static [&'static str], What);

/// Resources that a command reads or changes.
#[derive(Clone, Copy, Debug)]
enum What {
    /// Every kind that no answer can do without.
    Facts,
    Classes,
    /// Every kind that a snapshot keeps.
    Saved,
    Pods,
    Rules,
    Nodes,
    Events,
    Budgets,
    Workloads,
    Templates,
    PodEvictions,
    Deployments,
    DaemonSets,
    Claims,
    Policies,
    Namespaces,
}

/// Lists of everything, and pods by their names.
const FACTS: Need = Need(&["list"], What::Facts);
const PODS: Need = Need(&["get"], What::Pods);
const WATCH: Need = Need(&["watch"], What::Facts);
/// Device classes, which decide the devices that a claim can be allocated.
const CLASSES: Need = Need(&["list"], What::Classes);
/// Nodes: their ability to end pods, and candidates for claims that are allocated again; few
/// nodes each by its name, many in one list.
const NODES: Need = Need(&["get", "list"], What::Nodes);

/// Budgets that the loss of pods would overdraw.
const BUDGETS: Need = Need(&["list"], What::Budgets);
/// Workloads of pods: few each by its name, many in lists.
const WORKLOADS: Need = Need(&["get", "list"], What::Workloads);
/// Events of evicted pods, which show the history of a rule.
const EVENTS: Need = Need(&["list"], What::Events);
/// Templates of claims, which show the requests and tolerations of future pods.
const TEMPLATES: Need = Need(&["list"], What::Templates);
/// The namespaces that dedications are for.
const NAMESPACES: Need = Need(&["list"], What::Namespaces);
/// Evictions that respect budgets.
const EVICTIONS: Need = Need(&["create"], What::PodEvictions);
/// Restarts, which note their time in the template of a Deployment.
const RESTARTS: Need = Need(&["patch"], What::Deployments);

/// Effect of a command on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Reads only, and waits for no change.
    Looks,
    /// Changes something, or waits for a change.
    Acts,
}

/// Sources of a purpose's facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sources {
    /// A cluster, or a dump, of which an answer is of use too.
    OrDump,
    /// A cluster.
    Live,
}

/// Subject of the roles in `manifests/` that allow a purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Roles {
    /// Rules.
    Rules,
    /// Rules and dedications.
    Dedications,
}

/// Properties of a purpose.
struct Row {
    name: &'static str,
    effect: Effect,
    sources: Sources,
    roles: Roles,
    needs: &'static [Need],
}

/// Makes [`Purpose`] of its rows: what is known of a purpose stands in its row alone.
macro_rules! purposes {
    ($($(#[$doc:meta])* $purpose:ident: $name:literal, $effect:ident, $sources:ident, $roles:ident, $needs:expr;)*) => {
        /// Purpose of a connection.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Purpose {
            $($(#[$doc])* $purpose,)*
        }

        impl Purpose {
            const EVERY: &'static [Self] = &[$(Self::$purpose,)*];

            fn row(self) -> Row {
                match self {
                    $(Self::$purpose => Row {
                        name: $name,
                        effect: Effect::$effect,
                        sources: Sources::$sources,
                        roles: Roles::$roles,
                        needs: &$needs,
                    },)*
                }
            }
        }
    };
}

purposes! {
    /// Reading what a preview needs, from the cluster alone.
    Preview: "preview", Looks, OrDump, Rules, [FACTS, CLASSES, PODS, BUDGETS, WORKLOADS, TEMPLATES, NODES];
    /// Choosing among devices, and everything that a preview of the choice needs.
    Plan: "plan", Looks, OrDump, Rules, [FACTS, CLASSES, PODS, BUDGETS, WORKLOADS, TEMPLATES, NODES];
    /// A preview that is compared with what the controller says, by rules that are made for that.
    Publish: "publish", Acts, Live, Rules, [FACTS, CLASSES, PODS, BUDGETS, WORKLOADS, TEMPLATES, NODES, Need(&["get", "create", "patch", "delete"], What::Rules)];
    /// Making rules, and completing those that an interrupted run has made.
    Add: "add", Acts, Live, Rules, [FACTS, CLASSES, PODS, BUDGETS, WORKLOADS, TEMPLATES, NODES, Need(&["get", "create", "patch"], What::Rules)];
    /// Making rules stronger, and waiting for what they do.
    Escalate: "escalate", Acts, Live, Rules, [FACTS, CLASSES, PODS, BUDGETS, WORKLOADS, TEMPLATES, Need(&["get", "patch"], What::Rules), WATCH, NODES];
    /// Making rules weaker.
    Deescalate: "deescalate", Acts, Live, Rules, [FACTS, PODS, Need(&["get", "patch"], What::Rules)];
    /// Deleting rules, and waiting until their devices are free of them.
    Remove: "remove", Acts, Live, Rules, [FACTS, PODS, Need(&["get", "delete"], What::Rules), WATCH, NODES];
    /// Listing rules with what they hit.
    List: "list", Looks, OrDump, Rules, [FACTS, PODS, WATCH];
    /// Everything about rules, with events and nodes.
    Describe: "describe", Looks, OrDump, Rules, [FACTS, PODS, EVENTS, NODES];
    /// Explaining pods, devices and rules, and where claims could be allocated.
    Explain: "explain", Looks, OrDump, Rules, [FACTS, Need(&["get", "list"], What::Pods), Need(&["list"], What::Nodes), TEMPLATES];
    /// Waiting for what rules do.
    Wait: "wait", Acts, Live, Rules, [FACTS, PODS, WATCH, NODES];
    /// Listing devices with their users.
    Devices: "devices", Looks, OrDump, Rules, [FACTS, PODS, WATCH];
    /// Comparing what a kubelet says with what the cluster says.
    PodResources: "podresources", Looks, OrDump, Rules, [FACTS, CLASSES, PODS, TEMPLATES];
    /// Saving everything that a preview needs.
    Snapshot: "snapshot", Looks, Live, Rules, [Need(&["list"], What::Saved)];
    /// Making a dedication: rules, and policies that are tried with claims that are not stored.
    Dedicate: "dedicate", Acts, Live, Dedications, [FACTS, TEMPLATES, NAMESPACES, Need(&["list"], What::DaemonSets), Need(&["create"], What::Claims), Need(&["get", "create", "patch"], What::Rules), Need(&["get", "list", "create", "patch"], What::Policies)];
    /// Removing one.
    Undedicate: "undedicate", Acts, Live, Dedications, [FACTS, Need(&["get", "delete"], What::Rules), Need(&["get", "list", "delete"], What::Policies)];
    /// Tolerations of a taint.
    Tolerations: "tolerations", Looks, OrDump, Dedications, [FACTS, TEMPLATES];
    /// Draining devices: rules, evictions and restarts.
    Drain: "drain", Acts, Live, Rules, [FACTS, Need(&["get", "list"], What::Pods), BUDGETS, WORKLOADS, TEMPLATES, NODES, WATCH, Need(&["get", "create", "patch"], What::Rules), EVICTIONS, RESTARTS];
    /// Looking at drains.
    DrainStatus: "drain-status", Looks, Live, Rules, [FACTS, PODS];
    /// Undoing a drain.
    Restore: "restore", Acts, Live, Rules, [FACTS, PODS, Need(&["get", "delete"], What::Rules), NODES];
    /// Evicting pods so that another one gets their devices.
    MakeRoom: "make-room", Acts, Live, Rules, [FACTS, Need(&["get", "list"], What::Pods), BUDGETS, WORKLOADS, TEMPLATES, NODES, Need(&["get", "create", "patch", "delete"], What::Rules), EVICTIONS];
}

impl Purpose {
    /// Every purpose; a role of `manifests/` is for each.
    pub fn every() -> impl Iterator<Item = Self> {
        Self::EVERY.iter().copied()
    }

    /// In one word, which is part of the name of a role.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// True if its command never changes anything, nor waits for a change.
    pub fn only_reads(self) -> bool {
        self.row().effect == Effect::Looks
    }

    /// True if its command creates or removes admission policies, which act on the objects of all users.
    pub fn changes_policies(self) -> bool {
        let mut permissions = self.permissions().into_iter();
        let group = Kind::MutatingAdmissionPolicy.group();
        permissions.any(|permission| permission.group == group && !permission.is_read())
    }

    /// True if its command creates, removes or reads dedications, or reports tolerations of their taints.
    pub fn is_about_dedications(self) -> bool {
        self.row().roles == Roles::Dedications
    }

    /// True if its command is of use where evictions are not predicted: it changes nothing, and does not report them.
    pub fn works_without_predictions(self) -> bool {
        matches!(
            self,
            Self::Plan | Self::Explain | Self::Devices | Self::Snapshot
        )
    }

    /// True if its command can read a dump instead, and is of use then.
    pub fn reads_dumps(self) -> bool {
        self.row().sources == Sources::OrDump
    }

    /// All permissions that a user needs, whatever flags are given.
    pub fn permissions(self) -> Vec<Permission> {
        let needs = self.row().needs.iter();
        needs
            .flat_map(|Need(verbs, what)| {
                let verbs = verbs.iter();
                verbs.flat_map(|verb| what.permissions(verb))
            })
            .collect()
    }
}

impl What {
    fn permissions(self, verb: &'static str) -> Vec<Permission> {
        let of = |kind| Permission::new(verb, kind);
        let those = |wanted: fn(Kind) -> bool| {
            let kinds = Kind::ALL.into_iter();
            kinds.filter(|kind| wanted(*kind)).map(of).collect()
        };
        match self {
            Self::Facts => those(is_needed),
            Self::Saved => those(|kind| kind.saving() == Saving::Always),
            Self::Classes => vec![of(Kind::DeviceClass)],
            Self::Pods => vec![of(Kind::Pod)],
            Self::Rules => vec![of(Kind::DeviceTaintRule)],
            Self::Nodes => vec![of(Kind::Node)],
            Self::Events => vec![of(Kind::Event)],
            Self::Budgets => vec![of(Kind::PodDisruptionBudget)],
            Self::PodEvictions => vec![Permission {
                verb,
                group: String::new(),
                resource: "pods/eviction".to_owned(),
            }],
            Self::Deployments => vec![of(Kind::Deployment)],
            Self::DaemonSets => vec![of(Kind::DaemonSet)],
            Self::Claims => vec![of(Kind::ResourceClaim)],
            Self::Templates => vec![of(Kind::ResourceClaimTemplate)],
            Self::Namespaces => vec![of(Kind::NamespaceObject)],
            Self::Policies => vec![
                of(Kind::MutatingAdmissionPolicy),
                of(Kind::MutatingAdmissionPolicyBinding),
                of(Kind::ValidatingAdmissionPolicy),
                of(Kind::ValidatingAdmissionPolicyBinding),
            ],
            // Deployments too, since they decide how many pods their ReplicaSets make.
            Self::Workloads => Kind::WORKLOADS.iter().copied().map(of).collect(),
        }
    }
}

/// True if the kind is required.
fn is_needed(kind: Kind) -> bool {
    kind.need() != model::Need::Optional
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_purpose_has_a_name_of_its_own() {
        let names: BTreeSet<_> = Purpose::EVERY.iter().map(|one| one.name()).collect();
        assert_eq!(names.len(), Purpose::EVERY.len());
    }

    #[test]
    fn what_only_looks_changes_nothing() {
        let writers: Vec<_> = Purpose::every()
            .filter(|purpose| !purpose.permissions().iter().all(Permission::is_read))
            .collect();
        let expected = [
            Purpose::Publish,
            Purpose::Add,
            Purpose::Escalate,
            Purpose::Deescalate,
            Purpose::Remove,
            Purpose::Dedicate,
            Purpose::Undedicate,
            Purpose::Drain,
            Purpose::Restore,
            Purpose::MakeRoom,
        ];
        assert_eq!(writers, expected);
    }

    #[test]
    fn every_kind_that_is_needed_is_listed_for_every_purpose() {
        for purpose in Purpose::every() {
            let permissions = purpose.permissions();
            for kind in Kind::ALL.into_iter().filter(|kind| is_needed(*kind)) {
                let list = Permission::new("list", kind);
                assert!(permissions.contains(&list), "{purpose:?}: {list}");
            }
        }
    }

    #[test]
    fn nothing_is_asked_for_that_a_command_does_not_use() {
        for purpose in Purpose::every() {
            let resources: BTreeSet<String> = purpose
                .permissions()
                .into_iter()
                .map(|permission| permission.resource)
                .collect();
            let nodes = [
                Purpose::Preview,
                Purpose::Plan,
                Purpose::Publish,
                Purpose::Add,
                Purpose::Escalate,
                Purpose::Remove,
                Purpose::Describe,
                Purpose::Explain,
                Purpose::Wait,
                Purpose::Snapshot,
                Purpose::Drain,
                Purpose::Restore,
                Purpose::MakeRoom,
            ];
            assert_eq!(resources.contains("nodes"), nodes.contains(&purpose));
            let events = [Purpose::Describe];
            assert_eq!(
                resources.contains("events"),
                events.contains(&purpose),
                "{purpose:?}"
            );
            let budgets = [
                Purpose::Preview,
                Purpose::Plan,
                Purpose::Publish,
                Purpose::Add,
                Purpose::Escalate,
                Purpose::Snapshot,
                Purpose::Drain,
                Purpose::MakeRoom,
            ];
            let needs = budgets.contains(&purpose);
            let has = |what| resources.contains(what);
            assert_eq!(has("poddisruptionbudgets"), needs, "{purpose:?}");
            assert_eq!(has("jobsets"), needs, "{purpose:?}");
            assert_eq!(has("deployments"), needs, "{purpose:?}");
            assert!(has("resourceclaimtemplates") || !needs, "{purpose:?}");
        }
    }
}
