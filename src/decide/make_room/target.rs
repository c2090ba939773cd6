//! The pod for which room is made.

use crate::error::Failure;
use crate::model::{Namespace, ObjectName};

/// The pod of this name, in this namespace or in the one that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomTarget {
    /// Namespace, if one was typed.
    pub namespace: Option<Namespace>,
    /// Name of the pod.
    pub name: ObjectName,
}

impl RoomTarget {
    /// Reads `pod/NAME` or `NAME`; both may have their namespace: `pod/NAMESPACE/NAME`.
    ///
    /// # Errors
    ///
    /// Something else than a pod was typed.
    pub fn parse(text: &str, namespace: Option<&str>) -> Result<Self, Failure> {
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, own, name) = match parts.as_slice() {
            [name] => ("pod", None, *name),
            [kind, name] => (*kind, None, *name),
            [kind, namespace, name] => (*kind, Some(*namespace), *name),
            _ => return Err(not_a_pod(text)),
        };
        if name.is_empty() || own.is_some_and(str::is_empty) {
            return Err(not_a_pod(text));
        }
        match kind.to_ascii_lowercase().as_str() {
            "pod" | "pods" | "po" => Ok(Self {
                namespace: own.or(namespace).map(Namespace::from),
                name: ObjectName::from(name),
            }),
            _ => Err(not_a_pod(text)),
        }
    }
}

fn not_a_pod(text: &str) -> Failure {
    Failure::usage(format!("{text:?} is not a pod")).hint("specify pod/NAME -n NAMESPACE")
}
