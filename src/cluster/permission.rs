//! Permissions of a user, and those that are missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::model::{self, Kind, Saving};

/// Something that a user may or may not do, printed `list resourceslices.resource.k8s.io`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// Verb, such as `list`.
    pub verb: &'static str,
    /// API group; empty for the core group.
    pub group: String,
    /// Plural, such as `resourceslices`.
    pub resource: String,
}

impl Permission {
    /// To `verb` objects of `kind`.
    pub fn new(verb: &'static str, kind: Kind) -> Self {
        Self {
            verb,
            group: kind.group().to_owned(),
            resource: kind.resource().to_owned(),
        }
    }

    /// To evict pods through the Eviction API.
    pub fn evictions() -> Self {
        Self {
            verb: "create",
            group: String::new(),
            // For RBAC a subresource is a resource of its own: `pods` does not include it.
            resource: "pods/eviction".to_owned(),
        }
    }

    /// True if it is a permission to read.
    pub fn is_read(&self) -> bool {
        ["get", "list", "watch"].contains(&self.verb)
    }

    /// The resource with its group, as `kubectl` and the API server print it.
    pub fn full_resource(&self) -> String {
        if self.group.is_empty() {
            self.resource.clone()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.verb, self.full_resource())
    }
}

/// A role that is granted once, to a user who does more than one thing with this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Looks, waits and takes snapshots, and changes nothing.
    Reader,
    /// Does everything with rules, and makes no policies.
    Operator,
    /// Dedicates devices: makes and removes rules and policies.
    Dedicator,
}

impl Role {
    /// Every role, from the one that allows least.
    pub const ALL: [Self; 3] = [Self::Reader, Self::Operator, Self::Dedicator];

    /// In one word, which is part of the name of its `ClusterRole`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Operator => "operator",
            Self::Dedicator => "dedicator",
        }
    }

    /// Purposes that it allows: for a reader, everything that needs no right to change anything.
    pub fn purposes(self) -> Vec<Purpose> {
        let allows = |purpose: &Purpose| match self {
            Self::Reader => purpose.permissions().iter().all(Permission::is_read),
            Self::Operator => !purpose.changes_policies(),
            Self::Dedicator => purpose.is_about_dedications(),
        };
        Purpose::every().filter(allows).collect()
    }

    /// All permissions that it needs, in order, each once.
    pub fn permissions(self) -> BTreeSet<Permission> {
        let purposes = self.purposes().into_iter();
        purposes.flat_map(Purpose::permissions).collect()
    }

    /// The `ClusterRole`, as YAML that `kubectl apply` takes.
    pub fn cluster_role(self) -> String {
        let permissions: Vec<Permission> = self.permissions().into_iter().collect();
        cluster_role(
            &format!("kubectl-devicetaint-{}", self.name()),
            &permissions,
        )
    }
}

/// Resources that need the same verbs share an entry; the order is by group and name.
fn cluster_role(name: &str, permissions: &[Permission]) -> String {
    let mut verbs: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for permission in permissions {
        verbs
            .entry((&permission.group, &permission.resource))
            .or_default()
            .insert(permission.verb);
    }
    let mut entries: BTreeMap<(&str, Vec<&str>), Vec<&str>> = BTreeMap::new();
    for ((group, resource), verbs) in verbs {
        let key = (group, verbs.into_iter().collect());
        entries.entry(key).or_default().push(resource);
    }
    let rules: String = entries
        .iter()
        .map(|((group, verbs), resources)| {
            format!(
                "- apiGroups: [\"{group}\"]\n  resources: [{}]\n  verbs: [{}]\n",
                resources.join(", "),
                verbs.join(", "),
            )
        })
        .collect();
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  \
         name: {name}\nrules:\n{rules}"
    )
}

/// Some verbs, and what they are for.
#[derive(Clone, Copy, Debug)]
struct Need(&'static [&'static str], What);

