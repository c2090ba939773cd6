//! One matrix of permissions: every command with every right, with none, with all but one, and with random
//! subsets of them. The output is that of the administrator, or is marked as incomplete, or is a refusal that
//! names the missing right, and nothing is changed that is not reported.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;

use super::normal::{self, is_cautious};
use super::rights::{GET_RULES, PATCH_RULES, RIGHTS, Right, Subset, grant, names, overdue_pod};
use super::state::{Hold, State, Stored, Wanted, changes, reset, state};
use super::verdict::nothing_is_wrong;
use crate::cluster::rules::support::{KEY, Run, World};
use crate::harness::{ControlPlane, Random, Variant, block_on, fresh_seed, random_suffix};

const PREFIX: &str = "may";
/// Random pairs of a subset and a command, beside those that are always tried.
const SAMPLE: usize = if crate::IS_FULL { 1000 } else { 24 };
const LANES: usize = 3;

/// Needs nothing but its rule.
const LOWERING: &str = "deescalate hard-LANE --to NoSchedule --dry-run=server";

/// `hard-LANE` (NoExecute, gpu-0), `soft-LANE` (NoSchedule, gpu-1) and `none-LANE` (None, gpu-1) exist. Reports, of
/// which the previews are also run with `--strict`, come first.
const COMMANDS: [&str; 28] = [
    "preview GPU0 KEY:NoExecute -o json",
    "preview DRIVER KEY:NoExecute -o json",
    "preview --rule hard-LANE -o json",
    "devices DRIVER -o json",
    "list hard-LANE soft-LANE -o json",
    "list -l lane=LANE",
    "list -l lane=LANE -o name",
    "describe hard-LANE -o json",
    "explain pod/train -o json",
    "explain device/GPU0 -o json",
    "wait hard-LANE --for observed --timeout 1s",
    "wait hard-LANE --for evicted --timeout 1s --settle 0s",
    "wait no-LANE --for deleted --ignore-not-found --timeout 1s",
    "add GPU1 KEY=new --name new-LANE --reason why --expires 4h",
    "add GPU1 KEY=new:NoExecute --name new-LANE --yes",
    "add GPU0 GPU1 KEY=new --labels lane=LANE",
    "add GPU1 KEY=x --name none-LANE",
    "add GPU1 KEY=x --name none-LANE --reason why",
    "add GPU1 KEY=x:NoSchedule --name none-LANE --overwrite --yes",
    "add GPU1 KEY=new:NoExecute --name new-LANE --yes --dry-run=server",
    "escalate none-LANE --to NoSchedule --yes",
    "escalate soft-LANE --to NoExecute --yes --dry-run=server",
    "deescalate hard-LANE --to None",
    LOWERING,
    "remove hard-LANE --yes --others",
    "remove GPU0 KEY- --yes --others",
    "remove -l lane=LANE --yes --others",
    "remove soft-LANE --yes --others --dry-run=server",
];
/// The first command that is no report.
const CHANGES: usize = 10;

/// One run to judge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Trial {
    command: usize,
    subset: Subset,
    is_strict: bool,
}

/// A run, and the rules before and after it.
struct Done {
    run: Run,
    before: State,
    after: State,
}

/// A world in which one trial follows the other.
struct Lane<'a> {
    world: World<'a>,
    name: String,
    rules: Vec<Wanted>,
}

impl<'a> Lane<'a> {
    fn new(plane: &'a ControlPlane) -> Self {
        let world = block_on(World::new(plane));
        let name = random_suffix();
        let rule = |begin: &str, device, effect| Wanted {
            name: format!("{begin}-{name}"),
            device,
            value: "x",
            effect,
            label: name.clone(),
            hold: Hold::Nothing,
        };
        let rules = vec![
            rule("hard", "gpu-0", "NoExecute"),
            rule("soft", "gpu-1", "NoSchedule"),
            rule("none", "gpu-1", "None"),
        ];
        block_on(async {
            world.pod("train", "gpu-0").await;
            // Not a full hour: its end and its grace period are the same hour in words, however long the test takes.
            world.tolerant_pod("tolerant", "gpu-0", 35_000).await;
            reset(&world, &rules, KEY).await;
        });
        let hard = format!("hard-{name}");
        block_on(overdue_pod(&world, &hard));
        Self { world, name, rules }
    }

    fn line(&self, command: usize) -> String {
        let mut line = COMMANDS[command].replace("LANE", &self.name);
        if line.starts_with("explain pod") {
            line.push_str(&format!(" -n {}", self.world.namespace));
        }
        line.replace("KEY", KEY)
    }

    fn done(&self, command: usize, flags: &str) -> Done {
        let before = block_on(reset(&self.world, &self.rules, KEY));
        let run = self.world.run(&format!("{}{flags}", self.line(command)));
        let after = block_on(state(&self.world));
        Done { run, before, after }
    }

    /// Violation of a trial, as text.
    fn violation(&self, trial: Trial, admin: &Done) -> Option<String> {
        let strict = if trial.is_strict { " --strict" } else { "" };
        let flags = format!("{strict}{}", trial.subset.flags(PREFIX, &RIGHTS));
        let done = self.done(trial.command, &flags);
        let why = self.judged(trial, admin, &done).err()?;
        Some(format!(
            "{why}\n{}{flags}\n{:#?}\nadmin {:#?}\n{}",
            self.line(trial.command),
            done.run,
            admin.run,
            changes(&done.before, &done.after)
        ))
    }

