//! Approved changes, and the owners of the rules.

use super::support::{KEY, World};
use crate::harness::{ControlPlane, block_on};

/// Two pods in one namespace, one on each device.
fn two_pods() -> World<'static> {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(async {
        world.patient_pod("train", "gpu-0").await;
        world.patient_pod("infer", "gpu-1").await;
    });
    world
}

#[test]
fn a_dry_run_refuses_what_the_real_run_would_refuse() {
    let world = two_pods();
    let name = world.add(&format!("{KEY}=x"));
    for dry_run in ["--dry-run=client", "--dry-run=server"] {
        for line in [
            format!("add GPU1 {KEY}:NoExecute"),
            format!("escalate {name} --to NoExecute"),
        ] {
            world
                .run(&format!("{line} {dry_run} --abort-if pods.evicted>0"))
                .ended(4)
                .saying("guard tripped");
            let run = world.run(&format!("{line} {dry_run}")).ended(0);
            // Alone, a manifest needs no cluster, so that there is nothing to ask about.
            if !(line.starts_with("add") && dry_run.ends_with("client")) {
                run.saying("this command asks for confirmation; to confirm in advance: --yes");
            }
        }
    }
    assert_eq!(block_on(world.rules()).len(), 1);
}
