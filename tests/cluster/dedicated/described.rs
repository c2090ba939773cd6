//! Printing of a dedication, which changes nothing.

use serde_json::Value;

use super::stage::{end, plane, policies, stage};
use crate::harness::text;

#[tokio::test]
async fn dry_runs_change_nothing_and_what_is_printed_can_be_applied_twice() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let line = format!("dedicate GPU0 GPU1 --to {group} --yes");
    let printed = world
        .run(&format!("{line} --dry-run=client -o yaml"))
        .ended(0);
    let objects: Value = serde_yaml::from_str(&printed.stdout).expect("YAML");
    let kinds = objects["items"].as_array().expect("a list").iter();
    let kinds: Vec<&str> = kinds.filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds.len(), 6, "{kinds:?}");
    assert_eq!(kinds[0], "MutatingAdmissionPolicy");
    for flags in ["--dry-run", "--dry-run=server", "--dry-run=server -o json"] {
        let run = world.run(&format!("{line} {flags}")).ended(0);
        assert!(
            run.stdout.contains(&format!("dedicated-{group}")),
            "{flags}: {run:#?}"
        );
    }
    assert_eq!(policies(&group).await, Vec::<String>::new());
    assert_eq!(world.rules().await, Vec::<Value>::new());

    // GitOps applies the printed objects, and the command finds them as it would have made them.
    let file = plane().folder().join(format!("{group}.yaml"));
    std::fs::write(&file, &printed.stdout).expect("a file");
    for _ in 0..2 {
        text(&plane().kubectl(&["apply", "-f", &file.display().to_string()]));
    }
    let again = world.run(&line).ended(0);
    assert_eq!(again.stdout.matches(" unchanged").count(), 6, "{again:#?}");
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
