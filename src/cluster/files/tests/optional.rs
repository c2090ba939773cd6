//! Kinds that a dump may lack: nodes and PodDisruptionBudgets.

use super::support::read_content;
use crate::model::{Affects, Amount, Kind, LabelOperator, NodeHealth, UnhealthyPodEvictionPolicy};

const NODE: &str = "
- apiVersion: v1
  kind: Node
  metadata: {name: node-1, labels: {zone: a}}
  spec:
    unschedulable: true
    taints: [{key: node.kubernetes.io/unreachable, effect: NoExecute, timeAdded: '2026-01-01T00:00:00Z'}]
  status:
    conditions:
    - {type: MemoryPressure, status: Unknown}
    - {type: Ready, status: 'False', reason: KubeletNotReady, lastHeartbeatTime: '9999-12-31T23:59:59Z'}
    images: [{names: [a], sizeBytes: 1}]
";
const BUDGET: &str = "
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: train, namespace: ml, generation: 3}
  spec:
    minAvailable: 50%
    selector:
      matchLabels: {app: train}
      matchExpressions: [{key: tier, operator: NotIn, values: [low]}, {key: x, operator: Later}]
    unhealthyPodEvictionPolicy: AlwaysAllow
  status: {disruptionsAllowed: 1, currentHealthy: 4, desiredHealthy: 3, expectedPods: 5, observedGeneration: 2}
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: none, namespace: ml}
  spec: {maxUnavailable: 0}
";
const SLICE: &str = "
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: slice}
  spec: {driver: gpu.example.com, pool: {name: node-1, generation: 1, resourceSliceCount: 1}}
";

fn list(items: &str) -> String {
    format!("apiVersion: v1\nkind: List\nitems:{items}")
}

#[test]
fn nodes_and_budgets_of_a_dump_are_facts() {
    let text = list(&[SLICE, NODE, BUDGET].concat());
    let reading = read_content("dump.yaml", text).expect("a reading");
    let node = &reading.snapshot.nodes[0];
    assert_eq!(node.labels["zone"], "a");
    assert_eq!(node.health(), NodeHealth::NotReady);
    let ready = node.ready().expect("a condition");
    assert_eq!(ready.reason, "KubeletNotReady");
    assert!(node.unschedulable);
    assert_eq!(node.taints[0].key, "node.kubernetes.io/unreachable");
    let [budget, none] = &reading.snapshot.budgets[..] else {
        panic!("two budgets");
    };
    assert_eq!(budget.name.to_string(), "ml/train");
    assert_eq!(budget.min_available, Some(Amount::Part("50%".to_owned())));
    assert_eq!(
        budget.unhealthy_pod_eviction_policy,
        UnhealthyPodEvictionPolicy::AlwaysAllow
    );
    assert_eq!(budget.generation, 3);
    assert_eq!(budget.status.observed_generation, 2);
    assert_eq!(budget.status.disruptions_allowed, 1);
    let selector = budget.selector.as_ref().expect("a selector");
    assert_eq!(selector.labels["app"], "train");
    assert_eq!(selector.expressions[0].operator, LabelOperator::NotIn);
    assert_eq!(none.max_unavailable, Some(Amount::Pods(0)));
    assert_eq!(none.selector, None);
    let mut warnings: Vec<_> = reading
        .warnings
        .iter()
        .map(|warning| warning.message.as_str())
        .collect();
    warnings.sort_unstable();
    assert_eq!(
        warnings,
        [
            "Node node-1 has a time in lastHeartbeatTime that is out of \
             range; 9999-12-30T22:00:00Z is used",
            "PodDisruptionBudget ml/train has a selector with the unknown operator `Later`",
        ]
    );
    assert_eq!(reading.without(Kind::Node), None);
}

#[test]
fn a_dump_without_them_is_as_complete_as_before() {
    let reading = read_content("dump.yaml", list(SLICE)).expect("a reading");
    let missing: Vec<_> = reading.gaps.iter().map(|gap| gap.what.as_str()).collect();
    assert_eq!(missing, ["resourceclaims", "devicetaintrules", "pods"]);
    let gap = reading.without(Kind::PodDisruptionBudget).expect("a gap");
    assert_eq!(gap.what, "poddisruptionbudgets");
    assert_eq!(gap.affects, Affects::Details);
    assert_eq!(
        gap.why,
        "the input contains no PodDisruptionBudget: violations of PodDisruptionBudgets are unknown"
    );
}

#[test]
fn a_dump_of_nothing_else_answers_nothing() {
    let error = read_content("dump.yaml", list(NODE)).expect_err("no answer");
    assert!(error.to_string().contains("only 1 × Node"), "{error}");
}
