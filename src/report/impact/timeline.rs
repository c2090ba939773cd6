//! When do the evictions fall, and when is the last pod gone?

use jiff::{SignedDuration, Timestamp};

use super::view::{ImpactReport, Outcome, Pod};
use crate::report::hazard::Hazard;
use crate::report::table::{Chart, Column, Moment, Table, counted};
use crate::report::time::{Time, human_duration};

/// More moments than these are told in spans of equal length.
const MOMENTS: usize = 8;

/// So many columns has the longest bar.
const LONGEST: usize = 30;

/// What an eviction takes of the controller's client once more than [`BURST`] are asked of it: between
/// three and four requests, of which `--kube-api-qps` of kube-controller-manager lets 20 through in a
/// second. Measured on a control plane with these defaults: 40 pods in 5.6 s, 200 in 32.6 s; see
/// `tests/cluster/rules/pace.rs`.
const PACE: SignedDuration = SignedDuration::from_millis(170);

/// How far the client is ahead of its pace at first: the 30 requests of `--kube-api-burst`.
const BURST: SignedDuration = SignedDuration::from_millis(1_500);

/// When each pod is evicted and when the last one is gone.
pub(super) struct Timeline {
    /// Moments, in seconds from now, with the number of pods that are evicted then.
    moments: Vec<(i64, usize)>,
    /// When the last pod is gone if every one takes the whole of its grace period.
    gone_in: SignedDuration,
    /// Pods that cannot end as things are.
    stuck: usize,
    /// Whether there may be more pods than are known.
    is_whole: bool,
}

impl Timeline {
    /// That of the pods that would be evicted; `None` where there is none.
    pub(super) fn of(report: &ImpactReport) -> Option<Self> {
        let now = report.metadata.origin.observed_at;
        let evicted = report.pods.iter().filter(|pod| pod.outcome.is_evicted());
        let mut pods: Vec<&Pod> = evicted.collect();
        if pods.is_empty() {
            return None;
        }
        pods.sort_by_key(|pod| seconds(pod));
        Some(Self {
            stuck: pods.iter().filter(|pod| is_stuck(pod)).count(),
            is_whole: report.summary.evicted().exact().is_some(),
            moments: moments(&pods),
            gone_in: last_gone(&pods, now).0.duration_since(now.0),
        })
    }

    /// When the last pod is gone, in a sentence; nothing where that is not known for want of pods.
    pub(super) fn sentence(&self) -> Option<String> {
        let stuck = self.stuck;
        if stuck > 0 {
            return Some(format!(
                "When they are gone is not known: {} cannot end while node or driver is away.",
                counted(stuck, "pod")
            ));
        }
        let gone = human_duration(self.gone_in);
        self.is_whole.then(|| {
            format!("The last one is gone after about {gone}, if it takes all of its grace period.")
        })
    }

    /// The evictions as a picture, from now until the last pod is gone.
    pub(super) fn picture(&self) -> Chart {
        let moment = |(seconds, pods): &(i64, usize)| Moment {
            seconds: seconds.unsigned_abs(),
            when: when(*seconds),
            number: *pods,
            what: counted(*pods, "pod"),
        };
        let is_known = self.is_whole && self.stuck == 0;
        let gone = when(self.gone_in.as_secs());
        let note = if self.is_whole {
            ""
        } else {
            "As far as is known: the answer is incomplete."
        };
        Chart {
            note: note.to_owned(),
            moments: self.moments.iter().map(moment).collect(),
            end: is_known.then(|| {
                let seconds = self.gone_in.as_secs().unsigned_abs();
                (seconds, format!("{gone}: the last one is gone"))
            }),
        }
    }

