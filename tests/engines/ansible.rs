//! The Ansible play, run by Ansible.

use super::scene::Scene;
use super::tools::python_program;
use crate::cluster::rules::support::Run;

fn play(scene: &Scene, more: &[&str]) -> Run {
    let playbook = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/engines/ansible-playbook.yml"
    );
    let mut command = scene.command(python_program("ansible-playbook"), &[]);
    command
        .arg(playbook)
        .env("ANSIBLE_HOME", scene.path("ansible"))
        .env("ANSIBLE_LOCALHOST_WARNING", "false")
        .env("ANSIBLE_NOCOLOR", "true")
        .env("LC_ALL", "C.UTF-8");
    let values = [
        format!("device={}", scene.device()),
        format!("taint={}", scene.taint()),
        format!("work={}", scene.path(".").display()),
        "attempts=1 pause=0 patience=60s approve=false".to_owned(),
    ];
    for value in values
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
    {
        command.args(["-e", value]);
    }
    command.output().expect("Ansible").into()
}

#[test]
fn it_changes_what_it_says_and_nothing_the_second_time() {
    let scene = Scene::new();
    let run = scene.while_evicted(|| play(&scene, &[])).ended(0);
    assert!(run.stdout.contains("changed=1 "), "{run:#?}");
    assert_eq!(scene.effects(), ["NoExecute"]);
    let again = play(&scene, &[]).ended(0);
    assert!(again.stdout.contains("changed=0 "), "{again:#?}");
    assert!(again.stdout.contains("failed=0 "), "{again:#?}");
}

#[test]
fn without_an_approval_nothing_is_changed() {
    let scene = Scene::new();
    // There is no terminal to ask at.
    let run = play(&scene, &["approve=true"]).ended(2);
    assert!(
        run.stdout.contains("not approved; nothing was changed"),
        "{run:#?}"
    );
    assert!(run.stdout.contains("changed=0 "), "{run:#?}");
    assert!(scene.effects().is_empty());
}

#[test]
fn it_fails_where_it_has_to_and_has_changed_nothing_then() {
    let scene = Scene::new();
    let run = play(&scene, &["guard=pods.evicted>0"]).ended(2);
    assert!(run.stdout.contains("\"rc\": 4"), "{run:#?}");
    assert!(run.stdout.contains("changed=0 "), "{run:#?}");
    let away = r#"{"plugin": ["kubectl-devicetaint", "--server=https://127.0.0.1:1"]}"#;
    let run = play(&scene, &[away]).ended(2);
    assert!(run.stdout.contains("\"rc\": 75"), "{run:#?}");
    assert!(run.stdout.contains("FAILED - RETRYING"), "{run:#?}");
    assert!(scene.effects().is_empty());
}
