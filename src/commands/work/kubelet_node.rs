//! Finding out of which node the kubelet is that is asked.

use std::fs;
use std::path::Path;

use super::cluster_view::{ClusterView, Pods};
use super::connect::failed;
use crate::cluster::node_of_pod;
use crate::engine::device_removal::KubeletIdentity;
use crate::engine::kubelet_node::{Evidence, KubeletNode, NodeProof, kubelet_node};
use crate::error::Failure;
use crate::kubelet::certificate_node;
use crate::model::{InUse, NamespacedName, NodeName, PreparedClaim};

/// Where Linux says what the machine is called.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// A kubelet, and the node that is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedKubelet<'a> {
    /// Its socket.
    pub(crate) socket: &'a Path,
    /// What it lists.
    pub(crate) in_use: &'a InUse,
    /// What it has noted.
    pub(crate) prepared: &'a [PreparedClaim],
    /// The node that is meant.
    pub(crate) wanted: &'a NodeName,
}

/// Whether the kubelet is shown to be that of the node that is meant.
///
/// # Errors
///
/// When something shows that it is another one.
pub(crate) async fn shown_node(
    kubelet: &AskedKubelet<'_>,
    view: &ClusterView<Pods>,
) -> Result<KubeletIdentity, Failure> {
    let asked = ask_for_pods(kubelet, view).await?;
    let certificate = certificate_node(kubelet.socket);
    // Without a hostname there is one proof less, never a wrong one.
    let machine = fs::read_to_string(HOST_NAME).unwrap_or_default();
    let evidence = Evidence {
        snapshot: view.snapshot(),
        semantics: &view.semantics,
        in_use: kubelet.in_use,
        prepared: kubelet.prepared,
        asked: &asked,
        certificate: certificate.as_ref(),
        machine: machine.trim(),
    };
    match kubelet_node(&evidence, kubelet.wanted) {
        KubeletNode::Wanted => Ok(KubeletIdentity::Shown),
        KubeletNode::Other(node, proof) => Err(other_node(kubelet.wanted, &node, &proof)),
        KubeletNode::NotShown => Ok(KubeletIdentity::NotShown),
    }
}

fn other_node(wanted: &NodeName, node: &NodeName, proof: &NodeProof) -> Failure {
    let why = match proof {
        NodeProof::Pod(pod) => format!("it runs pod {pod}, which is on node {node}"),
        NodeProof::Device(device) => {
            format!("it has prepared device {device}, which is local to node {node}")
        }
        NodeProof::Certificate => format!("its client certificate names node {node}"),
    };
    Failure::usage(format!("this is not the kubelet of node {wanted}: {why}")).hint(format!(
        "use the socket of the kubelet of node {wanted}, or run the command on that node"
    ))
}

/// The nodes of some pods that the kubelet lists and that use no device, so that they were not read.
async fn ask_for_pods(
    kubelet: &AskedKubelet<'_>,
    view: &ClusterView<Pods>,
) -> Result<Vec<(NamespacedName, NodeName)>, Failure> {
    // One that is asked for may be gone by now, and the next one not.
    const ASKED: usize = 3;
    let known = view.pods();
    let is_known = |name: &NamespacedName| known.iter().any(|pod| pod.name == *name);
    let listed = &kubelet.in_use.pods;
    let Some(live) = view.live() else {
        return Ok(Vec::new());
    };
    // A pod that was read with the devices shows the node already.
    if listed.iter().any(|pod| is_known(&pod.name)) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for pod in listed.iter().take(ASKED) {
        let node = node_of_pod(&live.client, &pod.name).await.map_err(failed)?;
        if let Some(node) = node {
            found.push((pod.name.clone(), node));
            break;
        }
    }
    Ok(found)
}
