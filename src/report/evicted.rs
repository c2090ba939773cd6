//! Pods that were evicted, what became of each, and rows and lines of them.
//!
//! A pod that comes back and is evicted again fills pages: many pods of one workload that came to the same are one row.
//! JSON has each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::Owner;
use super::table::{Column, Table, optional};
use super::time::Time;
use crate::assess::EvictedOutcome;
use crate::decide::recovery::EvictedFacts;
use crate::model::{NamespacedName, UNKNOWN};
use crate::naming::phrase::counted;

/// More pods than these are one row.
const SHOWN: usize = 5;

/// A pod that the rule evicted, or may have evicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvictedPod {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// UID of the pod; a later pod of the same name has another UID. Null if unknown.
    pub uid: Option<String>,
    /// When the eviction controller evicted the pod; null if the event has no time.
    pub eviction_time: Option<Time>,
    /// The controller of the pod, such as a ReplicaSet; if this ReplicaSet no longer exists, its Deployment; null for a
    /// bare pod, or if unknown.
    pub workload: Option<Owner>,
    /// Its node, as far as the pod is still there.
    #[serde(skip)]
    pub node: Option<String>,
    /// Outcome of the pod after the eviction, such as whether it was replaced.
    pub after_eviction: EvictedOutcome,
    /// Whether the rule certainly caused the eviction. False if another taint evicts the pod, too, and false for a
    /// pod that no longer exists, because events do not show which taint evicted it.
    pub certain: bool,
}

/// Evicted pods of one workload that came to the same.
struct Row<'a> {
    pods: Vec<&'a EvictedPod>,
}

impl From<&EvictedPod> for EvictedFacts {
    fn from(pod: &EvictedPod) -> Self {
        let workload = pod.workload.as_ref();
        Self {
            name: NamespacedName {
                namespace: pod.namespace.as_str().into(),
                name: pod.name.as_str().into(),
            },
            workload: workload.map(|owner| (owner.kind.clone(), owner.name.clone())),
            outcome: pod.after_eviction,
            is_certain: pod.certain,
        }
    }
}

/// The evicted pods, a row each, but for many that came to the same.
#[must_use]
pub fn table(evicted: &[EvictedPod]) -> Table {
    let rows = rows(evicted).into_iter().map(|row| {
        vec![
            row.when(),
            row.who(),
            optional(row.workload().as_deref()),
            row.first().after_eviction.in_words().to_owned(),
            row.by().to_owned(),
        ]
    });
    Table {
        columns: vec![
            Column::text("EVICTED"),
            Column::text("POD"),
            Column::text("WORKLOAD"),
            Column::prose("NOW"),
            Column::prose("BY"),
        ],
        rows: rows.collect(),
    }
}

/// One line for each of these rows.
#[must_use]
pub fn lines(evicted: &[EvictedPod]) -> Vec<String> {
    let lines = rows(evicted).into_iter().map(|row| {
        let at = match row.pods.as_slice() {
            // A line says nothing of an unknown time; of a range, the other end may be known.
            [only] if only.eviction_time.is_none() => String::new(),
            _ => format!(" at {}", row.when()),
        };
        let doubt = if row.first().certain {
            String::new()
        } else {
            format!(", by {}", row.by())
        };
        let outcome = row.first().after_eviction.in_words();
        let who = match (row.pods.as_slice(), row.workload()) {
            ([_], _) | (_, None) => format!("pod {}", row.who()),
            (_, Some(workload)) => format!("{} of {workload}", row.who()),
        };
        format!("evicted {who}{at}{doubt}: {outcome}")
    });
    lines.collect()
}

/// The evictions of several rules, each once, by name and time: a pod that several rules evicted is in the history of each.
#[must_use]
pub fn once(mut evicted: Vec<EvictedPod>) -> Vec<EvictedPod> {
    fn key(pod: &EvictedPod) -> (&str, &str, Option<Time>, Option<&str>) {
        let (namespace, name) = (pod.namespace.as_str(), pod.name.as_str());
        // A StatefulSet may lose two pods of one name in a second.
        (namespace, name, pod.eviction_time, pod.uid.as_deref())
    }
    evicted.sort_by(|one, other| key(one).cmp(&key(other)));
    evicted.dedup_by(|one, other| key(one) == key(other));
    evicted
}

