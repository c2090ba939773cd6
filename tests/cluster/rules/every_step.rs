//! Ctrl-C, SIGKILL and a server that goes away, at every request of every command that changes rules
//! or waits for them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::harm::{Harm, Proxy};
use super::support::{Run, World};
use crate::harness::{
    At, ControlPlane, DEADLINE, Reference, Seen, Variant, block_on, objects::rule, random_suffix,
    wait_for,
};

fn plane() -> &'static ControlPlane {
    ControlPlane::of(&Variant::default().without_controllers().without_scheduler())
}

/// On a machine with much to do, a short wait ends before it has looked: so many requests more are tried
/// until one comes after that.
const MORE: usize = 10;

/// How long a run waits that is not interrupted.
const SHORT: &str = "1s";
/// How long a run waits that is: longer than it takes to come to any request of the short one.
const LONG: &str = "300s";

/// What there is to see of a rule: its effect, and whether somebody has deleted it.
type State = Option<(String, bool)>;

/// A command that is run again and again from the same start.
struct Trial<'a> {
    world: &'a World<'a>,
    proxy: Proxy,
    /// The rules that it is about, in the order of their names.
    names: Vec<String>,
    /// What they look like before.
    effect: &'static str,
    line: String,
    /// What whoever interrupts it is told to do when there is nothing left to change.
    way_on: Option<&'static str>,
}

impl<'a> Trial<'a> {
    /// Rules with an effect, and a command; `RULES` stands for their names, `TIMEOUT` for how long
    /// it waits at most.
    fn new(world: &'a World<'a>, rules: usize, effect: &'static str, line: &str) -> Self {
        let names: Vec<String> = (0..rules)
            .map(|number| format!("rule-{}-{number}", random_suffix()))
            .collect();
        let mut names = names;
        names.sort_unstable();
        Self {
            world,
            proxy: Proxy::start(world),
            line: line.replace("RULES", &names.join(" ")),
            names,
            effect,
            way_on: None,
        }
    }

    /// Says that it waits after the changes, and what helps then.
    fn waiting(mut self, way_on: &'static str) -> Self {
        self.way_on = Some(way_on);
        self
    }

    /// Runs it to its end.
    fn run(&self) -> Run {
        // What has to last for ten seconds is refused where there is less time.
        let short = if self.line.starts_with("escalate") {
            "11s"
        } else {
            SHORT
        };
        let line = self.line.replace("TIMEOUT", short);
        self.proxy.run(self.world, &line)
    }

    /// Interrupts it at a request, to which it comes however fast this machine is: a wait looks
    /// again and again until then.
    fn harm(&self, at: At, harm: Harm) -> Run {
        let line = self.line.replace("TIMEOUT", LONG);
        self.proxy.harm(self.world, &line, at, harm)
    }

    /// Makes the rules what they were, under the same names.
    fn reset(&self) {
        for name in &self.names {
            block_on(self.reset_one(name));
        }
    }

    async fn reset_one(&self, name: &str) {
        let plane = self.world.plane;
        let reference = Reference::rule(name);
        if self.state_of(name).await.is_some() {
            plane.delete(&reference).await;
        }
        wait_for("the rule is gone", DEADLINE, async || {
            self.state_of(name).await.is_none().then_some(())
        })
        .await;
        let rule = rule(name, &self.world.driver, self.effect);
        plane.create(&[rule]).await;
    }

    async fn state_of(&self, name: &str) -> State {
        let rule: Value = self.world.plane.get(&Reference::rule(name)).await?;
        let effect = rule["spec"]["taint"]["effect"].as_str().expect("an effect");
        let deleted = rule["metadata"]["deletionTimestamp"].is_string();
        Some((effect.to_owned(), deleted))
    }

    fn state(&self) -> BTreeMap<String, State> {
        let state = |name: &String| (name.clone(), block_on(self.state_of(name)));
        self.names.iter().map(state).collect()
    }

    /// How many requests an undisturbed run sends, and what the rules are after it.
    fn undisturbed(&self, code: i32) -> (usize, BTreeMap<String, State>) {
        self.reset();
        self.run().ended(code);
        (self.proxy.seen().len(), self.state())
    }

    /// The numbers of the latest run's requests that change something.
    fn changes(&self) -> Vec<usize> {
        let seen = self.proxy.seen();
        let is_change = |seen: &Seen| ["PATCH", "DELETE"].contains(&seen.method.as_str());
        let numbered = seen.iter().zip(1..);
        numbered
            .filter(|(seen, _)| is_change(seen))
            .map(|(_, number)| number)
            .collect()
    }

