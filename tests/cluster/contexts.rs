//! Several clusters in one report.

use serde_json::Value;

use crate::cluster::rules::support::{KEY, Run, World};
use crate::harness::{ControlPlane, block_on};

/// A kubeconfig with two contexts that lead to the cluster, and one that leads nowhere.
fn kubeconfig(plane: &ControlPlane, name: &str) -> std::path::PathBuf {
    let text = std::fs::read_to_string(plane.kubeconfig()).expect("a kubeconfig");
    let mut config: Value = serde_yaml::from_str(&text).expect("YAML");
    let context = config["contexts"][0].clone();
    let mut named = |name: &str, cluster: Option<&str>| {
        let mut context = context.clone();
        context["name"] = name.into();
        if let Some(cluster) = cluster {
            context["context"]["cluster"] = cluster.into();
        }
        let contexts = config["contexts"].as_array_mut().expect("contexts");
        contexts.push(context);
    };
    named("prod-eu", None);
    named("prod-us", None);
    named("gone", Some("gone"));
    let gone = serde_json::json!({"name": "gone", "cluster": {"server": "https://127.0.0.1:1"}});
    let clusters = config["clusters"].as_array_mut().expect("clusters");
    clusters.push(gone);
    let file = plane.folder().join(format!("contexts-{name}"));
    std::fs::write(&file, config.to_string()).expect("a kubeconfig");
    file
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).expect("one document")
}

#[test]
fn several_clusters_answer_side_by_side() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let world = world.seen_by(&kubeconfig(plane, "side-by-side"));
    block_on(world.pod("train", "gpu-0"));
    let rule = world.add(&format!("{KEY}=x"));

    let run = world
        .run("preview GPU0 --contexts ^prod- --strict -o json --abort-if pods.evicted>2")
        .ended(0);
    let reports = json(&run);
    assert_eq!(reports["kind"], "ClusterReportList");
    let contexts = ["prod-eu", "prod-us"];
    for (place, name) in contexts.into_iter().enumerate() {
        let cluster = &reports["items"][place];
        assert_eq!(cluster["context"], name);
        assert_eq!(
            cluster["report"]["summary"]["evictedPodCount"], 1,
            "{cluster:#}"
        );
        assert_eq!(cluster["report"]["metadata"]["context"], name);
        assert_eq!(cluster["error"], Value::Null);
    }
    assert_eq!(reports["guardResults"][0]["count"], 2, "{reports:#}");

    // Neither is too much, but both together are.
    world
        .run("preview GPU0 --context prod-eu --context prod-us --abort-if pods.evicted>1")
        .ended(4)
        .saying("guard tripped for the total of all clusters: pods.evicted>1");

    let run = world.run("devices DRIVER --contexts prod -o name").ended(0);
    let expected: Vec<String> = ["prod-eu", "prod-us"]
        .iter()
        .flat_map(|context| {
            ["gpu-0", "gpu-1"].map(|gpu| format!("{} --context {context}", world.device(gpu)))
        })
        .collect();
    assert_eq!(run.stdout.lines().collect::<Vec<_>>(), expected);

    let run = world.run(&format!("list {rule} --contexts prod")).ended(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("CONTEXT "), "{run:#?}");
    assert!(
        lines[1].starts_with("prod-eu ") && lines[2].starts_with("prod-us "),
        "{run:#?}"
    );
    let run = world
        .run(&format!("list {rule} --contexts prod -o json"))
        .ended(0);
    let reports = json(&run);
    let listed = &reports["items"][1]["report"]["items"][0]["metadata"]["name"];
    assert_eq!(*listed, rule);
    for format in ["yaml", "markdown", "wide"] {
        let run = world.run(&format!("devices DRIVER --contexts prod -o {format}"));
        assert!(run.ended(0).stdout.contains("prod-us"), "{format}");
    }
    let page = world
        .run("preview GPU0 --contexts prod -o html")
        .ended(0)
        .stdout;
    assert!(page.ends_with("</html>\n"), "{page}");
    for context in ["prod-eu", "prod-us"] {
        assert!(page.contains(&format!("<td>{context}</td>")), "{page}");
    }
}

#[test]
fn a_cluster_that_is_gone_is_named_and_is_no_reason_to_go_on() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let world = world.seen_by(&kubeconfig(plane, "gone"));
    let both = "--context gone --context prod-eu";
    for line in [
        "devices DRIVER -o json",
        "preview GPU0 -o json",
        "list -o json",
    ] {
        let run = world.run(&format!("{line} {both}")).ended(6);
        let reports = json(&run);
        let gap = &reports["incomplete"][0];
        assert_eq!(gap["missing"], "cluster of context gone", "{reports:#}");
        assert!(
            gap["message"]
                .as_str()
                .expect("text")
                .contains("cannot reach"),
            "{gap}"
        );
        assert_eq!(reports["items"][0]["report"], Value::Null);
        assert!(reports["items"][1]["report"].is_object());
        world.run(&format!("{line} {both} --strict")).ended(6);
    }
    let table = world.run(&format!("devices DRIVER {both}")).ended(6);
    assert!(
        table.stdout.contains("cluster of context gone"),
        "{table:#?}"
    );
    let list = world.run(&format!("list {both}")).ended(6);
    assert!(list.stderr.contains("cluster of context gone"), "{list:#?}");
    world
        .run(&format!("devices DRIVER {both} -o name"))
        .ended(6);
    // Nobody knows how many it would evict there.
    world
        .run(&format!("preview GPU0 {both} --abort-if pods.evicted>100"))
        .ended(4)
        .saying("gone: everything");
    world
        .run("devices --context gone --contexts ^gone$")
        .ended(75)
        .saying("gone: cannot reach");
}

#[test]
fn what_is_about_one_cluster_refuses_several() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let world = world.seen_by(&kubeconfig(plane, "one"));
    let both = "--context prod-eu --context prod-us";
    for line in [
        &format!("add GPU0 {KEY}=x"),
        "escalate x --to NoSchedule",
        "deescalate x --to None",
        "remove x",
        "describe x",
        "wait x --for deleted",
        "snapshot",
        "list --watch",
        "devices --watch",
        "preview GPU0 --publish",
        "preview GPU0 --from examples/cluster.yaml",
        "devices --server https://127.0.0.1:1",
    ] {
        let run = world.run(&format!("{line} {both}")).ended(2);
        assert!(run.stdout.is_empty(), "{run:#?}");
    }
    assert_eq!(block_on(world.rules()).len(), 0);
    world
        .run("devices --context prod-eu --context prod-ue")
        .ended(2)
        .saying("no context \"prod-ue\"");
    world
        .run("devices --contexts nothing")
        .ended(2)
        .saying("prod-us");
}

#[test]
fn a_cluster_without_rules_is_named_with_the_others() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let world = world.seen_by(&kubeconfig(plane, "without-rules"));
    let run = world
        .run("list -l no-rule-has=this --contexts prod")
        .ended(0);
    let all = format!("{}{}", run.stdout, run.stderr);
    for context in ["prod-eu", "prod-us"] {
        assert!(all.contains(context), "{context}: {run:#?}");
    }
}