fn rows(evicted: &[EvictedPod]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for pod in evicted {
        let known = rows.iter_mut().find(|row| row.is_of(pod));
        match known {
            Some(row) => row.pods.push(pod),
            None => rows.push(Row { pods: vec![pod] }),
        }
    }
    let mut rows: Vec<Row<'_>> = rows.into_iter().flat_map(Row::unless_many).collect();
    // Looking for rows that are alike has moved pods of a workload to its first one.
    rows.sort_by_key(|row| row.first().eviction_time);
    rows
}

impl<'a> Row<'a> {
    fn first(&self) -> &'a EvictedPod {
        // A row is made for a pod.
        self.pods[0]
    }

    /// The row where it is of many pods, else one for each.
    fn unless_many(self) -> Vec<Self> {
        if self.pods.len() > SHOWN {
            return vec![self];
        }
        let pods = self.pods.into_iter();
        pods.map(|pod| Self { pods: vec![pod] }).collect()
    }

    fn is_of(&self, pod: &EvictedPod) -> bool {
        let first = self.first();
        // Pods without a workload have nothing in common that a row could be named by.
        first.workload.is_some()
            && (&first.namespace, &first.workload) == (&pod.namespace, &pod.workload)
            && (first.after_eviction, first.certain) == (pod.after_eviction, pod.certain)
    }

    /// What made the pods, as KIND/NAME.
    fn workload(&self) -> Option<String> {
        self.first().workload.as_ref().map(ToString::to_string)
    }

    fn when(&self) -> String {
        let text = |at: Option<Time>| at.map_or_else(|| UNKNOWN.to_owned(), |at| at.to_string());
        match self.pods.as_slice() {
            [first, .., last] => format!(
                "{} to {}",
                text(first.eviction_time),
                text(last.eviction_time)
            ),
            [first] => text(first.eviction_time),
            [] => String::new(),
        }
    }

    fn who(&self) -> String {
        let (first, pods) = (self.first(), self.pods.len());
        if pods == 1 {
            format!("{}/{}", first.namespace, first.name)
        } else {
            format!("{} in {}", counted(pods, "pod"), first.namespace)
        }
    }

    fn by(&self) -> &'static str {
        if self.first().certain {
            "this rule"
        } else {
            "this rule or another taint"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    fn evicted(name: &str, at: i64, outcome: EvictedOutcome) -> EvictedPod {
        EvictedPod {
            namespace: "mon".to_owned(),
            name: name.to_owned(),
            uid: None,
            eviction_time: Some(Time(testing::after(at))),
            workload: Some(Owner {
                kind: "DaemonSet".to_owned(),
                name: "monitor".to_owned(),
            }),
            node: None,
            after_eviction: outcome,
            certain: false,
        }
    }

    #[test]
    fn many_pods_of_one_workload_that_came_to_the_same_are_one_row() {
        let again = |number: i64| {
            let name = format!("monitor-{number}");
            evicted(&name, number, EvictedOutcome::EvictedAgain)
        };
        let many = |count| {
            let mut pods: Vec<EvictedPod> = (0..count).map(again).collect();
            pods.push(evicted("monitor-x", 500, EvictedOutcome::CreatedAgain));
            pods
        };
        assert_eq!(table(&many(5)).rows.len(), 6);
        let rows = table(&many(300)).rows;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0][1], "300 pods in mon");
        assert_eq!(rows[0][3], "recreated, and evicted again");
        assert!(rows[0][0].contains(" to "), "{rows:?}");
        assert_eq!(rows[1][1], "mon/monitor-x");
        let lines = lines(&many(300));
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("evicted 300 pods in mon of DaemonSet/monitor at "),
            "{lines:?}"
        );
        assert!(lines[1].starts_with("evicted pod mon/monitor-x at "));
    }

    #[test]
    fn an_eviction_that_several_rules_know_counts_once_and_pods_of_one_name_each() {
        let pod = |uid: &str| EvictedPod {
            uid: Some(uid.to_owned()),
            ..evicted("db-0", 0, EvictedOutcome::EvictedAgain)
        };
        let found = once(vec![pod("a"), pod("b"), pod("a")]);
        let uids: Vec<_> = found.iter().filter_map(|pod| pod.uid.as_deref()).collect();
        assert_eq!(uids, ["a", "b"]);
    }
}
