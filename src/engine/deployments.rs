//! Deployments of ReplicaSets: which workload decides how many pods take the place of those that a ReplicaSet has lost.
//!
//! A Deployment that is rolled out gets a new ReplicaSet, and desires no pods of the old one any more. The old one may be
//! deleted later, after which only the names of its pods tell of it.

use std::collections::BTreeMap;

use crate::model::{Controller, Kind, Namespace, NamespacedName, ObjectName, Reading, Workload};

/// The letters and digits of which generated names are made: without vowels, and without digits that look like some.
///
/// Upstream: `alphanums` in `k8s.io/apimachinery/pkg/util/rand`.
const GENERATED: &str = "bcdfghjklmnpqrstvwxz2456789";

/// How many of them end the name of a pod of a ReplicaSet.
///
/// Upstream: `randomLength` in `k8s.io/apiserver/pkg/storage/names`.
const SUFFIX: usize = 5;

/// What decides how many pods there should be in the place of those of a ReplicaSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodCountOwner<'a> {
    /// The ReplicaSet itself: nothing is above it, or the Deployment above it was deleted.
    Itself,
    /// This Deployment.
    Deployment(&'a Workload),
    /// The Deployment of this name, or, if it was deleted, the ReplicaSet: Deployments could not be read.
    UnreadDeployment(NamespacedName),
    /// A controller of a kind of which nothing is read, such as a Rollout.
    Other(Controller),
}

/// The Deployments of a reading.
pub struct Deployments<'a> {
    by_name: BTreeMap<&'a NamespacedName, &'a Workload>,
    is_read: bool,
}

impl<'a> Deployments<'a> {
    /// Those of `reading`.
    #[must_use]
    pub fn of(reading: &'a Reading) -> Self {
        let deployments = reading.snapshot.deployments.iter();
        Self {
            by_name: deployments.map(|it| (&it.0.name, &it.0)).collect(),
            is_read: reading.without(Kind::Deployment).is_none(),
        }
    }

    /// What decides for a ReplicaSet that exists.
    ///
    /// By the name of the Deployment and not by its UID: a ReplicaSet of an earlier Deployment of the name is about to be
    /// deleted.
    #[must_use]
    pub fn owner_of(&self, replica_set: &Workload) -> PodCountOwner<'a> {
        let Some(controller) = &replica_set.controller else {
            return PodCountOwner::Itself;
        };
        if controller.workload_kind() != Some(Kind::Deployment) {
            return PodCountOwner::Other(controller.clone());
        }
        self.named(NamespacedName {
            namespace: replica_set.name.namespace.clone(),
            name: controller.name.clone(),
        })
    }

    /// What decides for a ReplicaSet that is gone, by its name: that of its Deployment and a hash.
    ///
    /// Upstream: `pkg/controller/deployment/sync.go`.
    #[must_use]
    pub fn owner_of_gone(&self, replica_set: &NamespacedName) -> PodCountOwner<'a> {
        match before_generated(replica_set.name.as_str()) {
            Some((deployment, _)) => self.named(in_namespace(&replica_set.namespace, deployment)),
            None => PodCountOwner::Itself,
        }
    }

    /// What decides for a pod that is gone, as its ReplicaSet is, by the name of the pod.
    #[must_use]
    pub fn owner_of_gone_pod(&self, pod: &NamespacedName) -> PodCountOwner<'a> {
        match before_generated(pod.name.as_str()) {
            Some((replica_set, suffix)) if suffix.len() == SUFFIX => {
                self.owner_of_gone(&in_namespace(&pod.namespace, replica_set))
            }
            Some(_) | None => PodCountOwner::Itself,
        }
    }

    fn named(&self, name: NamespacedName) -> PodCountOwner<'a> {
        match self.by_name.get(&name) {
            Some(deployment) => PodCountOwner::Deployment(deployment),
            None if self.is_read => PodCountOwner::Itself,
            None => PodCountOwner::UnreadDeployment(name),
        }
    }
}

/// The name before the last `-`, and what was generated behind it.
fn before_generated(name: &str) -> Option<(&str, &str)> {
    let (before, generated) = name.rsplit_once('-')?;
    let is_generated = !generated.is_empty() && generated.chars().all(|it| GENERATED.contains(it));
    (is_generated && !before.is_empty()).then_some((before, generated))
}

