//! Statuses of containers, as far as their end goes.

use serde::Deserialize;

use super::message::message;
use super::time::Time;
use crate::model::Containers;

message! {
    /// Status of one container; its name is not needed.
    pub struct ContainerStatus {
        /// Now; earlier runs are not needed.
        state: optional ContainerState = 2,
    }

    /// One of these is set; none of them means that it waits.
    pub struct ContainerState {
        /// It runs.
        running: optional Running = 2,
        /// It has ended.
        terminated: optional Terminated = 3,
    }
}

/// A container that runs; since when is not needed.
#[derive(Clone, Copy, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct Running {}

/// A container that has ended; why is not needed.
#[derive(Clone, Copy, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct Terminated {
    /// When.
    #[prost(message, optional, tag = "6")]
    pub finished_at: Option<Time>,
}

/// State of all containers of a pod, as the kubelet reports them: ordinary, init, and ephemeral ones.
///
/// One that was never started has not ended: the kubelet says so of those too when it ends a pod.
pub(super) fn containers(all: [&[ContainerStatus]; 3]) -> Containers {
    let states = || all.into_iter().flatten().map(|one| one.state.as_ref());
    // One running container keeps the pod on its devices, however many have ended.
    if states().any(|state| state.is_some_and(|state| state.running.is_some())) {
        return Containers::Running;
    }
    let ended = |state: Option<&ContainerState>| state.and_then(|state| state.terminated);
    // Without statuses of the pod's own containers nothing is known, and `all` of an empty list is true.
    if all[0].is_empty() || !states().all(|state| ended(state).is_some()) {
        return Containers::Unknown;
    }
    // The last end is unknown as long as one of them has none.
    let ends: Option<Vec<_>> = states()
        .filter_map(ended)
        .map(|ended| Time::instant(ended.finished_at))
        .collect();
    Containers::Ended {
        at: ends.and_then(|ends| ends.into_iter().max()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(status: &serde_json::Value) -> Containers {
        let of = |field: &str| -> Vec<ContainerStatus> {
            let statuses = status.get(field).cloned();
            statuses.map_or_else(Vec::new, |all| serde_json::from_value(all).unwrap())
        };
        containers([
            &of("containerStatuses"),
            &of("initContainerStatuses"),
            &of("ephemeralContainerStatuses"),
        ])
    }

    #[test]
    fn containers_have_ended_when_all_of_every_kind_have() {
        let ended = |at: &str| json!({"name": "a", "state": {"terminated": {"exitCode": 0, "finishedAt": at}}});
        let (early, late) = ("2026-01-01T00:00:01Z", "2026-01-01T00:00:09Z");
        let running = json!({"state": {"running": {"startedAt": early}}});
        let waiting = json!({"state": {"waiting": {"reason": "ContainerCreating"}}});
        let main = |containers: &[&serde_json::Value]| json!({"containerStatuses": containers});
        let beside = |kind: &str, other: &serde_json::Value| {
            let mut status = main(&[&ended(late)]);
            status[kind] = json!([other]);
            status
        };
        let (first, last) = (ended(early), ended(late));
        let untimed = json!({"state": {"terminated": {"exitCode": 1}}});
        let silent = json!({"initContainerStatuses": [first]});
        let (unknown, at) = (Containers::Unknown, late.parse().unwrap());
        let all = Containers::Ended { at: Some(at) };
        let sometime = Containers::Ended { at: None };
        for (name, status, expected) in [
            ("nothing", json!({}), unknown),
            ("all", beside("initContainerStatuses", &first), all),
            ("no time", main(&[&untimed]), sometime),
            ("no time of one", main(&[&first, &untimed]), sometime),
            ("one runs", main(&[&last, &running]), Containers::Running),
            (
                "one beside it runs",
                beside("initContainerStatuses", &running),
                Containers::Running,
            ),
            (
                "one that debugs runs",
                beside("ephemeralContainerStatuses", &running),
                Containers::Running,
            ),
            ("one waits", main(&[&last, &waiting]), unknown),
            ("no word of one", main(&[&last, &json!({})]), unknown),
            ("only the init container was started", silent, unknown),
        ] {
            assert_eq!(said(&status), expected, "{name}");
        }
    }
}
