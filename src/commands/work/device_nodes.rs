//! Nodes of the devices that rules select, where whoever waits looks next.

use std::collections::BTreeSet;

use super::cluster_view::ClusterView;
use crate::decide::device_nodes::DeviceNodes;
use crate::engine::{self, DeviceState, ProposedTaint};
use crate::model::{DeviceId, DeviceTaintRule};

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
