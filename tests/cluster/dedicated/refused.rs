//! What is refused, and that nothing is tainted then.

use serde_json::{Value, json};

use super::stage::{ADMISSION, end, plane, policies, serving, stage};
use crate::harness::{Proxy, Reference, objects::slice};

/// The administrator's rights but those of the policies.
fn without_policies() -> Vec<Value> {
    let all = ["get", "list", "watch", "create", "patch", "delete"];
    [
        "",
        "apps",
        "batch",
        "policy",
        "resource.k8s.io",
        "scheduling.k8s.io",
    ]
    .map(|group| json!({"apiGroups": [group], "resources": ["*"], "verbs": all}))
    .to_vec()
}

#[tokio::test]
async fn devices_of_another_dedication_are_refused_by_name() {
    let (world, _shared) = stage().await;
    let (one, two) = (world.namespace.clone(), plane().namespace().await);
    world.run(&format!("dedicate GPU0 --to {one}")).ended(0);
    let run = world
        .run(&format!("dedicate DRIVER/*/* --to {two}"))
        .ended(4);
    let run = run.saying(&format!("already belongs to dedication {one}"));
    let run = run.saying(&format!("undedicate {one}"));
    assert!(run.stdout.is_empty(), "{run:#?}");
    assert_eq!(policies(&two).await, Vec::<String>::new());
    assert_eq!(world.rules().await.len(), 1);
    end(&world, &one);
}

#[tokio::test]
async fn namespaces_that_are_not_there_and_kube_system_are_refused() {
    let (world, _shared) = stage().await;
    for (line, said) in [
        (
            "--to no-such-namespace",
            "namespace no-such-namespace not found",
        ),
        (
            "--to kube-system",
            "kube-system cannot be part of a dedication",
        ),
        (
            "--namespace-selector kubernetes.io/metadata.name --name all",
            "kube-system cannot be part of a dedication",
        ),
        (
            "--namespace-selector team=none-such --name none",
            "no namespace matches the labels",
        ),
        ("--to one,two", "without --name"),
        ("", "no namespaces specified"),
    ] {
        let run = world
            .run(&format!("dedicate GPU0 {line}"))
            .ended(2)
            .saying(said);
        assert!(run.stdout.is_empty(), "{run:#?}");
    }
}

#[tokio::test]
async fn without_the_right_to_make_policies_nothing_is_tainted() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let user = plane().kubeconfig_for(&without_policies()).await;
    let world = world.seen_by(&user.kubeconfig);
    let run = world.run(&format!("dedicate GPU0 --to {group}")).ended(1);
    let run = run
        .saying("mutatingadmissionpolicies")
        .saying("nothing was changed");
    assert!(run.stdout.is_empty(), "{run:#?}");
    assert_eq!(world.rules().await, Vec::<Value>::new());

    // One who may read them and make only some is refused before the first is made.
    let mut rights = without_policies();
    let of = |resources: &[&str], verbs: &[&str]| json!({"apiGroups": [ADMISSION], "resources": resources, "verbs": verbs});
    rights.push(of(&["*"], &["get", "list"]));
    rights.push(of(
        &[
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        ],
        &["create"],
    ));
    let user = plane().kubeconfig_for(&rights).await;
    let world = world.seen_by(&user.kubeconfig);
    world
        .run(&format!("dedicate GPU0 --to {group}"))
        .ended(1)
        .saying("validatingadmissionpolicies")
        .saying("nothing was changed");
    assert_eq!(policies(&group).await, Vec::<String>::new());
    assert_eq!(world.rules().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_policy_of_that_name_that_somebody_else_made_is_left_alone() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let theirs = json!({
        "apiVersion": format!("{ADMISSION}/v1"), "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": format!("dedicated-{group}")},
        "spec": {"policyName": "another", "validationActions": ["Deny"]},
    });
    plane().create(&[theirs]).await;
    world
        .run(&format!("dedicate GPU0 --to {group}"))
        .ended(4)
        .saying("does not belong to dedication");
    assert_eq!(world.rules().await, Vec::<Value>::new());
    assert_eq!(
        policies(&group).await,
        ["validatingadmissionpolicybindings"]
    );
    world.run(&format!("undedicate {group} --yes")).ended(1);
    assert_eq!(
        policies(&group).await,
        ["validatingadmissionpolicybindings"]
    );
}

