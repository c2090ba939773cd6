//! Two want to change the same rule.

use std::process::Stdio;
use std::thread;

use serde_json::json;

use super::harm::Proxy;
use super::support::{KEY, Run, World};
use crate::harness::{
    At, ControlPlane, Deed, History, Random, Reference, Variant, block_on, fresh_seed, number_in,
    random_suffix, say,
};

const RACES: usize = if crate::IS_FULL { 1000 } else { 50 };

fn plane() -> &'static ControlPlane {
    ControlPlane::of(&Variant::default().without_controllers().without_scheduler())
}

/// How many races of two programs there are; `RACES=3000 cargo test --test full races` tries more.
fn program_races() -> usize {
    let asked = std::env::var("RACES").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(RACES)
}

/// Races that are run side by side, each about a rule of its own: while one program waits for the
/// server, another can begin.
const LANES: usize = 4;

/// One race in so many is held so that both have looked before one is first; the others begin at once
/// and come as they come.
const HELD: usize = 10;

/// Two programs that escalate one rule and begin at once.
fn at_once(world: &World<'_>, line: &str) -> [Run; 2] {
    let start = || {
        world
            .plane
            .command(crate::harness::PLUGIN)
            .args(world.words(line))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts")
    };
    [start(), start()].map(|child| Run::from(child.wait_with_output().expect("it ends")))
}

/// Two programs that escalate one rule, of which one is held after it has looked until the other
/// has ended.
fn held(world: &World<'_>, proxy: &Proxy, line: &str) -> [Run; 2] {
    let mut first = None;
    let second = proxy.run_while(world, line, At::Method("PATCH", 1), || {
        first = Some(world.run(line));
    });
    [first.expect("it comes to its change"), second]
}

/// Lets two programs escalate one rule; says whether they met, or one came so late that there
/// was nothing left to do.
fn race(world: &World<'_>, name: &str, race: impl FnOnce(&str) -> [Run; 2]) -> bool {
    let generation = || {
        let rule = block_on(world.rule(name)).expect("it is there");
        let effect = rule["spec"]["taint"]["effect"].as_str().unwrap_or_default();
        (
            effect.to_owned(),
            rule["metadata"]["generation"].as_i64().expect("a number"),
        )
    };
    let (effect, before) = generation();
    assert_eq!(effect, "None");
    let runs = race(&format!("escalate {name} --to NoExecute --yes"));
    let (won, lost): (Vec<&Run>, Vec<&Run>) = runs
        .iter()
        .partition(|run| run.stdout.contains("configured"));
    assert_eq!(won.len(), 1, "{runs:#?}");
    assert_eq!(won[0].code, 0, "{runs:#?}");
    assert_eq!(
        generation(),
        ("NoExecute".to_owned(), before + 1),
        "no update is lost"
    );
    let lost = lost[0];
    if lost.code == 0 {
        assert!(lost.stdout.contains("unchanged"), "{lost:#?}");
        return false;
    }
    assert_eq!((lost.code, lost.stdout.as_str()), (75, ""), "{lost:#?}");
    for said in [
        format!(
            "error: rule {name} was changed by another client; this command's change was not made"
        ),
        format!("  its taint was {KEY}=x:None, and is now {KEY}=x:NoExecute"),
        "  changed by admin, with kubectl-devicetaint at ".to_owned(),
        "  impact of effect NoExecute now:".to_owned(),
        format!("  not changed: {name}"),
    ] {
        assert!(lost.stderr.contains(&said), "{said}: {lost:#?}");
    }
    true
}

#[test]
fn the_program_that_comes_second_says_who_was_first_and_what_is_different() {
    let plane = plane();
    let races = program_races();
    let lane = |number: usize| {
        let world = block_on(World::new(plane));
        let name = world.add(&format!("{KEY}=x"));
        let again = json!({"spec": {"taint": {"effect": "None"}}});
        let proxy = Proxy::start(&world);
        let mut met = 0;
        for (place, _) in (number..races).step_by(LANES).enumerate() {
            if place.is_multiple_of(HELD) {
                let meets = race(&world, &name, |line| held(&world, &proxy, line));
                assert!(
                    meets,
                    "whoever looked before the other's change is told of it"
                );
                met += 1;
            } else {
                met += usize::from(race(&world, &name, |line| at_once(&world, line)));
            }
            block_on(plane.patch(&Reference::rule(&name), &again));
        }
        met
    };
    let met: usize = thread::scope(|scope| {
        let lane = &lane;
        let lanes: Vec<_> = (0..LANES)
            .map(|number| scope.spawn(move || lane(number)))
            .collect();
        let lanes = lanes.into_iter().map(|lane| lane.join().expect("no panic"));
        lanes.sum()
    });
    say(&format!(
        "cluster: in {met} of {races} races of two programs both had looked before one was first"
    ));
}

