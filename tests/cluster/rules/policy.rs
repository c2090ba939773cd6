//! The admission policy of `manifests/policy.yaml`.

use super::support::{KEY, World};
use crate::harness::{ControlPlane, DEADLINE, Variant, block_on, text, wait_for};

#[test]
fn the_policy_wants_a_reason_and_refuses_to_evict_from_every_device() {
    let plane = ControlPlane::start(&Variant::default().without_controllers().without_scheduler());
    let world = block_on(World::new(&plane));
    let path = format!("{}/manifests/policy.yaml", env!("CARGO_MANIFEST_DIR"));
    for _ in 0..2 {
        text(&plane.kubectl(&["apply", "-f", &path]));
    }
    let line = format!("add GPU0 {KEY}=a:NoSchedule --yes --name soft");
    // Policies act a moment after they are created.
    block_on(wait_for("the policy acts", DEADLINE, async || {
        let run = world.run(&format!("{line} --dry-run=server"));
        run.stderr.contains("needs a reason").then_some(())
    }));
    world.run(&line).ended(1).saying("needs a reason");
    world.run(&format!("{line} --reason firmware")).ended(0);
    world.run(&format!("add GPU1 {KEY}=b")).ended(0);
    let wide = "add --all-devices example.com/all:NoExecute --reason everything --yes --abort-if pods.evicted>99";
    world.run(wide).ended(1).saying("selects every device");
    world.run("deescalate soft --to None").ended(0);
    world.run("remove soft --yes").ended(0);
}
