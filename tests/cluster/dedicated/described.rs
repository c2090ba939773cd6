//! What is printed of a dedication, and that nothing is changed by printing it.

use serde_json::{Value, json};

use super::stage::{
    allocated, claim, end, lets_in, plane, policies, stage, stage_alone, waiting_pod,
};
use crate::cluster::rules::support::Run;
use crate::harness::text;

fn parsed(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"))
}

#[tokio::test]
async fn who_has_what_is_told_with_claims_that_were_made_before() {
    let (world, _alone) = stage_alone().await;
    let (group, other) = (world.namespace.clone(), plane().namespace().await);
    waiting_pod(&world, &other, "holder").await;
    let held = allocated(&other, "holder").await;
    plane()
        .create(&[claim(&world, &group, "before", Value::Null)])
        .await;
    plane()
        .create(&[claim(
            &world,
            &other,
            "blanket",
            json!([{"operator": "Exists"}]),
        )])
        .await;
    let run = world
        .run(&format!(
            "dedicate DRIVER/{}/* --to {group} --yes",
            world.node
        ))
        .ended(0);
    run.saying("1 claim in another namespace keeps devices of this dedication")
        .saying("to get the dedicated devices, recreate these claims: ");
    lets_in(&world, &group, &group, true).await;
    waiting_pod(&world, &group, "ours").await;
    let ours = allocated(&group, "ours").await;

    let described = parsed(
        &world
            .run(&format!("dedicate describe {group} -o json"))
            .ended(0),
    );
    let one = &described["items"][0];
    assert_eq!(one["enforcement"], "Enforced", "{one}");
    assert_eq!(one["namespaces"], json!([group]));
    assert_eq!(
        one["claimsLackingToleration"],
        json!([{"namespace": group, "name": "before", "uid": null}])
    );
    assert_eq!(one["toleratedByOthers"][0]["name"], "blanket");
    assert_eq!(one["toleratedByOthers"][0]["tolerance"], "Wildcard");
    let usage = |device: &str| {
        let devices = one["dedicatedDevices"].as_array().expect("devices").iter();
        let found = devices.filter(|it| it["device"] == world.device(device));
        found.map(|it| it["usage"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(usage(&held), ["UsedByOthers"]);
    assert_eq!(usage(&ours), ["Used"]);
    let listed = world.run("dedicate list").ended(0);
    let row = listed
        .stdout
        .lines()
        .find(|line| line.starts_with(&format!("{group} ")));
    let row = row
        .expect("a row")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert_eq!(row, format!("{group} {group} NoSchedule 3 1 1 1 yes"));

    let who = parsed(
        &world
            .run(&format!(
                "tolerations dedicated={group}:NoSchedule --who -o json"
            ))
            .ended(0),
    );
    let names = who["items"].as_array().expect("a list").iter();
    let names: Vec<(String, String)> = names
        .filter(|it| it["namespace"] == *group || it["namespace"] == *other)
        .map(|it| {
            (
                it["name"].as_str().unwrap_or_default().to_owned(),
                it["tolerance"].as_str().unwrap_or_default().to_owned(),
            )
        })
        .collect();
    let pair = |name: &str, how: &str| (name.to_owned(), how.to_owned());
    assert_eq!(names, [pair("ours", "Key"), pair("blanket", "Wildcard")]);

    let previewed = world
        .run(&format!("preview GPU0 dedicated={group}:NoExecute"))
        .ended(0);
    previewed.saying(&format!(
        "dedication {group} adds the toleration of this taint to new claims in namespace {group}"
    ));
    let devices = world
        .run(&format!("devices {} -o wide", world.device("gpu-0")))
        .ended(0);
    assert!(
        devices.stdout.contains("DEDICATED") && devices.stdout.contains(&*group),
        "{devices:#?}"
    );
    end(&world, &group);
}

#[tokio::test]
async fn advice_and_dry_runs_change_nothing_and_print_what_would_be_made() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let line = format!("dedicate GPU0 GPU1 --to {group}");
    let advised = world.run(&format!("{line} --mode advise")).ended(0);
    assert!(
        advised.stdout.contains("#     key: dedicated"),
        "{advised:#?}"
    );
    let objects: Value = serde_yaml::from_str(&advised.stdout).expect("YAML");
    let kinds = objects["items"].as_array().expect("a list").iter();
    let kinds: Vec<&str> = kinds.filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds.len(), 6, "{kinds:?}");
    assert_eq!(kinds[0], "MutatingAdmissionPolicy");
    for flags in [
        "--dry-run",
        "--dry-run=server",
        "--dry-run -o yaml",
        "--mode advise -o json",
    ] {
        let run = world.run(&format!("{line} {flags}")).ended(0);
        assert!(
            run.stdout.contains(&format!("dedicated-{group}")),
            "{flags}: {run:#?}"
        );
    }
    assert_eq!(policies(&group).await, Vec::<String>::new());
    assert_eq!(world.rules().await, Vec::<Value>::new());

    // GitOps applies what was printed, and the command finds it as it would have made it.
    let file = plane().folder().join(format!("{group}.yaml"));
    std::fs::write(&file, &advised.stdout).expect("a file");
    text(&plane().kubectl(&["apply", "-f", &file.display().to_string()]));
    let described = parsed(
        &world
            .run(&format!("dedicate describe {group} -o json"))
            .ended(0),
    );
    assert_eq!(
        described["items"][0]["enforcement"], "Enforced",
        "{described}"
    );
    text(&plane().kubectl(&["delete", "-f", &file.display().to_string()]));

    let made = world.run(&format!("{line} -o yaml")).ended(0);
    let objects: Value = serde_yaml::from_str(&made.stdout).expect("YAML");
    assert_eq!(
        objects["items"].as_array().map(Vec::len),
        Some(6),
        "{made:#?}"
    );
    let tried = world
        .run(&format!("undedicate {group} --yes --dry-run"))
        .ended(0);
    assert_eq!(
        tried.stdout.matches("deleted (dry run)").count(),
        6,
        "{tried:#?}"
    );
    assert_eq!(policies(&group).await.len(), 4);
    end(&world, &group);
}
