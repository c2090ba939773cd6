//! Verdicts about one pod, a row each; `tests/oracle` compares random clusters with the real controller.

use super::world::{GPU_0, NOW, World, at, controller, name, one_pod, proposed, reservation};
use crate::model::ClaimSource;
use crate::{NotEvicted, Verdict};

const MAINTENANCE: &str = "example.com/maintenance:NoExecute";

fn tolerating(tolerations: &[&str]) -> World {
    World::default()
        .slice("gpu.example.com/node-a", &[("gpu-0", &[])])
        .claim("team/claim", &[GPU_0], tolerations)
        .pod("team/pod", &["claim"])
}

/// A pod with a claim from a template, which was generated for the pod with UID `owner`.
fn generated(claim: Option<&str>, owner: &str) -> World {
    one_pod()
        .but_claim(|claim| claim.controller = Some(controller("v1", "Pod", "pod", owner)))
        .but_pod(|pod| {
            pod.claims[0].source = ClaimSource::Template {
                template: "template".into(),
                generated: claim.map(Into::into),
            };
        })
}

#[test]
fn verdict_about_a_pod() {
    let leaves_at = |second| Verdict::Evicted { at: at(second) };
    let (now, tolerates) = (leaves_at(NOW), Verdict::Tolerates);
    let not = Verdict::NotEvicted;
    let hot = &[("gpu-0", &["example.com/hot:NoExecute@10"][..])];
    let two = World::default()
        .slice("gpu.example.com/node-a", hot)
        .claim("team/claim", &[GPU_0], &["example.com/hot:NoExecute"])
        .pod("team/pod", &["claim"]);
    let old = |effect| one_pod().rule("old", GPU_0, &format!("example.com/old:{effect}@10"));
    let unbound = one_pod().but_pod(|pod| pod.node = None);
    // The controller skips a claim that is not in the status; it holds the device for the pod all the same.
    let unknown = generated(None, "uid-team/pod");
    let of_another = generated(Some("claim"), "uid-before");
    for (name, world, expected) in [
        ("no toleration", tolerating(&[]), now.clone()),
        ("any key", tolerating(&[":NoExecute"]), tolerates),
        ("another taint is tolerated", two, now.clone()),
        ("evicted by another before", old("NoExecute"), leaves_at(10)),
        ("evicted by no other", old("NoSchedule"), now.clone()),
        ("no node", unbound, not(NotEvicted::NotScheduled)),
        ("its claim", generated(Some("claim"), "uid-team/pod"), now),
        ("of its predecessor", of_another, not(NotEvicted::NotOwned)),
        ("not told", unknown, not(NotEvicted::ClaimNotInStatus)),
    ] {
        assert_eq!(world.verdict(GPU_0, MAINTENANCE), expected, "{name}");
    }
}

#[test]
fn no_verdict_about_a_pod_without_the_device() {
    let mut without_claims = one_pod();
    without_claims.snapshot.claims.clear();
    let former = vec![reservation(&name("team/pod"), "uid-before")];
    for (name, world) in [
        ("no claim", without_claims),
        (
            "not allocated",
            one_pod().but_claim(|claim| claim.allocation = None),
        ),
        (
            "reserved for its predecessor",
            one_pod().but_claim(|claim| claim.reserved_for = former),
        ),
    ] {
        let taints = [proposed(GPU_0, MAINTENANCE)];
        assert!(world.preview(&taints).pods.is_empty(), "{name}");
    }
}
