//! Nodes of the devices that rules select, where whoever waits looks next.

use std::collections::{BTreeMap, BTreeSet};

use super::cluster_view::ClusterView;
use super::connect::Live;
use crate::cluster::node_health;
use crate::decide::device_nodes::DeviceNodes;
use crate::engine::{self, DeviceState, ProposedTaint};
use crate::model::{DeviceId, DeviceTaintRule, NodeHealth, NodeName};
use crate::output::Printer;
use crate::report::metadata::Warning as Oddity;

/// Of more nodes it is not asked how they are.
const FEW: usize = 16;

/// The nodes of the devices that `rules` select, as far as the API says.
pub(crate) async fn device_nodes(rules: &[DeviceTaintRule], view: &ClusterView) -> DeviceNodes {
    let proposed = ProposedTaint::of_rules(rules, view.now);
    let selected = view.selected(&proposed).devices;
    let inventory = engine::devices(view.snapshot(), &view.semantics).devices;
    let has_no_node_but_users = |state: &&DeviceState<'_>| {
        selected.contains(&state.id) && state.node.is_none() && !state.claims.is_empty()
    };
    let elsewhere: BTreeSet<&DeviceId> = inventory
        .iter()
        .filter(has_no_node_but_users)
        .map(|state| &state.id)
        .collect();
    // Only pods show where such devices are. The wait itself does not need that, so a failure only costs the hint.
    let with_pods = if elsewhere.is_empty() {
        None
    } else {
        let view = view.clone().with_pods(|id| elsewhere.contains(id));
        Box::pin(view).await.ok()
    };
    let pods = with_pods.as_ref().map_or(&[][..], ClusterView::pods);
    DeviceNodes::of(&inventory, &selected, pods)
}

/// Prints how the kubelets of the nodes are asked.
pub(crate) async fn propose_checks(nodes: &DeviceNodes, live: &Live, printer: &Printer<'_>) {
    for line in nodes.next_checks(&health_of(nodes, live).await) {
        printer.note(&line);
    }
}

/// Warns of nodes that do not report when their pods end.
pub(crate) async fn warn_of_silence(nodes: &DeviceNodes, live: &Live, printer: &Printer<'_>) {
    if let Some(warning) = nodes.silent(&health_of(nodes, live).await) {
        printer.warn(&Oddity::from(&warning).line());
    }
}

/// How the nodes are, as far as that can be read: it only makes hints more precise, so a failed read is no error.
async fn health_of(nodes: &DeviceNodes, live: &Live) -> BTreeMap<NodeName, NodeHealth> {
    let names = nodes.names();
    if names.len() > FEW {
        return BTreeMap::new();
    }
    let health = node_health(&live.client, &live.served, &names).await;
    health.map(|read| read.facts).unwrap_or_default()
}
