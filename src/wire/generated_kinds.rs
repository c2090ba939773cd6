//! Objects of kinds that need no decoder of our own: as k8s-openapi describes them.
//!
//! They are few, or read seldom, and always JSON or YAML. A time that this plugin cannot represent is
//! reported with a warning and counts as the last one that it can; everything else is read as it is, or is an
//! error that names the object.

use std::marker::PhantomData;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::policy::v1 as policy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::Value;

use super::error::{self, FieldError};
use super::meta::ObjectMeta;
use super::object::{Context, Object, ToObject};
use super::shape::Decode;
use super::time::Time;
use super::unambiguous::Unambiguous;
use super::versions::Detail;
use crate::model;

/// A kind as k8s-openapi describes it.
pub(super) trait ToFact: DeserializeOwned {
    /// The fact, unless the object is of no interest.
    fn to_fact(
        self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError>;
}

/// Metadata of an object.
#[derive(serde::Deserialize)]
struct Metadata {
    metadata: Option<ObjectMeta>,
}

/// The fields of an object that `T` describes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GeneratedKind<T> {
    metadata: ObjectMeta,
    fields: Value,
    description: PhantomData<T>,
}

impl<T> GeneratedKind<T> {
    fn of(fields: Value) -> Result<Self, FieldError> {
        let read: Metadata = error::decode(&fields)?;
        Ok(Self {
            metadata: read.metadata.unwrap_or_default(),
            fields,
            description: PhantomData,
        })
    }
}

impl<T: ToFact> Decode for GeneratedKind<T> {
    fn from_fields(fields: &Value) -> Result<Self, FieldError> {
        Self::of(fields.clone())
    }

    fn from_text<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = Unambiguous::deserialize(from)?.into_value();
        Self::of(fields).map_err(D::Error::custom)
    }

    fn from_protobuf(_: Detail, _: &[u8]) -> Result<Self, String> {
        Err("this kind is supported only as JSON, not as Protobuf".to_owned())
    }

    #[cfg(test)]
    fn to_protobuf(&self) -> Vec<u8> {
        panic!("objects of this kind are read as JSON")
    }
}

impl<T: ToFact> ToObject for GeneratedKind<T> {
    fn metadata(&self) -> Option<&ObjectMeta> {
        Some(&self.metadata)
    }

    fn to_object(
        &self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        // Copied only if a time has to be replaced, which is rare.
        let described = error::decode::<T>(&self.fields).or_else(|_| {
            let mut fields = self.fields.clone();
            Time::clamp(&mut fields, "the object", context);
            error::decode(&fields)
        });
        described?.to_fact(metadata, context)
    }
}

#[cfg(test)]
impl<T> serde::Serialize for GeneratedKind<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields.serialize(serializer)
    }
}

/// An object that becomes a fact of the kind `K`, whatever its fields are: their content is compared on the object as it
/// is served.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(bound = "")]
pub(super) struct Named<K> {
    #[serde(skip)]
    kind: PhantomData<K>,
}

/// A kind whose facts are names and notes.
pub(super) trait Known: Sized {
    /// The fact as one of its kind.
    fn object(object: model::ClusterObject) -> Object;
}

impl<K: Known> ToFact for Named<K> {
    fn to_fact(
        self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let deletion = metadata.deletion_timestamp;
        Ok(Some(K::object(model::ClusterObject {
            name: metadata.object_name(context)?,
            uid: metadata.uid().into(),
            resource_version: metadata.resource_version().to_owned(),
            labels: metadata.labels.clone(),
            annotations: metadata.annotations.clone(),
            deletion: Time::to_timestamp(deletion, "metadata.deletionTimestamp", context),
        })))
    }
}

macro_rules! named {
    ($($kind:ident),*) => {
        $(
            #[doc = concat!("`", stringify!($kind), "`")]
            pub(super) type $kind = GeneratedKind<Named<model::$kind>>;

            impl Known for model::$kind {
                fn object(object: model::ClusterObject) -> Object {
                    Object::$kind(Self(object))
                }
            }
        )*
    };
}

named!(
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    NamespaceObject
);

/// Something that a component noted about an object.
pub(super) type Event = GeneratedKind<core::Event>;

/// Reason in all events of the device-taint-eviction controller.
///
/// Upstream: `emitPodDeletionEvent` and `emitCancelPodDeletionEvent` in `device_taint_eviction.go`.
const EVICTION: &str = "DeviceTaintManagerEviction";

impl ToFact for core::Event {
    /// Nothing for an event that is neither about a rule nor about the eviction of a pod.
    fn to_fact(
        self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let about = self.involved_object;
        let kind = about.kind.unwrap_or_default();
        let reason = self.reason.unwrap_or_default();
        let evicts = kind == "Pod" && reason == EVICTION;
        if !evicts && kind != "DeviceTaintRule" {
            return Ok(None);
        }
        let name = model::NamespacedName {
            namespace: context.intern(about.namespace.as_deref().unwrap_or_default()),
            name: context.intern(about.name.as_deref().unwrap_or_default()),
        };
        let series = self.series.and_then(|series| series.last_observed_time);
        let last = self.last_timestamp.map(|time| time.0);
        // Recorders of events.k8s.io leave `lastTimestamp` empty and put the time of a repetition into `series`.
        let last = last.or(series.or(self.event_time).map(|time| time.0));
        Ok(Some(Object::Event(model::Event {
            name: metadata.namespaced_name(context)?,
            about: model::EventSubject {
                kind,
                name,
                uid: context.intern(about.uid.as_deref().unwrap_or_default()),
            },
            kind: self.type_.unwrap_or_default(),
            reason,
            message: self.message.unwrap_or_default(),
            last,
        })))
    }
}

/// PodDisruptionBudget.
pub(super) type PodDisruptionBudget = GeneratedKind<policy::PodDisruptionBudget>;

impl ToFact for policy::PodDisruptionBudget {
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
                generation: metadata.generation(),
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
        context.unknown(
            "unknown-operator",
            "a selector with the unknown operator",
            text,
        );
    }
    operator
}

fn policy(text: &str, context: &mut Context) -> model::UnhealthyPodEvictionPolicy {
    let policy = model::UnhealthyPodEvictionPolicy::from(text);
    if let model::UnhealthyPodEvictionPolicy::Unknown(text) = &policy {
        let what = "the unknown unhealthyPodEvictionPolicy";
        context.unknown("unknown-eviction-policy", what, text);
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
