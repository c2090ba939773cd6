//! Two people and one drain.

use std::process::Child;

use serde_json::{Value, json};

use super::stage::{Stage, plane};
use crate::cluster::rules::support::Run;
use crate::harness::{DEADLINE, User, block_on, wait_for};

/// A person who may do all that a drain needs.
fn person() -> User {
    let all = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]});
    block_on(plane().kubeconfig_for(&[all]))
}

/// The command, typed by this person.
fn by(person: &User, line: &str) -> String {
    format!("{line} --kubeconfig {}", person.kubeconfig.display())
}

/// A drain of two nodes by anna, both of which wait for budgets that never allow an eviction.
struct Scene {
    stage: Stage,
    nodes: [String; 2],
    drain: String,
    line: String,
    anna: User,
    bob: User,
}

impl Scene {
    fn new() -> Self {
        let mut stage = Stage::new();
        let one = stage.node(1);
        stage.workload("ReplicaSet", "web", 1);
        stage.budget("web", 1);
        let two = stage.node(1);
        stage.workload("ReplicaSet", "api", 1);
        stage.budget("api", 1);
        stage.node(2);
        let drain = stage.world.namespace.clone();
        let line = format!("drain --node {one} --node {two} --name {drain} --yes");
        Self {
            stage,
            nodes: [one, two],
            drain,
            line,
            anna: person(),
            bob: person(),
        }
    }

    /// Anna's command, once it evicts.
    fn begun(&self) -> Child {
        let child = self.stage.begin(&by(&self.anna, &self.line));
        block_on(wait_for("a unit has begun", DEADLINE, async || {
            let rules = self.stage.world.rules().await;
            let stage = |rule: &Value| {
                rule["metadata"]["annotations"]["devicetaint.dev/drain-stage"].clone()
            };
            let begun = rules.iter().any(|rule| stage(rule) == "Draining");
            begun.then_some(())
        }));
        child
    }

    /// Rule and node of the unit that has begun, then of the one that waits.
    fn units(&self) -> [(String, String); 2] {
        let rules = block_on(self.stage.world.rules());
        let (begun, waiting): (Vec<&Value>, Vec<&Value>) = rules.iter().partition(|rule| {
            rule["metadata"]["annotations"]["devicetaint.dev/drain-stage"] == "Draining"
        });
        let unit = |rule: &Value| {
            let text = |value: &Value| value.as_str().expect("a name").to_owned();
            let pool = &rule["spec"]["deviceSelector"]["pool"];
            (text(&rule["metadata"]["name"]), text(pool))
        };
        [unit(begun[0]), unit(waiting[0])]
    }

    /// Only a confirmation removes the rules of others.
    fn restore(&self) {
        let line = format!("restore {}", self.drain);
        let unasked = self.stage.run(&by(&self.bob, &line)).ended(4);
        unasked.saying("nothing was changed");
        let line = format!("{line} --yes");
        self.stage.run(&line).ended(0);
        assert_eq!(block_on(self.stage.world.rules()), Vec::<Value>::new());
    }
}

fn ended(child: Child) -> Run {
    Run::from(child.wait_with_output().expect("it ends"))
}

#[test]
fn another_drain_of_the_same_devices_is_refused_by_name_and_the_same_one_is_taken_over() {
    let scene = Scene::new();
    let anna = scene.begun();
    let other = format!("drain --node {} --name other --yes", scene.nodes[0]);
    scene
        .stage
        .run(&by(&scene.bob, &other))
        .ended(4)
        .saying(&format!("is part of drain {}", scene.drain))
        .saying(&scene.anna.name);
    let bob = by(&scene.bob, &format!("{} --timeout 6s", scene.line));
    scene.stage.run(&bob).ended(5).saying("disruption budget");
    let run = ended(anna).ended(1);
    let told = format!(
        "drain {} was taken over by another run (user {})",
        scene.drain, scene.bob.name
    );
    assert!(run.stderr.contains(&told), "{run:#?}");
    let run = scene
        .stage
        .run(&format!("drain status {}", scene.drain))
        .ended(0);
    assert!(run.stdout.contains(&scene.bob.name), "{run:#?}");
    assert_eq!(scene.stage.fewest("web"), 1);
    scene.restore();
}

/// Bob removes the rule of a unit that waits, and gives back the unit that is drained.
#[test]
fn what_somebody_gives_back_is_left_out_by_the_run_and_by_later_ones() {
    let scene = Scene::new();
    let anna = scene.begun();
    let [(weakened, begun), (removed, waiting)] = scene.units();
    for line in [
        format!("remove {removed} --yes --others"),
        format!("deescalate {weakened} --to None"),
    ] {
        scene.stage.run(&by(&scene.bob, &line)).ended(0);
    }
    let skipped = format!(
        "unit {begun} is skipped: rule {weakened} was set to effect None by {}",
        scene.bob.name
    );
    let ended = ended(anna).ended(1);
    assert!(ended.stderr.contains(&weakened), "{ended:#?}");
    // The same command does not take back what bob did.
    let again = by(&scene.anna, &scene.line);
    scene
        .stage
        .run(&again)
        .ended(1)
        .saying(&skipped)
        .saying(&format!("unit {waiting} is skipped"));
    for node in &scene.nodes {
        assert_eq!(scene.stage.on(node).len(), 1);
    }
    let rules = block_on(scene.stage.world.rules());
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0]["spec"]["taint"]["effect"], "None");
    scene.restore();
}