    /// The number of the latest run's last request that changes something.
    fn last_change(&self) -> usize {
        self.changes().last().copied().unwrap_or(0)
    }

    /// Interrupts the command at every request: what it says is true, and the same command run again
    /// ends as if nothing had happened.
    fn interrupt(&self, harms: &[Harm], code: i32) {
        let (sent, wanted) = self.undisturbed(code);
        let waits = self.way_on.is_some();
        // How often it looks after its last change depends on how fast this machine is: the first look
        // is always sent.
        let requests = if waits {
            sent
        } else {
            sent.min(self.last_change() + 1)
        };
        let changes = self.changes();
        let mut left = 0;
        for number in 1..=requests.saturating_add(MORE) {
            if number > requests && (left > 0 || !waits) {
                break;
            }
            for &harm in tried(number, requests, &changes, harms) {
                self.reset();
                let run = self.harm(At::Number(number), harm);
                let at = format!("{harm:?} at request {number} of {}", self.line);
                match harm {
                    Harm::SignalBefore("INT") | Harm::SignalAfter("INT") => {
                        let run = run.ended(130).saying("error: interrupted");
                        self.check_account(&run, number, &at);
                        left += usize::from(run.stderr.contains("  left: "));
                    }
                    _ => {
                        run.ended(-1);
                    }
                }
                let again = self.run();
                assert_eq!(self.state(), wanted, "{at}: {again:#?}");
                let gone = again.code == 1 && again.stderr.contains("no rule");
                assert!(again.code == code || gone, "{at}: {again:#?}");
            }
        }
        assert_eq!(left > 0, waits, "whoever waits is told what for");
    }

    /// Compares what was said to be changed with what is.
    fn check_account(&self, run: &Run, number: usize, at: &str) {
        let said = |what: &str| -> Vec<&str> {
            let prefix = format!("  {what}: ");
            let line = run
                .stderr
                .lines()
                .find_map(|line| line.strip_prefix(&prefix));
            let words = line.into_iter().flat_map(|line| line.split([' ', ',']));
            words.collect()
        };
        let nothing = run.stderr.contains("  nothing was changed");
        let (changed, unknown) = (said("changed"), said("may have been changed"));
        let open = ["not changed", "not deleted"].map(said).concat();
        let start = Some((self.effect.to_owned(), false));
        for (name, state) in self.state() {
            let told: Vec<bool> = [&changed, &unknown, &open]
                .map(|names| names.contains(&name.as_str()))
                .into();
            let fits = match told[..] {
                [true, false, false] => state != start,
                [false, true, false] => true,
                [false, false, true] => state == start,
                _ => nothing && state == start,
            };
            assert!(fits, "{at}: {name} is {state:?}: {run:#?}");
        }
        let seen = self.proxy.seen();
        let method = |number: usize| seen.get(number).map_or("", |seen| seen.method.as_str());
        // What is deleted is not called so before it was read.
        let is_looked_at = number > 1 && method(number - 2) == "DELETE";
        let changes = ["PATCH", "DELETE"].contains(&method(number - 1)) || is_looked_at;
        assert!(changes || unknown.is_empty(), "{at}: {run:#?}");
        let complete = unknown.is_empty() && open.is_empty();
        let again = run.stderr.contains("again to complete ");
        assert_eq!(again, !complete, "{at}: {run:#?}");
        if let Some(way_on) = self.way_on
            && complete
            && !nothing
        {
            assert!(run.stderr.contains(way_on), "{at}: {run:#?}");
        }
    }
}

/// The interruptions that are tried at this request: in the second tier each at every one; in the first tier both at
/// changes, and one of them at every sixth of the others. Past the last request all are tried, until one is waited for.
fn tried<'a>(number: usize, requests: usize, changes: &[usize], harms: &'a [Harm]) -> &'a [Harm] {
    if crate::IS_FULL || number > requests || changes.contains(&number) {
        return harms;
    }
    let index = number / 6 % harms.len();
    if number.is_multiple_of(6) {
        &harms[index..=index]
    } else {
        &[]
    }
}

const INTERRUPTED: [Harm; 2] = [Harm::SignalBefore("INT"), Harm::SignalAfter("INT")];
const KILLED: [Harm; 2] = [Harm::SignalBefore("KILL"), Harm::SignalAfter("KILL")];

#[test]
fn an_escalation_of_several_rules() {
    let plane = plane();
    let world = block_on(World::new(plane));
    block_on(world.pod("train", "gpu-0"));
    let trial = Trial::new(&world, 3, "None", "escalate RULES --to NoExecute --yes");
    trial.interrupt(&INTERRUPTED, 0);
    trial.interrupt(&KILLED, 0);
}

