//! Commands that are stopped at each of their changes: the account of the stopped command is true, and the same
//! command completes it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cluster::dedicated::stage::{ADMISSION, POLICIES, stage};
use crate::cluster::rules::harm::{Harm, Proxy};
use crate::cluster::rules::support::{KEY, Run, World};
use crate::harness::{At, ControlPlane, Reference, Seen, Variant, block_on};

/// Everything that stops a command at a change, with its exit code: a lost response is resolved by reading.
const STOPS: [(Harm, &[i32]); 6] = [
    (Harm::SignalBefore("INT"), &[130]),
    (Harm::SignalAfter("INT"), &[130]),
    (Harm::SignalBefore("KILL"), &[-1]),
    (Harm::SignalAfter("KILL"), &[-1]),
    (Harm::LoseAnswer, &[0]),
    (Harm::Down, &[75, 1]),
];

/// Objects by kind and name.
type State = BTreeMap<String, Value>;

/// A command, and the command that undoes it.
struct Case<'a> {
    world: &'a World<'a>,
    line: String,
    reset: &'a dyn Fn(),
}

impl Case<'_> {
    fn state(&self) -> State {
        block_on(async {
            let mut state = State::new();
            for rule in self.world.rules().await {
                let name = rule["metadata"]["name"].as_str().expect("a name");
                state.insert(name.to_owned(), rule);
            }
            for resource in POLICIES {
                let name = format!("dedicated-{}", self.world.namespace);
                let path = format!("/apis/{ADMISSION}/v1/{resource}/{name}");
                let answer = self.world.plane.request(http::Method::GET, &path, None);
                if let Ok(policy) = answer.await.expect("an answer").success() {
                    state.insert(format!("{resource}/{name}"), policy["spec"].clone());
                }
            }
            state
        })
    }

    fn stop_at_every_change(&self) {
        let proxy = Proxy::start(self.world);
        (self.reset)();
        let start = self.state();
        proxy.run(self.world, &self.line).ended(0);
        let (sent, complete) = (proxy.seen(), self.state());
        assert_ne!(start, complete, "{}", self.line);
        let changes: Vec<&Seen> = sent.iter().filter(|seen| seen.is_change()).collect();
        assert!(changes.len() >= 2, "{sent:#?}");
        for (number, seen) in (1..).zip(&changes) {
            // A write of a rule names the version that the decision is about; an apply conflicts with other owners.
            let is_guarded = !["PATCH", "DELETE"].contains(&seen.method.as_str())
                || !seen.path.contains("/devicetaintrules/")
                || seen.body.contains("\"kind\"")
                || seen.body.contains("resourceVersion");
            assert!(is_guarded, "{}: {seen:?}", self.line);
            for (turn, (harm, codes)) in STOPS.into_iter().enumerate() {
                // The first tier takes half of the stops at one change, the other half at the next.
                if !crate::IS_FULL && turn % 2 != number % 2 {
                    continue;
                }
                (self.reset)();
                let at = match harm {
                    Harm::Down => At::FromChange(number),
                    Harm::SignalBefore(_) | Harm::SignalAfter(_) | Harm::LoseAnswer => {
                        At::Change(number)
                    }
                };
                let line = format!("{} --request-timeout 2s", self.line);
                let stopped = proxy.harm(self.world, &line, at, harm);
                let what = format!("{harm:?} at change {number} of {}: {stopped:#?}", self.line);
                assert!(codes.contains(&stopped.code), "{what}");
                if harm == Harm::LoseAnswer {
                    let count = proxy.seen().iter().filter(|seen| seen.is_change()).count();
                    assert_eq!(count, changes.len(), "a change is sent twice: {what}");
                }
                let state = self.state();
                check_account(&stopped, &start, &state, &what);
                check_order(&state, &what);
                let again = proxy.run(self.world, &self.line);
                assert_eq!(self.state(), complete, "{what} {again:#?}");
                let is_gone =
                    again.stderr.contains("no rule") || again.stderr.contains("not found");
                assert!(again.code == 0 || is_gone, "{what} {again:#?}");
            }
        }
    }
}

