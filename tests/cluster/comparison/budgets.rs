//! Do budgets answer as the real disruption controller and the real eviction API do?
//!
//! Random namespaces with pods, their owners and budgets are loaded into a real API server; the real
//! disruption controller counts. Then each pod in turn gets a dry run of an eviction, and is deleted as a
//! taint deletes it, whatever the answer was. The engine's earlier answers have to be the server's.

use std::collections::BTreeMap;

use futures::{StreamExt, stream};
use http::StatusCode;
use kubectl_devicetaint::engine::disruption::BudgetAnswer;
use kubectl_devicetaint::engine::{ProposedTaint, disruption, preview};
use kubectl_devicetaint::model::{DeviceSelector, Effect, PodDisruptionBudget, Reading, Taint};
use proptest::prelude::{Strategy, any};
use proptest::strategy::ValueTree;
use proptest::{collection, option, prop_oneof, sample};
use serde_json::{Value, json};

use super::{now, verdicts};
use crate::harness::{
    ControlPlane, DEADLINE, Reference, Variant, driver_name, fresh_seed, objects, say, wait_for,
};
use crate::oracle::run::runner;

/// Namespaces whose budgets are compared.
const SITUATIONS: usize = 200;
/// Number of them worked on at a time.
const AT_ONCE: usize = 16;

/// A namespace with pods and budgets.
#[derive(Clone, Debug)]
struct Situation {
    /// Replicas of the ReplicaSet that owns some of the pods.
    replicas: u8,
    pods: Vec<PodDraft>,
    budgets: Vec<BudgetDraft>,
}

#[derive(Clone, Debug)]
struct PodDraft {
    app: &'static str,
    phase: &'static str,
    is_ready: bool,
    is_owned: bool,
}

#[derive(Clone, Debug)]
struct BudgetDraft {
    selector: Value,
    amount: Option<(&'static str, Value)>,
    policy: Option<&'static str>,
}

fn situation() -> impl Strategy<Value = Situation> {
    let pod = (
        sample::select(vec!["a", "a", "b"]),
        sample::select(vec!["Running", "Running", "Running", "Running", "Pending"]),
        prop_oneof![3 => proptest::strategy::Just(true), 1 => proptest::strategy::Just(false)],
        any::<bool>(),
    );
    let pod = pod.prop_map(|(app, phase, is_ready, is_owned)| PodDraft {
        app,
        phase,
        is_ready: is_ready && phase == "Running",
        is_owned,
    });
    let amount = (
        sample::select(vec!["minAvailable", "maxUnavailable"]),
        sample::select(vec![
            json!(0),
            json!(1),
            json!(2),
            json!("30%"),
            json!("50%"),
            json!("100%"),
        ]),
    );
    let budget = (
        sample::select(vec![
            json!({}),
            json!({"matchLabels": {"app": "a"}}),
            json!({"matchLabels": {"app": "b"}}),
            json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]}),
            json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}),
        ]),
        option::weighted(0.95, amount),
        option::of(sample::select(vec!["IfHealthyBudget", "AlwaysAllow"])),
    );
    let budget = budget.prop_map(|(selector, amount, policy)| BudgetDraft {
        selector,
        amount,
        policy,
    });
    let budgets = prop_oneof![
        6 => collection::vec(budget.clone(), 1..=1),
        1 => collection::vec(budget, 2..=2),
    ];
    (1..4_u8, collection::vec(pod, 1..=3), budgets).prop_map(|(replicas, pods, budgets)| {
        Situation {
            replicas,
            pods,
            budgets,
        }
    })
}

fn situations() -> (u64, Vec<Situation>) {
    let seed = fresh_seed();
    let mut runner = runner(seed);
    let strategy = situation();
    let made = (0..SITUATIONS).map(|_| {
        let tree = strategy
            .new_tree(&mut runner)
            .expect("situations can be made");
        tree.current()
    });
    (seed, made.collect())
}

/// A situation that a server has.
struct Loaded {
    situation: Situation,
    namespace: String,
    driver: String,
}

