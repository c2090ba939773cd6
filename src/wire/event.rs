//! `Event` of the core API, as k8s-openapi describes it.

use k8s_openapi::api::core::v1;

use super::context::Context;
use super::error::FieldError;
use super::generated_kinds::{GeneratedKind, ToFact};
use super::meta::ObjectMeta;
use super::object::Object;
use crate::model;

/// Something that a component noted about an object.
pub(super) type Event = GeneratedKind<v1::Event>;

/// Reason in all events of the device-taint-eviction controller.
///
/// Upstream: `emitPodDeletionEvent` and `emitCancelPodDeletionEvent` in `device_taint_eviction.go`.
const EVICTION: &str = "DeviceTaintManagerEviction";

impl ToFact for v1::Event {
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
