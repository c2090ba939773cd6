//! `PodDisruptionBudget` of the policy API, as k8s-openapi describes it.

use k8s_openapi::api::policy::v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::context::Context;
use super::error::FieldError;
use super::generated_kinds::{GeneratedKind, ToFact};
use super::meta::ObjectMeta;
use super::object::Object;
use crate::model;

/// PodDisruptionBudget.
pub(super) type PodDisruptionBudget = GeneratedKind<v1::PodDisruptionBudget>;

impl ToFact for v1::PodDisruptionBudget {
    fn to_fact(
        self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let spec = self.spec.unwrap_or_default();
        let status = self.status.unwrap_or_default();
        let policy = spec.unhealthy_pod_eviction_policy.unwrap_or_default();
        // In policy/v1 a null selector matches no pod, an empty one every pod of the namespace.
        let selector = spec
            .selector
            .map(|selector| self::selector(selector, context));
        Ok(Some(Object::PodDisruptionBudget(
            model::PodDisruptionBudget {
                name: metadata.namespaced_name(context)?,
                generation: metadata.generation.unwrap_or_default(),
                selector,
                min_available: spec.min_available.map(amount),
                max_unavailable: spec.max_unavailable.map(amount),
                unhealthy_pod_eviction_policy: self::policy(&policy, context),
                status: model::BudgetStatus {
                    // Absent numbers are zeros in Go too: the eviction API (`checkAndDecrement`)
                    // refuses until the disruption controller has written the status.
                    disruptions_allowed: status.disruptions_allowed.unwrap_or_default(),
                    current_healthy: status.current_healthy.unwrap_or_default(),
                    desired_healthy: status.desired_healthy.unwrap_or_default(),
                    expected_pods: status.expected_pods.unwrap_or_default(),
                    observed_generation: status.observed_generation.unwrap_or_default(),
                    failure: failure(status.conditions.as_deref().unwrap_or_default()),
                },
            },
        )))
    }
}

/// Upstream: `failSafe` in `pkg/controller/disruption/disruption.go`, which says so in a condition.
fn failure(conditions: &[meta::Condition]) -> Option<String> {
    let failed = conditions.iter().find(|condition| {
        condition.type_ == "DisruptionAllowed"
            && condition.status == "False"
            && condition.reason == "SyncFailed"
    });
    failed.map(|condition| condition.message.clone())
}

fn selector(selector: meta::LabelSelector, context: &mut Context) -> model::LabelSelector {
    let expressions = selector.match_expressions.unwrap_or_default();
    model::LabelSelector {
        labels: selector.match_labels.unwrap_or_default(),
        expressions: expressions
            .into_iter()
            .map(|requirement| model::LabelRequirement {
                operator: operator(&requirement.operator, context),
                key: requirement.key,
                values: requirement.values.unwrap_or_default(),
            })
            .collect(),
    }
}

fn operator(text: &str, context: &mut Context) -> model::LabelOperator {
    let operator = model::LabelOperator::from(text);
    if let model::LabelOperator::Unknown(text) = &operator {
        let what = format!(
            "a selector with the unknown operator `{}`",
            text.escape_debug()
        );
        context.odd("unknown-operator", what);
    }
    operator
}

fn policy(text: &str, context: &mut Context) -> model::UnhealthyPodEvictionPolicy {
    let policy = model::UnhealthyPodEvictionPolicy::from(text);
    if let model::UnhealthyPodEvictionPolicy::Unknown(text) = &policy {
        let what = format!(
            "the unknown unhealthyPodEvictionPolicy `{}`",
            text.escape_debug()
        );
        context.odd("unknown-eviction-policy", what);
    }
    policy
}

/// A number of pods, or a part of them.
pub(super) fn amount(amount: IntOrString) -> model::Amount {
    match amount {
        IntOrString::Int(pods) => model::Amount::Pods(pods),
        IntOrString::String(part) => model::Amount::Part(part),
    }
}
