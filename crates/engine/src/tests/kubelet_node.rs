//! Identification of a kubelet's node.

use super::world::{GPU_0, World, device_id, name};
use crate::Semantics;
use crate::closed_nodes::{Evidence, KubeletNode, NodeProof, kubelet_node};
use crate::model::{InUse, NodeName, PodInUse, PreparedClaim, Snapshot};

fn listing(pods: &[&str]) -> InUse {
    let pod = |pod: &&str| PodInUse {
        name: name(pod),
        containers: Vec::new(),
    };
    InUse {
        pods: pods.iter().map(pod).collect(),
    }
}

fn noted(device: &str) -> PreparedClaim {
    PreparedClaim {
        name: name("ml/gpu"),
        uid: "u".into(),
        devices: vec![device_id(device)],
        ..PreparedClaim::default()
    }
}

/// Evidence that is only this part of it.
fn nothing<'a>(
    snapshot: &'a Snapshot,
    semantics: &'a Semantics,
    in_use: &'a InUse,
) -> Evidence<'a> {
    Evidence {
        snapshot,
        semantics,
        in_use,
        prepared: &[],
        located: &[],
        certificate: None,
        hostname: "",
    }
}

/// Node-a has a published device and a running pod.
fn world() -> World {
    World::default()
        .slice("gpu.example.com/node-a", &[("gpu-0", &[])])
        .pod("ml/train", &[])
}

#[test]
fn each_proof_identifies_the_node_whether_or_not_it_is_named() {
    let (world, semantics, none) = (world(), Semantics::assumed(), listing(&[]));
    let listed = listing(&["ml/train"]);
    let prepared = [noted(GPU_0)];
    let located = [(name("kube-system/proxy"), NodeName::from("node-a"))];
    let certificate = "node-a".into();
    let plain = nothing(&world.snapshot, &semantics, &none);
    let by_pod = Evidence {
        in_use: &listed,
        hostname: "node-b",
        ..plain
    };
    let by_device = Evidence {
        prepared: &prepared,
        ..plain
    };
    let by_location = Evidence {
        located: &located,
        ..plain
    };
    let by_certificate = Evidence {
        certificate: Some(&certificate),
        ..plain
    };
    for (evidence, proof) in [
        (by_pod, NodeProof::Pod(name("ml/train"))),
        (by_device, NodeProof::Device(device_id(GPU_0))),
        (by_location, NodeProof::Pod(name("kube-system/proxy"))),
        (by_certificate, NodeProof::Certificate),
    ] {
        let verified = KubeletNode::Verified("node-a".into());
        assert_eq!(kubelet_node(&evidence, None), verified, "{proof:?}");
        let named = Some("node-a".into());
        assert_eq!(kubelet_node(&evidence, named.as_ref()), verified);
        let other = KubeletNode::Other {
            expected: "node-b".into(),
            node: "node-a".into(),
            proof,
        };
        assert_eq!(kubelet_node(&evidence, Some(&"node-b".into())), other);
    }
}

#[test]
fn hostname_identifies_a_node_that_is_named_or_has_devices() {
    let (world, semantics, none) = (world(), Semantics::assumed(), listing(&[]));
    let plain = nothing(&world.snapshot, &semantics, &none);
    let with = |hostname, named: Option<&str>| {
        let evidence = Evidence { hostname, ..plain };
        kubelet_node(&evidence, named.map(NodeName::from).as_ref())
    };
    let node_a = || NodeName::from("node-a");
    assert_eq!(with("Node-A", None), KubeletNode::Verified(node_a()));
    assert_eq!(
        with("Node-A", Some("node-a")),
        KubeletNode::Verified(node_a())
    );
    // A machine may have another name than its node.
    assert_eq!(
        with("node-b", Some("node-a")),
        KubeletNode::Unverified(node_a())
    );
    assert_eq!(with("", Some("node-a")), KubeletNode::Unverified(node_a()));
    assert_eq!(with("node-b", None), KubeletNode::Unknown);
    assert_eq!(with("", None), KubeletNode::Unknown);
}

#[test]
fn contradicting_evidence_is_refused() {
    let (world, semantics) = (world(), Semantics::assumed());
    let listed = listing(&["ml/train"]);
    let certificate = NodeName::from("node-b");
    let evidence = Evidence {
        certificate: Some(&certificate),
        ..nothing(&world.snapshot, &semantics, &listed)
    };
    let other = KubeletNode::Other {
        expected: "node-a".into(),
        node: certificate.clone(),
        proof: NodeProof::Certificate,
    };
    assert_eq!(kubelet_node(&evidence, None), other);
    assert_eq!(kubelet_node(&evidence, Some(&"node-a".into())), other);
}
