//! Drains that are killed or interrupted at any of their changes: the same command continues, or `restore` undoes
//! them.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::stage::Stage;
use crate::cluster::rules::harm::{Harm, Proxy};
use crate::cluster::rules::support::Run;
use crate::harness::{At, block_on};

/// Four nodes with two devices each, and two pods that use all devices of their node: after each drain they are on the
/// other two nodes.
struct Scene {
    stage: Stage,
    proxy: Proxy,
}

impl Scene {
    fn new() -> Self {
        let mut stage = Stage::monitored();
        for _ in 0..4 {
            stage.node(2);
        }
        stage.workload_with("ReplicaSet", "web", 2, |spec| {
            spec["template"]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] =
                json!("pair");
        });
        // Long enough to notice a drain that continues too early.
        stage.ready_after(Duration::from_millis(500));
        let proxy = Proxy::start(&stage.world);
        Self { stage, proxy }
    }

    /// The drain of the nodes that have pods now.
    fn line(&self) -> String {
        self.stage.until_ready("web", 2);
        let nodes = self.stage.nodes.iter();
        let nodes: Vec<&str> = nodes
            .filter(|node| !self.stage.on(node).is_empty())
            .map(String::as_str)
            .collect();
        assert_eq!(nodes.len(), 2);
        let drain = &self.stage.world.namespace;
        format!(
            "drain --node {} --name {drain} --yes",
            nodes.join(" --node ")
        )
    }

    /// The changes of a drain that nothing interrupts, in their order.
    fn changes(&self) -> Vec<At> {
        let line = self.line();
        self.proxy.run(&self.stage.world, &line).ended(0);
        let sent = self.proxy.seen();
        let changes = sent.iter().filter(|seen| seen.is_change()).count();
        let changes = (1..=changes).map(At::Change).collect();
        self.drained(&line);
        self.restore();
        changes
    }

    /// No pod is on the nodes of the command, none was lost, and every unit is done.
    fn drained(&self, line: &str) {
        for node in self.stage.nodes.iter().filter(|node| line.contains(*node)) {
            assert_eq!(self.stage.on(node), Vec::<String>::new(), "{line}");
        }
        // Without a budget: the drain itself waits for each replacement, also after an interruption.
        assert!(self.stage.fewest("web") >= 1, "{line}");
        let drain = &self.stage.world.namespace;
        let status = self.stage.run(&format!("drain status {drain} -o json"));
        let status: Value = serde_json::from_str(&status.ended(0).stdout).expect("JSON");
        let units = status["items"].as_array().expect("units");
        assert_eq!(units.len(), 2);
        for unit in units {
            assert_eq!(unit["stage"], "Idle", "{status:#}");
        }
    }

    /// Nothing is left of the drain, however far it came.
    fn restore(&self) {
        let drain = &self.stage.world.namespace;
        let run = self.stage.run(&format!("restore {drain} --yes"));
        assert!(run.code == 0 || run.stderr.contains("no drain"), "{run:#?}");
        assert_eq!(block_on(self.stage.world.rules()), Vec::<Value>::new());
    }

    /// Interrupts a drain at this change, and then continues it, or undoes it.
    fn interrupt(&self, at: At, harm: Harm, end: End) {
        let line = self.line();
        let what = format!("{harm:?} at {at:?}, {end:?}");
        let run = self.proxy.harm(&self.stage.world, &line, at, harm);
        self.check_ending(&run, harm, &what);
        match end {
            End::Continued => {
                let again = self.stage.run(&line);
                assert_eq!(again.code, 0, "{what}: {run:#?} {again:#?}");
                self.drained(&line);
            }
            End::Undone => {}
        }
        self.restore();
    }

    /// A command stopped by Ctrl-C names the evictions that continue, and how to continue and to undo it.
    fn check_ending(&self, run: &Run, harm: Harm, what: &str) {
        let Harm::SignalAfter("INT") = harm else {
            assert_eq!(run.code, -1, "{what}: {run:#?}");
            return;
        };
        assert_eq!(run.code, 130, "{what}: {run:#?}");
        for words in ["interrupted", "same command again"] {
            assert!(run.stderr.contains(words), "{what}: {run:#?}");
        }
    }
}

/// End of a drain that was interrupted.
#[derive(Clone, Copy, Debug)]
enum End {
    Continued,
    Undone,
}

/// Ways to stop it, and the results.
const WAYS: [(Harm, End); 3] = [
    (Harm::SignalAfter("KILL"), End::Continued),
    (Harm::SignalAfter("INT"), End::Continued),
    (Harm::SignalBefore("KILL"), End::Undone),
];

/// Stops a drain at its changes, at the first of them in the way of this number, and in the next way at the next.
fn at_every_change(way: usize) {
    let scene = Scene::new();
    let changes = scene.changes();
    // A rule of each node, and an eviction from each.
    assert_eq!(changes.len(), 4, "{changes:?}");
    // In the first tier the last rule and the last eviction.
    let (first, step) = if crate::IS_FULL { (0, 1) } else { (1, 2) };
    let tried = changes.into_iter().skip(first).step_by(step);
    for (number, at) in tried.enumerate() {
        let (harm, end) = WAYS[(way + number) % WAYS.len()];
        scene.interrupt(at, harm, end);
    }
}

#[test]
fn a_drain_that_was_stopped_at_any_change_is_continued_or_undone() {
    let ways = if crate::IS_FULL { WAYS.len() } else { 1 };
    thread::scope(|scope| {
        for way in 0..ways {
            scope.spawn(move || at_every_change(way));
        }
    });
}
