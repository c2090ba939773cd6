//! Plans that were written to files, and the cluster that they find when they are carried out.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::stage::{Stage, plane};
use crate::harness::{Reference, block_on};

/// A plan in a file.
struct Planned {
    stage: Stage,
    /// The node that it chose.
    node: String,
    file: PathBuf,
    /// The command that carries it out.
    line: String,
    _folder: TempDir,
}

/// Two nodes with numbered devices, one of which a pod uses, a budget, and a plan for that node.
fn planned() -> Planned {
    let mut stage = Stage::new();
    let node = stage.numbered_node(2);
    stage.workload("ReplicaSet", "web", 1);
    let other = stage.numbered_node(3);
    let exclude = format!("{}/{other}/*", stage.world.driver);
    let run = stage
        .run(&format!(
            "plan DRIVER --nodes 1 --exclude {exclude} -o json"
        ))
        .ended(0);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plan.json");
    fs::write(&file, run.stdout).expect("a file");
    let line = format!(
        "drain --plan {} --name {} --yes --settle 1s",
        file.display(),
        stage.world.namespace
    );
    Planned {
        stage,
        node,
        file,
        line,
        _folder: folder,
    }
}

impl Planned {
    /// The plan is refused with these words, and nothing is tainted.
    #[track_caller]
    fn refused(&self, words: &[&str]) {
        let run = self.stage.run(&self.line).ended(4);
        for words in words.iter().chain(&["nothing was changed"]) {
            assert!(run.stderr.contains(words), "{words}: {run:#?}");
        }
        let found = block_on(self.stage.world.rules());
        assert_eq!(found, Vec::<Value>::new());
    }
}

#[test]
fn a_plan_is_carried_out_and_again_has_nothing_left_to_do() {
    let plan = planned();
    let Planned {
        stage, node, line, ..
    } = &plan;
    assert_eq!(stage.on(node).len(), 1);
    stage.run(line).ended(0).saying(&format!("unit {node}"));
    assert_eq!(stage.on(node), Vec::<String>::new());
    assert_eq!(block_on(stage.world.rules()).len(), 2);
    stage.until_ready("web", 1);
    stage
        .run(line)
        .ended(0)
        .saying("no device, node or pool is left to drain");
    let drain = &stage.world.namespace;
    stage.run(&format!("restore {drain} --yes")).ended(0);
    assert_eq!(block_on(stage.world.rules()), Vec::<Value>::new());
}

#[test]
fn an_edited_plan_is_refused() {
    let plan = planned();
    let text = fs::read_to_string(&plan.file).expect("the plan");
    assert!(text.contains("gpu-1"), "{text}");
    fs::write(&plan.file, text.replace("gpu-1", "gpu-7")).expect("a file");
    plan.refused(&["it was modified after `plan` wrote it"]);
}

#[test]
fn a_plan_for_hardware_that_was_replaced_is_refused() {
    let plan = planned();
    let (driver, node) = (&plan.stage.world.driver, &plan.node);
    let slice = Reference::cluster(
        "resource.k8s.io/v1",
        "ResourceSlice",
        &format!("{node}-{driver}"),
    );
    let mut found = block_on(plane().get(&slice)).expect("the slice");
    let devices = &mut found["spec"]["devices"];
    devices[0]["attributes"]["uuid"]["string"] = json!(format!("{node}-another"));
    let patch = json!({"spec": {"devices": devices}});
    block_on(plane().patch(&slice, &patch));
    plan.refused(&[
        "is outdated",
        &format!(
            "{driver}/{node}/gpu-0 is other hardware than in the plan: {driver}/uuid was {node}-gpu-0 and is now {node}-another"
        ),
    ]);
}

#[test]
fn a_plan_that_does_not_have_a_pod_is_refused() {
    let plan = planned();
    let (stage, node) = (&plan.stage, &plan.node);
    // The scheduler may put it elsewhere: there are three free devices on the other node, and one on this.
    stage.workload("ReplicaSet", "api", 4);
    assert_eq!(stage.on(node).len(), 2);
    plan.refused(&["is outdated", "would also evict", "/api-"]);
}