#[test]
fn a_deescalation_of_several_rules() {
    let plane = plane();
    let world = block_on(World::new(plane));
    block_on(world.pod("train", "gpu-0"));
    let trial = Trial::new(&world, 3, "NoExecute", "deescalate RULES --to None");
    trial.interrupt(&INTERRUPTED, 0);
    trial.interrupt(&KILLED, 0);
}

#[test]
fn a_removal_of_several_rules() {
    let plane = plane();
    let world = block_on(World::new(plane));
    let trial = Trial::new(&world, 3, "NoSchedule", "remove RULES --yes --others");
    trial.interrupt(&INTERRUPTED, 0);
    trial.interrupt(&KILLED, 0);
}

/// A pod that is terminating, and stays so.
fn terminating(world: &World<'_>, name: &str) {
    block_on(async {
        world.pod(name, "gpu-0").await;
        let pod = Reference::pod(&world.namespace, name);
        world.plane.delete(&pod).await;
    });
}

#[test]
fn an_escalation_that_waits() {
    let plane = plane();
    let world = block_on(World::new(plane));
    terminating(&world, "train");
    let line = "escalate RULES --to NoExecute --yes --wait --timeout TIMEOUT";
    Trial::new(&world, 2, "None", line)
        .waiting("to keep waiting: kubectl devicetaint wait rule-")
        .interrupt(&[Harm::SignalAfter("INT")], 5);
}

#[test]
fn a_wait_changes_nothing_and_says_what_for() {
    let plane = plane();
    let world = block_on(World::new(plane));
    terminating(&world, "train");
    for what in ["evicted", "observed", "deleted"] {
        let line = format!("wait RULES --for {what} --timeout TIMEOUT");
        let trial = Trial::new(&world, 2, "NoExecute", &line);
        let (requests, before) = trial.undisturbed(5);
        let mut left = 0;
        for number in 1..=requests.saturating_add(MORE) {
            if number > requests && left > 0 {
                break;
            }
            let run = trial.harm(At::Number(number), Harm::SignalAfter("INT"));
            let run = run
                .ended(130)
                .saying("  nothing was changed")
                .saying("to keep waiting, run the same command again");
            left += usize::from(run.stderr.contains("  left: "));
        }
        assert!(left > 0, "whoever waits is told what for: {what}");
        assert_eq!(trial.state(), before);
        trial
            .harm(At::Number(1), Harm::SignalBefore("TERM"))
            .ended(143);
    }
}

#[test]
fn the_brake_of_somebody_else_ends_the_wait_and_is_not_undone() {
    let plane = plane();
    let world = block_on(World::new(plane));
    terminating(&world, "train");
    let line = "escalate RULES --to NoExecute --yes --wait --timeout 60s";
    let trial = Trial::new(&world, 1, "NoSchedule", line);
    trial.reset();
    let name = &trial.names[0];
    let brake = std::thread::scope(|scope| {
        let brake = scope.spawn(|| {
            block_on(wait_for("it is escalated", DEADLINE, async || {
                let state = trial.state_of(name).await?;
                (state.0 == "NoExecute").then_some(())
            }));
            world.run(&format!("deescalate {name} --to None"))
        });
        trial
            .run()
            .ended(1)
            .saying("has effect None, which evicts no pods")
            .saying(&format!("changed: {name} configured"));
        brake.join().expect("no panic")
    });
    brake.ended(0);
    assert_eq!(trial.state()[name], Some(("None".to_owned(), false)));
}

#[test]
fn a_server_that_goes_away_while_it_changes_or_waits() {
    let plane = plane();
    let world = block_on(World::new(plane));
    terminating(&world, "train");
    let line = "escalate RULES --to NoExecute --yes --wait --timeout TIMEOUT --request-timeout 2s";
    let trial = Trial::new(&world, 2, "None", line);
    let (requests, wanted) = trial.undisturbed(5);
    let mut seen = trial.proxy.seen().into_iter();
    let patch = 1 + seen
        .position(|seen| seen.method == "PATCH")
        .expect("a change");

    trial.reset();
    trial
        .harm(At::From(requests), Harm::Down)
        .ended(75)
        .saying("changed: ")
        .saying("to keep waiting: ");
    trial.reset();
    trial
        .harm(At::From(patch + 1), Harm::Down)
        .ended(75)
        .saying(&format!("changed: {} configured", trial.names[0]))
        .saying(&format!("may have been changed: {}", trial.names[1]))
        .saying("run the same command again to complete the change");
    trial.run().ended(5);
    assert_eq!(trial.state(), wanted);
}
