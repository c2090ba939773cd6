//! Runs that are killed or interrupted at any of their changes: no rule is left, and no pod is evicted twice.

use std::collections::BTreeMap;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::scene::Scene;
use crate::cluster::drained::stage::plane;
use crate::cluster::rules::harm::{Harm, Proxy};
use crate::cluster::rules::support::Run;
use crate::harness::{At, DEADLINE, Fault, Proxy as Network, block_on, wait_for};

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

    /// No pod was asked to leave twice in the latest run, but for a budget that refused.
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
        // Whoever has killed it knows that it does not go on.
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

#[test]
fn a_run_after_one_that_was_killed_completes_it() {
    let stand = Stand::new();
    stand.scene.pending("critical", "critical-pair", 0);
    let first = stand.changes().remove(0);
    stand.reset();
    // The first rule is there, and the second is not.
    let harm = Harm::SignalAfter("KILL");
    let world = &stand.scene.stage.world;
    let run = stand.proxy.harm(world, &stand.line(), first, harm);
    assert_eq!(run.code, -1, "{run:#?}");
    // A run that nobody agrees to removes nothing that another has left.
    stand.scene.make_room("").ended(4);
    assert_eq!(block_on(world.rules()).len(), 1);
    let run = stand.scene.make_room("--yes").ended(0);
    run.saying("rules taken over: 1");
    assert!(stand.scene.node_of("critical").is_some());
    stand.scene.without_rules();
}

/// Rules cannot be removed while the server cannot be reached. They expire.
#[test]
fn rules_of_a_run_that_lost_its_server_stay_until_they_are_removed() {
    const EXPIRES: &str = "devicetaint.dev/expires";
    let stand = Stand::new();
    let stage = &stand.scene.stage;
    stand.scene.pending("critical", "critical-pair", 0);
    let network = Network::start(plane());
    let through = format!("--yes --kubeconfig {}", network.kubeconfig.display());
    let child = stage.begin(&stand.scene.line(&through));
    block_on(wait_for("the devices are tainted", DEADLINE, async || {
        (stage.world.rules().await.len() == 2).then_some(())
    }));
    network.plan([(At::From(1), Fault::Reset)]);
    // The first Ctrl-C has the rules removed, which is tried again and again; the second leaves them.
    for _ in 0..2 {
        thread::sleep(Duration::from_secs(2));
        let sent = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|sent| sent.success()));
    }
    let run = Run::from(child.wait_with_output().expect("it ends")).ended(130);
    run.saying("to remove rules that are left: kubectl devicetaint remove");
    let rules = block_on(stage.world.rules());
    assert_eq!(rules.len(), 2);
    let expires = |rule: &Value| rule["metadata"]["annotations"][EXPIRES].is_string();
    assert!(rules.iter().all(expires), "{rules:#?}");
    stage.run(&stand.cleanup()).ended(0);
    stand.scene.without_rules();
}
