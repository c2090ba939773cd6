//! The kubelet of this node: its answer, and the node that it belongs to.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::cluster_view::{ClusterView, Pods};
use super::connect::failed;
use crate::cluster::node_of_pod;
use crate::commands::clock;
use crate::commands::context::Context;
use crate::engine::kubelet_node::{Evidence, KubeletNode, NodeProof, kubelet_node};
use crate::error::{ExitStatus, Failure};
use crate::kubelet::{Lister, certificate_node, notes_beside};
use crate::model::{InUse, NamespacedName, NodeName, PreparedClaim, Warning};

/// File with the name of the machine on Linux.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";

/// The answer of a kubelet.
pub(crate) struct KubeletAnswer {
    /// Its list.
    pub(crate) in_use: InUse,
    /// Claims in its checkpoint beside the socket; absent if that could not be read.
    pub(crate) prepared: Option<Vec<PreparedClaim>>,
    /// Why the checkpoint could not be read.
    pub(crate) unread: Option<Warning>,
    /// When it answered.
    pub(crate) time: Timestamp,
}

impl KubeletAnswer {
    /// Reads the list of the kubelet at the `socket`, and its checkpoint. Without --request-timeout, a connection that is
    /// silent for a day has failed.
    ///
    /// # Errors
    ///
    /// If the kubelet does not answer; a retry may help.
    pub(crate) async fn read(socket: &Path, context: &Context) -> Result<Self, Failure> {
        const DAY: Duration = Duration::from_secs(86_400);
        let limit = context.connection.request_timeout.unwrap_or(DAY);
        let in_use = Lister::new(socket, limit).list().await;
        let in_use = in_use.map_err(|error| {
            let status = if error.passes() {
                ExitStatus::TryAgain
            } else {
                ExitStatus::Failed
            };
            let hint = error.hint();
            Failure::new(status, error).hint(hint)
        })?;
        let time = clock::now();
        let (prepared, unread) = match notes_beside(socket) {
            Ok(prepared) => (Some(prepared), None),
            Err(message) => (
                None,
                Some(Warning {
                    code: "checkpoint-unread",
                    message,
                    fix: None,
                }),
            ),
        };
        Ok(Self {
            in_use,
            prepared,
            unread,
            time,
        })
    }

    /// The node of the kubelet at `socket`, and whether evidence shows that it is the `named` one.
    ///
    /// # Errors
    ///
    /// If evidence shows another node, or if there is neither evidence nor a name.
    pub(crate) async fn node(
        &self,
        socket: &Path,
        named: Option<&NodeName>,
        view: &ClusterView<Pods>,
    ) -> Result<(NodeName, bool), Failure> {
        let located = self.locate_pods(view).await?;
        let certificate = certificate_node(socket);
        // Without a hostname, there is one proof less.
        let hostname = fs::read_to_string(HOSTNAME).unwrap_or_default();
        let evidence = Evidence {
            snapshot: view.snapshot(),
            semantics: &view.semantics,
            in_use: &self.in_use,
            // So it is without a checkpoint.
            prepared: self.prepared.as_deref().unwrap_or_default(),
            located: &located,
            certificate: certificate.as_ref(),
            hostname: hostname.trim(),
        };
        match kubelet_node(&evidence, named) {
            KubeletNode::Verified(node) => Ok((node, true)),
            KubeletNode::Unverified(node) => Ok((node, false)),
            KubeletNode::Other {
                expected,
                node,
                proof,
            } => Err(other_node(&expected, &node, &proof)),
            KubeletNode::Unknown => Err(Failure::new(
                ExitStatus::Failed,
                "cannot determine the node of this kubelet",
            )
            .hint("specify the node: --node NAME")),
        }
    }

    /// The node of a pod that the kubelet lists, read from the API if no such pod was read with the devices.
    async fn locate_pods(
        &self,
        view: &ClusterView<Pods>,
    ) -> Result<Vec<(NamespacedName, NodeName)>, Failure> {
        // A pod may be gone by now, and the next one not.
        const TRIES: usize = 3;
        let known = view.pods();
        let is_known = |name: &NamespacedName| known.iter().any(|pod| pod.name == *name);
        let listed = &self.in_use.pods;
        let Some(live) = view.live() else {
            return Ok(Vec::new());
        };
        if listed.iter().any(|pod| is_known(&pod.name)) {
            return Ok(Vec::new());
        }
        for pod in listed.iter().take(TRIES) {
            let node = node_of_pod(&live.client, &pod.name).await.map_err(failed)?;
            if let Some(node) = node {
                return Ok(vec![(pod.name.clone(), node)]);
            }
        }
        Ok(Vec::new())
    }
}

fn other_node(expected: &NodeName, node: &NodeName, proof: &NodeProof) -> Failure {
    let why = match proof {
        NodeProof::Pod(pod) => format!("it runs pod {pod}, which is on node {node}"),
        NodeProof::Device(device) => {
            format!("it has prepared device {device}, which is local to node {node}")
        }
        NodeProof::Certificate => format!("its client certificate names node {node}"),
    };
    Failure::usage(format!("this is not the kubelet of node {expected}: {why}")).hint(format!(
        "use the socket of the kubelet of node {expected}, or run the command on that node"
    ))
}