/// Objects that are named as changed differ from the start, and those that are named as not changed do not.
fn check_account(run: &Run, start: &State, state: &State, what: &str) {
    let is_changed = |name: &String| start.get(name) != state.get(name);
    let mut names = start.keys().chain(state.keys());
    if run.stderr.contains("nothing was changed") {
        assert!(!names.any(is_changed), "{what}");
        return;
    }
    let listed = |prefix: &str, name: &String| {
        let mut lines = run.stderr.lines();
        let line = lines.find_map(|line| line.trim_start().strip_prefix(prefix));
        let line = line.unwrap_or_default();
        line.split([' ', ',']).any(|word| word == name)
    };
    for name in names {
        let is_open = ["not created: ", "not changed: ", "not deleted: "]
            .iter()
            .any(|prefix| listed(prefix, name));
        assert!(!is_open || !is_changed(name), "{name}: {what}");
        assert!(
            !listed("changed: ", name) || is_changed(name),
            "{name}: {what}"
        );
    }
    // A killed command has no account.
    let mut changed = start
        .keys()
        .chain(state.keys())
        .filter(|name| is_changed(name));
    let is_named = |name: &String| {
        let name = name.rsplit('/').next().unwrap_or_default();
        run.stderr.contains(name) || run.stdout.contains(name)
    };
    assert!(run.code == -1 || changed.all(is_named), "{what}");
}

/// A dedicated device is never tainted without its four policies.
fn check_order(state: &State, what: &str) {
    let is_dedicated = |value: &Value| value["spec"]["taint"]["key"] == "devicetaint.dev/dedicated";
    let policies = state.keys().filter(|name| name.contains('/')).count();
    assert!(
        !state.values().any(is_dedicated) || policies == POLICIES.len(),
        "{what}"
    );
}

#[test]
fn changes_of_rules_are_completed_by_the_same_command() {
    let plane = ControlPlane::of(&Variant::idle());
    let world = block_on(World::new(plane));
    block_on(world.pod("train", "gpu-0"));
    let names = ["gpu-0", "gpu-1"].map(|device| format!("{device}-{}", world.driver));
    let clear = || {
        block_on(async {
            for rule in world.rules().await {
                plane
                    .delete(&Reference::rule(
                        rule["metadata"]["name"].as_str().expect("a name"),
                    ))
                    .await;
            }
        });
    };
    let make = |effect: &str| {
        clear();
        for (device, name) in ["GPU0", "GPU1"].into_iter().zip(&names) {
            world
                .run(&format!(
                    "add {device} {KEY}=x:{effect} --name {name} --yes"
                ))
                .ended(0);
        }
    };
    let names = names.join(" ");
    for (line, reset) in [
        (
            format!("add GPU0 GPU1 {KEY}=x:NoExecute --yes"),
            &clear as &dyn Fn(),
        ),
        (format!("escalate {names} --to NoExecute --yes"), &|| {
            make("None")
        }),
        (format!("deescalate {names} --to None"), &|| {
            make("NoExecute")
        }),
        (format!("remove {names} --yes"), &|| make("NoSchedule")),
    ] {
        Case {
            world: &world,
            line,
            reset,
        }
        .stop_at_every_change();
    }
}

#[test]
fn dedications_are_completed_by_the_same_command() {
    let (world, _shared) = block_on(stage());
    let group = &world.namespace;
    let lines = [
        format!("dedicate GPU0 GPU1 --to {group} --yes"),
        format!("undedicate {group} --yes"),
    ];
    for (line, undo) in [(&lines[0], &lines[1]), (&lines[1], &lines[0])] {
        let reset = || {
            world.run(undo);
        };
        Case {
            world: &world,
            line: line.clone(),
            reset: &reset,
        }
        .stop_at_every_change();
    }
    world.run(&lines[1]);
    assert_eq!(block_on(world.rules()), Vec::<Value>::new());
}