#[tokio::test]
async fn budgets_answer_as_the_real_eviction_api_does() {
    let variant = Variant::default()
        .with_controllers("disruption-controller")
        .without_scheduler();
    let plane = ControlPlane::start(&variant);
    let (seed, situations) = situations();
    let loading = situations.into_iter().map(|it| load(&plane, it));
    let loaded: Vec<Loaded> = stream::iter(loading)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let reading = verdicts::reading_with_budgets(&plane).await;
    let replaying = loaded.iter().map(|loaded| async {
        let mut ours = answers(&reading, loaded);
        if loaded.situation.budgets.len() > 1 {
            ours.iter_mut().for_each(|answer| *answer = coarse(answer));
        }
        let theirs = replay(&plane, loaded).await;
        assert_eq!(ours, theirs, "seed {seed}: {:#?}", loaded.situation);
        theirs
    });
    let all: Vec<Vec<&str>> = stream::iter(replaying)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    for answer in all.into_iter().flatten() {
        *told.entry(answer).or_default() += 1;
    }
    let each = ["allowed", "refused", "ambiguous"].map(|answer| told.get(answer).copied());
    assert!(each.iter().all(|count| *count > Some(0)), "{told:?}");
    say(&format!(
        "cluster: {} answers of budgets in {SITUATIONS} namespaces of seed {seed} are the eviction API's: {told:?}",
        told.values().sum::<usize>()
    ));
}

fn pod_name(number: usize) -> String {
    format!("pod-{number}")
}

async fn load(plane: &ControlPlane, situation: Situation) -> Loaded {
    let (driver, namespace) = (driver_name(), plane.namespace().await);
    let owner = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "owner", "namespace": namespace},
        "spec": {
            "replicas": situation.replicas,
            "selector": {"matchLabels": {"owned": "yes"}},
            "template": {
                "metadata": {"labels": {"owned": "yes"}},
                "spec": {"containers": [{"name": "main", "image": "example.com/none"}]},
            },
        },
    });
    let owner = plane.create(&[owner]).await.remove(0);
    let mut all: Vec<Value> = Vec::new();
    let mut users = Vec::new();
    for (number, draft) in situation.pods.iter().enumerate() {
        let name = pod_name(number);
        let mut pod = objects::bound(objects::pod(&namespace, &name, "claim"), "node-1");
        pod["metadata"]["labels"] = json!({"app": draft.app});
        if draft.is_owned {
            pod["metadata"]["ownerReferences"] = json!([owned_by(&owner)]);
        }
        let ready = if draft.is_ready { "True" } else { "False" };
        pod["status"] =
            json!({"phase": draft.phase, "conditions": [{"type": "Ready", "status": ready}]});
        all.push(pod);
        users.push(json!({"resource": "pods", "name": name}));
    }
    // An owner of pods replaces those that go, so that a budget goes on expecting them.
    for app in ["a", "b"] {
        if situation
            .pods
            .iter()
            .any(|pod| pod.is_owned && pod.app == app)
        {
            let mut next = objects::pod(&namespace, &format!("next-{app}"), "none");
            next["spec"]["resourceClaims"] = json!([]);
            next["spec"]["containers"][0]["resources"] = json!({});
            next["metadata"]["labels"] = json!({"app": app});
            next["metadata"]["ownerReferences"] = json!([owned_by(&owner)]);
            all.push(next);
        }
    }
    let mut claim = objects::claim(&namespace, "claim", &driver);
    claim["status"] = objects::allocation(&driver, "node-1", "gpu-0");
    claim["status"]["reservedFor"] = Value::Array(users);
    all.push(claim);
    plane.create(&all).await;
    let budgets = situation.budgets.iter().enumerate().map(|(number, draft)| {
        let mut budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": format!("budget-{number}"), "namespace": namespace},
            "spec": {"selector": draft.selector},
        });
        if let Some((field, amount)) = &draft.amount {
            budget["spec"][field] = amount.clone();
        }
        if let Some(policy) = draft.policy {
            budget["spec"]["unhealthyPodEvictionPolicy"] = json!(policy);
        }
        budget
    });
    plane.create(&budgets.collect::<Vec<_>>()).await;
    let loaded = Loaded {
        situation,
        namespace,
        driver,
    };
    loaded.counted(plane, 0).await;
    loaded
}

