//! Events of `--events`, one JSON line each.

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{ChangedRule, DryRun};
use super::metadata::{API_VERSION, Cluster, Incomplete, Metadata};
use super::reference::{ObjectReference, Owner};
use super::time::Time;
use super::wait::WaitReport;
use crate::decide::drain::UnitStage;

/// One line of `--events`: something that happened while a command ran.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandEvent {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "CommandEvent"))]
    pub kind: String,
    /// The cluster; context and server are null until the command has contacted the cluster.
    pub metadata: Metadata,
    /// When the event happened, according to the clock of the machine that runs the command.
    pub event_time: Time,
    /// What happened.
    #[serde(flatten)]
    pub event: EventDetail,
}

/// An event, by its type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum EventDetail {
    /// The command has begun.
    Began {
        /// Name of the subcommand, such as `escalate`.
        command: String,
    },
    /// The command processed a rule.
    RuleChanged {
        /// Dry-run mode: None, Client or Server.
        dry_run: DryRun,
        /// The rule, and the result of its change.
        change: ChangedRule,
    },
    /// The wait has made progress.
    Progress {
        /// Condition of the wait, as in --for: evicted, idle, observed, deleted or recovered.
        #[serde(rename = "for")]
        goal: String,
        /// Names of the rules of the wait.
        rules: Vec<String>,
        /// Pods that the rules evict, now or later, and that the wait has observed so far, including pods that no
        /// longer exist. For `--for recovered`, pods that were or may have been
        /// evicted, before or during the wait, according to their status or to events.
        seen_pod_count: usize,
        /// Pods that the rules evict, now or later, and that still exist, as last observed.
        remaining_pod_count: usize,
        /// Progress as text.
        message: String,
    },
    /// The wait is over.
    WaitEnded {
        /// Result of the wait.
        wait: WaitReport,
    },
    /// The drain of a unit has started or ended. No event reports the end if the rules of the unit were removed or
    /// weakened, or if another run of the same `drain` command has taken over the unit.
    UnitChanged {
        /// Name of the drain.
        drain: String,
        /// Name of the unit: a node, DRIVER/POOL or DRIVER/POOL/DEVICE.
        unit: String,
        /// Stage of the unit.
        unit_stage: UnitStage,
        /// The stage as text, and what still blocks the unit.
        message: String,
    },
    /// A drain sent a request to the Eviction API to evict a pod. A refusal with an unchanged message is reported once.
    PodEviction {
        /// Name of the drain.
        drain: String,
        /// Name of the unit: a node, DRIVER/POOL or DRIVER/POOL/DEVICE.
        unit: String,
        /// The pod.
        pod: ObjectReference,
        /// Whether the API server carried out a request of the drain: an eviction, or a restart of an owner of pods.
        request_result: RequestResult,
        /// The result as text; if the server refused the request, the server's message.
        message: String,
    },
    /// A drain requested the restart of the owner of pods, so that the owner replaces the pods.
    OwnerRestart {
        /// Name of the drain.
        drain: String,
        /// Name of the unit: a node, DRIVER/POOL or DRIVER/POOL/DEVICE.
        unit: String,
        /// Namespace of the owner.
        namespace: String,
        /// The owner, such as a Deployment.
        owner: Owner,
        /// Whether the API server carried out a request of the drain: an eviction, or a restart of an owner of pods.
        request_result: RequestResult,
        /// The result as text; if the server refused the request, the server's message.
        message: String,
    },
    /// `list --watch` or `devices --watch` has read its first list, or a list that differs from the previous one.
    ListChanged {
        /// All names in the list of `--watch`, in the order of the list: rules as
        /// `devicetaintrule.resource.k8s.io/NAME`, or devices as DRIVER/POOL/DEVICE.
        current_names: Vec<String>,
        /// Names in the list of `--watch` that were not in the previous list; in the first event, all names.
        added_names: Vec<String>,
        /// Names that were in the previous list of `--watch`, and are no longer in the list.
        removed_names: Vec<String>,
        /// Data that could not be read. If this field is not empty, the list of `--watch` may lack names of objects
        /// that exist.
        incomplete: Vec<Incomplete>,
    },
    /// The command has ended; nothing follows.
    Ended {
        /// Exit code of the command.
        exit_code: u8,
        /// Why the command failed, as text; null if it did not fail.
        error: Option<String>,
        /// Suggested next steps, as text; empty if there are none.
        hints: Vec<String>,
    },
}

