//! Progress of a drain, as one line.
//!
//! Function of facts and time: no I/O, no clock. What differs only by the time is the same state.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::facts::{EvictionObstacle, UnitFacts, UnitPod};
use super::pod_class::Treatment;
use super::restart_run::Departure;
use super::unit_run::UnitRun;
use crate::model::Uid;
use crate::naming::age::human_duration;
use crate::naming::phrase::counted;

/// Reasons of each kind in the line.
const NAMED: usize = 3;

/// Facts about a drain at one time, of which the progress is shown.
#[derive(Clone, Copy, Debug)]
pub struct DrainView<'a> {
    /// Name of the drain.
    pub drain: &'a str,
    /// The units of this run, in their order.
    pub units: &'a [String],
    /// The name of the unit that is being drained.
    pub current: &'a str,
    /// What this run has done for the current unit.
    pub run: &'a UnitRun,
    /// The current unit, as last observed.
    pub facts: &'a UnitFacts,
    /// Time since the current unit was started.
    pub elapsed: Duration,
}

/// Progress of a drain, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainProgress {
    /// The line without times: it is news when this is another.
    pub state: String,
    /// All of it in a line.
    pub line: String,
}

/// Something that the unit waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reason {
    text: String,
    /// The reason with what changes with the time alone.
    timed: Option<String>,
}

impl Reason {
    fn new(text: String) -> Self {
        Self { text, timed: None }
    }

    fn with_time(&self) -> String {
        self.timed.clone().unwrap_or_else(|| self.text.clone())
    }
}

impl DrainView<'_> {
    /// The progress in words.
    #[must_use]
    pub fn progress(&self) -> DrainProgress {
        let left = self.left();
        let broken: Vec<Reason> = self
            .run
            .broken_workloads(self.facts)
            .into_iter()
            .map(Reason::new)
            .collect();
        let place = self.place();
        let heading = format!(
            "drain {}: unit {} of {}",
            self.drain,
            place.saturating_add(1),
            self.units.len()
        );
        let state = [
            format!("{heading} ({})", self.current),
            in_line(&self.left_heading(), &left, |reason| reason.text.clone()),
            in_line("not ready", &broken, |reason| reason.text.clone()),
        ];
        let line = [
            format!("{heading} ({})", self.current),
            in_line(&self.left_heading(), &left, Reason::with_time),
            in_line("not ready", &broken, Reason::with_time),
            self.time_left(),
        ];
        DrainProgress {
            state: sentence(&state),
            line: sentence(&line),
        }
    }

    /// The place of the current unit among the units.
    fn place(&self) -> usize {
        let mut units = self.units.iter();
        let place = units.position(|unit| unit == self.current);
        place.unwrap_or_default()
    }

    fn left_heading(&self) -> String {
        match self.pods().len() {
            // Without this data, the number of pods is unknown.
            _ if !self.facts.unread.is_empty() => "left".to_owned(),
            0 => "not idle".to_owned(),
            pods => format!("{} left", counted(pods, "pod")),
        }
    }

    /// The pods that the unit waits for.
    fn pods(&self) -> Vec<&UnitPod> {
        let pods = self.facts.pods.iter();
        pods.filter(|pod| self.run.leaves(pod) || self.why_it_stays(pod).is_some())
            .collect()
    }

    /// Why the pod will not leave by itself; nothing where it is evicted, and where the drain goes on without it.
    fn why_it_stays(&self, pod: &UnitPod) -> Option<String> {
        match pod.class.treatment(self.run.limits().included) {
            Treatment::Evicted | Treatment::Kept => None,
            Treatment::NeedsConsent(class) => Some(format!("evicted only with --include {class}")),
            Treatment::Stays(why) => Some(why.to_owned()),
        }
    }

    /// What keeps the devices in use: pods, then claims without them, then what is not known.
    fn left(&self) -> Vec<Reason> {
        let pods = self.pods().into_iter().map(|pod| {
            let Reason { text, timed } = self.reason(pod);
            let of_pod = |text: String| format!("{}: {text}", pod.name);
            Reason {
                text: of_pod(text),
                timed: timed.map(of_pod),
            }
        });
        let claims = self
            .facts
            .other_claims
            .iter()
            .map(|claim| Reason::new(format!("claim {claim} holds a device")));
        let unread = self
            .facts
            .unread
            .iter()
            .map(|what| Reason::new(format!("unknown: {what}")));
        // Without this data, the pods that are left are unknown.
        let left: Vec<Reason> = unread.chain(pods).chain(claims).collect();
        if left.is_empty() && !self.facts.is_idle {
            return self
                .facts
                .why_not_idle()
                .into_iter()
                .map(Reason::new)
                .collect();
        }
        left
    }

    /// Why the pod is left.
    fn reason(&self, pod: &UnitPod) -> Reason {
        if pod.is_terminating {
            return Reason {
                text: "terminating".to_owned(),
                timed: match self.facts.terminating.get(&pod.name) {
                    Some(why) => Some(why.clone()),
                    None => deadline(pod.grace_period_end, self.facts.now),
                },
            };
        }
        if let Some(why) = self.why_it_stays(pod) {
            return Reason::new(why);
        }
        if self.run.is_left_to_taint(pod) {
            return Reason::new("will be evicted by the NoExecute taint".to_owned());
        }
        if let Some(message) = self.run.refusal(pod) {
            return Reason::new(format!("eviction refused: {message}"));
        }
        Reason::new(match self.run.departure(self.facts, pod) {
            Departure::Waits(why) => why,
            Departure::Restart(_) => "its owner was not restarted yet".to_owned(),
            Departure::Eviction => self.why_not_evicted(pod),
        })
    }

    fn why_not_evicted(&self, pod: &UnitPod) -> String {
        if let Some(unplaced) = self.run.unplaced_pod(self.facts) {
            return format!(
                "not evicted yet, because the replacement pod {unplaced} of an evicted pod is not scheduled yet"
            );
        }
        let leaving: Vec<&UnitPod> = self
            .facts
            .pods
            .iter()
            .filter(|pod| self.run.leaves(pod))
            .collect();
        match self.run.obstacle(self.facts, &leaving, pod) {
            Some(EvictionObstacle::Workload(uid)) => format!(
                "not evicted yet, waits until {} is ready",
                self.workload(uid)
            ),
            Some(EvictionObstacle::Pod(other)) if other.is_terminating => {
                format!(
                    "not evicted yet, waits until pod {} has terminated",
                    other.name
                )
            }
            Some(EvictionObstacle::Pod(other)) => {
                format!("not evicted yet, pod {} is evicted first", other.name)
            }
            None => "not evicted yet".to_owned(),
        }
    }

    fn workload(&self, uid: &Uid) -> String {
        let state = self.facts.workloads.get(uid);
        state.map_or_else(|| "its workload".to_owned(), |state| state.name.clone())
    }

    /// How long the unit may still take, and when pods are evicted that are left.
    fn time_left(&self) -> String {
        let limits = self.run.limits();
        let rest = |until: Duration| duration(until.saturating_sub(self.elapsed));
        let left = format!("{} left", rest(limits.timeout));
        match limits.force_after {
            Some(after) if !self.run.is_raised() && after < limits.timeout => {
                format!("{left}, NoExecute in {}", rest(after))
            }
            Some(_) | None => left,
        }
    }
}

