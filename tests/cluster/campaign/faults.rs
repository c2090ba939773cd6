//! Random faults at random requests of random commands.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::command::{COMMANDS, Goal};
use super::law::{BROKEN_OFF, TRY_AGAIN, Try};
use super::misfortune::{misfortune, passes};
use super::state::{Hold, State, Wanted, changes, reset, state};
use crate::cluster::rules::support::{KEY, Run, World};
use crate::harness::{
    At, ControlPlane, DEADLINE, Entry, Fault, History, PLUGIN, Proxy, Random, Seen, Variant,
    block_on, fresh_seed, random_suffix, say, tries,
};

/// Tries of an ordinary run.
const TRIES: u64 = if crate::IS_FULL { 500 } else { 30 };
/// Runs of a try: a violation has to show in each; a calm run with too little time is repeated as often.
const LOOKS: usize = 4;
/// Tries that go on at the same time, each with a driver, rules and a proxy of its own.
const LANES: usize = 4;

/// A world in which one try follows the other.
struct Lane<'a> {
    world: World<'a>,
    name: String,
    proxy: Proxy,
    history: History,
    rules: Vec<Wanted>,
    /// By command: its run without faults.
    calm: Vec<Calm>,
}

/// A run in which nothing goes wrong.
struct Calm {
    run: Run,
    requests: usize,
    /// The numbers of those that change rules.
    changes: Vec<usize>,
}

/// Faults of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Luck {
    /// Nothing.
    Good,
    /// Only faults that pass by themselves.
    Bad,
    /// Also faults that may stay.
    Mixed,
}

/// Observations of a spoiled run.
struct Spoiled {
    run: Run,
    before: State,
    after: State,
    requests: usize,
    changes: Vec<usize>,
    history: Vec<Entry>,
    doubled: bool,
}

impl<'a> Lane<'a> {
    fn new(plane: &'a ControlPlane, history: &History) -> Self {
        let world = block_on(World::new(plane));
        block_on(async {
            world.pod("train", "gpu-0").await;
            // Not a full hour: its end and its grace period are the same hour in words, however long the test takes.
            world.tolerant_pod("tolerant", "gpu-1", 35_000).await;
        });
        let name = random_suffix();
        let rule = |begin: &str, device, value, effect| Wanted {
            name: format!("{begin}-{name}"),
            device,
            value,
            effect,
            label: name.clone(),
            hold: match begin {
                "held" => Hold::Finalizer,
                "gone" => Hold::Leaving,
                _ => Hold::Nothing,
            },
        };
        let mut lane = Self {
            proxy: Proxy::start(plane),
            history: history.clone(),
            rules: vec![
                rule("none", "gpu-0", "x", "None"),
                rule("hold", "gpu-1", "x", "NoSchedule"),
                rule("hard", "gpu-1", "y", "NoExecute"),
                rule("held", "gpu-1", "v", "None"),
                rule("gone", "gpu-1", "w", "None"),
            ],
            world,
            name,
            calm: Vec::new(),
        };
        lane.calm = (0..COMMANDS.len())
            .map(|command| lane.calm(command))
            .collect();
        lane
    }

    fn line(&self, command: usize) -> String {
        let line = COMMANDS[command]
            .0
            .replace("LANE", &self.name)
            .replace("KEY", KEY);
        format!("{line} --request-timeout 1s")
    }

    /// The command when nothing goes wrong, which has to keep the law too.
    ///
    /// A second is little on a busy machine: a run that timed out is repeated.
    fn calm(&self, command: usize) -> Calm {
        let mut looks = 0;
        let spoiled = loop {
            let spoiled = self.spoil(command, Vec::new());
            looks += 1;
            if spoiled.run.code != TRY_AGAIN || looks == LOOKS {
                break spoiled;
            }
        };
        let goal = &COMMANDS[command].1;
        let run = &spoiled.run;
        let expected = match goal {
            Goal::Refused => [4, 5].contains(&run.code),
            Goal::BrokenOff => run.code == BROKEN_OFF,
            Goal::Answer | Goal::Nothing | Goal::Effect(..) | Goal::Gone(_) => run.code == 0,
        };
        let violations = self.tried(command, &spoiled, run, Luck::Good).violations();
        let line = self.line(command);
        assert!(
            expected && violations.is_empty(),
            "{line}: {violations:?} {run:#?}"
        );
        Calm {
            run: spoiled.run,
            requests: spoiled.requests,
            changes: spoiled.changes,
        }
    }