/// Whether the API server carried out a request of the drain: an eviction, or a restart of an owner of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RequestResult {
    /// The server carried out the request.
    Accepted,
    /// The server refused the request, for example because of a PodDisruptionBudget.
    Refused,
}

impl CommandEvent {
    /// What happened at `time`, in the cluster that is asked, if one is.
    #[must_use]
    pub fn new(event: EventDetail, time: Timestamp, cluster: Option<&Cluster>) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "CommandEvent".to_owned(),
            metadata: Metadata::of_cluster(cluster),
            event_time: Time(time),
            event: event.in_cluster(cluster),
        }
    }
}

impl EventDetail {
    /// A list of these names, after one of those in `before`.
    #[must_use]
    pub fn list_changed(names: Vec<String>, before: &[String], incomplete: &[Incomplete]) -> Self {
        let without = |names: &[String], others: &[String]| -> Vec<String> {
            // A set: with thousands of devices, searching a list for each name would be quadratic.
            let others: BTreeSet<&String> = others.iter().collect();
            let names = names.iter().filter(|name| !others.contains(name));
            names.cloned().collect()
        };
        Self::ListChanged {
            added_names: without(&names, before),
            removed_names: without(before, &names),
            current_names: names,
            incomplete: incomplete.to_vec(),
        }
    }

    /// The event with that cluster in the report that is part of it, if one is.
    fn in_cluster(self, cluster: Option<&Cluster>) -> Self {
        match self {
            // Only this event holds a report with metadata of its own; for the others those of the line are enough.
            Self::WaitEnded { wait } => Self::WaitEnded {
                wait: wait.in_cluster(cluster),
            },
            other @ (Self::Began { .. }
            | Self::RuleChanged { .. }
            | Self::Progress { .. }
            | Self::ListChanged { .. }
            | Self::UnitChanged { .. }
            | Self::PodEviction { .. }
            | Self::OwnerRestart { .. }
            | Self::Ended { .. }) => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::outcomes::{RuleOutcome, RuleResult};
    use crate::report::testing;

    #[test]
    fn an_event_says_what_it_is_and_when_beside_what_happened() {
        let rule = RuleOutcome::new("drain", RuleResult::Created);
        let rule = ChangedRule::from(&rule);
        let event = EventDetail::RuleChanged {
            dry_run: DryRun::None,
            change: rule,
        };
        let cluster = Cluster {
            context: Some("prod".to_owned()),
            server: "https://prod:6443".to_owned(),
            version: None,
        };
        let event = CommandEvent::new(event, testing::now(), Some(&cluster));
        let json = serde_json::to_value(&event).unwrap();
        assert_eq!(json["type"], "RuleChanged");
        assert_eq!(json["dryRun"], "None");
        assert_eq!(json["change"]["result"], "Created");
        assert_eq!(json["kind"], "CommandEvent");
        assert_eq!(json["metadata"]["context"], "prod");
        assert!(json["eventTime"].as_str().unwrap().ends_with('Z'));
        assert_eq!(serde_json::from_value::<CommandEvent>(json).unwrap(), event);
    }

    #[test]
    fn an_eviction_names_drain_unit_and_pod_with_what_the_server_said() {
        let event = EventDetail::PodEviction {
            drain: "firmware".to_owned(),
            unit: "node-1".to_owned(),
            pod: ObjectReference::from(&testing::pod("team-a", "web-1")),
            request_result: RequestResult::Refused,
            message: "the budget needs 3".to_owned(),
        };
        let json = serde_json::to_value(CommandEvent::new(event, testing::now(), None)).unwrap();
        assert_eq!(json["type"], "PodEviction");
        assert_eq!(json["pod"]["name"], "web-1");
        assert_eq!(json["requestResult"], "Refused");
        assert_eq!(json["message"], "the budget needs 3");
    }

    #[test]
    fn a_changed_list_has_the_names_that_are_new_and_those_that_are_gone() {
        let names = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        let EventDetail::ListChanged {
            added_names,
            removed_names,
            current_names,
            incomplete,
        } = EventDetail::list_changed(names(&["a", "c"]), &names(&["a", "b"]), &[])
        else {
            panic!("a changed list");
        };
        assert_eq!((added_names, removed_names), (names(&["c"]), names(&["b"])));
        assert_eq!(current_names, names(&["a", "c"]));
        assert_eq!(incomplete, []);
    }
}