    /// The evictions as a chart; `None` where all are at once, and few.
    pub(super) fn chart(&self) -> Option<Table> {
        let most = self.moments.iter().map(|(_, pods)| *pods).max()?;
        if self.moments.len() < 2 {
            return None;
        }
        let row = |(seconds, pods): &(i64, usize)| {
            let length = pods.saturating_mul(LONGEST).div_ceil(most);
            vec![when(*seconds), counted(*pods, "pod"), "█".repeat(length)]
        };
        Some(Table {
            columns: vec![
                Column::text("FROM"),
                Column::number("EVICTED"),
                Column::text("SHARE"),
            ],
            rows: self.moments.iter().map(row).collect(),
        })
    }
}

/// Whether the pod's node cannot end it as things are.
fn is_stuck(pod: &Pod) -> bool {
    let codes = [Hazard::NodeNotReady.code(), Hazard::DriverDown.code()];
    pod.hazards
        .iter()
        .any(|hazard| codes.contains(&hazard.as_str()))
}

fn when(seconds: i64) -> String {
    match seconds {
        0 => "now".to_owned(),
        later => format!("+{}", human_duration(SignedDuration::from_secs(later))),
    }
}

/// Seconds until it is evicted; zero is at once.
fn seconds(pod: &Pod) -> i64 {
    match pod.outcome {
        Outcome::EvictedLater => pod.evict_in_seconds.unwrap_or_default().max(0),
        Outcome::EvictedNow | Outcome::Tolerates | Outcome::Terminating | Outcome::NotEvicted => 0,
    }
}

/// The moments of evictions, in order, or spans of equal length where there are many.
fn moments(pods: &[&Pod]) -> Vec<(i64, usize)> {
    let mut moments: Vec<(i64, usize)> = Vec::new();
    for pod in pods {
        add(&mut moments, seconds(pod));
    }
    if moments.len() <= MOMENTS {
        return moments;
    }
    let last = moments.last().map_or(0, |(seconds, _)| *seconds);
    let spans = i64::try_from(MOMENTS).unwrap_or(i64::MAX);
    let span = last.checked_div(spans).unwrap_or(0).saturating_add(1);
    let mut in_spans: Vec<(i64, usize)> = Vec::new();
    for pod in pods {
        let begins = seconds(pod).checked_div(span).unwrap_or(0);
        add(&mut in_spans, begins.saturating_mul(span));
    }
    in_spans
}

fn add(moments: &mut Vec<(i64, usize)>, seconds: i64) {
    match moments.last_mut() {
        Some((known, pods)) if *known == seconds => *pods = pods.saturating_add(1),
        _ => moments.push((seconds, 1)),
    }
}

/// When the last of `pods`, which are in the order of their evictions, is gone: each is evicted when its
/// time has come and the controller's client lets it through, and then takes its grace period.
fn last_gone(pods: &[&Pod], now: Time) -> Time {
    let mut last = now.0;
    // The moment from which on the client has its whole burst again, as in a token bucket.
    let mut full_at = now.0;
    for pod in pods {
        let due = after(now.0, SignedDuration::from_secs(seconds(pod)));
        full_at = after(full_at.max(due), PACE);
        let sent = due.max(before(full_at, BURST));
        let grace = SignedDuration::from_secs(pod.grace_period_seconds.max(0));
        last = last.max(after(sent, grace));
    }
    Time(last)
}

fn after(time: Timestamp, duration: SignedDuration) -> Timestamp {
    time.saturating_add(duration).unwrap_or(Timestamp::MAX)
}

