//! Dedications for tests.

use std::sync::Arc;

use super::{NamespaceFact, Namespaces, Terms};
use crate::engine::testing;
pub(crate) use crate::engine::testing::toleration;
use crate::model::{
    Allocation, ClaimSpec, DeviceRequest, NamespacedName, RequestKind, ResourceClaim,
};

/// A dedication to namespaces by name.
pub(crate) fn terms(name: &str, namespaces: &[&str]) -> Terms {
    Terms {
        name: name.to_owned(),
        namespaces: Namespaces::Named(namespaces.iter().map(|&name| name.to_owned()).collect()),
        allowed: [].into(),
        devices: Vec::new(),
        reason: None,
    }
}

/// A dedication to namespaces by their labels.
pub(crate) fn by_labels(name: &str, selector: &str) -> Terms {
    Terms {
        namespaces: Namespaces::Labelled(selector.parse().unwrap()),
        ..terms(name, &[])
    }
}

/// A namespace with the label `team`.
pub(crate) fn namespace(name: &str, team: &str) -> NamespaceFact {
    NamespaceFact {
        name: name.to_owned(),
        labels: [("team", team), ("kubernetes.io/metadata.name", name)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        is_terminating: false,
    }
}

/// A claim called `NAMESPACE/NAME` with one request for each of `tolerations`, none where that is empty.
pub(crate) fn claim(name: &str, tolerations: &[&str]) -> ResourceClaim {
    let (namespace, name) = name.split_once('/').unwrap();
    let request = |written: &&str| DeviceRequest {
        name: "gpu".into(),
        kind: RequestKind::Exactly(testing::terms(
            "gpu",
            [*written]
                .iter()
                .filter(|it| !it.is_empty())
                .map(|it| toleration(it))
                .collect(),
        )),
    };
    ResourceClaim {
        name: NamespacedName {
            namespace: namespace.into(),
            name: name.into(),
        },
        uid: name.into(),
        spec: Some(Arc::new(ClaimSpec {
            requests: tolerations.iter().map(request).collect(),
            constraints: Vec::new(),
        })),
        ..ResourceClaim::default()
    }
}

/// A claim without tolerations that holds `device` for a pod of its name.
pub(crate) fn held(name: &str, device: &str) -> ResourceClaim {
    let mut claim = claim(name, &[""]);
    claim.allocation = Some(Allocation {
        node: None,
        results: vec![testing::result(testing::device(device))],
    });
    let consumer = testing::consumer(claim.name.name.as_str(), "uid");
    claim.reserved_for.push(consumer);
    claim
}
