//! Every subset of the rights to change rules, over every command that does: what the administrator
//! would get, or a refusal that names what is missing and is true.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;

use super::normal;
use super::rights::{READING, Subset, WRITING, grant, names};
use super::state::{Hold, State, Stored, Wanted, changes, reset, state};
use super::verdict::nothing_is_wrong;
use crate::cluster::rules::support::{KEY, Run, World};
use crate::harness::{ControlPlane, Variant, block_on, random_suffix};

const PREFIX: &str = "writes";
const READS: &str = "reads";
const LANES: usize = 3;

/// Commands that change rules; `old-LANE` is there (effect NoSchedule, gpu-0) and `none-LANE` (effect
/// None, gpu-1).
const COMMANDS: [&str; 13] = [
    "add GPU1 KEY=new --name new-LANE --reason why --expires 4h",
    "add GPU1 KEY=new:NoExecute --name new-LANE --yes",
    "add GPU0 GPU1 KEY=new --labels lane=LANE",
    "add GPU1 KEY=x --name none-LANE",
    "add GPU1 KEY=x --name none-LANE --reason why",
    "add GPU1 KEY=x:NoSchedule --name none-LANE --overwrite --yes",
    "add GPU1 KEY=new:NoExecute --name new-LANE --yes --dry-run=server",
    "escalate none-LANE --to NoSchedule --yes",
    "escalate none-LANE --to NoSchedule --yes --dry-run=server",
    "deescalate old-LANE --to None",
    "remove old-LANE --yes --others",
    "remove GPU0 KEY- --yes --others",
    "remove -l lane=LANE --yes --others",
];

struct Lane<'a> {
    world: World<'a>,
    name: String,
    rules: Vec<Wanted>,
}

/// A run, and the rules before and after it.
struct Done {
    run: Run,
    before: State,
    after: State,
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
        Self {
            rules: vec![
                rule("none", "gpu-1", "None"),
                rule("old", "gpu-0", "NoSchedule"),
            ],
            world,
            name,
        }
    }

    fn line(&self, command: usize) -> String {
        COMMANDS[command]
            .replace("LANE", &self.name)
            .replace("KEY", KEY)
    }

    fn done(&self, command: usize, flags: &str) -> Done {
        let before = block_on(reset(&self.world, &self.rules, KEY));
        let run = self.world.run(&format!("{}{flags}", self.line(command)));
        let after = block_on(state(&self.world));
        Done { run, before, after }
    }

    /// Tries a command with a part of the rights; what is wrong with it, as text.
    fn attempt(&self, command: usize, subset: Subset, admin: &Done) -> Option<String> {
        let everything = READING.len();
        let reads: Vec<String> = (0..everything)
            .filter(|place| *place != super::rights::READ_RULES)
            .map(|place| format!("{READS}-{place}"))
            .collect();
        let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
        let flags = subset.flags(PREFIX, &WRITING, &reads);
        let done = self.done(command, &flags);
        let why = judged(subset, admin, &done)?;
        Some(format!(
            "{why}\n{}{flags}\n{:#?}\nadmin {:#?}\n{}",
            self.line(command),
            done.run,
            admin.run,
            changes(&done.before, &done.after)
        ))
    }
}

/// A state without what differs from run to run.
fn settled(state: &State) -> Vec<(String, Stored)> {
    let rules = state.iter().map(|(name, rule)| {
        let mut rule = rule.clone();
        rule.resource_version = String::new();
        for annotation in [
            "created-by",
            "changed-by",
            "created-by-run",
            "changed-by-run",
            "expires",
            "expires-at",
        ] {
            let name = format!("devicetaint.dev/{annotation}");
            if let Some(fields) = rule.annotations.as_object_mut()
                && fields.contains_key(&name)
            {
                fields.insert(name, Value::Null);
            }
        }
        (name.clone(), rule)
    });
    rules.collect()
}

fn judged(subset: Subset, admin: &Done, done: &Done) -> Option<String> {
    let run = &done.run;
    let lacking = subset.lacking(&WRITING);
    if subset.is_complete(&WRITING) && run.code != admin.run.code {
        return Some("whoever may do everything is refused".to_owned());
    }
    if run.code == 0 {
        if normal::text(&run.stdout) != normal::text(&admin.run.stdout) {
            return Some(
                "it ends well and says something else than the administrator is told".to_owned(),
            );
        }
        if settled(&done.after) != settled(&admin.after) {
            return Some(
                "it ends well and does something else than the administrator would".to_owned(),
            );
        }
        return None;
    }
    if run.stderr.contains("hint: run the same command again") {
        return Some("it advises to try again what is denied".to_owned());
    }
    if ![1, 4, 6].contains(&run.code) {
        return Some("an exit code that says nothing of this".to_owned());
    }
    if !names(&run.stderr, &lacking) {
        return Some("a refusal that does not name what is missing".to_owned());
    }
    let changed: Vec<&String> = done
        .before
        .keys()
        .chain(done.after.keys())
        .filter(|name| done.before.get(*name) != done.after.get(*name))
        .collect();
    if !changed.is_empty() && run.stderr.contains("nothing was changed") {
        return Some("it says that nothing was changed".to_owned());
    }
    let told =
        |name: &&String| run.stderr.contains(name.as_str()) || run.stdout.contains(name.as_str());
    (!changed.iter().all(told)).then(|| "a change that is not told".to_owned())
}

/// Every pair in the second tier; in the first those with all rights, or all but one, and of the others each
/// subset with every tenth command.
fn is_tried(command: usize, subset: Subset) -> bool {
    let lacking = subset.lacking(&WRITING).len();
    crate::IS_FULL || lacking < 2 || (command + subset.0).is_multiple_of(10)
}

#[test]
fn whoever_may_change_a_part_does_it_right_or_is_refused_by_name() {
    let plane = ControlPlane::start(&Variant::default().without_controllers().without_scheduler());
    block_on(grant(&plane, PREFIX, &WRITING));
    block_on(grant(&plane, READS, &READING));
    let subsets = 1 << WRITING.len();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                let lane = Lane::new(&plane);
                let admin: Vec<Done> = (0..COMMANDS.len())
                    .map(|command| {
                        let done = lane.done(command, "");
                        assert_eq!(done.run.code, 0, "{}: {:#?}", lane.line(command), done.run);
                        done
                    })
                    .collect();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= subsets * COMMANDS.len() {
                        return;
                    }
                    let command = number / subsets;
                    let subset = Subset(number % subsets);
                    if !is_tried(command, subset) {
                        continue;
                    }
                    if let Some(violation) = lane.attempt(command, subset, &admin[command]) {
                        wrong.lock().expect("no panic").push(violation);
                    }
                }
            });
        }
    });
    let all = (0..COMMANDS.len()).flat_map(|command| {
        let subsets = (0..subsets).map(Subset);
        subsets.filter(move |subset| is_tried(command, *subset))
    });
    let pairs = all.count();
    let tried = format!("{pairs} pairs of a subset of the write rights and a command");
    nothing_is_wrong(wrong, &tried, "");
}
