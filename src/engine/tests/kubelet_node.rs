//! Identification of a kubelet's node.

use super::world::{GPU_0, World, device_id, name};
use crate::engine::Semantics;
use crate::engine::kubelet_node::{Evidence, KubeletNode, NodeProof, kubelet_node};
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
        pods: Vec::new(),
        devices: vec![device_id(device)],
        silent_drivers: Vec::new(),
    }
}

/// What is found of a kubelet that is to be that of `wanted`, by this evidence and no other.
fn found(
    snapshot: &Snapshot,
    wanted: &str,
    change: impl FnOnce(Evidence<'_>, &dyn Fn(Evidence<'_>) -> KubeletNode) -> KubeletNode,
) -> KubeletNode {
    let semantics = Semantics::assumed();
    let in_use = listing(&[]);
    let evidence = Evidence {
        snapshot,
        semantics: &semantics,
        in_use: &in_use,
        prepared: &[],
        asked: &[],
        certificate: None,
        machine: "",
    };
    change(evidence, &|evidence| {
        kubelet_node(&evidence, &wanted.into())
    })
}

/// Node-a is shown by this.
fn other(proof: NodeProof) -> KubeletNode {
    KubeletNode::Other("node-a".into(), proof)
}

#[test]
fn a_node_without_pods_is_shown_by_the_certificate_or_the_name_of_the_machine() {
    let empty = Snapshot::default();
    let certificate = "node-a".into();
    let of_certificate = |wanted| {
        found(&empty, wanted, |evidence, ask| {
            ask(Evidence {
                certificate: Some(&certificate),
                ..evidence
            })
        })
    };
    assert_eq!(of_certificate("node-a"), KubeletNode::Wanted);
    assert_eq!(of_certificate("node-b"), other(NodeProof::Certificate));
    let of_machine = |wanted| {
        found(&empty, wanted, |evidence, ask| {
            ask(Evidence {
                machine: "Node-A",
                ..evidence
            })
        })
    };
    assert_eq!(of_machine("node-a"), KubeletNode::Wanted);
    assert_eq!(
        of_machine("node-b"),
        KubeletNode::NotShown,
        "a machine may have another name than its node"
    );
    let nothing = found(&empty, "node-a", |evidence, ask| ask(evidence));
    assert_eq!(nothing, KubeletNode::NotShown);
}

#[test]
fn pods_and_devices_show_the_node_and_count_more_than_what_is_wanted() {
    let world = World::default()
        .slice("gpu.example.com/node-a", &[("gpu-0", &[])])
        .pod("ml/train", &[]);
    let snapshot = &world.snapshot;
    let listed = listing(&["ml/train"]);
    let prepared = [noted(GPU_0)];
    let asked = [(name("kube-system/proxy"), NodeName::from("node-a"))];
    for is_wanted in [true, false] {
        let wanted = if is_wanted { "node-a" } else { "node-b" };
        let expected = |proof| {
            if is_wanted {
                KubeletNode::Wanted
            } else {
                other(proof)
            }
        };
        let by_pod = found(snapshot, wanted, |evidence, ask| {
            ask(Evidence {
                in_use: &listed,
                machine: "node-b",
                ..evidence
            })
        });
        assert_eq!(by_pod, expected(NodeProof::Pod(name("ml/train"))));
        let by_device = found(snapshot, wanted, |evidence, ask| {
            ask(Evidence {
                prepared: &prepared,
                ..evidence
            })
        });
        assert_eq!(by_device, expected(NodeProof::Device(device_id(GPU_0))));
        let by_asking = found(snapshot, wanted, |evidence, ask| {
            ask(Evidence {
                asked: &asked,
                ..evidence
            })
        });
        assert_eq!(
            by_asking,
            expected(NodeProof::Pod(name("kube-system/proxy")))
        );
    }
}

#[test]
fn evidence_for_another_node_counts_more() {
    let world = World::default().pod("ml/train", &[]);
    let listed = listing(&["ml/train"]);
    let certificate = "node-b".into();
    let shown = found(&world.snapshot, "node-a", |evidence, ask| {
        ask(Evidence {
            in_use: &listed,
            certificate: Some(&certificate),
            ..evidence
        })
    });
    let node = NodeName::from("node-b");
    assert_eq!(shown, KubeletNode::Other(node, NodeProof::Certificate));
}