fn owned_by(owner: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "owner",
        "uid": owner["metadata"]["uid"], "controller": true,
    })
}

impl Loaded {
    /// Waits until every budget has been counted without the first pods, which are gone.
    async fn counted(&self, plane: &ControlPlane, gone: usize) {
        let left = &self.situation.pods[gone..];
        for (number, draft) in self.situation.budgets.iter().enumerate() {
            let name = format!("budget-{number}");
            let reference =
                Reference::namespaced("policy/v1", "PodDisruptionBudget", &self.namespace, &name);
            let ready = left
                .iter()
                .filter(|pod| pod.is_ready && draft.is_about(pod));
            let ready = ready.count();
            let what = format!("{}/{name} has {ready} of {left:?}", self.namespace);
            wait_for(&what, DEADLINE, async || {
                let budget = plane.get(&reference).await?;
                let conditions = budget["status"]["conditions"].as_array()?;
                let has_failed = conditions.iter().any(|it| it["reason"] == "SyncFailed");
                let healthy = budget["status"]["currentHealthy"].as_u64();
                let healthy = healthy.and_then(|count| usize::try_from(count).ok());
                (has_failed || healthy == Some(ready)).then_some(())
            })
            .await;
        }
    }
}

impl BudgetDraft {
    /// True if the budget selects the pod, as far as these selectors go.
    fn is_about(&self, pod: &PodDraft) -> bool {
        match self.selector["matchLabels"]["app"].as_str() {
            Some(app) => app == pod.app,
            None => self.selector["matchExpressions"][0]["operator"] != "NotIn" || pod.app != "b",
        }
    }
}

/// Answers of the engine for each pod.
fn answers(reading: &Reading, loaded: &Loaded) -> Vec<&'static str> {
    let proposed = [ProposedTaint {
        rule: None,
        selector: Some(DeviceSelector {
            driver: Some(loaded.driver.as_str().into()),
            ..DeviceSelector::default()
        }),
        taint: Taint {
            key: "example.com/broken".to_owned(),
            value: String::new(),
            effect: Effect::NoExecute,
            time_added: Some(now()),
        },
    }];
    let impact = preview(&reading.snapshot, &proposed, now(), &verdicts::semantics());
    let budgets: &[PodDisruptionBudget] = &reading.snapshot.budgets;
    let found = disruption(&impact, budgets, now());
    assert_eq!(found.gaps, []);
    let of = |name: String| {
        let asked = found.budgets.iter().flat_map(|budget| &budget.pods);
        let mut answers = asked.filter(|(pod, _)| pod.name.name.as_str() == name);
        match answers.next().map(|(_, answer)| answer) {
            None | Some(BudgetAnswer::NotAsked | BudgetAnswer::Allowed) => "allowed",
            Some(BudgetAnswer::Refused) => "refused",
            Some(BudgetAnswer::Ambiguous) => "ambiguous",
        }
    };
    (0..loaded.situation.pods.len())
        .map(|number| of(pod_name(number)))
        .collect()
}

/// Of several budgets nothing else can be compared: the controller counts only one of those that select a pod
/// when it goes, whichever comes first, and the other's status is outdated for good.
fn coarse(answer: &str) -> &'static str {
    match answer {
        "ambiguous" => "ambiguous",
        _ => "of one budget at most",
    }
}

/// Answers of the server for each pod at its turn.
async fn replay(plane: &ControlPlane, loaded: &Loaded) -> Vec<&'static str> {
    let mut answers = Vec::new();
    for number in 0..loaded.situation.pods.len() {
        let name = pod_name(number);
        let answer = plane.may_evict(&loaded.namespace, &name).await;
        let answer = answer.expect("the server answers");
        answers.push(match answer.status {
            status if status.is_success() => "allowed",
            StatusCode::TOO_MANY_REQUESTS => "refused",
            StatusCode::INTERNAL_SERVER_ERROR => "ambiguous",
            _ => panic!("{answer:?}"),
        });
        if loaded.situation.budgets.len() > 1 {
            let last = answers.last_mut().expect("one was pushed");
            *last = coarse(last);
            continue;
        }
        plane.force_delete_pod(&loaded.namespace, &name).await;
        loaded.counted(plane, number + 1).await;
    }
    answers
}
