//! Workloads of any kind: who owns them, and how many pods they want.
//!
//! One struct for all of them, with the few fields that count: what k8s-openapi describes has whole
//! templates of pods in it.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Deserialize;

use super::error::FieldError;
use super::generated_kinds::{GeneratedKind, ToFact, amount};
use super::meta::ObjectMeta;
use super::object::{Context, Object};
use crate::model::kind::for_each_kind;
use crate::model::{self, Amount, DisruptionAction, FailurePolicy, JobEnd, Rollout};

/// The number of pods where a workload does not say, as the server fills it in.
const ONE: i32 = 1;
/// Default failures that a Job tolerates.
const DEFAULT_BACKOFF_LIMIT: i32 = 6;

/// A workload on the wire, which becomes a fact of the kind `K`: the fields that count, of all kinds together.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(bound = "")]
pub(super) struct Scaled<K> {
    spec: Option<Spec>,
    status: Option<Status>,
    #[serde(skip)]
    kind: PhantomData<K>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    replicas: Option<i32>,
    min_ready_seconds: Option<i32>,
    // Of a Job.
    parallelism: Option<i32>,
    completions: Option<i32>,
    suspend: Option<bool>,
    backoff_limit: Option<i32>,
    backoff_limit_per_index: Option<i32>,
    pod_failure_policy: Option<PodFailurePolicy>,
    // Of a LeaderWorkerSet.
    leader_worker_template: Option<LeaderWorkerTemplate>,
    // Of a PodGroup.
    scheduling_policy: Option<SchedulingPolicy>,
    // Of a PodGroup of the coscheduling plugin.
    min_member: Option<i32>,
    // Of a Deployment.
    strategy: Option<Strategy>,
    paused: Option<bool>,
    template: Option<Template>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct LeaderWorkerTemplate {
    size: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct SchedulingPolicy {
    gang: Option<Gang>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Gang {
    min_count: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct PodFailurePolicy {
    rules: Option<Vec<FailureRule>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FailureRule {
    action: Option<String>,
    on_exit_codes: Option<serde::de::IgnoredAny>,
    on_pod_conditions: Option<Vec<ConditionPattern>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct ConditionPattern {
    r#type: Option<String>,
    status: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    ready_replicas: Option<i32>,
    // Of a Deployment.
    replicas: Option<i32>,
    updated_replicas: Option<i32>,
    available_replicas: Option<i32>,
    observed_generation: Option<i64>,
    // Of a DaemonSet.
    desired_number_scheduled: Option<i32>,
    number_ready: Option<i32>,
    // Of a Job.
    ready: Option<i32>,
    active: Option<i32>,
    succeeded: Option<i32>,
    failed: Option<i32>,
    conditions: Option<Vec<StatusCondition>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct StatusCondition {
    r#type: Option<String>,
    status: Option<String>,
    reason: Option<String>,
}

/// Reader of the fields of one kind.
pub(super) trait Scale: Sized {
    /// The fact as one of its kind.
    fn object(workload: model::Workload) -> Object;

    /// Fills in what the kind says of itself; `spec` is there.
    fn fill(spec: &Spec, status: &Status, workload: &mut model::Workload);
}

impl<K: Scale> ToFact for Scaled<K> {
    fn to_fact(
        self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let mut workload = model::Workload {
            name: metadata.namespaced_name(context)?,
            uid: metadata.required_uid()?,
            controller: metadata.controller(context),
            ..model::Workload::default()
        };
        // Metadata alone contains no numbers.
        if let Some(spec) = &self.spec {
            let status = self.status.unwrap_or_default();
            K::fill(spec, &status, &mut workload);
            if let Some(rollout) = &mut workload.rollout {
                rollout.generation = metadata.generation();
                rollout.resource_version = metadata.resource_version().to_owned();
            }
        }
        Ok(Some(K::object(workload)))
    }
}

/// A kind whose `spec.replicas` are wanted and whose `status.readyReplicas` are ready. Where a pod has to be ready for
/// `minReadySeconds` before it counts, those are that `status.availableReplicas` counts.
fn replicated(spec: &Spec, status: &Status, workload: &mut model::Workload) {
    workload.replicas = Some(spec.replicas.unwrap_or(ONE));
    let ready = status.ready_replicas.unwrap_or_default();
    let has_to_last = spec.min_ready_seconds.is_some_and(|seconds| seconds > 0);
    workload.ready = Some(if has_to_last {
        ready.min(status.available_replicas.unwrap_or_default())
    } else {
        ready
    });
}

/// Fills in the fields of a Deployment; its metadata, such as its generation, is added later.
fn deployment(spec: &Spec, status: &Status, workload: &mut model::Workload) {
    replicated(spec, status, workload);
    workload.rollout = Some(model::Rollout {
        resource_version: String::new(),
        max_surge: max_surge(spec.strategy.as_ref()),
        is_paused: spec.paused.unwrap_or_default(),
        generation: 0,
        observed_generation: status.observed_generation.unwrap_or_default(),
        total: status.replicas.unwrap_or_default(),
        updated: status.updated_replicas.unwrap_or_default(),
        available: status.available_replicas.unwrap_or_default(),
        restarted: spec.template.as_ref().and_then(restarted),
    });
}

fn daemon(_: &Spec, status: &Status, workload: &mut model::Workload) {
    // A DaemonSet has no `replicas`: the number depends on the nodes, and only its status has it.
    workload.replicas = status.desired_number_scheduled;
    workload.ready = status.number_ready;
}

fn job(spec: &Spec, status: &Status, workload: &mut model::Workload) {
    workload.replicas = Some(active_wanted(spec, status));
    // Since 1.24; a Job that has none ready may leave it out.
    workload.ready = Some(status.ready.unwrap_or_default());
    // As the server fills it in.
    let default_limit = match spec.backoff_limit_per_index {
        Some(_) => i32::MAX,
        None => DEFAULT_BACKOFF_LIMIT,
    };
    workload.failure = Some(FailurePolicy {
        backoff_limit: spec.backoff_limit.unwrap_or(default_limit),
        limit_per_index: spec.backoff_limit_per_index,
        failed: status.failed.unwrap_or_default(),
        disruption: disruption(spec.pod_failure_policy.as_ref()),
        ended: ended(status.conditions.as_deref().unwrap_or_default()),
    });
}

/// Pods that a Job wants at work: no more than have to succeed still, and none while it is suspended.
///
/// Upstream: `manageJob` in `pkg/controller/job/job_controller.go`.
fn active_wanted(spec: &Spec, status: &Status) -> i32 {
    let parallelism = spec.parallelism.unwrap_or(ONE);
    let succeeded = status.succeeded.unwrap_or_default();
    match spec.completions {
        _ if spec.suspend == Some(true) => 0,
        Some(completions) => completions
            .saturating_sub(succeeded)
            .clamp(0, parallelism.max(0)),
        // Once one of them has succeeded, no new ones are made.
        None if succeeded > 0 => status.active.unwrap_or_default(),
        None => parallelism,
    }
}

/// End of a Job, by its conditions.
///
/// Upstream: `IsJobFinished` in `pkg/controller/job/utils.go`.
fn ended(conditions: &[StatusCondition]) -> Option<JobEnd> {
    conditions.iter().find_map(|condition| {
        let holds = condition.status.as_deref() == Some("True");
        match condition.r#type.as_deref().filter(|_| holds)? {
            "Complete" => Some(JobEnd::Complete),
            "Failed" => Some(JobEnd::Failed(condition.reason.clone().unwrap_or_default())),
            _ => None,
        }
    })
}

/// Its groups have one leader and as many workers as make up their size.
fn leader_workers(spec: &Spec, status: &Status, workload: &mut model::Workload) {
    let template = spec.leader_worker_template.as_ref();
    let size = template.and_then(|template| template.size).unwrap_or(ONE);
    // A LeaderWorkerSet counts groups. A product beyond 32 bits is unknown, not the largest number.
    workload.replicas = spec.replicas.unwrap_or(ONE).checked_mul(size);
    workload.ready = status.ready_replicas.unwrap_or_default().checked_mul(size);
    workload.min_members = Some(size);
}

fn group(spec: &Spec, _: &Status, workload: &mut model::Workload) {
    let policy = spec.scheduling_policy.as_ref();
    let gang = policy.and_then(|policy| policy.gang.as_ref());
    // With the policy `basic` each pod is of use by itself.
    workload.min_members = gang.and_then(|gang| gang.min_count);
}

/// One that says no number needs none.
fn coscheduled(spec: &Spec, _: &Status, workload: &mut model::Workload) {
    workload.min_members = Some(spec.min_member.unwrap_or_default());
}

/// Neither makes pods itself.
fn none(_: &Spec, _: &Status, _: &mut model::Workload) {}

/// Action of the first rule that matches, for a pod with condition DisruptionTarget.
///
/// Upstream: `matchPodFailurePolicy` in `pkg/controller/job/pod_failure_policy.go`.
fn disruption(policy: Option<&PodFailurePolicy>) -> DisruptionAction {
    let rules = policy.and_then(|policy| policy.rules.as_deref());
    let mut possible = Vec::new();
    for rule in rules.unwrap_or_default() {
        let action = rule.action.as_deref().unwrap_or_default();
        let patterns = rule.on_pod_conditions.as_deref().unwrap_or_default();
        let fits = patterns.iter().any(|pattern| {
            // As the server fills it in; a file need not have been there.
            let status = pattern.status.as_deref().unwrap_or("True");
            pattern.r#type.as_deref() == Some("DisruptionTarget") && status == "True"
        });
        if fits && possible.is_empty() {
            return action_of(action);
        }
        // The first matching rule decides, and whether a rule about exit codes matches is known only at the end.
        if fits || rule.on_exit_codes.is_some() {
            possible.push(action.to_owned());
        }
        if fits {
            return DisruptionAction::Depends(possible);
        }
    }
    if possible.is_empty() {
        DisruptionAction::Count
    } else {
        // If no rule matches, a failed pod counts towards backoffLimit.
        possible.push("Count".to_owned());
        DisruptionAction::Depends(possible)
    }
}

fn action_of(word: &str) -> DisruptionAction {
    match word {
        "Count" => DisruptionAction::Count,
        "Ignore" => DisruptionAction::Ignore,
        "FailJob" => DisruptionAction::FailJob,
        "FailIndex" => DisruptionAction::FailIndex,
        other => DisruptionAction::Unknown(other.to_owned()),
    }
}

macro_rules! scaled {
    ($(
        $(#[$facts:meta])*
        $kind:ident in $field:ident {
            versions: [ $($version:tt)* ],
            $(workload: $fill:ident($pods:ident),)?
            spelled: $($columns:tt)*
        }
    )*) => {
        /// The kinds of workloads, as they are on the wire.
        pub(super) mod kinds {
            use super::*;

            $($(scaled!(@kind $kind by $fill);)?)*
        }
    };
    (@kind $kind:ident by $fill:ident) => {
        /// A workload of this kind.
        pub(in crate::wire) type $kind = GeneratedKind<Scaled<model::$kind>>;

        impl Scale for model::$kind {
            fn object(workload: model::Workload) -> Object {
                Object::$kind(Self(workload))
            }

            fn fill(spec: &Spec, status: &Status, workload: &mut model::Workload) {
                $fill(spec, status, workload);
            }
        }
    };
}

for_each_kind!(scaled);

/// `maxSurge` of a Deployment that does not set it, as the server fills it in.
const DEFAULT_PART: &str = "25%";

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Strategy {
    r#type: Option<String>,
    rolling_update: Option<RollingUpdate>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RollingUpdate {
    max_surge: Option<IntOrString>,
}

/// Of a template of pods only what `kubectl rollout restart` notes there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Template {
    metadata: Option<TemplateMetadata>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct TemplateMetadata {
    annotations: Option<BTreeMap<String, String>>,
}

/// `maxSurge` of a strategy that updates a few pods at a time; absent for others.
pub(super) fn max_surge(strategy: Option<&Strategy>) -> Option<Amount> {
    let name = strategy.and_then(|strategy| strategy.r#type.as_deref());
    if !matches!(name, None | Some("" | "RollingUpdate")) {
        return None;
    }
    let update = strategy.and_then(|strategy| strategy.rolling_update.clone());
    let RollingUpdate { max_surge } = update.unwrap_or_default();
    Some(max_surge.map_or_else(|| Amount::Part(DEFAULT_PART.to_owned()), amount))
}

/// Time of the last restart. Text that is no time is ignored: people may write anything there.
pub(super) fn restarted(template: &Template) -> Option<Timestamp> {
    let annotations = template.metadata.as_ref()?.annotations.as_ref()?;
    annotations.get(Rollout::RESTARTED_AT)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, Snapshot};
    use crate::wire::Documents;
    use serde_json::{Value, json};

    fn read(object: &Value) -> Snapshot {
        let mut documents = Documents::new();
        let text = object.to_string();
        documents.decode_json(&text).expect("an object");
        let mut snapshot = Snapshot::default();
        for item in documents.finish().items {
            item.object.add_to(&mut snapshot);
        }
        snapshot
    }

    fn yaml(fields: &str) -> Value {
        serde_yaml::from_str(&format!("{{{fields}}}")).expect("fields")
    }

    fn object(kind: Kind, spec: &str, status: &str) -> Value {
        let version = crate::wire::versions_of(kind).next().expect("a version");
        json!({
            "apiVersion": version.api_version, "kind": kind.as_str(),
            "metadata": {
                "name": "train", "namespace": "team-a", "uid": "1",
                "ownerReferences": [{"apiVersion": "x/v1", "kind": "X", "name": "up", "uid": "2", "controller": true}],
            },
            "spec": yaml(spec), "status": yaml(status),
        })
    }

    #[test]
    fn each_kind_says_in_its_way_how_many_pods_it_wants_and_has() {
        let read = |kind, spec: &str, status: &str| read(&object(kind, spec, status));
        let spec = "replicas: 3, template: {}";
        let deployment = &read(Kind::Deployment, spec, "readyReplicas: 2").deployments[0];
        assert_eq!((deployment.replicas, deployment.ready), (Some(3), Some(2)));
        let above = deployment.controller.as_ref().map(|above| &*above.kind);
        assert_eq!(above, Some("X"));
        let silent = &read(Kind::StatefulSet, "", "").stateful_sets[0];
        assert_eq!((silent.replicas, silent.ready), (Some(1), Some(0)));
        let status = "desiredNumberScheduled: 7, numberReady: 6";
        let daemon = &read(Kind::DaemonSet, "", status).daemon_sets[0];
        assert_eq!((daemon.replicas, daemon.ready), (Some(7), Some(6)));
        let spec = "replicas: 2, leaderWorkerTemplate: {size: 4}";
        let group = &read(Kind::LeaderWorkerSet, spec, "").leader_worker_sets[0];
        assert_eq!((group.replicas, group.min_members), (Some(8), Some(4)));
        let gang = read(
            Kind::PodGroup,
            "schedulingPolicy: {gang: {minCount: 3}}",
            "",
        );
        assert_eq!(gang.pod_groups[0].min_members, Some(3));
        for (spec, needs) in [("minMember: 5", 5), ("", 0)] {
            let read = read(Kind::CoschedulingPodGroup, spec, "");
            assert!(read.pod_groups.is_empty());
            let group = &read.coscheduling_pod_groups[0];
            assert_eq!(group.min_members, Some(needs));
        }
    }

    #[test]
    fn a_job_wants_no_more_pods_than_have_to_succeed_still() {
        for (spec, status, wants) in [
            ("parallelism: 3", "", 3),
            ("parallelism: 3, completions: 4", "succeeded: 2", 2),
            ("parallelism: 3, completions: 9", "succeeded: 2", 3),
            ("parallelism: 3", "succeeded: 1, active: 2", 2),
            ("parallelism: 3, suspend: true", "", 0),
        ] {
            let job = read(&object(Kind::Job, spec, status));
            assert_eq!(job.jobs[0].replicas, Some(wants), "{spec} {status}");
        }
    }

    #[test]
    fn a_job_does_about_an_eviction_what_its_first_fitting_rule_says() {
        // A condition of the pod, or its exit codes.
        let rule = |rule: &&str| match rule.split_once(' ') {
            Some((action, condition)) => format!(
                "{{action: {action}, onPodConditions: [{{type: {condition}, status: 'True'}}]}}"
            ),
            None => format!("{{action: {rule}, onExitCodes: {{operator: In, values: [1]}}}}"),
        };
        let depends = |words: &[&str]| {
            DisruptionAction::Depends(words.iter().map(|&word| word.to_owned()).collect())
        };
        let (fail, ignore) = ("FailJob DisruptionTarget", "Ignore DisruptionTarget");
        let elsewhere = &["FailJob Other", "FailIndex DisruptionTarget"];
        let unknown = DisruptionAction::Unknown("Wait".to_owned());
        for (rules, expected) in [
            (&[][..], DisruptionAction::Count),
            (&[ignore], DisruptionAction::Ignore),
            (elsewhere, DisruptionAction::FailIndex),
            (&[fail, ignore], DisruptionAction::FailJob),
            (&["FailJob", ignore], depends(&["FailJob", "Ignore"])),
            (&["FailJob"], depends(&["FailJob", "Count"])),
            (&["Wait DisruptionTarget"], unknown),
        ] {
            let rules: Vec<String> = rules.iter().map(rule).collect();
            let rules = rules.join(", ");
            let spec = format!("parallelism: 2, podFailurePolicy: {{rules: [{rules}]}}");
            let job = &read(&object(Kind::Job, &spec, "failed: 1, ready: 2")).jobs[0];
            assert_eq!((job.replicas, job.ready), (Some(2), Some(2)));
            let failure = job.failure.as_ref().expect("a Job");
            assert_eq!((failure.backoff_limit, failure.failed), (6, 1));
            assert_eq!(failure.disruption, expected, "{spec}");
        }
        // No server stores it, and a file may say it.
        let negative = object(Kind::Job, "completions: 2, parallelism: -1", "");
        assert_eq!(read(&negative).jobs[0].replicas, Some(0));
        let indexed = object(Kind::Job, "completions: 2, backoffLimitPerIndex: 1", "");
        let indexed = &read(&indexed).jobs[0];
        let failure = indexed.failure.as_ref().expect("a Job");
        assert_eq!(failure.limit_per_index, Some(1));
        assert_eq!(failure.backoff_limit, i32::MAX, "the server says so");
    }

    fn rollout(spec: &Value) -> Rollout {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "web", "namespace": "team-a", "uid": "1", "generation": 5,
                "resourceVersion": "77",
            },
            "spec": spec,
            "status": {
                "replicas": 5, "updatedReplicas": 2, "readyReplicas": 4, "availableReplicas": 3,
                "observedGeneration": 4,
            },
        });
        let deployments = read(&object).deployments;
        deployments[0].rollout.clone().expect("a rollout")
    }

    #[test]
    fn a_deployment_says_how_it_replaces_its_pods_and_how_far_it_is() {
        let found = rollout(&json!({
            "replicas": 4, "paused": true,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 2, "maxUnavailable": "10%"},
            },
            "template": {"metadata": {"annotations": {
                "kubectl.kubernetes.io/restartedAt": "2026-01-01T02:00:00+02:00",
            }}},
        }));
        let expected = Rollout {
            resource_version: "77".to_owned(),
            max_surge: Some(Amount::Pods(2)),
            is_paused: true,
            generation: 5,
            observed_generation: 4,
            total: 5,
            updated: 2,
            available: 3,
            restarted: Some("2026-01-01T00:00:00Z".parse().expect("a time")),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn what_a_deployment_does_not_say_is_as_the_server_fills_it_in() {
        let default = Some(Amount::Part("25%".to_owned()));
        for (spec, expected) in [
            (json!({}), default.clone()),
            (json!({"strategy": {}}), default),
            (json!({"strategy": {"type": "Recreate"}}), None),
            (json!({"strategy": {"type": "Canary"}}), None),
        ] {
            let found = rollout(&spec);
            assert_eq!(found.max_surge, expected, "{spec}");
            assert_eq!((found.is_paused, found.restarted), (false, None));
        }
    }
}
