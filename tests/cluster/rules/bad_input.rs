//! Errors in the user's identity, and in the arguments.

use super::support::{KEY, World};
use crate::harness::{ControlPlane, block_on};

#[test]
fn names_are_checked_here_and_the_rest_by_the_server_in_its_words() {
    let world = block_on(World::new(ControlPlane::shared()));
    world
        .run(&format!("add GPU0 {KEY}=x --name Not_A_Name"))
        .ended(2)
        .saying("rule \"Not_A_Name\" is not valid");
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = folder.path().join("rule.yaml");
    let content = format!(
        "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {{name: Not_A_Name}}\nspec:\n  deviceSelector: {{driver: {}}}\n  taint: {{key: {KEY}, effect: None}}\n",
        world.driver
    );
    std::fs::write(&manifest, content).expect("a file");
    let refused = world
        .run(&format!("add -f {}", manifest.display()))
        .ended(1)
        .saying("the server rejected the request: DeviceTaintRule.resource.k8s.io \"Not_A_Name\"");
    assert!(!refused.stderr.contains("same command"), "{refused:?}");
    assert!(block_on(world.rules()).is_empty());
    world
        .run("escalate nobody --to NoExecute --yes")
        .ended(1)
        .saying("no rule");
    world.run("describe nobody").ended(1).saying("no rule");
}
