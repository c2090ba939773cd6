//! Identification of a kubelet's node.

use super::world::{GPU_0, World, device_id, name, one_pod};
use crate::engine::Semantics;
use crate::engine::kubelet_node::{Evidence, KubeletNode, NodeProof, kubelet_node};
use crate::model::{Containers, InUse, NodeName, Phase, PodInUse, PreparedClaim, Snapshot};

fn listing(pods: &[&str]) -> InUse {
    let pod = |pod: &&str| PodInUse {
        name: name(pod),
        containers: Vec::new(),
    };
    InUse {
        pods: pods.iter().map(pod).collect(),
        ..InUse::default()
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

/// The node, and what shows it.
fn shown(
    snapshot: &Snapshot,
    wanted: Option<&str>,
    change: impl FnOnce(Evidence<'_>, &dyn Fn(Evidence<'_>) -> KubeletNode) -> KubeletNode,
) -> Option<(String, NodeProof)> {
    let semantics = Semantics::newest();
    let in_use = listing(&[]);
    let wanted = wanted.map(NodeName::from);
    let evidence = Evidence {
        snapshot,
        semantics: &semantics,
        in_use: &in_use,
        prepared: &[],
        asked: &[],
        certificate: None,
        machine: None,
    };
    match change(evidence, &|evidence| {
        kubelet_node(&evidence, wanted.as_ref())
    }) {
        KubeletNode::Shown(node, proof) => Some((node.to_string(), proof)),
        KubeletNode::NotShown => None,
    }
}

fn a(proof: NodeProof) -> Option<(String, NodeProof)> {
    Some(("node-a".to_owned(), proof))
}

#[test]
fn a_node_without_pods_is_shown_by_the_certificate_or_the_name_of_the_machine() {
    let empty = Snapshot::default();
    let certificate = "node-a".into();
    let of_certificate = |wanted| {
        shown(&empty, wanted, |evidence, ask| {
            ask(Evidence {
                certificate: Some(&certificate),
                ..evidence
            })
        })
    };
    assert_eq!(of_certificate(None), a(NodeProof::Certificate));
    assert_eq!(of_certificate(Some("node-a")), a(NodeProof::Certificate));
    assert_eq!(
        of_certificate(Some("node-b")),
        a(NodeProof::Certificate),
        "it is another's"
    );
    let of_machine = |wanted| {
        shown(&empty, wanted, |evidence, ask| {
            ask(Evidence {
                machine: Some("Node-A"),
                ..evidence
            })
        })
    };
    assert_eq!(of_machine(Some("node-a")), a(NodeProof::Machine));
    assert_eq!(
        of_machine(Some("node-b")),
        None,
        "a machine may have another name than its node"
    );
    assert_eq!(of_machine(None), None);
    assert_eq!(
        shown(&empty, Some("node-a"), |evidence, ask| ask(evidence)),
        None
    );
}

#[test]
fn pods_and_devices_show_the_node_and_count_more_than_what_is_wanted() {
    let world = World::default()
        .slice("gpu.example.com/node-a", &[("gpu-0", &[])])
        .pod("ml/train", &[]);
    let snapshot = &world.snapshot;
    for wanted in [None, Some("node-a"), Some("node-b")] {
        let listed = listing(&["ml/train"]);
        let found = shown(snapshot, wanted, |evidence, ask| {
            ask(Evidence {
                in_use: &listed,
                machine: Some("node-b"),
                ..evidence
            })
        });
        assert_eq!(found, a(NodeProof::Pod(name("ml/train"))), "{wanted:?}");
        let prepared = [noted(GPU_0)];
        let found = shown(snapshot, wanted, |evidence, ask| {
            ask(Evidence {
                prepared: &prepared,
                ..evidence
            })
        });
        assert_eq!(found, a(NodeProof::Device(device_id(GPU_0))), "{wanted:?}");
        let asked = [(name("kube-system/proxy"), NodeName::from("node-a"))];
        let found = shown(snapshot, wanted, |evidence, ask| {
            ask(Evidence {
                asked: &asked,
                ..evidence
            })
        });
        assert_eq!(
            found,
            a(NodeProof::Pod(name("kube-system/proxy"))),
            "{wanted:?}"
        );
    }
}

#[test]
fn evidence_for_another_node_counts_more() {
    let world = World::default().pod("ml/train", &[]);
    let listed = listing(&["ml/train"]);
    let certificate = "node-b".into();
    let found = shown(&world.snapshot, Some("node-a"), |evidence, ask| {
        ask(Evidence {
            in_use: &listed,
            certificate: Some(&certificate),
            ..evidence
        })
    });
    assert_eq!(found, Some(("node-b".to_owned(), NodeProof::Certificate)));
}

#[test]
fn a_running_pod_that_a_kubelet_does_not_list_speaks_against_its_node() {
    let unlisted = |world: &World, listed: &[&str], node: &str| {
        let semantics = Semantics::newest();
        let in_use = listing(listed);
        let evidence = Evidence {
            snapshot: &world.snapshot,
            semantics: &semantics,
            in_use: &in_use,
            prepared: &[],
            asked: &[],
            certificate: None,
            machine: None,
        };
        evidence.unlisted(&node.into()).cloned()
    };
    let running = one_pod().but_pod(|pod| pod.containers = Containers::Running);
    let pod = running.snapshot.pods[0].name.clone();
    let node = running.snapshot.pods[0].node.clone().expect("a node");
    let listed = pod.to_string();
    assert_eq!(unlisted(&running, &[], node.as_str()), Some(pod));
    assert_eq!(unlisted(&running, &[&listed], node.as_str()), None);
    assert_eq!(unlisted(&running, &[], "node-z"), None);
    let starting = one_pod().but_pod(|pod| pod.containers = Containers::Unknown);
    assert_eq!(unlisted(&starting, &[], node.as_str()), None);
    let ended = running.but_pod(|pod| pod.phase = Phase::Succeeded);
    assert_eq!(unlisted(&ended, &[], node.as_str()), None);
}
