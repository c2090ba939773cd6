//! Runs that are killed or interrupted at any of their changes: no rule is left, and no pod is evicted twice.

use std::collections::BTreeMap;
use std::time::Duration;

use super::scene::Scene;
use crate::cluster::rules::harm::{Harm, Proxy};
use crate::harness::{At, block_on};

/// Two devices in use by pods, one of them with a budget, and a pod that waits for both devices.
struct Stand {
    scene: Scene,
    proxy: Proxy,
}

impl Stand {
    fn new() -> Self {
        let mut scene = Scene::new();
        scene.stage.node(2);
        scene.stage.ready_after(Duration::from_millis(200));
        scene.stage.workload("ReplicaSet", "web", 1);
        scene.stage.workload("ReplicaSet", "guarded", 1);
        scene.stage.budget("guarded", 0);
        scene.template("critical-pair", 2, Some(super::scene::tolerations()));
        let proxy = Proxy::start(&scene.stage.world);
        Self { scene, proxy }
    }

    /// All devices are in use again, and the pod waits.
    fn reset(&self) {
        self.scene.delete("critical");
        self.scene.stage.until_ready("web", 1);
        self.scene.stage.until_ready("guarded", 1);
        self.scene.pending("critical", "critical-pair", 0);
    }

    fn line(&self) -> String {
        self.scene.line("--yes")
    }

    /// The changes of an undisturbed run.
    fn changes(&self) -> Vec<At> {
        self.proxy
            .run(&self.scene.stage.world, &self.line())
            .ended(0);
        self.scene.without_rules();
        let sent = self.proxy.seen();
        let changes = sent.iter().filter(|seen| seen.is_change()).count();
        (1..=changes).map(At::Change).collect()
    }

    /// No pod was evicted twice in the latest run, but for a budget that refused.
    fn evicted_once(&self) {
        let mut asked: BTreeMap<String, usize> = BTreeMap::new();
        for seen in self.proxy.seen() {
            if seen.path.ends_with("/eviction") {
                *asked.entry(seen.path).or_default() += 1;
            }
        }
        assert!(asked.values().all(|times| *times == 1), "{asked:?}");
    }

    fn stop(&self, at: At, harm: Harm) {
        self.reset();
        let what = format!("{harm:?} at {at:?}");
        let run = self
            .proxy
            .harm(&self.scene.stage.world, &self.line(), at, harm);
        self.evicted_once();
        if harm == Harm::SignalAfter("INT") || harm == Harm::SignalBefore("INT") {
            assert_eq!(run.code, 130, "{what}: {run:#?}");
            self.scene.without_rules();
            return;
        }
        assert_eq!(run.code, -1, "{what}: {run:#?}");
        // After a kill it is known not to go on.
        self.scene.stage.run(&self.cleanup()).ended(0);
        self.scene.without_rules();
    }

    /// Removes the rules for the pod.
    fn cleanup(&self) -> String {
        let pod = block_on(self.scene.get("critical")).expect("it is there");
        let uid = pod["metadata"]["uid"].as_str().expect("a UID");
        format!("remove -l devicetaint.dev/make-room={uid} --yes --ignore-not-found")
    }
}

#[test]
fn a_run_that_is_stopped_at_any_change_leaves_no_rule_after_the_cleanup() {
    let stand = Stand::new();
    stand.scene.pending("critical", "critical-pair", 0);
    // Two rules, two evictions, and two deletions.
    let mut changes = stand.changes();
    for _ in 0..5 {
        assert!(changes.len() >= 6, "{changes:?}");
        if changes.len() == 6 {
            break;
        }
        // One more for each change that the controller's own change of the status came before: at such a change
        // another run, in which it does not, cannot be stopped.
        stand.reset();
        changes = stand.changes();
    }
    assert_eq!(changes.len(), 6, "{changes:?}");
    let harms = [
        Harm::SignalAfter("INT"),
        Harm::SignalAfter("KILL"),
        Harm::SignalBefore("INT"),
        Harm::SignalBefore("KILL"),
    ];
    for (number, at) in changes.into_iter().enumerate() {
        if crate::IS_FULL {
            for harm in harms {
                stand.stop(at.clone(), harm);
            }
        } else {
            stand.stop(at, harms[number % harms.len()]);
        }
    }
}
