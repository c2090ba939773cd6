//! The kubelets of a drained unit, asked before its devices are called safe to pull.
//!
//! The API does not know devices of force-deleted pods, and calls them free: only the kubelet of their node knows. It is asked
//! through a debug pod, also for other names and parts of the same hardware.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tokio::time::Instant;

use super::order::{DrainOrder, KubeletQuery};
use crate::cluster::Detail;
use crate::commands::work::cluster_view::{ClusterView, Pods};
use crate::commands::work::debug_pod::DebugPodPlan;
use crate::commands::work::kubelet::{AwaitedRelease, NodeClaim, Verifier};
use crate::commands::work::kubelet_node::NodeTrust;
use crate::decide::drain::{RemovalSafety, Unit, kubelet_answer, nodes_of_unit, removal_safety};
use crate::engine::{self, ProposedTaint};
use crate::error::Failure;
use crate::model::{DeviceTaintRule, NodeName};
use crate::report::blocker::Blocker;

/// The root folder of kubelets, on their nodes.
const KUBELET: &str = "/var/lib/kubelet";

impl DrainOrder<'_> {
    /// Whether the devices of an idle unit may be pulled, by `end`; absent if kubelets are not asked.
    pub(super) async fn removal_safety(
        &self,
        unit: &Unit,
        rules: &[DeviceTaintRule],
        end: Instant,
    ) -> Result<Option<RemovalSafety>, Failure> {
        let Some(query) = &self.kubelets else {
            return Ok(None);
        };
        let live = self.live.clone();
        let view = Box::pin(ClusterView::of(live, Detail::Attributes)).await?;
        let proposed = ProposedTaint::of_rules(rules, view.now);
        // Of devices that are local to no node, pods show where they are; an idle unit mostly has none.
        let view = Box::pin(view.with_pods_of(&proposed)).await?;
        let inventory = engine::devices(view.snapshot(), &view.semantics).devices;
        let nodes = nodes_of_unit(&unit.devices, &inventory);
        let mut kubelets = BTreeMap::new();
        for node in nodes.iter().flatten() {
            let awaited = AwaitedRelease { rules, end };
            let line = format!("asking the kubelet of node {node} through a debug pod");
            self.context
                .printer
                .note(&format!("unit {}: {line}", unit.name));
            self.context.ledger.left(&line);
            let held = Box::pin(self.held_on(node, query, &view, awaited)).await;
            kubelets.insert(node.clone(), kubelet_answer(held)?);
        }
        let warnings = view.identity_warnings(rules);
        let unknown = warnings.into_iter().map(|warning| warning.message);
        Ok(Some(removal_safety(&nodes, &kubelets, unknown.collect())))
    }

    /// What the kubelet of the node holds when the time is over.
    async fn held_on(
        &self,
        node: &NodeName,
        query: &KubeletQuery,
        view: &ClusterView<Pods>,
        awaited: AwaitedRelease<'_>,
    ) -> Result<Vec<String>, Failure> {
        let plan = DebugPodPlan {
            node: node.to_string(),
            namespace: query.namespace.clone(),
            image: query.image.clone(),
            root: KUBELET.to_owned(),
            timeout: query.timeout,
        };
        let verifier = Verifier::through(plan, query.stop);
        let claim = NodeClaim {
            name: Some(node),
            trust: NodeTrust::Nothing,
        };
        let verifier = verifier
            .waiting_for(awaited, view, claim, self.context)
            .await?;
        let last = RefCell::new(String::new());
        let told = |left: &[Blocker]| {
            let messages: Vec<&str> = left.iter().map(|left| left.message.as_str()).collect();
            let line = messages.join("; ");
            self.context.ledger.left(&line);
            // A line for each change, not for each query.
            if last.replace(line.clone()) != line {
                let line = format!("node {node}: waiting for the kubelet: {line}");
                self.context.printer.note(&line);
            }
        };
        let left = verifier
            // The wait beside it watches the pods.
            .settled(awaited.end, &told, async |_| {}, self.context)
            .await?;
        Ok(left.into_iter().map(|left| left.message).collect())
    }
}