    fn judged(&self, trial: Trial, admin: &Done, done: &Done) -> Result<(), &'static str> {
        let (run, lacking) = (&done.run, trial.subset.lacking(&RIGHTS));
        let ours = [self.world.driver.as_str(), &self.world.namespace];
        let is_report = trial.command < CHANGES;
        let is_same = normal::says_the_same(&run.stdout, &admin.run.stdout, &ours)
            && settled(&done.after) == settled(&admin.after);
        if lacking.is_empty() {
            let is_same = is_same && run.code == admin.run.code;
            return is_same
                .then_some(())
                .ok_or("with all rights the result differs");
        }
        let is_enough = trial.subset.has(GET_RULES) && trial.subset.has(PATCH_RULES);
        if COMMANDS[trial.command] == LOWERING && is_enough && run.code != 0 {
            return Err("lowering an effect needs more than its rule");
        }
        let changed: Vec<&String> = done
            .before
            .keys()
            .chain(done.after.keys())
            .filter(|name| done.before.get(*name) != done.after.get(*name))
            .collect();
        let is_reported = |name: &&String| {
            run.stderr.contains(name.as_str()) || run.stdout.contains(name.as_str())
        };
        if !changed.iter().all(is_reported) {
            return Err("a change that is not reported");
        }
        if !changed.is_empty() && run.stderr.contains("nothing was changed") {
            return Err("something was changed");
        }
        match run.code {
            0 if is_same => claims(&admin.run, run),
            0 if is_report && !trial.is_strict => incomplete(run, &lacking),
            0 => Err("another result, and nothing marks it"),
            6 if trial.is_strict => incomplete(run, &lacking),
            5 if admin.run.code == 5 => Ok(()),
            1 | 4 | 6 if run.stderr.contains("hint: run the same command again") => {
                Err("a hint to repeat what is denied")
            }
            1 | 4 | 6 if names(&run.stderr, &lacking) => Ok(()),
            1 | 4 | 6 => Err("a refusal that does not name what is missing"),
            _ => Err("an exit code with another meaning"),
        }
    }
}

/// A state without values that differ from run to run.
fn settled(state: &State) -> Vec<(String, Stored)> {
    let rules = state.iter().map(|(name, rule)| {
        let mut rule = rule.clone();
        rule.resource_version = String::new();
        if let Some(fields) = rule.annotations.as_object_mut() {
            let ends = ["-by", "-by-run", "expires", "expires-at"];
            fields.retain(|name, _| !ends.iter().any(|end| name.ends_with(end)));
        }
        // Names of rules without one given have a random part.
        (name.clone(), rule)
    });
    rules.collect()
}

/// The output is marked as incomplete, also in JSON.
fn incomplete(run: &Run, lacking: &[Right]) -> Result<(), &'static str> {
    if !names(&run.stderr, lacking) && !names(&run.stdout, lacking) {
        return Err("incomplete, and what is missing is not named");
    }
    let Ok(report) = serde_json::from_str::<Value>(&run.stdout) else {
        return Ok(());
    };
    let is_ours = report["apiVersion"]
        .as_str()
        .is_some_and(|version| version.contains("devicetaint"));
    let is_marked = report["incomplete"]
        .as_array()
        .is_some_and(|gaps| !gaps.is_empty());
    (is_marked || !is_ours)
        .then_some(())
        .ok_or("a report that is not marked as incomplete")
}

/// Sentences about evictions are those of the administrator, or cautious.
fn claims(admin: &Run, run: &Run) -> Result<(), &'static str> {
    let lines = |text: &str| -> Vec<String> {
        let text = normal::text(text);
        let lines = text.lines().filter(|line| line.contains("evicted"));
        lines.map(str::to_owned).collect()
    };
    let known = lines(&admin.stderr);
    let is_known = |line: &String| known.contains(line) || is_cautious(line);
    let are_known = lines(&run.stderr).iter().all(is_known);
    are_known
        .then_some(())
        .ok_or("a statement about evictions that the administrator does not get")
}

/// Each command with all rights, all but one, and none; and random pairs.
fn trials(seed: u64) -> Vec<Trial> {
    let mut random = Random::new(seed, 0);
    let all = (1 << RIGHTS.len()) - 1;
    let but_one = (0..RIGHTS.len()).map(|place| all & !(1 << place));
    let subsets: Vec<usize> = but_one.chain([all, 0]).collect();
    let mut trials = BTreeSet::new();
    for (command, line) in COMMANDS.iter().enumerate() {
        trials.extend(subsets.iter().map(|&subset| Trial {
            command,
            subset: Subset(subset),
            is_strict: line.starts_with("preview") && random.percent(50),
        }));
    }
    for _ in 0..SAMPLE {
        let command = random.below(COMMANDS.len());
        trials.insert(Trial {
            command,
            subset: Subset(random.below(all + 1)),
            is_strict: COMMANDS[command].starts_with("preview") && random.percent(50),
        });
    }
    trials.into_iter().collect()
}

#[test]
fn every_subset_of_the_permissions_gives_the_right_result_or_names_what_is_missing() {
    let plane = ControlPlane::start(&Variant::idle());
    block_on(grant(&plane, PREFIX, &RIGHTS));
    let seed = fresh_seed();
    let trials = trials(seed);
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                let lane = Lane::new(&plane);
                let admin = |command: usize| {
                    let done = lane.done(command, "");
                    let line = lane.line(command);
                    assert!([0, 5].contains(&done.run.code), "{line}: {:#?}", done.run);
                    done
                };
                let admin: Vec<Done> = (0..COMMANDS.len()).map(admin).collect();
                while let Some(&trial) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(violation) = lane.violation(trial, &admin[trial.command]) {
                        wrong.lock().expect("no panic").push(violation);
                    }
                }
            });
        }
    });
    let tried = format!(
        "{} pairs of a subset of the rights and a command, seed {seed}",
        trials.len()
    );
    nothing_is_wrong(wrong, &tried, &format!(" (SEED={seed})"));
}
