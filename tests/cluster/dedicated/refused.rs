//! Refused dedications, after which nothing is tainted.

use serde_json::{Value, json};

use super::stage::{ADMISSION, dedicate, end, plane, policies, serving, stage};
use crate::cluster::rules::harm;
use crate::cluster::rules::support::World;
use crate::harness::{At, Fault, Proxy, Reference, Reply, block_on};

async fn is_untouched(world: &World<'_>) {
    assert_eq!(policies(&world.namespace).await, Vec::<String>::new());
    assert_eq!(world.rules().await, Vec::<Value>::new());
}

#[test]
fn a_dedication_that_was_made_meanwhile_is_found_by_the_last_look() {
    let (world, _shared) = block_on(stage());
    let group = world.namespace.clone();
    let line = format!("dedicate GPU0 --to {group} --yes");
    let proxy = harm::Proxy::start(&world);
    proxy.run(&world, &line).ended(0);
    let rule = |seen: &crate::harness::Seen| {
        let path = &seen.path;
        seen.method == "PATCH" && path.contains("devicetaintrules") && !path.contains("dryRun")
    };
    let place = proxy.seen().iter().position(rule).expect("it was applied");
    end(&world, &group);
    let mut theirs = crate::harness::objects::rule(&format!("{group}-theirs"), &world.driver, "");
    theirs["spec"]["taint"] = json!({
        "key": "devicetaint.dev/dedicated", "value": format!("{group}-theirs"),
        "effect": "NoSchedule",
    });
    // The trials of the policies may be more or fewer than before; each is before the rule.
    let place = place.saturating_sub(2);
    let run = proxy.run_while(&world, &line, At::Number(place), || {
        block_on(plane().create(&[theirs]));
    });
    let run = run.ended(1).saying(&format!("dedication {group}-theirs"));
    assert!(run.stderr.contains("changed: "), "{run:#?}");
    end(&world, &group);
    world
        .run(&format!("remove {group}-theirs --yes --others"))
        .ended(0);
}

#[tokio::test]
async fn a_dedication_is_ended_after_a_confirmation_by_who_may_do_all_of_it() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let yes = format!("undedicate {group} --yes");
    world.run(&yes).ended(1).saying("not found");
    dedicate(&world, "GPU0", &format!("--to {group}"));
    world.run(&format!("undedicate {group}")).ended(4);
    let may = |group: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": ["*"], "verbs": verbs});
    let reads = ["get", "list", "watch"];
    let granted = [
        may("resource.k8s.io", &["*"]),
        may(ADMISSION, &reads),
        may("", &reads),
    ];
    let reader = plane().kubeconfig_for(&granted).await.kubeconfig;
    world
        .run(&format!("{yes} --kubeconfig {}", reader.display()))
        .ended(1)
        .saying("not deleted: validatingadmissionpolicybinding");
    assert_eq!(policies(&group).await.len(), 4);
    assert_eq!(
        world.rules().await,
        Vec::<Value>::new(),
        "the taint is first"
    );

    // While a finalizer keeps the taint, the policies stay.
    dedicate(&world, "GPU0", &format!("--to {group}"));
    let rule = world.rules().await.remove(0);
    let reference = Reference::rule(rule["metadata"]["name"].as_str().expect("a name"));
    let held = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
    plane()
        .patch(&reference, &held(json!(["example.com/hold"])))
        .await;
    let stopped = world.run(&yes).ended(75);
    assert!(
        !stopped.stderr.contains("nothing was changed"),
        "{stopped:#?}"
    );
    assert_eq!(policies(&group).await.len(), 4);
    plane().patch(&reference, &held(Value::Null)).await;
    end(&world, &group);
    is_untouched(&world).await;
}

#[tokio::test]
async fn without_policies_in_effect_there_is_no_taint() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let proxy = Proxy::start(plane());
    let line = format!("dedicate GPU0 --to {group} --yes");
    let through = format!("{line} {}", proxy.flags().join(" "));
    // A server without policies that change objects.
    proxy.plan(serving(&["v1"]));
    world.run(&through).ended(1);
    is_untouched(&world).await;
    // A server on which the policies never act.
    let claim =
        json!({"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1", "metadata": {}});
    let trials = At::Path("/apis/resource.k8s.io/v1/namespaces/".to_owned(), 1000);
    let accepted = Reply::json("201 Created", claim.to_string());
    proxy.plan([(trials, Fault::Answer(accepted))]);
    let run = world.run(&through).ended(75).saying("not in effect");
    assert!(!run.stderr.contains("nothing was changed"), "{run:#?}");
    assert_eq!(policies(&group).await.len(), 4);
    assert_eq!(world.rules().await, Vec::<Value>::new());
    world.run(&line).ended(0);
    assert_eq!(world.rules().await.len(), 1);
    end(&world, &group);
}
