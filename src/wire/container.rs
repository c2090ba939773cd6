//! How a pod's containers are, as far as their end goes.

use serde::Deserialize;

use super::message::message;
use super::time::Time;
use crate::model::Containers;

message! {
    /// How one container is; its name is not needed.
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

/// What the kubelet says of all of them: the pod's own, those that prepare it, and those that debug it.
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
        for (name, status, expected) in [
            ("nothing", json!({}), Containers::Unknown),
            (
                "all",
                json!({"containerStatuses": [ended(late)], "initContainerStatuses": [ended(early)]}),
                Containers::Ended {
                    at: Some(late.parse().unwrap()),
                },
            ),
            (
                "the time is not said",
                json!({"containerStatuses": [{"state": {"terminated": {"exitCode": 1, "finishedAt": null}}}]}),
                Containers::Ended { at: None },
            ),
            (
                "the time of one is not said",
                json!({"containerStatuses": [ended(early), {"state": {"terminated": {"exitCode": 1}}}]}),
                Containers::Ended { at: None },
            ),
            (
                "one runs",
                json!({"containerStatuses": [ended(late), running]}),
                Containers::Running,
            ),
            (
                "one beside it runs",
                json!({"containerStatuses": [ended(late)], "initContainerStatuses": [running]}),
                Containers::Running,
            ),
            (
                "somebody looks into it",
                json!({"containerStatuses": [ended(late)], "ephemeralContainerStatuses": [running]}),
                Containers::Running,
            ),
            (
                "one waits",
                json!({"containerStatuses": [ended(late), waiting]}),
                Containers::Unknown,
            ),
            (
                "no word of one",
                json!({"containerStatuses": [ended(late), {}]}),
                Containers::Unknown,
            ),
            (
                "only what prepares it was started",
                json!({"initContainerStatuses": [ended(early)]}),
                Containers::Unknown,
            ),
        ] {
            assert_eq!(said(&status), expected, "{name}");
        }
    }
}
