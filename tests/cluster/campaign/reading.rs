//! Every subset of the read rights, over every command: right, marked as incomplete, or refused by
//! name.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::normal::{self, is_cautious};
use super::rights::{READ_NODES, READ_RULES, READING, Right, Subset, grant, names};
use super::verdict::nothing_is_wrong;
use crate::cluster::rules::support::{KEY, Run, World};
use crate::harness::{
    ControlPlane, DEADLINE, Random, Reference, Variant, block_on, fresh_seed, objects::rule,
    wait_for,
};

const PREFIX: &str = "reads";
/// Who has any rights at all on rules may change them.
const CHANGES: &str = "changes-rules";
/// Pairs of a subset and a command in an ordinary run, beside those that are always tried.
const SAMPLE: usize = if crate::IS_FULL { 400 } else { 24 };
const AT_ONCE: usize = 3;

/// What is asked of a command.
#[derive(Clone, Copy, PartialEq)]
enum Asks {
    /// A preview, which has `--strict`.
    Preview,
    /// Another report.
    Report,
    /// A change or a wait.
    Nothing,
}

/// Commands that change nothing that lasts.
const COMMANDS: [(&str, Asks); 19] = [
    ("preview GPU0 KEY:NoExecute -o json", Asks::Preview),
    ("preview DRIVER KEY:NoExecute -o json", Asks::Preview),
    ("preview --rule hard -o json", Asks::Preview),
    ("devices DRIVER -o json", Asks::Report),
    ("list hard soft -o json", Asks::Report),
    ("list --no-headers", Asks::Report),
    ("list -o name", Asks::Report),
    ("describe hard -o json", Asks::Report),
    ("explain pod/train -o json", Asks::Report),
    ("explain device/GPU0 -o json", Asks::Report),
    ("explain rule/hard -o json", Asks::Report),
    ("snapshot", Asks::Report),
    ("wait hard --for observed --timeout 1s", Asks::Nothing),
    (
        "wait hard --for evicted --timeout 1s --settle 0s",
        Asks::Nothing,
    ),
    (
        "wait nobody --for deleted --ignore-not-found --timeout 1s",
        Asks::Nothing,
    ),
    (
        "add GPU1 KEY=new:NoExecute --yes --dry-run=server",
        Asks::Nothing,
    ),
    (
        "escalate soft --to NoExecute --yes --dry-run=server",
        Asks::Nothing,
    ),
    (BRAKE, Asks::Nothing),
    ("remove soft --yes --others --dry-run=server", Asks::Nothing),
];

/// The brake depends on nothing but its rule.
const BRAKE: &str = "deescalate hard --to NoSchedule --dry-run=server";