fn duration(duration: Duration) -> String {
    human_duration(SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX))
}

/// A terminating pod, with the end of its grace period.
fn deadline(end: Option<Timestamp>, now: Option<Timestamp>) -> Option<String> {
    let left = end?.duration_since(now?);
    let length = human_duration(left);
    Some(if left.is_negative() {
        format!("terminating, its grace period ended {length} ago")
    } else {
        format!("terminating, its grace period ends in {length}")
    })
}

/// The first reasons in a line; empty where there are none.
fn in_line(heading: &str, reasons: &[Reason], word: impl Fn(&Reason) -> String) -> String {
    if reasons.is_empty() {
        return String::new();
    }
    let named = reasons.iter().take(NAMED).map(word);
    let more = reasons.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("… and {more} more"));
    let words: Vec<String> = named.chain(more).collect();
    format!("{heading}: {}", words.join(", "))
}

/// The parts that say something.
fn sentence(parts: &[String]) -> String {
    let parts = parts.iter().filter(|part| !part.is_empty());
    parts.cloned().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::pod_class::PodClass;
    use crate::decide::drain::testing::{limits, unit_pod};
    use crate::report::testing::pod;

    fn facts(pods: usize) -> UnitFacts {
        let pods = (0..pods).map(|number| {
            let name = format!("a-pod-with-a-name-that-is-rather-long-for-a-pod-{number}");
            unit_pod(
                &pod("a-namespace-with-a-long-name", &name),
                PodClass::Replicated,
            )
        });
        UnitFacts {
            pods: pods.collect(),
            ..UnitFacts::default()
        }
    }

    fn progress(units: &[String], current: &str, pods: usize) -> DrainProgress {
        let view = DrainView {
            drain: "fw",
            units,
            current,
            run: &UnitRun::new(limits()),
            facts: &facts(pods),
            elapsed: Duration::from_secs(10),
        };
        view.progress()
    }

    #[test]
    fn what_keeps_a_terminating_pod_or_a_unit_without_pods_is_named_and_time_alone_is_no_news() {
        let units = ["a".to_owned()];
        let shown = |facts: &UnitFacts| {
            let view = DrainView {
                drain: "fw",
                units: &units,
                current: "a",
                run: &UnitRun::new(limits()),
                facts,
                elapsed: Duration::from_secs(10),
            };
            let DrainProgress { state, line } = view.progress();
            (state, line)
        };
        let mut facts = facts(1);
        facts.pods[0].is_terminating = true;
        let name = facts.pods[0].name.clone();
        let (state, _) = shown(&facts);
        assert!(state.ends_with(": terminating"), "{state}");
        for seconds in [1, 2] {
            let why = format!("terminating for {seconds}s, its grace period ends in 3s");
            facts.terminating.insert(name.clone(), why.clone());
            let (same, line) = shown(&facts);
            assert_eq!(same, state);
            assert!(line.contains(&format!("{name}: {why}; ")), "{line}");
        }
        facts.pods.clear();
        let unknown = "; not idle: it is not yet known whether the devices are idle";
        assert!(shown(&facts).0.ends_with(unknown));
        facts.not_idle = vec!["gpu-0-part-0 is allocated".to_owned()];
        assert!(
            shown(&facts)
                .0
                .ends_with("; not idle: gpu-0-part-0 is allocated")
        );
        facts.unread = vec!["pods: denied".to_owned()];
        assert!(shown(&facts).0.ends_with("; left: unknown: pods: denied"));
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let units = ["node-1".to_owned()];
        let shown = progress(&units, "node-1", 40);
        assert!(shown.line.contains("40 pods left"), "{}", shown.line);
        assert!(shown.state.contains("… and 37 more"), "{}", shown.state);
    }
}
