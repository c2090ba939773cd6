//! Nodes of the devices that rules select.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::engine::DeviceState;
use crate::error::Failure;
use crate::model::{DeviceId, NodeHealth, NodeName, Pod, Warning};
use crate::naming::phrase::{counted, few};
use crate::naming::shell::word;

/// The nodes of devices, with how many are on each; devices that belong to no node, or of which nothing is published,
/// are on those of the pods that use them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceNodes(BTreeMap<NodeName, usize>);

impl DeviceNodes {
    /// Where those of the devices of `inventory` are that are `selected`.
    #[must_use]
    pub fn of(inventory: &[DeviceState<'_>], selected: &BTreeSet<DeviceId>, pods: &[Pod]) -> Self {
        let mut places: BTreeMap<NodeName, usize> = BTreeMap::new();
        for state in inventory
            .iter()
            .filter(|state| selected.contains(&state.id))
        {
            let users = state
                .claims
                .iter()
                .flat_map(|claim| &claim.reserved_for)
                .filter_map(|user| pods.iter().find(|pod| pod.uid == user.uid));
            let of_users = users.filter_map(|pod| pod.node.clone());
            // A set: a device that several pods of one node share counts once there.
            let nodes: BTreeSet<NodeName> =
                state.node.cloned().into_iter().chain(of_users).collect();
            for node in nodes {
                let count = places.entry(node).or_default();
                *count = count.saturating_add(1);
            }
        }
        Self(places)
    }

    /// Refuses the kubelet of `node`, at `socket`, where all devices are on other nodes: what it says frees none of
    /// them.
    ///
    /// # Errors
    ///
    /// When that is so.
    pub fn refuse_elsewhere(&self, node: &NodeName, socket: &Path) -> Result<(), Failure> {
        // Where no node is known of any device, nothing proves that this kubelet is the wrong one.
        if self.0.is_empty() || self.0.contains_key(node) {
            return Ok(());
        }
        let nodes: Vec<String> = self.0.keys().map(ToString::to_string).collect();
        Err(Failure::usage(format!(
            "the kubelet at {} belongs to node {node}: it cannot confirm the release of devices \
             on {}",
            socket.display(),
            few(&nodes)
        ))
        .hint("run this on the node of the devices"))
    }

    /// The nodes, by name.
    #[must_use]
    pub fn names(&self) -> BTreeSet<NodeName> {
        self.0.keys().cloned().collect()
    }

    /// How the kubelets of the nodes are asked, one line each; of many, of the first. Of nodes in `health` that are
    /// not there any more or not ready, it says that instead; a node of which nothing is known is taken for ready.
    #[must_use]
    pub fn next_checks(&self, health: &BTreeMap<NodeName, NodeHealth>) -> Vec<String> {
        const SHOWN: usize = 3;
        let (mut ready, mut not_ready, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for node in self.0.keys() {
            match health.get(node) {
                Some(NodeHealth::Ready) | None => ready.push(node),
                Some(NodeHealth::NotReady) => not_ready.push(node),
                Some(NodeHealth::Gone) => gone.push(node),
            }
        }
        let names = |nodes: &[&NodeName]| -> Option<String> {
            let names: Vec<String> = nodes.iter().map(ToString::to_string).collect();
            (!names.is_empty()).then(|| few(&names))
        };
        let gone = names(&gone).map(|nodes| {
            format!(
                "note: nodes that do not exist: {nodes}; no kubelet can confirm that their devices \
                are released"
            )
        });
        let not_ready = names(&not_ready).map(|nodes| {
            format!(
                "note: nodes that are not Ready: {nodes}; their kubelets may be unable to confirm \
                that the devices are released"
            )
        });
        let others = names(ready.get(SHOWN..).unwrap_or_default());
        let more = others.map(|others| format!("next: run the same check on {others}"));
        ready
            .into_iter()
            .take(SHOWN)
            .map(|node| {
                let word = word(node.as_str());
                format!(
                    "next: before you pull a device, run on {node}: \
                     kubectl devicetaint podresources check --node {word}"
                )
            })
            .chain(more)
            .chain(not_ready)
            .chain(gone)
            .collect()
    }

    /// That the API may not show when pods on some of the nodes end, as far as `health` says.
    #[must_use]
    pub fn silent(&self, health: &BTreeMap<NodeName, NodeHealth>) -> Option<Warning> {
        let is_silent = |node: &&NodeName| health.get(*node) == Some(&NodeHealth::NotReady);
        let names: Vec<String> = self
            .0
            .keys()
            .filter(is_silent)
            .map(ToString::to_string)
            .collect();
        (!names.is_empty()).then(|| Warning {
            code: "nodes-not-ready",
            message: format!(
                "nodes that are not Ready: {}; until their kubelets report again, the API does not show \
                 whether pods on these nodes have ended",
                few(&names)
            ),
            fix: None,
        })
    }

    /// That devices on other nodes than `node` are not verified, if there are any.
    #[must_use]
    pub fn beside(&self, node: &NodeName) -> Option<Warning> {
        let others: BTreeMap<_, _> = self.0.iter().filter(|(other, _)| *other != node).collect();
        if others.is_empty() {
            return None;
        }
        let devices: usize = others.values().copied().sum();
        let names: Vec<String> = others.keys().map(ToString::to_string).collect();
        Some(Warning {
            code: "nodes-not-verified",
            message: format!(
                "only the kubelet of node {node} was queried; for {} on {}, only the API was checked",
                counted(devices, "device"),
                few(&names)
            ),
            fix: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(nodes: &[(&str, usize)]) -> DeviceNodes {
        let nodes = nodes.iter();
        DeviceNodes(
            nodes
                .map(|(node, count)| (NodeName::from(*node), *count))
                .collect(),
        )
    }

    #[test]
    fn the_kubelet_of_another_node_is_refused() {
        let socket = Path::new("/kubelet.sock");
        let node = NodeName::from("node-7");
        let other = places(&[("node-8", 2), ("node-9", 1)]).refuse_elsewhere(&node, socket);
        assert_eq!(
            other.unwrap_err().to_string(),
            "the kubelet at /kubelet.sock belongs to node node-7: it cannot confirm the release of \
             devices on node-8, node-9"
        );
        for fine in [
            places(&[("node-7", 1)]),
            places(&[("node-7", 1), ("node-8", 1)]),
            places(&[]),
        ] {
            assert!(fine.refuse_elsewhere(&node, socket).is_ok(), "{fine:?}");
        }
    }

    #[test]
    fn what_comes_after_a_wait_is_to_ask_the_kubelets_of_the_first_nodes() {
        let line = |node: &str| {
            format!(
                "next: before you pull a device, run on {node}: \
                 kubectl devicetaint podresources check --node {node}"
            )
        };
        let ready = BTreeMap::from([("node-7".into(), NodeHealth::Ready)]);
        assert_eq!(
            places(&[("node-7", 2)]).next_checks(&ready),
            [line("node-7")]
        );
        let many = places(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
        let mut expected: Vec<String> = ["a", "b", "c"].map(line).into();
        expected.push("next: run the same check on d".to_owned());
        assert_eq!(many.next_checks(&ready), expected);
        assert!(places(&[]).next_checks(&ready).is_empty());
    }

    #[test]
    fn no_kubelet_is_proposed_that_cannot_answer() {
        let health = BTreeMap::from([
            ("a".into(), NodeHealth::Gone),
            ("b".into(), NodeHealth::NotReady),
            ("c".into(), NodeHealth::Ready),
        ]);
        let places = places(&[("a", 1), ("b", 1), ("c", 1)]);
        assert_eq!(
            places.next_checks(&health),
            [
                "next: before you pull a device, run on c: \
                 kubectl devicetaint podresources check --node c",
                "note: nodes that are not Ready: b; their kubelets may be unable to confirm that \
                the devices are released",
                "note: nodes that do not exist: a; no kubelet can confirm that their devices are \
                released",
            ]
        );
        let warning = places.silent(&health).expect("of b");
        assert_eq!(
            warning.message,
            "nodes that are not Ready: b; until their kubelets report again, the API does not show \
             whether pods on these nodes have ended"
        );
        assert_eq!(places.silent(&BTreeMap::new()), None);
    }

    #[test]
    fn devices_of_other_nodes_are_not_verified_and_that_is_said() {
        let node = NodeName::from("node-7");
        assert_eq!(places(&[("node-7", 2)]).beside(&node), None);
        assert_eq!(
            places(&[("node-7", 2), ("node-8", 1)])
                .beside(&node)
                .map(|warning| warning.message)
                .as_deref(),
            Some(
                "only the kubelet of node node-7 was queried; for 1 device on node-8, only the API \
                 was checked"
            )
        );
    }
}
