//! Whether the devices of an idle unit are safe to pull.

use std::collections::{BTreeMap, BTreeSet};

use super::unit_step::UnitEnd;
use crate::engine::DeviceState;
use crate::error::Failure;
use crate::model::{DeviceId, NodeName};
use crate::naming::phrase::few;

/// Whether the devices of a unit are safe to pull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemovalSafety {
    /// Neither the API nor the kubelets of these nodes know of a use, and the hardware is that which was drained.
    Safe(Vec<String>),
    /// They are not, or that is unknown, for these reasons.
    Unsafe(Vec<String>),
}

impl UnitEnd {
    /// Whether kubelets are asked before the result is final.
    #[must_use]
    pub fn needs_kubelets(&self) -> bool {
        matches!(self, Self::Idle(_))
    }

    /// The result of `unit` once its kubelets were asked, and the line that calls its devices safe to pull; no safety if
    /// they are not asked.
    #[must_use]
    pub fn verified(self, safety: Option<RemovalSafety>, unit: &str) -> (Self, Option<String>) {
        match safety {
            None => (self, None),
            Some(RemovalSafety::Unsafe(reasons)) => (Self::Blocked(reasons), None),
            Some(safe @ RemovalSafety::Safe(_)) => (self, safe.line(unit)),
        }
    }
}

/// What a kubelet holds, or why it is unknown.
///
/// # Errors
///
/// A signal: who stops the program is not told that a kubelet is silent.
pub fn kubelet_answer(
    held: Result<Vec<String>, Failure>,
) -> Result<Result<Vec<String>, String>, Failure> {
    match held {
        Err(failure) if failure.status().is_signal() => Err(failure),
        held => Ok(held.map_err(|failure| failure.to_string())),
    }
}

