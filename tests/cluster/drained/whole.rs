//! Three full nodes with everything that a drain has to be careful with.

use std::time::Duration;

use serde_json::{Value, json};

use super::stage::{Stage, plane};
use crate::harness::{CTRL_C, DEADLINE, PLUGIN, Reference, Terminal, block_on, wait_for};

/// Workloads with a budget that allows one pod less than there are.
const BUDGETS: [(&str, usize); 3] = [("web", 4), ("api", 3), ("cache", 2)];

/// Twelve devices on three nodes, a pod on each of them.
fn full(stage: &mut Stage) -> Vec<String> {
    let nodes = (0..3).map(|_| stage.node(4)).collect();
    for (name, pods) in BUDGETS {
        stage.workload("ReplicaSet", name, pods);
        stage.budget(name, pods - 1);
    }
    stage.workload("StatefulSet", "db", 1);
    stage.workload_with("Job", "train", 1, |spec| spec["backoffLimit"] = json!(1));
    stage.bare("notebook");
    fail_once(stage);
    nodes
}

/// The Job loses a pod, so that the next is its last.
fn fail_once(stage: &Stage) {
    let of_job = |pod: &&Value| pod["metadata"]["labels"]["app"] == "train";
    let pods = stage.pods();
    let first = pods.iter().find(of_job).expect("its pod");
    let name = first["metadata"]["name"].as_str().expect("a name");
    let pod = Reference::pod(&stage.world.namespace, name);
    block_on(plane().delete(&pod));
    block_on(wait_for("the Job has failed once", DEADLINE, async || {
        let job = stage.object("batch/v1", "Job", "train").await;
        (job["status"]["failed"] == 1).then_some(())
    }));
    stage.until_ready("train", 1);
}

#[test]
fn three_nodes_with_budgets_singletons_a_last_try_and_a_bare_pod_are_drained_without_a_gap() {
    let mut stage = Stage::new();
    let nodes = full(&mut stage);
    let spare = stage.node(12);
    let drain = stage.world.namespace.clone();
    let line = format!("drain --node {} --name {drain}", nodes.join(" --node "));
    let run = stage.run(&format!("{line} --yes")).ended(4);
    for named in [
        "pods of single-replica StatefulSets: ",
        "/db-0",
        "pods of Jobs: ",
        "/train-",
        "pods that no known workload recreates: ",
        "/notebook",
        "--include singletons,jobs,unmanaged",
        "nothing was changed",
    ] {
        assert!(run.stderr.contains(named), "{named}: {run:#?}");
    }
    let line = format!("{line} --include singletons,jobs --include unmanaged");
    is_asked(&stage, &line);
    assert_eq!(block_on(stage.world.rules()), Vec::<Value>::new());

    for (name, pods) in BUDGETS {
        stage.until_ready(name, pods);
    }
    // Whoever takes the next pod before the last replacement is ready violates a budget.
    stage.ready_after(Duration::from_secs(2));
    let run = stage.run(&format!("{line} --yes")).ended(0);
    for (name, pods) in BUDGETS {
        let fewest = stage.fewest(name);
        assert!(fewest >= pods - 1, "{name}: {fewest} of {pods}: {run:#?}");
        stage.until_ready(name, pods);
    }
    stage.until_ready("db", 1);
    for node in &nodes {
        assert_eq!(stage.on(node), Vec::<String>::new());
    }
    // Without the Job, which has failed, and the bare pod.
    assert_eq!(stage.on(&spare).len(), 10);
    let job = block_on(stage.object("batch/v1", "Job", "train"));
    let conditions = job["status"]["conditions"].as_array().expect("conditions");
    assert!(
        conditions.iter().any(|it| it["type"] == "Failed"),
        "{job:#}"
    );
    stage.run(&format!("restore {drain} --yes")).ended(0);
    assert_eq!(block_on(stage.world.rules()), Vec::<Value>::new());
}

/// All that is lost is named above the question, and no answer changes nothing.
fn is_asked(stage: &Stage, line: &str) {
    let mut words = vec![PLUGIN.to_owned()];
    words.extend(stage.world.words(line));
    let mut terminal = Terminal::open(plane());
    terminal.command(&words);
    let shown = terminal.until("12 devices in 3 units");
    assert!(!shown.contains('?'), "{shown}");
    let shown = terminal.until(" in test");
    let namespace = &stage.world.namespace;
    for named in [
        "that their workload recreates: ",
        &format!("{namespace}/db-0"),
        &format!("{namespace}/train-"),
        &format!("{namespace}/notebook"),
        "1 pod will not be recreated",
        &format!(
            "1 Job fails permanently unless containers exit with 0 when stopped: {namespace}/train"
        ),
    ] {
        assert!(shown.contains(named), "{named}: {shown}");
    }
    terminal.press(CTRL_C);
    let shown = terminal.ended(130);
    assert!(shown.contains("nothing was changed"), "{shown}");
}
