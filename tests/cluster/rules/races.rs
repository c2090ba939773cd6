//! Two want to change the same rule.

use std::path::PathBuf;
use std::sync::Arc;

use kubectl_devicetaint::cluster::{
    ApiClient, ClusterError, Connection, ConnectionOptions, DEFAULT_REQUEST_TIMEOUT, Environment,
    RulePatch, Rules, Silent, WriteMode, discover,
};
use kubectl_devicetaint::model::Effect;

use super::support::{KEY, World};
use crate::harness::{ControlPlane, Variant, block_on};

const RACES: usize = 1000;

fn plane() -> ControlPlane {
    ControlPlane::start(&Variant::default().without_controllers().without_scheduler())
}

async fn rules(plane: &ControlPlane) -> Rules {
    let options = ConnectionOptions {
        kubeconfig: Some(PathBuf::from(plane.kubeconfig())),
        request_timeout: Some(DEFAULT_REQUEST_TIMEOUT),
        ..ConnectionOptions::default()
    };
    let connection = Connection::load(&options, &Environment::default(), &Silent).await;
    let client =
        ApiClient::new(connection.expect("a connection"), Arc::new(Silent)).expect("a client");
    let served = discover(&client).await.expect("discovery");
    Rules::new(&client, &served).expect("rules are served")
}

/// Both have looked at the same state; what they want differs in value and effect.
fn wish(race: usize, who: &str) -> RulePatch {
    RulePatch {
        effect: Some(if race.is_multiple_of(2) {
            Effect::NoSchedule
        } else {
            Effect::NoExecute
        }),
        value: Some(format!("race-{race}-{who}")),
        ..RulePatch::default()
    }
}

#[test]
fn of_two_changes_of_one_state_exactly_one_is_made() {
    let plane = plane();
    let world = block_on(World::new(&plane));
    let name = world.add(&format!("{KEY}=x"));
    block_on(async {
        let (one, two) = (rules(&plane).await, rules(&plane).await);
        for race in 0..RACES {
            let before = one.get(&name).await.expect("readable").expect("there");
            let (wish_one, wish_two) = (wish(race, "one"), wish(race, "two"));
            let (first, second) = futures::future::join(
                one.patch(&before.rule, &wish_one, WriteMode::Store),
                two.patch(&before.rule, &wish_two, WriteMode::Store),
            )
            .await;
            let winner = match (first, second) {
                (Ok(won), Err(ClusterError::Conflict { .. }))
                | (Err(ClusterError::Conflict { .. }), Ok(won)) => won,
                other => panic!("race {race}: {other:?}"),
            };
            let after = one.get(&name).await.expect("readable").expect("there");
            assert_eq!(after.rule, winner.rule, "no update is lost");
            assert_eq!(after.rule.generation, before.rule.generation + 1);
        }
    });
}

/// Starting two programs takes a while, so that all thousand of them run only when asked for:
/// `RACES=1000 cargo test --test cluster races`.
fn program_races() -> usize {
    let asked = std::env::var("RACES").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(30)
}

#[test]
fn the_program_that_comes_second_says_who_was_first_and_what_is_different() {
    let plane = plane();
    let world = block_on(World::new(&plane));
    let name = world.add(&format!("{KEY}=x"));
    let mut conflicts = 0;
    for _ in 0..program_races() {
        let escalate = |to: &str| {
            plane
                .command(crate::harness::PLUGIN)
                .args(world.words(&format!("escalate {name} --to {to} --yes")))
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .expect("it starts")
        };
        let runs = [escalate("NoExecute"), escalate("NoExecute")]
            .map(|child| super::support::Run::from(child.wait_with_output().expect("it ends")));
        let winners = runs
            .iter()
            .filter(|run| run.stdout.contains("configured"))
            .count();
        assert_eq!(winners, 1, "{runs:?}");
        for run in runs.iter().filter(|run| !run.stdout.contains("configured")) {
            if run.code == 0 {
                // It came so late that it saw what the first had done.
                assert!(run.stdout.contains("unchanged"), "{run:?}");
            } else {
                conflicts += 1;
                assert_eq!(run.code, 1, "{run:?}");
                assert!(run.stderr.contains("changed in the meantime"), "{run:?}");
                assert!(
                    run.stderr.contains("it is") && run.stderr.contains(":NoExecute"),
                    "{run:?}"
                );
                assert!(
                    run.stderr.contains("changed by") && run.stderr.contains("kubectl-devicetaint"),
                    "{run:?}"
                );
            }
        }
        world.run(&format!("deescalate {name} --to None")).ended(0);
    }
    assert!(conflicts > 0, "two programs that start at once meet");
}