fn before(time: Timestamp, duration: SignedDuration) -> Timestamp {
    time.saturating_sub(duration).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::count::Bounds;
    use crate::report::testing::Example;

    /// A report of pods that are evicted in so many seconds and have so many to stop.
    fn timeline(pods: &[(i64, i64)]) -> Option<Timeline> {
        let mut report = Example::new().report();
        let evicted = report.pods.iter().find(|pod| pod.outcome.is_evicted());
        let model = evicted.unwrap().clone();
        let pod = |(seconds, grace): &(i64, i64)| Pod {
            outcome: if *seconds > 0 {
                Outcome::EvictedLater
            } else {
                Outcome::EvictedNow
            },
            evict_in_seconds: Some(*seconds),
            grace_period_seconds: *grace,
            ..model.clone()
        };
        report.pods = pods.iter().map(pod).collect();
        Timeline::of(&report)
    }

    #[test]
    fn the_last_pod_is_gone_after_its_grace_period() {
        for (pods, gone) in [
            (&[(0, 30)][..], 30),
            (&[(-5, 30), (300, 0)], 300),
            (&[(0, 600), (300, 30)], 600),
            (&[(0, 0), (i64::MAX, i64::MAX)], i64::MAX),
        ] {
            let found = timeline(pods).unwrap().gone_in.as_secs();
            if gone < i64::MAX {
                assert_eq!(found, gone, "{pods:?}");
            } else {
                assert!(found > 1_000_000, "{pods:?}");
            }
        }
        assert!(timeline(&[]).is_none());
    }

    #[test]
    fn nobody_is_said_to_be_gone_whose_node_cannot_end_it_or_who_is_not_known() {
        let mut report = Example::new().report();
        let sentence = |report: &ImpactReport| Timeline::of(report).unwrap().sentence();
        assert!(sentence(&report).unwrap().contains("gone after about"));
        report.summary.bounds = vec![Bounds {
            count: "pods".to_owned(),
            at_least: report.summary.pods,
            at_most: None,
        }];
        assert_eq!(sentence(&report), None);
        let picture = Timeline::of(&report).unwrap().picture();
        assert!(picture.end.is_none() && picture.note.contains("incomplete"));
        let evicted = report.pods.iter_mut().find(|pod| pod.outcome.is_evicted());
        evicted.unwrap().hazards.push("driver-down".to_owned());
        let told = sentence(&report).unwrap();
        assert!(told.contains("not known: 1 pod cannot end"), "{told}");
        assert_eq!(Timeline::of(&report).unwrap().picture().end, None);
    }

    #[test]
    fn many_pods_wait_for_the_controllers_client() {
        let gone = |number| {
            let pods = vec![(0, 10); number];
            timeline(&pods).unwrap().gone_in.as_secs()
        };
        // Eight pods are the burst; then six in a second.
        assert_eq!(gone(8), 10);
        assert_eq!(gone(40), 15);
        assert_eq!(gone(200), 42);
        // Who waits between lets the burst come back.
        let mut pods = vec![(0, 0); 100];
        pods.extend(vec![(100, 0); 8]);
        assert_eq!(timeline(&pods).unwrap().gone_in.as_secs(), 100);
    }

    #[test]
    fn a_chart_shows_each_moment_or_spans_of_many() {
        assert!(timeline(&[(0, 1), (-3, 1)]).unwrap().chart().is_none());
        let picture = timeline(&[(0, 1), (-3, 1), (90, 30)]).unwrap().picture();
        let moments = picture.moments.iter();
        let moments = moments.map(|it| (it.seconds, &*it.when, it.number, &*it.what));
        let expected = [(0, "now", 2, "2 pods"), (90, "+90s", 1, "1 pod")];
        assert_eq!(moments.collect::<Vec<_>>(), expected);
        let end = (120, "+2m: the last one is gone".to_owned());
        assert_eq!((picture.note.as_str(), picture.end), ("", Some(end)));
        let chart = timeline(&[(0, 1), (0, 1), (0, 1), (90, 1)])
            .unwrap()
            .chart();
        let rows = chart.unwrap().rows;
        assert_eq!(rows[0], ["now", "3 pods", &"█".repeat(30)]);
        assert_eq!(rows[1], ["+90s", "1 pod", &"█".repeat(10)]);
        let many: Vec<(i64, i64)> = (0..100).map(|seconds| (seconds * 10, 1)).collect();
        let chart = timeline(&many).unwrap().chart().unwrap();
        assert_eq!(chart.rows.len(), MOMENTS);
        let moments = timeline(&many).unwrap().moments;
        let all: usize = moments.iter().map(|(_, pods)| pods).sum();
        assert_eq!(all, 100);
    }
}