/// A pod that is evicted, one that tolerates it, and one that should have ended; a rule that evicts
/// and one that does not. The node is gone, which whoever may not read nodes cannot know.
pub async fn prepare(world: &World<'_>) {
    let plane = world.plane;
    let node = Reference::cluster("v1", "Node", &world.node);
    let path = plane.path(&node).await;
    let answer = plane.request(http::Method::DELETE, &path, None).await;
    answer.expect("an answer").success().expect("it is deleted");
    world.pod("train", "gpu-0").await;
    // Not a full hour: its end and its grace period are the same hour in words, however long the test takes.
    world.tolerant_pod("tolerant", "gpu-0", 35_000).await;
    world.pod("overdue", "gpu-1").await;
    let overdue = Reference::pod(&world.namespace, "overdue");
    let path = plane.path(&overdue).await;
    let brief = json!({"gracePeriodSeconds": 1});
    let answer = plane
        .request(http::Method::DELETE, &path, Some(&brief))
        .await;
    answer.expect("an answer").success().expect("it is deleted");
    let hard = rule("hard", &world.driver, "NoExecute");
    let mut soft = rule("soft", &world.driver, "NoSchedule");
    soft["spec"]["deviceSelector"]["device"] = json!("gpu-1");
    plane.create(&[hard, soft]).await;
    let condition = json!({"conditions": [{
        "type": "EvictionInProgress", "status": "True", "reason": "PodsPendingEviction",
        "message": "1 pod needs to be evicted.", "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]});
    plane
        .patch_status(&Reference::rule("hard"), &condition)
        .await;
    grant(plane, PREFIX, &READING).await;
    let changes = Right {
        verbs: &["create", "patch", "update", "delete"],
        kinds: &[("resource.k8s.io", "devicetaintrules")],
    };
    grant(plane, CHANGES, &[changes]).await;
    wait_for("the pod should have ended", DEADLINE, async || {
        let shown = world.run("describe hard").stdout;
        shown.contains("does not exist").then_some(())
    })
    .await;
}

/// One run to judge.
#[derive(Clone, Copy)]
struct Trial {
    subset: Subset,
    command: usize,
    strict: bool,
}

impl Trial {
    fn line(&self) -> String {
        let (line, _) = COMMANDS[self.command];
        let strict = if self.strict { " --strict" } else { "" };
        let line = line.replace("KEY", KEY);
        let group = format!("{CHANGES}-0");
        let flags = self.subset.flags(PREFIX, &READING, &[&group]);
        format!("{line}{strict}{flags}")
    }
}

/// Why the answer is none of the three, if it is none.
fn judged(trial: Trial, world: &World<'_>, admin: &Run, run: &Run) -> Result<(), String> {
    let lacking = trial.subset.lacking(&READING);
    let ours = [world.driver.as_str(), &world.namespace];
    let same = normal::says_the_same(&run.stdout, &admin.stdout, &ours);
    let line = COMMANDS[trial.command].0;
    if lacking.is_empty() {
        return match same && run.code == admin.code {
            true => Ok(()),
            false => Err("whoever may read everything gets another answer".to_owned()),
        };
    }
    if line == BRAKE && trial.subset.has(READ_RULES) && run.code != 0 {
        return Err("the brake needs more than its rule".to_owned());
    }
    let told = names(&run.stderr, &lacking);
    match run.code {
        0 if same => claims(admin, run),
        0 if COMMANDS[trial.command].1 != Asks::Nothing && !trial.strict => {
            incomplete(run, &lacking)
        }
        0 => Err("another answer, and nothing marks it".to_owned()),
        6 if trial.strict => incomplete(run, &lacking),
        5 if admin.code == 5 => Ok(()),
        1 | 4 if told && run.stdout.is_empty() => Ok(()),
        1 | 4 => Err("a refusal that does not name what is missing".to_owned()),
        _ => Err("an exit code that says nothing of this".to_owned()),
    }
}

/// The answer is marked, where scripts see it too.
fn incomplete(run: &Run, lacking: &[Right]) -> Result<(), String> {
    if !names(&run.stderr, lacking) && !names(&run.stdout, lacking) {
        return Err("incomplete, and nothing says what is missing".to_owned());
    }
    match serde_json::from_str::<Value>(&run.stdout) {
        Ok(report)
            if report["apiVersion"]
                .as_str()
                .is_some_and(|v| v.contains("devicetaint")) =>
        {
            let marked = report["incomplete"]
                .as_array()
                .is_some_and(|gaps| !gaps.is_empty());
            marked
                .then_some(())
                .ok_or("a report that does not say that it is incomplete".to_owned())
        }
        _ => Ok(()),
    }
}

/// What is said of evictions is what the administrator is told.
fn claims(admin: &Run, run: &Run) -> Result<(), String> {
    let lines = |text: &str| -> Vec<String> {
        let text = normal::text(text);
        let lines = text.lines().filter(|line| line.contains("evicted"));
        lines.map(str::to_owned).collect()
    };
    let known = lines(&admin.stderr);
    match lines(&run.stderr)
        .into_iter()
        .find(|line| !known.contains(line) && !is_cautious(line))
    {
        Some(line) => Err(format!(
            "a claim that the administrator is not told: {line}"
        )),
        None => Ok(()),
    }
}

/// All pairs, or those that are always tried and a sample of the others.
fn trials(seed: u64) -> Vec<Trial> {
    let all = std::env::var("RIGHTS").is_ok_and(|asked| asked == "all");
    let mut random = Random::new(seed, 0);
    let subsets = 1 << READING.len();
    let mut trials = Vec::new();
    for subset in (0..subsets).map(Subset) {
        let ones = subset.0.count_ones() as usize;
        for (command, (_, asks)) in COMMANDS.iter().enumerate() {
            let strict = *asks == Asks::Preview && random.percent(80);
            let edge = [0, READING.len() - 1, READING.len()].contains(&ones);
            if all || edge || random.below(subsets * COMMANDS.len()) < SAMPLE {
                trials.push(Trial {
                    subset,
                    command,
                    strict,
                });
            }
        }
    }
    trials
}

#[test]
fn whoever_may_read_a_part_gets_it_right_or_marked_or_refused_by_name() {
    let plane = ControlPlane::start(&Variant::default().without_controllers().without_scheduler());
    let world = block_on(World::new(&plane));
    block_on(prepare(&world));
    let seed = fresh_seed();
    // Whoever may not read nodes takes the pod for stuck, and a wait that ends so records it on the rule, once.
    for (command, (line, _)) in COMMANDS.iter().enumerate() {
        let trial = Trial {
            subset: Subset(((1 << READING.len()) - 1) & !(1 << READ_NODES)),
            command,
            strict: false,
        };
        if line.starts_with("wait") {
            world.run(&trial.line());
        }
    }
    let admin: BTreeMap<usize, Run> = (0..COMMANDS.len())
        .map(|command| (command, world.run(&COMMANDS[command].0.replace("KEY", KEY))))
        .collect();
    for (command, run) in &admin {
        assert!(
            [0, 5].contains(&run.code),
            "{}: {run:#?}",
            COMMANDS[*command].0
        );
    }
    let trials = trials(seed);
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(trial) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let run = world.run(&trial.line());
                    if let Err(why) = judged(*trial, &world, &admin[&trial.command], &run) {
                        let line = trial.line();
                        let mut wrong = wrong.lock().expect("no panic");
                        wrong.push(format!("{why}\n{line}\n{run:#?}"));
                    }
                }
            });
        }
    });
    let tried = format!(
        "{} of {} pairs of a subset of the read rights and a command, seed {seed}",
        trials.len(),
        COMMANDS.len() << READING.len()
    );
    nothing_is_wrong(wrong, &tried, &format!(" (SEED={seed})"));
}