fn in_namespace(namespace: &Namespace, name: &str) -> NamespacedName {
    NamespacedName {
        namespace: namespace.clone(),
        name: ObjectName::from(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing;
    use crate::model::{Deployment, Gap};

    fn workload(name: &str, controller: Option<(&str, &str, &str)>) -> Workload {
        Workload {
            name: testing::name("ml", name),
            uid: name.into(),
            controller: controller.map(|(api_version, kind, name)| Controller {
                api_version: api_version.into(),
                kind: kind.into(),
                name: name.into(),
                uid: "another".into(),
            }),
            replicas: Some(1),
            ready: Some(1),
            min_members: None,
            failure: None,
            rollout: None,
        }
    }

    fn reading() -> Reading {
        let mut reading = testing::reading();
        reading.known.insert(Kind::Deployment);
        reading.snapshot.deployments = vec![Deployment(workload("infer", None))];
        reading
    }

    fn shown(owner: PodCountOwner<'_>) -> String {
        match owner {
            PodCountOwner::Itself => "itself".to_owned(),
            PodCountOwner::Deployment(deployment) => format!("{}", deployment.name),
            PodCountOwner::UnreadDeployment(name) => format!("{name}, unread"),
            PodCountOwner::Other(controller) => controller.kind.to_string(),
        }
    }

    #[test]
    fn the_deployment_above_a_replica_set_decides_and_else_the_replica_set() {
        let whole = reading();
        let mut without = reading();
        without.known.remove(&Kind::Deployment);
        without.gaps.push(Gap::of(Kind::Deployment, "denied"));
        without.snapshot.deployments.clear();
        for (name, controller, expected, unread) in [
            ("bare", None, "itself", "itself"),
            (
                "owned",
                Some(("apps/v1", "Deployment", "infer")),
                "ml/infer",
                "ml/infer, unread",
            ),
            (
                "owned by one that was deleted",
                Some(("apps/v1", "Deployment", "old")),
                "itself",
                "ml/old, unread",
            ),
            (
                "owned by another kind",
                Some(("argoproj.io/v1alpha1", "Rollout", "infer")),
                "Rollout",
                "Rollout",
            ),
        ] {
            let owner = |reading| {
                let replica_set = workload("infer-6dc955bc4b", controller);
                shown(Deployments::of(reading).owner_of(&replica_set))
            };
            assert_eq!(
                (&*owner(&whole), &*owner(&without)),
                (expected, unread),
                "{name}"
            );
        }
    }

    #[test]
    fn of_a_replica_set_that_is_gone_the_name_leads_to_its_deployment() {
        let whole = reading();
        let mut without = reading();
        without.known.remove(&Kind::Deployment);
        without.snapshot.deployments.clear();
        let of_pod = |reading, name: &str| {
            shown(Deployments::of(reading).owner_of_gone_pod(&testing::name("ml", name)))
        };
        for (pod, expected, unread) in [
            ("infer-7c7f9d6d78-xt9tk", "ml/infer", "ml/infer, unread"),
            ("infer-7c7f9d6d78-xt9t", "itself", "itself"),
            ("infer-7c7f9d6d78-xt9ta", "itself", "itself"),
            ("infer-data-xt9tk", "itself", "itself"),
            ("other-7c7f9d6d78-xt9tk", "itself", "ml/other, unread"),
            ("-7c7f9d6d78-xt9tk", "itself", "itself"),
            ("infer--xt9tk", "itself", "itself"),
            ("infer", "itself", "itself"),
        ] {
            assert_eq!(
                (&*of_pod(&whole, pod), &*of_pod(&without, pod)),
                (expected, unread),
                "{pod}"
            );
        }
        let of_set =
            |name| shown(Deployments::of(&whole).owner_of_gone(&testing::name("ml", name)));
        assert_eq!(of_set("infer-7c7f9d6d78"), "ml/infer");
        assert_eq!(of_set("infer"), "itself");
        let elsewhere = testing::name("other", "infer-7c7f9d6d78-xt9tk");
        let found = Deployments::of(&whole).owner_of_gone_pod(&elsewhere);
        assert_eq!(found, PodCountOwner::Itself);
    }
}