#[tokio::test]
async fn a_dedication_is_ended_where_somebody_agreed_and_may_do_all_of_it() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let yes = format!("undedicate {group} --yes");
    world.run(&yes).ended(1).saying("not found");

    world.run(&format!("dedicate GPU0 --to {group}")).ended(0);
    // Without a terminal, nobody can answer the question.
    let unasked = world.run(&format!("undedicate {group}")).ended(4);
    unasked.saying("nothing was changed");
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
        .saying("nothing was changed");
    assert_eq!(world.rules().await.len(), 1);
    assert_eq!(policies(&group).await.len(), 4);
    end(&world, &group);
    assert_eq!(world.rules().await, Vec::<Value>::new());
}

#[tokio::test]
async fn the_same_command_keeps_what_exists_and_refuses_policies_with_other_content() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let line = format!("dedicate GPU0 --to {group}");
    world.run(&line).ended(0);
    let again = world.run(&line).ended(0);
    assert_eq!(again.stdout.matches(" unchanged").count(), 5, "{again:#?}");
    let policy = Reference::cluster(
        &format!("{ADMISSION}/v1"),
        "MutatingAdmissionPolicy",
        &format!("dedicated-{group}"),
    );
    plane()
        .patch(&policy, &json!({"spec": {"failurePolicy": "Ignore"}}))
        .await;
    world
        .run(&line)
        .ended(4)
        .saying("exists with other content");
    let printed = world
        .run(&format!("{line} --dry-run=client -o yaml"))
        .ended(0);
    assert!(
        printed.stdout.contains("failurePolicy: Fail"),
        "{printed:#?}"
    );
    end(&world, &group);
}

#[tokio::test]
async fn devices_that_were_exchanged_since_are_refused() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let with_uuid = |generation: i64, uuid: &str| {
        let mut slice = slice(&world.driver, &world.node, &[]);
        slice["spec"]["pool"]["generation"] = json!(generation);
        slice["spec"]["devices"] =
            json!([{"name": "gpu-0", "attributes": {"uuid": {"string": uuid}}}]);
        slice
    };
    let reference = Reference::of(&with_uuid(1, ""));
    plane()
        .patch(
            &reference,
            &json!({"spec": with_uuid(2, "GPU-11111111-2222-3333-4444-555555555555")["spec"]}),
        )
        .await;
    let line = format!("dedicate GPU0 --to {group}");
    world.run(&line).ended(0);
    plane()
        .patch(
            &reference,
            &json!({"spec": with_uuid(3, "GPU-99999999-2222-3333-4444-555555555555")["spec"]}),
        )
        .await;
    world.run(&line).ended(4).saying("GPU-99999999");
    end(&world, &group);
}

#[tokio::test]
async fn on_a_server_without_policies_that_change_objects_nothing_is_tainted() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let proxy = Proxy::start(plane());
    let flags = proxy.flags().join(" ");
    proxy.plan(serving(&["v1"]));
    world
        .run(&format!("dedicate GPU0 --to {group} {flags}"))
        .ended(1)
        .saying("nothing was changed");
    assert_eq!(policies(&group).await, Vec::<String>::new());
    assert_eq!(world.rules().await, Vec::<Value>::new());
    proxy.plan(serving(&["v1"]));
    let printed = world
        .run(&format!(
            "dedicate GPU0 --to {group} --dry-run=client -o yaml {flags}"
        ))
        .ended(0);
    assert!(
        printed.stdout.contains("kind: MutatingAdmissionPolicy"),
        "{printed:#?}"
    );
}
