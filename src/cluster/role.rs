//! RBAC roles of `manifests/`.

use std::collections::{BTreeMap, BTreeSet};

use super::permission::Permission;
use super::purpose::Purpose;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind;

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
}
