//! Who gets dedicated devices, and who does not.

use serde_json::{Value, json};

use super::stage::{
    ADMISSION, allocated, claim, end, lets_in, plane, policies, post, refuses, serving, stage,
    stage_alone, unschedulable, waiting_pod,
};
use crate::harness::{DEADLINE, Proxy, Reference, wait_for};

#[tokio::test]
async fn a_claim_of_the_group_gets_a_dedicated_device_and_anothers_does_not() {
    let (world, _shared) = stage().await;
    let (group, other) = (world.namespace.clone(), plane().namespace().await);
    let run = world
        .run(&format!("dedicate DRIVER/{}/* --to {group}", world.node))
        .ended(0);
    let made: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(made.len(), 5, "{run:#?}");
    assert!(made[0].starts_with("mutatingadmissionpolicy."), "{run:#?}");
    assert!(
        made[4].starts_with("devicetaintrule."),
        "policies first, then the taint: {run:#?}"
    );
    lets_in(&world, &group, &group, true).await;

    waiting_pod(&world, &group, "ours").await;
    allocated(&group, "ours").await;
    waiting_pod(&world, &other, "theirs").await;
    unschedulable(&other, "theirs").await;
    let theirs = plane()
        .get(&Reference::claim(&other, "theirs"))
        .await
        .expect("a claim");
    assert!(theirs["status"]["allocation"].is_null(), "{theirs}");

    let explained = world
        .run(&format!("explain pod/theirs -n {other} -o json"))
        .ended(0);
    let said = format!("dedicated to {group}");
    assert!(explained.stdout.contains(&said), "{explained:#?}");

    end(&world, &group);
    assert_eq!(policies(&group).await, Vec::<String>::new());
    assert_eq!(
        world.rules().await,
        Vec::<Value>::new(),
        "undo leaves nothing"
    );
    allocated(&other, "theirs").await;
}

#[tokio::test]
async fn tolerations_of_others_are_refused_with_the_name_of_the_dedication() {
    let (world, _alone) = stage_alone().await;
    let (group, other) = (world.namespace.clone(), plane().namespace().await);
    world.run(&format!("dedicate GPU0 --to {group}")).ended(0);
    let said = refuses(&world, &other, &group).await;
    for part in [
        format!("(dedication {group})"),
        format!("dedicated to namespace {group}"),
    ] {
        assert!(said.contains(&part), "{part}: {said}");
    }
    let blanket = json!([{"operator": "Exists"}]);
    let by_key = json!([{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}]);
    for (name, tolerations, refused) in [
        ("blanket", blanket.clone(), true),
        ("every-dedication", by_key, true),
        (
            "another-taint",
            json!([{"key": "example.com/x", "operator": "Exists"}]),
            false,
        ),
        (
            "another-effect",
            json!([{"operator": "Exists", "effect": "NoExecute"}]),
            false,
        ),
    ] {
        let answer = post(&claim(&world, &other, name, tolerations))
            .await
            .success();
        assert_eq!(answer.is_err(), refused, "{name}: {answer:?}");
    }
    // Templates are refused when they are made, not when a pod needs them; so are alternatives, and older versions.
    let mut template = claim(&world, &other, "template", blanket.clone());
    template["spec"] = json!({"spec": template["spec"]});
    template["kind"] = json!("ResourceClaimTemplate");
    let mut alternatives = claim(&world, &other, "alternatives", Value::Null);
    alternatives["spec"]["devices"]["requests"] = json!([{"name": "a", "firstAvailable": [
        {"name": "x", "deviceClassName": world.driver},
        {"name": "y", "deviceClassName": world.driver, "tolerations": blanket},
    ]}]);
    let mut old = claim(&world, &other, "old", Value::Null);
    old["apiVersion"] = json!("resource.k8s.io/v1beta1");
    old["spec"]["devices"]["requests"] =
        json!([{"name": "a", "deviceClassName": world.driver, "tolerations": blanket}]);
    for object in [template, alternatives, old] {
        let refused = post(&object).await.success().unwrap_err();
        assert!(
            refused.contains(&format!("dedication {group}")),
            "{refused}"
        );
    }
    end(&world, &group);
}

