//! Pods that get dedicated devices, and pods that do not.

use serde_json::{Value, json};

use super::stage::{
    ADMISSION, allocated, claim, dedicate, end, kubectl, lets_in, plane, policies, refuses,
    serving, stage, stage_alone, unschedulable, user, waiting_pod,
};
use crate::harness::{Proxy, Reference};

#[tokio::test]
async fn a_claim_of_the_group_gets_a_dedicated_device_and_anothers_does_not() {
    let (world, _shared) = stage().await;
    let (group, other) = (world.namespace.clone(), plane().namespace().await);
    let devices = format!("DRIVER/{}/*", world.node);
    let run = dedicate(&world, &devices, &format!("--to {group}"));
    let made: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(made.len(), 5, "{run:#?}");
    assert!(made[0].starts_with("mutatingadmissionpolicy."), "{run:#?}");
    assert!(
        made[4].starts_with("devicetaintrule."),
        "policies first, then the taint: {run:#?}"
    );

    // The policies are in effect when the command ends.
    waiting_pod(&world, &group, "ours").await;
    allocated(&group, "ours").await;
    waiting_pod(&world, &other, "theirs").await;
    unschedulable(&other, "theirs").await;
    let theirs = plane()
        .get(&Reference::claim(&other, "theirs"))
        .await
        .expect("a claim");
    assert!(theirs["status"]["allocation"].is_null(), "{theirs}");

    let rule = made[4].split([' ', '/']).nth(1).expect("a name");
    world
        .run(&format!("escalate {rule} --to NoExecute --yes"))
        .ended(4)
        .saying(&format!("belongs to dedication {group}"));
    let key = format!("devicetaint.dev/dedicated={group}:NoExecute");
    world
        .run(&format!(
            "add {devices} {key} --name {rule} --overwrite --yes"
        ))
        .ended(4)
        .saying(&format!("belongs to dedication {group}"));

    end(&world, &group);
    assert_eq!(policies(&group).await, Vec::<String>::new());
    assert_eq!(
        world.rules().await,
        Vec::<Value>::new(),
        "undo leaves nothing"
    );
    allocated(&other, "theirs").await;
}