/// Resources that a command reads or changes.
#[derive(Clone, Copy, Debug)]
enum What {
    /// Every kind that no answer can do without.
    Facts,
    /// Every kind that a snapshot keeps.
    Saved,
    /// Deployments too, since they decide how many pods their ReplicaSets make.
    Workloads,
    PodEvictions,
    Kinds(&'static [Kind]),
}

const RULES: What = What::Kinds(&[Kind::DeviceTaintRule]);
const POLICIES: What = What::Kinds(&[
    Kind::MutatingAdmissionPolicy,
    Kind::MutatingAdmissionPolicyBinding,
    Kind::ValidatingAdmissionPolicy,
    Kind::ValidatingAdmissionPolicyBinding,
]);

/// Lists of everything, and pods by their names.
const FACTS: Need = Need(&["list"], What::Facts);
const PODS: Need = Need(&["get"], What::Kinds(&[Kind::Pod]));
const WATCH: Need = Need(&["watch"], What::Facts);
/// Device classes, which decide the devices that a claim can be allocated.
const CLASSES: Need = Need(&["list"], What::Kinds(&[Kind::DeviceClass]));
/// Nodes: their ability to end pods, and candidates for claims that are allocated again; few
/// nodes each by its name, many in one list.
const NODES: Need = Need(&["get", "list"], What::Kinds(&[Kind::Node]));

/// Budgets that the loss of pods would overdraw.
const BUDGETS: Need = Need(&["list"], What::Kinds(&[Kind::PodDisruptionBudget]));
/// Workloads of pods: few each by its name, many in lists.
const WORKLOADS: Need = Need(&["get", "list"], What::Workloads);
/// Events of evicted pods, which show the history of a rule.
const EVENTS: Need = Need(&["list"], What::Kinds(&[Kind::Event]));
/// Templates of claims, which show the requests and tolerations of future pods.
const TEMPLATES: Need = Need(&["list"], What::Kinds(&[Kind::ResourceClaimTemplate]));
/// The namespaces that dedications are for.
const NAMESPACES: Need = Need(&["list"], What::Kinds(&[Kind::NamespaceObject]));
/// Evictions that respect budgets.
const EVICTIONS: Need = Need(&["create"], What::PodEvictions);
/// Restarts, which note their time in the template of a Deployment.
const RESTARTS: Need = Need(&["patch"], What::Kinds(&[Kind::Deployment]));

/// Makes [`Purpose`] of its rows: what is known of a purpose stands in its row alone.
macro_rules! purposes {
    ($($(#[$doc:meta])* $purpose:ident: $name:literal, $needs:expr;)*) => {
        /// Purpose of a connection.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Purpose {
            $($(#[$doc])* $purpose,)*
        }

        impl Purpose {
            const EVERY: &'static [Self] = &[$(Self::$purpose,)*];

            /// In one word, which is part of the name of a role.
            pub fn name(self) -> &'static str {
                match self { $(Self::$purpose => $name,)* }
            }

            fn needs(self) -> &'static [Need] {
                match self { $(Self::$purpose => &$needs,)* }
            }
        }
    };
}

purposes! {
    /// Reading what a preview needs, from the cluster alone.
    Preview: "preview", [FACTS, CLASSES, PODS, BUDGETS, WORKLOADS, TEMPLATES, NODES];
    /// Choosing among devices, and everything that a preview of the choice needs.
    Plan: "plan", [FACTS, CLASSES, PODS, BUDGETS, WORKLOADS, TEMPLATES, NODES];
    /// A preview that is compared with what the controller says, by rules that are made for that.
    Publish: "publish", [FACTS, CLASSES, PODS, BUDGETS, WORKLOADS, TEMPLATES, NODES, Need(&["get", "create", "patch", "delete"], RULES)];
    /// Making rules, and completing those that an interrupted run has made.
    Add: "add", [FACTS, CLASSES, PODS, BUDGETS, WORKLOADS, TEMPLATES, NODES, Need(&["get", "create", "patch"], RULES)];
    /// Making rules stronger, and waiting for what they do.
    Escalate: "escalate", [FACTS, CLASSES, PODS, BUDGETS, WORKLOADS, TEMPLATES, Need(&["get", "patch"], RULES), WATCH, NODES];
    /// Making rules weaker.
    Deescalate: "deescalate", [FACTS, PODS, Need(&["get", "patch"], RULES)];
    /// Deleting rules, and waiting until their devices are free of them.
    Remove: "remove", [FACTS, PODS, Need(&["get", "delete"], RULES), WATCH, NODES];
    /// Listing rules with what they hit.
    List: "list", [FACTS, PODS, WATCH];
    /// Everything about rules, with events and nodes.
    Describe: "describe", [FACTS, PODS, EVENTS, NODES];
    /// Explaining pods, devices and rules, and where claims could be allocated.
    Explain: "explain", [FACTS, Need(&["get", "list"], What::Kinds(&[Kind::Pod])), Need(&["list"], What::Kinds(&[Kind::Node])), TEMPLATES];
    /// Waiting for what rules do.
    Wait: "wait", [FACTS, PODS, WATCH, NODES];
    /// Listing devices with their users.
    Devices: "devices", [FACTS, PODS, WATCH];
    /// Comparing what a kubelet says with what the cluster says.
    PodResources: "podresources", [FACTS, CLASSES, PODS, TEMPLATES];
    /// Saving everything that a preview needs.
    Snapshot: "snapshot", [Need(&["list"], What::Saved)];
    /// Making a dedication: rules, and policies that are tried with claims that are not stored.
    Dedicate: "dedicate", [FACTS, TEMPLATES, NAMESPACES, Need(&["list"], What::Kinds(&[Kind::DaemonSet])), Need(&["create"], What::Kinds(&[Kind::ResourceClaim])), Need(&["get", "create", "patch"], RULES), Need(&["get", "list", "create", "patch"], POLICIES)];
    /// Removing one.
    Undedicate: "undedicate", [FACTS, Need(&["get", "delete"], RULES), Need(&["get", "list", "delete"], POLICIES)];
    /// Tolerations of a taint.
    Tolerations: "tolerations", [FACTS, TEMPLATES];
    /// Draining devices: rules, evictions and restarts.
    Drain: "drain", [FACTS, Need(&["get", "list"], What::Kinds(&[Kind::Pod])), BUDGETS, WORKLOADS, TEMPLATES, NODES, WATCH, Need(&["get", "create", "patch"], RULES), EVICTIONS, RESTARTS];
    /// Looking at drains.
    DrainStatus: "drain-status", [FACTS, PODS];
    /// Undoing a drain.
    Restore: "restore", [FACTS, PODS, Need(&["get", "delete"], RULES), NODES];
    /// Evicting pods so that another one gets their devices.
    MakeRoom: "make-room", [FACTS, Need(&["get", "list"], What::Kinds(&[Kind::Pod])), BUDGETS, WORKLOADS, TEMPLATES, NODES, Need(&["get", "create", "patch", "delete"], RULES), EVICTIONS];
    /// Making rules by policies, raising and removing them.
    React: "react", [FACTS, CLASSES, PODS, BUDGETS, WORKLOADS, TEMPLATES, NODES, Need(&["get", "create", "patch", "delete"], RULES), WATCH];
}

impl Purpose {
    /// Every purpose; a role of `manifests/` is for each.
    pub fn every() -> impl Iterator<Item = Self> {
        Self::EVERY.iter().copied()
    }

    /// The `ClusterRole` that allows this alone, as YAML that `kubectl apply` takes.
    pub fn cluster_role(self) -> String {
        let name = format!("kubectl-devicetaint-{}", self.name());
        cluster_role(&name, &self.permissions())
    }

    /// True if its command never changes anything, nor waits for a change.
    pub fn only_reads(self) -> bool {
        let permissions = self.permissions();
        self != Self::Wait && permissions.iter().all(Permission::is_read)
    }

    /// True if its command creates or removes admission policies, which act on the objects of all users.
    pub fn changes_policies(self) -> bool {
        let mut permissions = self.permissions().into_iter();
        let group = Kind::MutatingAdmissionPolicy.group();
        permissions.any(|permission| permission.group == group && !permission.is_read())
    }

    /// True if its command creates, removes or reads dedications, or reports tolerations of their taints.
    pub fn is_about_dedications(self) -> bool {
        matches!(self, Self::Dedicate | Self::Undedicate | Self::Tolerations)
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
        self.only_reads() && !matches!(self, Self::Snapshot | Self::DrainStatus)
    }

    /// All permissions that a user needs, whatever flags are given.
    pub fn permissions(self) -> Vec<Permission> {
        let needs = self.needs().iter();
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
            Self::Workloads => Kind::WORKLOADS.iter().copied().map(of).collect(),
            Self::PodEvictions => vec![Permission {
                verb,
                ..Permission::evictions()
            }],
            Self::Kinds(kinds) => kinds.iter().copied().map(of).collect(),
        }
    }
}

/// True if the kind is required.
fn is_needed(kind: Kind) -> bool {
    kind.need() != model::Need::Optional
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind;
    use std::collections::BTreeSet;

    #[test]
    fn core_resources_have_no_group_in_their_name() {
        assert_eq!(Permission::new("get", Kind::Pod).to_string(), "get pods");
        assert_eq!(
            Permission::new("list", Kind::DeviceTaintRule).to_string(),
            "list devicetaintrules.resource.k8s.io"
        );
    }

    #[test]
    fn role_grants_each_missing_permission_once() {
        let missing = [
            Permission::new("list", Kind::ResourceSlice),
            Permission::new("list", Kind::ResourceClaim),
            Permission::new("list", Kind::ResourceSlice),
            Permission::new("get", Kind::Pod),
            Permission::new("list", Kind::Pod),
        ];
        insta::assert_snapshot!(cluster_role("kubectl-devicetaint", &missing), @r#"
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata:
          name: kubectl-devicetaint
        rules:
        - apiGroups: [""]
          resources: [pods]
          verbs: [get, list]
        - apiGroups: ["resource.k8s.io"]
          resources: [resourceclaims, resourceslices]
          verbs: [list]
        "#);
    }

    #[test]
    fn role_is_valid_yaml() {
        for role in Role::ALL {
            let role = role.cluster_role();
            let role: serde_json::Value = serde_yaml::from_str(&role).expect("YAML");
            let rules = role["rules"].as_array().expect("rules");
            assert!(
                rules.iter().all(|rule| rule["apiGroups"][0].is_string()),
                "{role}"
            );
            assert_eq!(role["kind"], "ClusterRole");
        }
    }

    #[test]
    fn a_reader_changes_nothing_and_an_operator_does_everything_but_policies() {
        let reader = Role::Reader.permissions();
        assert!(reader.iter().all(Permission::is_read), "{reader:?}");
        assert!(Role::Reader.purposes().contains(&Purpose::Wait));
        let policies = [Purpose::Dedicate, Purpose::Undedicate];
        let all = Purpose::every();
        let all: Vec<Purpose> = all.filter(|one| !policies.contains(one)).collect();
        assert_eq!(Role::Operator.purposes(), all);
        let operator = Role::Operator.permissions();
        for purpose in Role::Operator.purposes() {
            for permission in purpose.permissions() {
                assert!(operator.contains(&permission), "{purpose:?}: {permission}");
                let reads = Role::Reader.purposes().contains(&purpose);
                assert!(!reads || reader.contains(&permission), "{permission}");
            }
        }
        let more: Vec<String> = operator
            .difference(&reader)
            .map(ToString::to_string)
            .collect();
        let expected = [
            "create pods/eviction",
            "create devicetaintrules.resource.k8s.io",
            "delete devicetaintrules.resource.k8s.io",
            "get devicetaintrules.resource.k8s.io",
            "patch deployments.apps",
            "patch devicetaintrules.resource.k8s.io",
        ];
        assert_eq!(more, expected);
    }

    #[test]
    fn every_purpose_has_a_name_of_its_own() {
        let names: BTreeSet<_> = Purpose::EVERY.iter().map(|one| one.name()).collect();
        assert_eq!(names.len(), Purpose::EVERY.len());
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
}
