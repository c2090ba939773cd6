//! Which role would allow what is missing?

use std::collections::{BTreeMap, BTreeSet};

use super::{Permission, Purpose};

/// A `ClusterRole`, as YAML that `kubectl apply` takes, that allows all of what `purpose` needs, and
/// everything of `denied`.
///
/// Its name is the purpose's own, so that roles for two of them do not replace each other, and the
/// role is the same whatever was denied this time. Resources that need the same verbs share an entry;
/// the order is by group and name.
#[must_use]
pub fn cluster_role_for(purpose: Option<Purpose>, denied: &[Permission]) -> String {
    let needed = purpose.map(Purpose::permissions).unwrap_or_default();
    let name = match purpose {
        Some(purpose) => format!("kubectl-devicetaint-{}", purpose.name()),
        None => "kubectl-devicetaint".to_owned(),
    };
    let mut verbs: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for permission in needed.iter().chain(denied) {
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
    use crate::model::{Kind, Need};

    #[test]
    fn role_grants_each_missing_permission_once() {
        let missing = [
            Permission::new("list", Kind::ResourceSlice),
            Permission::new("list", Kind::ResourceClaim),
            Permission::new("list", Kind::ResourceSlice),
            Permission::new("get", Kind::Pod),
            Permission::new("list", Kind::Pod),
        ];
        insta::assert_snapshot!(cluster_role_for(None, &missing), @r#"
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
    fn role_of_a_purpose_is_the_same_whatever_was_denied() {
        let all = cluster_role_for(Some(Purpose::Preview), &[]);
        let needed = |kind: &Kind| kind.need() != Need::Optional;
        for kind in Kind::ALL.into_iter().filter(needed) {
            let denied = [Permission::new("list", kind)];
            assert_eq!(cluster_role_for(Some(Purpose::Preview), &denied), all);
        }
        assert!(
            all.contains("  name: kubectl-devicetaint-preview\n"),
            "{all}"
        );
        let other = cluster_role_for(Some(Purpose::Add), &[]);
        assert!(
            other.contains("  name: kubectl-devicetaint-add\n"),
            "{other}"
        );
        assert!(other.contains("[create, get, list, patch]"), "{other}");
    }

    #[test]
    fn what_was_denied_is_allowed_even_if_no_purpose_needs_it() {
        let denied = [Permission {
            verb: "bind",
            group: "example.com".to_owned(),
            resource: "things".to_owned(),
        }];
        let role = cluster_role_for(Some(Purpose::List), &denied);
        assert!(
            role.contains("resources: [things]\n  verbs: [bind]"),
            "{role}"
        );
    }

    #[test]
    fn role_is_valid_yaml() {
        for purpose in Purpose::ALL {
            let role = cluster_role_for(Some(purpose), &[]);
            let role: serde_json::Value = serde_yaml::from_str(&role).expect("YAML");
            let rules = role["rules"].as_array().expect("rules");
            assert!(
                rules.iter().all(|rule| rule["apiGroups"][0].is_string()),
                "{role}"
            );
            assert_eq!(role["kind"], "ClusterRole");
        }
    }
}
