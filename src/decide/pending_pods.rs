//! Commands that explain why pods are pending.

use std::collections::BTreeSet;

use crate::model::{Namespace, NamespacedName};

/// The command that names why the pod is pending.
#[must_use]
pub fn explain_pod(pod: &NamespacedName) -> String {
    format!(
        "kubectl devicetaint explain pod/{} -n {}",
        pod.name, pod.namespace
    )
}

/// The commands that show why workloads with pods in `namespaces` are not ready: a hint for each namespace.
#[must_use]
pub fn explain_unready<'a>(namespaces: impl IntoIterator<Item = &'a Namespace>) -> Vec<String> {
    let distinct: BTreeSet<&Namespace> = namespaces.into_iter().collect();
    let hint = |namespace: &Namespace| {
        let pending = NamespacedName {
            namespace: namespace.clone(),
            name: "NAME".into(),
        };
        format!(
            "`kubectl get pods -n {namespace}` lists the pods; to explain a pending one: {}",
            explain_pod(&pending)
        )
    };
    distinct.into_iter().map(hint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_namespace_with_an_unready_workload_gets_one_hint() {
        let namespaces = ["b", "a", "b"].map(Namespace::from);
        let hints = explain_unready(&namespaces);
        assert_eq!(hints.len(), 2);
        assert!(hints[1].contains("explain pod/NAME -n b"), "{}", hints[1]);
    }
}