/// The nodes of a unit's devices among `inventory`; absent for a device whose node is unknown, or which is unknown itself.
#[must_use]
pub fn nodes_of_unit(
    devices: &BTreeSet<DeviceId>,
    inventory: &[DeviceState<'_>],
) -> BTreeSet<Option<NodeName>> {
    let nodes = devices.iter().map(|device| {
        let state = inventory.iter().find(|state| state.id == *device)?;
        state.node.cloned()
    });
    nodes.collect()
}

/// The safety of a unit that no claim holds, and that has devices on these `nodes`: `kubelets` holds what each kubelet that
/// was queried still holds of it, or why the kubelet did not answer. What is `unknown` about its hardware leaves the question
/// open, as does a node that is unknown or was not queried.
#[must_use]
pub fn removal_safety(
    nodes: &BTreeSet<Option<NodeName>>,
    kubelets: &BTreeMap<NodeName, Result<Vec<String>, String>>,
    unknown: Vec<String>,
) -> RemovalSafety {
    let mut reasons: Vec<String> = kubelets
        .iter()
        .flat_map(|(node, held)| match held {
            Ok(held) => held.clone(),
            Err(failure) => vec![format!("kubelet of node {node}: {failure}")],
        })
        .collect();
    reasons.extend(unknown);
    let unqueried = nodes.iter().filter_map(|node| match node {
        Some(node) if kubelets.contains_key(node) => None,
        Some(node) => Some(format!("the kubelet of node {node} was not queried")),
        None => Some("the node of a device is unknown, so its kubelet was not queried".to_owned()),
    });
    reasons.extend(unqueried);
    if nodes.is_empty() && reasons.is_empty() {
        reasons.push("no kubelet was queried".to_owned());
    }
    if reasons.is_empty() {
        RemovalSafety::Safe(kubelets.keys().map(ToString::to_string).collect())
    } else {
        RemovalSafety::Unsafe(reasons)
    }
}

impl RemovalSafety {
    /// The line that says so of a unit; none where it is not safe, which ends the unit otherwise.
    #[must_use]
    pub fn line(&self, unit: &str) -> Option<String> {
        match self {
            Self::Safe(nodes) => {
                let (kubelets, have) = if nodes.len() == 1 {
                    ("kubelet", "has")
                } else {
                    ("kubelets", "have")
                };
                Some(format!(
                    "the devices of unit {unit} are safe to pull (to remove from the machine): no claim holds them, and \
                     the {kubelets} of {} {have} released them",
                    few(nodes)
                ))
            }
            Self::Unsafe(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{device, device_state};
    use crate::error::ExitStatus;

    type Answers<'a> = &'a [(&'a str, Result<&'a [&'a str], &'a str>)];

    fn safety(nodes: &[Option<&str>], answers: Answers<'_>, unknown: &[&str]) -> RemovalSafety {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let nodes = nodes.iter().map(|node| node.map(NodeName::from)).collect();
        let answers = answers.iter().map(|(node, answer)| {
            let answer = answer.map(texts).map_err(str::to_owned);
            (NodeName::from(*node), answer)
        });
        removal_safety(&nodes, &answers.collect(), texts(unknown))
    }

    #[test]
    fn a_silent_kubelet_is_unknown_and_a_signal_ends_the_program() {
        let held = vec!["claim a/b".to_owned()];
        assert!(matches!(kubelet_answer(Ok(held.clone())), Ok(Ok(found)) if found == held));
        let silent = kubelet_answer(Err(Failure::new(ExitStatus::TimedOut, "silent")));
        assert!(matches!(silent, Ok(Err(why)) if why == "silent"));
        let stopped = kubelet_answer(Err(Failure::new(ExitStatus::Interrupted, "stopped")));
        assert!(stopped.is_err_and(|failure| failure.status() == ExitStatus::Interrupted));
    }

    #[test]
    fn only_an_idle_unit_is_verified_and_one_that_is_not_safe_is_blocked() {
        let idle = || UnitEnd::Idle(Vec::new());
        let reasons = || vec!["a kubelet holds it".to_owned()];
        let safe = RemovalSafety::Safe(vec!["node-1".to_owned()]);
        let line = safe.line("node-1");
        assert!(line.is_some());
        assert_eq!(idle().verified(None, "node-1"), (idle(), None));
        assert_eq!(idle().verified(Some(safe), "node-1"), (idle(), line));
        let found = idle().verified(Some(RemovalSafety::Unsafe(reasons())), "node-1");
        assert_eq!(found, (UnitEnd::Blocked(reasons()), None));
        for (end, needs_kubelets, may_others_start) in [
            (idle(), true, true),
            (UnitEnd::Held(reasons()), false, true),
            (UnitEnd::Reversed(String::new()), false, true),
            (UnitEnd::Blocked(reasons()), false, false),
            (UnitEnd::TakenOver(String::new()), false, false),
        ] {
            let found = (end.needs_kubelets(), end.may_others_start());
            assert_eq!(found, (needs_kubelets, may_others_start), "{end:?}");
        }
    }

    #[test]
    fn only_what_every_source_calls_free_is_safe_to_pull() {
        let safe = safety(&[Some("node-1")], &[("node-1", Ok(&[]))], &[]);
        assert_eq!(
            safe.line("node-1").as_deref(),
            Some(
                "the devices of unit node-1 are safe to pull (to remove from the machine): no claim holds them, and \
                the kubelet of node-1 has released them"
            )
        );
        let (one, two) = (Some("node-1"), Some("node-2"));
        let free: (&str, Result<&[&str], &str>) = ("node-1", Ok(&[]));
        for (nodes, answers, unknown, reason) in [
            (
                &[one][..],
                &[("node-1", Ok(&["gpu-0 is held"][..]))][..],
                &[][..],
                "gpu-0 is held",
            ),
            (&[one], &[free], &["other hardware"], "other hardware"),
            (
                &[one],
                &[("node-1", Err("no answer"))],
                &[],
                "kubelet of node node-1: no answer",
            ),
            (
                &[one, two],
                &[free],
                &[],
                "the kubelet of node node-2 was not queried",
            ),
            (
                &[one, None],
                &[free],
                &[],
                "the node of a device is unknown, so its kubelet was not queried",
            ),
            (&[], &[], &[], "no kubelet was queried"),
        ] {
            let found = safety(nodes, answers, unknown);
            assert_eq!(found, RemovalSafety::Unsafe(vec![reason.to_owned()]));
            assert_eq!(found.line("node-1"), None, "{found:?}");
        }
    }

    #[test]
    fn a_device_that_is_not_known_has_an_unknown_node() {
        let node = NodeName::from("node-7");
        let known = DeviceState {
            node: Some(&node),
            ..device_state(device("gpu-0"))
        };
        let everywhere = device_state(device("fabric"));
        let inventory = [known, everywhere];
        let nodes = |names: &[&str]| {
            let devices = names.iter().map(|name| device(name)).collect();
            nodes_of_unit(&devices, &inventory)
        };
        assert_eq!(nodes(&["gpu-0"]), BTreeSet::from([Some(node.clone())]));
        for unknown in ["fabric", "away"] {
            let found = nodes(&["gpu-0", unknown]);
            assert_eq!(found, BTreeSet::from([Some(node.clone()), None]));
        }
    }
}