/// Tolerations in claims of another namespace.
const TOLERATIONS: &str = r#"refused {"key": "KEY", "value": "GROUP"}
refused {"key": "KEY", "value": "GROUP", "effect": "NoSchedule"}
refused {"key": "KEY", "value": "GROUP", "effect": "NoExecute"}
refused {"key": "KEY", "operator": "Exists"}
refused {"key": "KEY", "operator": "Exists", "effect": "NoExecute"}
refused {"operator": "Exists"}
refused {"operator": "Exists", "effect": "NoSchedule"}
refused {"operator": "Exists", "effect": "NoExecute"}
refused {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
created {"key": "example.com/x", "operator": "Exists"}
created {"key": "KEY", "value": "another"}"#;

#[tokio::test]
async fn an_ordinary_user_of_another_namespace_cannot_tolerate_the_taint() {
    let (world, _alone) = stage_alone().await;
    let (group, other) = (world.namespace.clone(), plane().namespace().await);
    let user = user().await;
    dedicate(&world, "GPU0", &format!("--to {group}"));
    // Without a pause: the command ends when the policies are in effect.
    let create = |object: &Value| kubectl(&user, &["create"], object);
    let mut objects: Vec<(Value, bool)> = Vec::new();
    let tolerations = TOLERATIONS.replace("KEY", "devicetaint.dev/dedicated");
    let tolerations = tolerations.replace("GROUP", &group);
    for (number, line) in tolerations.lines().enumerate() {
        let (refused, toleration) = line.split_once(' ').expect("two words");
        let refused = refused == "refused";
        let toleration: Value = serde_json::from_str(toleration).expect("JSON");
        let of = |name: &str| {
            claim(
                &world,
                &other,
                &format!("{name}-{number}"),
                json!([toleration]),
            )
        };
        let mut template = of("template");
        template["spec"] = json!({"spec": template["spec"]});
        template["kind"] = json!("ResourceClaimTemplate");
        let mut alternatives = of("alternatives");
        alternatives["spec"]["devices"]["requests"] = json!([{"name": "a", "firstAvailable": [
            {"name": "x", "deviceClassName": world.driver},
            {"name": "y", "deviceClassName": world.driver, "tolerations": [toleration]},
        ]}]);
        let mut old = of("old");
        old["apiVersion"] = json!("resource.k8s.io/v1beta1");
        old["spec"]["devices"]["requests"] = json!([{
            "name": "a", "deviceClassName": world.driver, "tolerations": [toleration],
        }]);
        let all = [of("claim"), template, alternatives, old];
        objects.extend(all.map(|object| (object, refused)));
    }
    let mut empty = claim(&world, &other, "empty", Value::Null);
    empty["spec"] = json!({"devices": {}});
    objects.push((empty, false));
    objects.push((claim(&world, &other, "plain", Value::Null), false));
    for (object, refused) in objects {
        match (create(&object), refused) {
            (Ok(()), false) => {}
            (Err(error), true) => {
                let named = format!("(dedication {group})");
                assert!(error.contains(&named), "{object:#}: {error}");
            }
            (result, _) => panic!("{object:#}: {result:?}"),
        }
    }
    end(&world, &group);
}

#[tokio::test]
async fn a_namespace_is_let_in_as_soon_as_its_labels_say_so() {
    let (world, _shared) = stage().await;
    let (member, later) = (world.namespace.clone(), plane().namespace().await);
    let label = |name: &str, team: Value| {
        let reference = Reference::cluster("v1", "Namespace", name);
        async move {
            plane()
                .patch(&reference, &json!({"metadata": {"labels": {"team": team}}}))
                .await
        }
    };
    label(&member, json!(member)).await;
    dedicate(
        &world,
        "GPU0",
        &format!("--namespace-selector team={member} --name {member}"),
    );
    refuses(&world, &later, &member).await;
    label(&later, json!(member)).await;
    lets_in(&world, &later, &member, true).await;
    label(&member, Value::Null).await;
    lets_in(&world, &member, &member, false).await;
    refuses(&world, &member, &member).await;
    end(&world, &member);
}

#[tokio::test]
async fn policies_of_older_versions_are_written_enforced_and_removed() {
    for version in ["v1beta1", "v1alpha1"] {
        let (world, _shared) = stage().await;
        let (group, other) = (world.namespace.clone(), plane().namespace().await);
        let proxy = Proxy::start(plane());
        let older = |line: String| {
            proxy.plan(serving(&["v1", version]));
            world
                .run(&format!("{line} --yes {}", proxy.flags().join(" ")))
                .ended(0)
        };
        let made = older(format!("dedicate GPU0 --to {group}"));
        assert_eq!(made.stdout.lines().count(), 5, "{made:#?}");
        let written = proxy.seen().into_iter().filter(|seen| seen.method != "GET");
        let paths: Vec<String> = written.map(|seen| seen.path).collect();
        let mutating = format!("/apis/{ADMISSION}/{version}/mutatingadmissionpolic");
        let of_version = paths
            .iter()
            .filter(|path| path.starts_with(&mutating) && !path.contains("dryRun"));
        assert_eq!(of_version.count(), 2, "{paths:#?}");
        lets_in(&world, &group, &group, true).await;
        refuses(&world, &other, &group).await;
        let again = older(format!("dedicate GPU0 --to {group}"));
        assert!(
            again.stdout.lines().all(|line| line.ends_with("unchanged")),
            "{again:#?}"
        );
        older(format!("undedicate {group}"));
        assert_eq!(policies(&group).await, Vec::<String>::new());
        assert_eq!(world.rules().await, Vec::<Value>::new());
        lets_in(&world, &group, &group, false).await;
    }
}