    fn tried<'t>(
        &'t self,
        command: usize,
        spoiled: &'t Spoiled,
        calm: &'t Run,
        luck: Luck,
    ) -> Try<'t> {
        let (line, goal) = &COMMANDS[command];
        Try {
            goal,
            ours: [&self.world.driver, &self.world.namespace],
            lane: &self.name,
            before: &spoiled.before,
            after: &spoiled.after,
            calm,
            run: &spoiled.run,
            strict: line.contains("--strict"),
            unlucky: luck == Luck::Bad,
            history: &spoiled.history,
            doubled: spoiled.doubled,
        }
    }

    /// The command once more from where an earlier run has left things, with nothing in its way.
    fn again(&self, command: usize, earlier: &Spoiled) -> Spoiled {
        let from = block_on(self.history.now(self.world.plane));
        let run = self.run(command);
        Spoiled {
            run,
            before: earlier.after.clone(),
            after: block_on(state(&self.world)),
            requests: 0,
            changes: Vec::new(),
            history: self.since(from),
            doubled: false,
        }
    }

    /// Changes by the server to the rules of the lane since then.
    fn since(&self, from: usize) -> Vec<Entry> {
        let to = block_on(self.history.now(self.world.plane));
        self.history.between(from, to, &self.world.driver)
    }

    /// Runs the command from the same start as always.
    fn spoil(&self, command: usize, faults: Vec<(At, Fault)>) -> Spoiled {
        let before = block_on(reset(&self.world, &self.rules, KEY));
        let from = block_on(self.history.now(self.world.plane));
        let doubled = faults
            .iter()
            .any(|(_, fault)| matches!(fault, Fault::Doubled(_)));
        self.proxy.plan(faults);
        let run = self.run(command);
        let seen = self.proxy.seen();
        let changes = seen.iter().enumerate().filter(|(_, seen)| is_change(seen));
        let changes = changes.map(|(place, _)| place + 1).collect();
        self.proxy.rest();
        self.proxy.plan([]);
        Spoiled {
            run,
            before,
            after: block_on(state(&self.world)),
            requests: seen.len(),
            changes,
            history: self.since(from),
            doubled,
        }
    }

    /// A run that does not end by itself ends with -1.
    fn run(&self, command: usize) -> Run {
        let mut child = Command::new(PLUGIN)
            .args(self.world.words(&self.line(command)))
            .env_clear()
            .env("KUBECONFIG", &self.proxy.kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
        let end = Instant::now() + DEADLINE;
        let mut breaks_off = COMMANDS[command].1 == Goal::BrokenOff;
        thread::scope(|scope| {
            let stdout = scope.spawn(move || all_of(stdout.as_mut()));
            let stderr = scope.spawn(move || all_of(stderr.as_mut()));
            let status = loop {
                if let Some(status) = child.try_wait().expect("a child") {
                    break status.code();
                }
                if breaks_off && self.proxy.seen().iter().any(is_change) {
                    breaks_off = false;
                    thread::sleep(Duration::from_millis(100));
                    let pid = child.id().to_string();
                    let _ = Command::new("kill").args(["-INT", &pid]).status();
                }
                if Instant::now() > end {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
                thread::sleep(Duration::from_millis(5));
            };
            Run {
                stdout: stdout.join().expect("no panic"),
                stderr: stderr.join().expect("no panic"),
                code: status.unwrap_or(-1),
            }
        })
    }

    /// One try; its violation, as text.
    ///
    /// A violation has to show every time under the same faults: answers are compared with those of a
    /// calm run a few seconds earlier, a second that ends between two looks may order two causes otherwise,
    /// and a busy machine is slow by itself.
    fn attempt(&self, seed: u64, number: usize) -> Option<String> {
        let mut random = Random::new(seed, number);
        let command = random.below(COMMANDS.len());
        let calm = &self.calm[command];
        let faults = misfortune(&mut random, calm.requests, &calm.changes);
        let first = self.violation(command, &faults)?;
        let mut again = (1..LOOKS).map(|_| self.violation(command, &faults));
        if again.any(|violation| violation.is_none()) {
            say(&format!(
                "cluster: try {number} of seed {seed} broke the law, and not every time: {first}"
            ));
            return None;
        }
        Some(format!("try {number}: {first}"))
    }

    /// Violation by a run of that command under these faults.
    fn violation(&self, command: usize, faults: &[(At, Fault)]) -> Option<String> {
        let calm = &self.calm[command].run;
        let spoiled = self.spoil(command, faults.to_vec());
        let luck = if faults.iter().all(|(_, fault)| passes(fault)) {
            Luck::Bad
        } else {
            Luck::Mixed
        };
        let mut violations = self.tried(command, &spoiled, calm, luck).violations();
        if spoiled.run.code == TRY_AGAIN {
            let again = self.again(command, &spoiled);
            let broken = self.tried(command, &again, calm, Luck::Good);
            let broken = broken.violations_of_trying_again().into_iter();
            violations.extend(broken.map(|law| format!("{law}: {:#?}", again.run)));
        }
        (!violations.is_empty()).then(|| {
            format!(
                "{violations:?}\n  {}\n  {faults:?}\n  code {}\n{}{}{}",
                self.line(command),
                spoiled.run.code,
                indented(&spoiled.run.stdout),
                indented(&spoiled.run.stderr),
                changes(&spoiled.before, &spoiled.after)
            )
        })
    }
}

/// True if a request may change a rule.
fn is_change(seen: &Seen) -> bool {
    let is_change = ["POST", "PATCH", "DELETE"].contains(&seen.method.as_str());
    is_change && seen.path.contains("/devicetaintrules") && !seen.path.contains("dryRun")
}

/// The first lines of a program's output, between other lines.
fn indented(text: &str) -> String {
    let lines = text.lines().take(12);
    lines.map(|line| format!("  | {line}\n")).collect()
}

fn all_of(pipe: Option<&mut impl std::io::Read>) -> String {
    let mut bytes = Vec::new();
    pipe.expect("it is piped")
        .read_to_end(&mut bytes)
        .expect("it can be read");
    String::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn what_is_printed_with_exit_0_is_true_whatever_goes_wrong() {
    let plane = ControlPlane::start(&Variant::idle());
    let history = block_on(History::start(&plane));
    let seed = fresh_seed();
    let numbers = tries(TRIES);
    let next = AtomicUsize::new(usize::try_from(numbers.start).expect("small"));
    let end = usize::try_from(numbers.end).expect("small");
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                let lane = Lane::new(&plane, &history);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        return;
                    }
                    if let Some(violation) = lane.attempt(seed, number) {
                        wrong.lock().expect("no panic").push(violation);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    say(&format!(
        "cluster: {} tries with faults, seed {seed}: the law was broken {} times",
        numbers.end - numbers.start,
        wrong.len()
    ));
    let shown = wrong
        .iter()
        .take(40)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n\n");
    assert!(
        wrong.is_empty(),
        "{} violations; SEED={seed} TRY=NUMBER repeats one:\n\n{shown}",
        wrong.len()
    );
}
