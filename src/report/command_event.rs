//! Events of `--events`, one JSON line each.

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{ChangedRule, DryRun};
use super::metadata::{API_VERSION, Cluster, Incomplete, Metadata};
use super::time::Time;
use super::wait::WaitReport;

/// One line of `--events`: something that happened while a command went on.
///
/// Within one apiVersion, fields and types are only added: readers have to ignore those they do not
/// know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandEvent {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// What it is.
    #[schemars(extend("const" = "CommandEvent"))]
    pub kind: String,
    /// The cluster that is asked; without context and server before one is.
    pub metadata: Metadata,
    /// When it happened, by the clock of the machine on which the command runs.
    pub event_time: Time,
    /// What happened.
    #[serde(flatten)]
    pub event: EventDetail,
}

/// What happened, by its type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum EventDetail {
    /// The command has begun.
    Began {
        /// The subcommand.
        command: String,
    },
    /// The command came to a rule, and this became of it.
    RuleChanged {
        /// Who only pretended, if nothing was meant to be stored.
        dry_run: DryRun,
        /// The rule, and what became of it.
        change: ChangedRule,
    },
    /// What is waited for has come further.
    Progress {
        /// What is waited for, as --for takes it: evicted, idle, observed or deleted.
        #[serde(rename = "for")]
        goal: String,
        /// The rules that are waited for, by name.
        rules: Vec<String>,
        /// Number of pods to evict that were seen.
        seen_pod_count: usize,
        /// How many of them are still left, as last observed.
        remaining_pod_count: usize,
        /// How far it is, in words.
        message: String,
    },
    /// The wait is over.
    WaitEnded {
        /// How it ended.
        wait: WaitReport,
    },
    /// `--watch` gave an answer, which is another than the one before.
    Answer {
        /// What there is now: rules or devices, by name.
        names: Vec<String>,
        /// Those that were not there before; all of them in the first answer.
        appeared: Vec<String>,
        /// Those that are not there any more.
        gone: Vec<String>,
        /// What could not be read; when it is not empty, there may be more of everything.
        incomplete: Vec<Incomplete>,
    },
    /// The command has ended; nothing follows.
    Ended {
        /// With this code.
        exit_code: u8,
        /// Why it could not do what was asked; null when it did.
        error: Option<String>,
        /// What to do about that.
        hints: Vec<String>,
    },
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
    /// An answer with these names, after one with those of `before`.
    #[must_use]
    pub fn answer(names: Vec<String>, before: &[String], incomplete: &[Incomplete]) -> Self {
        let without = |names: &[String], others: &[String]| -> Vec<String> {
            let others: BTreeSet<&String> = others.iter().collect();
            let names = names.iter().filter(|name| !others.contains(name));
            names.cloned().collect()
        };
        Self::Answer {
            appeared: without(&names, before),
            gone: without(before, &names),
            names,
            incomplete: incomplete.to_vec(),
        }
    }

    /// The event with that cluster in the report that is part of it, if one is.
    fn in_cluster(self, cluster: Option<&Cluster>) -> Self {
        match self {
            Self::WaitEnded { wait } => Self::WaitEnded {
                wait: wait.in_cluster(cluster),
            },
            other @ (Self::Began { .. }
            | Self::RuleChanged { .. }
            | Self::Progress { .. }
            | Self::Answer { .. }
            | Self::Ended { .. }) => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::change::RuleResult;
    use crate::report::testing;

    #[test]
    fn an_event_says_what_it_is_and_when_beside_what_happened() {
        let rule = ChangedRule::new("drain", RuleResult::Created);
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
    fn an_answer_says_what_is_new_and_what_is_gone() {
        let names = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        let EventDetail::Answer {
            appeared,
            gone,
            names: all,
            incomplete,
        } = EventDetail::answer(names(&["a", "c"]), &names(&["a", "b"]), &[])
        else {
            panic!("an answer");
        };
        assert_eq!((appeared, gone), (names(&["c"]), names(&["b"])));
        assert_eq!(all, names(&["a", "c"]));
        assert_eq!(incomplete, []);
    }
}
