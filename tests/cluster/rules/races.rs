//! Programs that change one rule at the same time.

use std::process::Stdio;
use std::thread;

use super::support::{KEY, Run, World};
use crate::harness::{
    ControlPlane, Deed, History, Random, Reference, Variant, block_on, fresh_seed, number_in,
    random_suffix, say,
};

/// Races of an ordinary run; `RACES=3000 cargo test --test full races` tries more.
const RACES: u64 = if crate::IS_FULL { 1000 } else { 50 };
/// Races at the same time, each about a rule of its own.
const LANES: usize = 4;

fn plane() -> &'static ControlPlane {
    ControlPlane::of(&Variant::idle())
}

/// Runs all races in lanes, each with a world of its own; the results of all.
fn races<T: Send>(race: impl Fn(&World<'_>, usize) -> Option<T> + Sync) -> (usize, Vec<T>) {
    let number = number_in("RACES").unwrap_or(RACES);
    let number = usize::try_from(number).expect("small");
    let lane = |first: usize| {
        let world = block_on(World::new(plane()));
        let races = (first..number).step_by(LANES);
        races
            .filter_map(|number| race(&world, number))
            .collect::<Vec<T>>()
    };
    let results = thread::scope(|scope| {
        let lane = &lane;
        let lanes: Vec<_> = (0..LANES)
            .map(|first| scope.spawn(move || lane(first)))
            .collect();
        let lanes = lanes.into_iter().map(|lane| lane.join().expect("no panic"));
        lanes.flatten().collect()
    });
    (number, results)
}

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

/// Lets two programs escalate one rule; false if one came so late that nothing was left to do.
fn race_of_two(world: &World<'_>) -> bool {
    let name = world.add(&format!("{KEY}=x"));
    let runs = at_once(world, &format!("escalate {name} --to NoExecute --yes"));
    let rule = block_on(world.rule(&name)).expect("it is there");
    block_on(world.plane.delete(&Reference::rule(&name)));
    let (won, lost): (Vec<&Run>, Vec<&Run>) = runs
        .iter()
        .partition(|run| run.stdout.contains("configured"));
    assert_eq!(won.len(), 1, "{runs:#?}");
    assert_eq!(won[0].code, 0, "{runs:#?}");
    assert_eq!(rule["spec"]["taint"]["effect"], "NoExecute", "{runs:#?}");
    assert_eq!(rule["metadata"]["generation"], 2, "no update is lost");
    let lost = lost[0];
    if lost.code == 0 {
        assert!(lost.stdout.contains("unchanged"), "{lost:#?}");
        return false;
    }
    assert_eq!((lost.code, lost.stdout.as_str()), (75, ""), "{lost:#?}");
    for part in [
        format!("error: rule {name} was changed by another client"),
        format!("{KEY}=x:None, and is now {KEY}=x:NoExecute"),
        format!("  not changed: {name}"),
    ] {
        assert!(lost.stderr.contains(&part), "{part}: {lost:#?}");
    }
    true
}

#[test]
fn the_second_of_two_programs_reports_the_change_of_the_first() {
    let (number, met) = races(|world, _| race_of_two(world).then_some(()));
    let met = met.len();
    say(&format!(
        "cluster: in {met} of {number} races of two programs both had read the rule before its first change"
    ));
}

/// Commands of three administrators on one rule.
const DEEDS: [&str; 6] = [
    "add GPU0 KEY=x --name NAME",
    "add GPU0 KEY=x:NoSchedule --yes --overwrite --name NAME",
    "escalate NAME --to NoSchedule --yes",
    "deescalate NAME --to None",
    "remove NAME --yes --ignore-not-found",
    "remove NAME --yes --ignore-not-found",
];

/// One race of three programs; false statements in their output, as text.
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
    // No request is disturbed, so that every outcome is known.
    let is_known = told("gone") == 0 && !runs.iter().any(|run| run.stderr.contains("not known"));
    if let Some(left) = block_on(world.rule(&name)) {
        block_on(world.plane.delete(&Reference::of(&left)));
    }
    (!is_told || !is_known).then(|| format!("{lines:#?} {runs:#?} {entries:#?}"))
}

#[test]
fn of_three_administrators_each_gets_what_the_history_of_the_server_has() {
    let history = block_on(History::start(plane()));
    let seed = fresh_seed();
    let (number, wrong) =
        races(|world, race| race_of_three(world, &history, &mut Random::new(seed, race)));
    say(&format!(
        "cluster: {number} races of three programs, seed {seed}: {} reported otherwise than in the history",
        wrong.len()
    ));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
