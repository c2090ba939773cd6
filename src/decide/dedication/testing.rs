//! Dedications for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{NamespaceFact, Namespaces, Terms};
use crate::model::{
    Allocation, AllocationResult, ClaimSpec, ConsumerReference, DeviceAmount, DeviceId,
    DeviceRequest, Effect, NamespacedName, Operator, RequestKind, RequestTerms, ResourceClaim,
    Toleration,
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

/// A toleration, written `KEY[=VALUE]:EFFECT`; without a value it tolerates any.
pub(crate) fn toleration(written: &str) -> Toleration {
    let (taint, effect) = written.split_once(':').unwrap();
    let (key, value) = taint
        .split_once('=')
        .map_or((taint, None), |(key, value)| (key, Some(value)));
    Toleration {
        key: key.to_owned(),
        operator: value.map_or(Operator::Exists, |_| Operator::Equal),
        value: value.unwrap_or_default().to_owned(),
        effect: (!effect.is_empty()).then(|| Effect::from(effect)),
        seconds: None,
    }
}

/// A claim called `NAMESPACE/NAME` with one request for each of `tolerations`, none where that is empty.
pub(crate) fn claim(name: &str, tolerations: &[&str]) -> ResourceClaim {
    let (namespace, name) = name.split_once('/').unwrap();
    let request = |written: &&str| DeviceRequest {
        name: "gpu".into(),
        kind: RequestKind::Exactly(RequestTerms {
            class: "gpu".into(),
            expressions: Vec::new(),
            amount: DeviceAmount::Exactly(1),
            admin_access: false,
            tolerations: if written.is_empty() {
                Vec::new()
            } else {
                vec![toleration(written)]
            },
            capacity: BTreeMap::new(),
            is_more: false,
        }),
    };
    ResourceClaim {
        name: NamespacedName {
            namespace: namespace.into(),
            name: name.into(),
        },
        uid: name.into(),
        controller: None,
        spec: Some(Arc::new(ClaimSpec {
            requests: tolerations.iter().map(request).collect(),
            constraints: Vec::new(),
        })),
        allocation: None,
        reserved_for: Vec::new(),
    }
}

/// A claim without tolerations that holds `device` for a pod of its name.
pub(crate) fn held(name: &str, device: &str) -> ResourceClaim {
    let mut claim = claim(name, &[""]);
    claim.allocation = Some(Allocation {
        node: None,
        results: vec![AllocationResult {
            request: "gpu".into(),
            device: DeviceId {
                driver: "gpu.example.com".into(),
                pool: "node-7".into(),
                device: device.into(),
            },
            admin_access: false,
            share_id: None,
            tolerations: Vec::new(),
            consumed_capacity: None,
        }],
    });
    claim.reserved_for.push(ConsumerReference {
        resource: "pods".into(),
        name: claim.name.name.clone(),
        uid: "uid".into(),
        api_group: "".into(),
    });
    claim
}
