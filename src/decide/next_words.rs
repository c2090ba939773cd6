//! Texts of suggested commands: after a change of rules, and for pods that are pending.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use crate::engine::settle::Patience;
use crate::model::{Effect, Namespace, NamespacedName};

/// How long `escalate --wait` waits unless --timeout and --settle are set.
pub(crate) const DEFAULT_PATIENCE: Patience = Patience {
    timeout: Duration::from_secs(300),
    settle: Duration::from_secs(10),
};

/// The flag without which `escalate --wait` would be refused as too short, where the last eviction is `due` so long after
/// `now`; a minute more than is needed, for pods to end and for the time until the command is pasted.
#[must_use]
pub fn timeout_until(due: Timestamp, now: Timestamp) -> Option<String> {
    let short = DEFAULT_PATIENCE.shortfall(due, now)?;
    let minutes = short.needed.as_secs().div_ceil(60).saturating_add(1);
    Some(format!("--timeout {minutes}m"))
}

/// What comes next for `rules`, which are how a command names those that it has added with `effect`.
#[must_use]
pub fn after_add(rules: &str, effect: &Effect) -> String {
    match effect {
        Effect::None | Effect::Unknown(_) => before_eviction(rules),
        // Whoever keeps new pods off has chosen to let the others stay.
        Effect::NoSchedule => {
            format!("next, to remove the taint: kubectl devicetaint remove {rules}")
        }
        Effect::NoExecute => {
            format!("next: kubectl devicetaint wait {rules} --for evicted")
        }
    }
}

/// What comes next for `rules` that are to evict, and do not yet.
#[must_use]
pub fn before_eviction(rules: &str) -> String {
    format!("next: kubectl devicetaint escalate {rules} --to NoExecute --wait")
}

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

    #[test]
    fn what_comes_after_an_addition_depends_on_the_effect() {
        assert!(after_add("drain", &Effect::None).contains("escalate drain --to NoExecute"));
        assert!(after_add("drain", &Effect::NoExecute).contains("wait drain --for evicted"));
        let cordoned = after_add("drain", &Effect::NoSchedule);
        assert!(
            cordoned.ends_with("kubectl devicetaint remove drain"),
            "{cordoned}"
        );
        assert!(!cordoned.contains("NoExecute"), "{cordoned}");
    }

    #[test]
    fn a_wait_that_would_be_refused_as_too_short_is_proposed_with_its_time() {
        let now: Timestamp = "2026-11-21T01:00:00Z".parse().unwrap();
        let in_seconds = |seconds: i64| {
            let due = Timestamp::from_second(now.as_second().saturating_add(seconds)).unwrap();
            timeout_until(due, now)
        };
        for (seconds, flag) in [
            (0, None),
            (290, None),
            (291, Some("--timeout 7m")),
            (1_800, Some("--timeout 32m")),
        ] {
            assert_eq!(in_seconds(seconds).as_deref(), flag, "{seconds}");
        }
    }
}
