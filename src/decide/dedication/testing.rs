//! Dedications for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Members, Terms};
use crate::model::{
    ClaimSpec, DeviceAmount, DeviceRequest, Effect, NamespacedName, Operator, RequestKind,
    RequestTerms, ResourceClaim, Toleration,
};

/// A dedication to namespaces by name.
pub(crate) fn terms(name: &str, namespaces: &[&str]) -> Terms {
    Terms {
        name: name.to_owned(),
        members: Members::Namespaces(namespaces.iter().map(|&name| name.to_owned()).collect()),
        allowed: [].into(),
    }
}

/// A dedication to namespaces by their labels.
pub(crate) fn by_labels(name: &str, selector: &str) -> Terms {
    Terms {
        members: Members::Selected(selector.parse().unwrap()),
        ..terms(name, &[])
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