/// What three administrators do to one rule.
const DEEDS: [&str; 6] = [
    "add GPU0 KEY=x --name NAME",
    "add GPU0 KEY=x:NoSchedule --yes --overwrite --name NAME",
    "escalate NAME --to NoSchedule --yes",
    "deescalate NAME --to None",
    "remove NAME --yes --ignore-not-found",
    "remove NAME --yes --ignore-not-found",
];

/// Races of three in an ordinary run; `RACES=1000` for more.
const RACES_OF_THREE: u64 = 50;

/// One race of three programs; what is wrong with what they say, as text.
fn race_of_three(world: &World<'_>, history: &History, random: &mut Random) -> Option<String> {
    let name = format!("race-{}", random_suffix());
    let line = |line: &str| line.replace("NAME", &name).replace("KEY", KEY);
    if random.percent(70) {
        world.run(&line("add GPU0 KEY=x --name NAME")).ended(0);
    }
    let lines: Vec<String> = (0..3).map(|_| line(random.pick(&DEEDS))).collect();
    let from = block_on(history.now(world.plane));
    let start = |line: &String| {
        let mut command = world.plane.command(crate::harness::PLUGIN);
        let command = command.args(world.words(line)).stdout(Stdio::piped());
        command.stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let children: Vec<_> = lines.iter().map(start).collect();
    let runs = children
        .into_iter()
        .map(|child| Run::from(child.wait_with_output().expect("it ends")));
    let runs: Vec<Run> = runs.collect();
    let to = block_on(history.now(world.plane));
    let entries = history.between(from, to, &world.driver);
    let told = |verb: &str| {
        let line = format!("/{name} {verb}");
        runs.iter()
            .filter(|run| run.stdout.lines().any(|said| said.ends_with(&line)))
            .count()
    };
    let done = |deed: Deed| entries.iter().filter(|entry| entry.deed == deed).count();
    let verbs = [
        ("created", Deed::Created),
        ("configured", Deed::Configured),
        ("deleted", Deed::Deleted),
        ("deletion requested", Deed::DeletionRequested),
    ];
    let is_told = verbs.iter().all(|(verb, deed)| told(verb) == done(*deed));
    // Nothing is in anybody's way, so that everybody knows.
    let is_known = told("gone") == 0 && !runs.iter().any(|run| run.stderr.contains("not known"));
    if let Some(left) = block_on(world.rule(&name)) {
        block_on(world.plane.delete(&Reference::of(&left)));
    }
    (!is_told || !is_known).then(|| format!("{lines:#?} {runs:#?} {entries:#?}"))
}

#[test]
fn of_three_administrators_each_is_told_what_the_servers_history_says() {
    let plane = plane();
    let history = block_on(History::start(plane));
    let (seed, races) = (fresh_seed(), number_in("RACES").unwrap_or(RACES_OF_THREE));
    let races = usize::try_from(races).expect("small");
    let lane = |number: usize| {
        let world = block_on(World::new(plane));
        let races = (number..races).step_by(LANES);
        let wrong =
            races.filter_map(|race| race_of_three(&world, &history, &mut Random::new(seed, race)));
        wrong.collect::<Vec<String>>()
    };
    let wrong: Vec<String> = thread::scope(|scope| {
        let lane = &lane;
        let lanes: Vec<_> = (0..LANES)
            .map(|number| scope.spawn(move || lane(number)))
            .collect();
        lanes
            .into_iter()
            .flat_map(|lane| lane.join().expect("no panic"))
            .collect()
    });
    say(&format!(
        "cluster: {races} races of three programs, seed {seed}: {} told otherwise than the history",
        wrong.len()
    ));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