#[tokio::test]
async fn every_request_of_the_group_gets_the_toleration_whatever_it_looks_like() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    world.run(&format!("dedicate GPU0 --to {group}")).ended(0);
    lets_in(&world, &group, &group, true).await;
    let added = |effect: &str| json!({"key": "dedicated", "operator": "Equal", "value": group, "effect": effect});
    let tolerated = json!([added("NoSchedule")]);
    let own = json!({"key": "example.com/x", "operator": "Exists", "effect": "NoSchedule"});

    let mut asked = claim(&world, &group, "all", Value::Null);
    asked["spec"]["devices"]["requests"] = json!([
        {"name": "plain", "exactly": {"deviceClassName": world.driver}},
        {"name": "own", "exactly": {"deviceClassName": world.driver, "tolerations": [own, added("NoSchedule")]}},
        {"name": "first", "firstAvailable": [
            {"name": "x", "deviceClassName": world.driver},
            {"name": "y", "deviceClassName": world.driver, "tolerations": [own]},
        ]},
    ]);
    let made = post(&asked).await.success().expect("a claim");
    let requests = &made["spec"]["devices"]["requests"];
    assert_eq!(requests[0]["exactly"]["tolerations"], tolerated);
    assert_eq!(
        requests[1]["exactly"]["tolerations"],
        json!([own, added("NoSchedule")]),
        "what is there is not added again"
    );
    assert_eq!(requests[2]["firstAvailable"][0]["tolerations"], tolerated);
    assert_eq!(
        requests[2]["firstAvailable"][1]["tolerations"],
        json!([own, added("NoSchedule")])
    );

    let mut old = claim(&world, &group, "old", Value::Null);
    old["apiVersion"] = json!("resource.k8s.io/v1beta1");
    old["spec"]["devices"]["requests"] = json!([{"name": "a", "deviceClassName": world.driver}]);
    let made = post(&old)
        .await
        .success()
        .expect("an older version is taken too");
    assert_eq!(
        made["spec"]["devices"]["requests"][0]["tolerations"],
        tolerated
    );

    // Claims that are made from templates are claims too.
    let mut template = claim(&world, &group, "template", Value::Null);
    template["spec"] = json!({"spec": template["spec"]});
    template["kind"] = json!("ResourceClaimTemplate");
    let mut pod = crate::harness::objects::pod(&group, "made", "none");
    pod["spec"]["resourceClaims"] =
        json!([{"name": "device", "resourceClaimTemplateName": "template"}]);
    plane().create(&[template, pod]).await;
    let name = wait_for("a claim is made from the template", DEADLINE, async || {
        let pod = plane().get(&Reference::pod(&group, "made")).await?;
        let name = &pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"];
        Some(name.as_str()?.to_owned())
    })
    .await;
    let made = plane()
        .get(&Reference::claim(&group, &name))
        .await
        .expect("a claim");
    assert_eq!(
        made["spec"]["devices"]["requests"][0]["exactly"]["tolerations"],
        tolerated
    );
    end(&world, &group);
}

#[tokio::test]
async fn two_groups_have_their_own_devices_and_no_others() {
    let (world, _shared) = stage().await;
    let (one, two) = (world.namespace.clone(), plane().namespace().await);
    world.run(&format!("dedicate GPU0 --to {one}")).ended(0);
    world
        .run(&format!(
            "dedicate GPU1 {} --to {two}",
            world.device("gpu-2")
        ))
        .ended(0);
    lets_in(&world, &one, &one, true).await;
    lets_in(&world, &two, &two, true).await;
    refuses(&world, &one, &two).await;
    waiting_pod(&world, &one, "first").await;
    assert_eq!(allocated(&one, "first").await, "gpu-0");
    waiting_pod(&world, &one, "second").await;
    unschedulable(&one, "second").await;
    waiting_pod(&world, &two, "first").await;
    assert_ne!(allocated(&two, "first").await, "gpu-0");
    end(&world, &one);
    end(&world, &two);
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
    let run = world.run(&format!(
        "dedicate GPU0 --namespace-selector team={member} --name {member}"
    ));
    run.ended(0);
    lets_in(&world, &member, &member, true).await;
    refuses(&world, &later, &member).await;
    label(&later, json!(member)).await;
    lets_in(&world, &later, &member, true).await;
    label(&member, Value::Null).await;
    lets_in(&world, &member, &member, false).await;
    refuses(&world, &member, &member).await;
    end(&world, &member);
}

#[tokio::test]
async fn monitoring_goes_on_where_it_is_allowed() {
    let (world, _alone) = stage_alone().await;
    let (group, allowed) = (world.namespace.clone(), plane().namespace().await);
    let watching = plane().namespace().await;
    for name in [&allowed, &watching] {
        let labels =
            json!({"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}});
        plane()
            .patch(&Reference::cluster("v1", "Namespace", name), &labels)
            .await;
    }
    let blanket = json!([{"operator": "Exists"}]);
    let admin = |namespace: &str, name: &str| {
        let mut claim = claim(&world, namespace, name, blanket.clone());
        claim["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = json!(true);
        claim
    };
    world
        .run(&format!("dedicate GPU0 --to {group} --allow {allowed}"))
        .ended(0);
    refuses(&world, &watching, &group).await;
    assert!(
        post(&claim(&world, &allowed, "all", blanket.clone()))
            .await
            .success()
            .is_ok()
    );
    assert!(post(&admin(&allowed, "watch")).await.success().is_ok());
    assert!(
        post(&admin(&watching, "watch")).await.success().is_err(),
        "admin access is no exception"
    );

    end(&world, &group);
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
                .run(&format!("{line} {}", proxy.flags().join(" ")))
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
        let refused = refuses(&world, &other, &group).await;
        assert!(
            refused.contains(&format!("(dedication {group})")),
            "{refused}"
        );
        let again = older(format!("dedicate GPU0 --to {group}"));
        assert!(
            again.stdout.lines().all(|line| line.ends_with("unchanged")),
            "{again:#?}"
        );

        older(format!("undedicate {group} --yes"));
        assert_eq!(policies(&group).await, Vec::<String>::new());
        assert_eq!(world.rules().await, Vec::<Value>::new());
        lets_in(&world, &group, &group, false).await;
    }
}
