//! Timeline of evictions: when pods leave and are gone, and the chart of a page.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::rows::after;
use super::view::{ImpactReport, Pod};
use crate::naming::phrase::counted;
use crate::report::table::{Chart, Moment};
use crate::report::taint::Time;

/// More moments than these are shown in spans of equal length.
const MOMENTS: usize = 8;

/// Note of a chart that may lack pods.
const PARTIAL: &str = "The report is incomplete: events may be missing.";

/// Seconds from which on a delay by the controller's rate is shown: shorter ones are less than the estimate is worth.
const DELAY: i64 = 5;

/// Time of an eviction in the controller's client once more than [`BURST`] are requested: three to four
/// requests, of which `--kube-api-qps` of kube-controller-manager lets 20 through in a second. Measured on a
/// control plane with these defaults: 40 pods in 5.6 s, 200 in 32.6 s; see `tests/cluster/rules/pace.rs`.
const PACE: SignedDuration = SignedDuration::from_millis(170);

/// Lead of the client over its pace at first: the 30 requests of `--kube-api-burst`.
const BURST: SignedDuration = SignedDuration::from_millis(1_500);

/// A pod that would be evicted, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure<'a> {
    /// The pod.
    pub(super) pod: &'a Pod,
    /// Time at which the controller's client sends its eviction.
    evicted: Timestamp,
    /// Time at which it is gone, if it takes all of its grace period.
    pub(super) gone: Timestamp,
}

impl Departure<'_> {
    /// Seconds until its eviction; a delay that is not shown is none.
    fn seconds(&self, now: Time) -> i64 {
        let (evicted, due) = (self.evicted.duration_since(now.0).as_secs(), due(self.pod));
        if evicted.saturating_sub(due) < DELAY {
            due
        } else {
            evicted
        }
    }
}

/// The pods that would be evicted, in that order: each when its time has come and the controller's client lets
/// it through.
pub(super) fn departures(pods: &[Pod], now: Time) -> Vec<Departure<'_>> {
    let evicted = pods.iter().filter(|pod| pod.outcome.is_evicted());
    let mut pods: Vec<(&Pod, Timestamp)> = evicted
        .map(|pod| (pod, later(now.0, SignedDuration::from_secs(due(pod)))))
        .collect();
    // The controller has one queue, in which the pod that is due first is deleted first.
    pods.sort_by_key(|(_, due)| *due);
    // The moment from which on the client has its whole burst again, as in a token bucket.
    let mut full_at = now.0;
    let departures = pods.into_iter().map(|(pod, due)| {
        full_at = later(full_at.max(due), PACE);
        // As long as the burst lasts, the client is ready before the pod is due, and delays nothing.
        let early = full_at.saturating_sub(BURST).unwrap_or(Timestamp::MIN);
        let evicted = due.max(early);
        Departure {
            pod,
            evicted,
            gone: later(evicted, grace(pod)),
        }
    });
    departures.collect()
}

/// Grace period of an eviction; a pod that has ended is deleted at once.
///
/// Upstream: `CheckGracefulDelete` in `pkg/registry/core/pod/strategy.go`.
fn grace(pod: &Pod) -> SignedDuration {
    match pod.phase.as_str() {
        "Succeeded" | "Failed" => SignedDuration::ZERO,
        _ => SignedDuration::from_secs(pod.grace_period_seconds.max(0)),
    }
}

/// Seconds until its tolerations end; zero is at once.
fn due(pod: &Pod) -> i64 {
    pod.evict_in_seconds.unwrap_or_default().max(0)
}

fn later(time: Timestamp, duration: SignedDuration) -> Timestamp {
    time.saturating_add(duration).unwrap_or(Timestamp::MAX)
}

/// Evictions and releases of devices over time.
pub(super) struct Timeline<'a> {
    report: &'a ImpactReport,
    leaving: Vec<Departure<'a>>,
}

impl<'a> Timeline<'a> {
    /// Timeline of the pods that would be evicted; absent if there are none.
    pub(super) fn of(report: &'a ImpactReport) -> Option<Self> {
        let leaving = departures(&report.affected_pods, report.metadata.observed());
        (!leaving.is_empty()).then_some(Self { report, leaving })
    }

    /// Seconds until the last eviction, if the controller's rate delays it.
    pub(super) fn delayed_until(&self) -> Option<i64> {
        let now = self.report.metadata.observed();
        let last = self.leaving.iter().map(|it| it.seconds(now)).max()?;
        let due = self.leaving.iter().map(|it| due(it.pod)).max()?;
        (last > due).then_some(last)
    }

    /// The evictions as a picture, from now until the last pod is gone, and the devices that become free by them.
    pub(super) fn pictures(&self) -> Vec<Chart> {
        let now = self.report.metadata.observed();
        let totals = &self.report.assessment.totals;
        let is_whole = totals.evicted_pod_count.exact().is_some();
        let can_end = totals.pods_on_lost_nodes.is_none() && totals.pods_without_driver.is_none();
        let gone = self.leaving.iter().map(|it| it.gone).max();
        let gone = gone.map_or(0, |gone| gone.duration_since(now.0).as_secs());
        let evictions = self.leaving.iter().map(|it| it.seconds(now));
        let releases = self.report.selected_devices.iter();
        let releases = releases.filter_map(|device| device.release_time);
        let releases = releases.map(|at| at.0.duration_since(now.0).as_secs());
        let releases: Vec<i64> = releases.filter(|seconds| *seconds > 0).collect();
        let note = if is_whole { "" } else { PARTIAL };
        let charts = [
            Chart {
                note: note.to_owned(),
                moments: bars(&evictions.collect::<Vec<_>>(), "pod"),
                end: (is_whole && can_end).then(|| {
                    let text = format!("{}: the last pod is gone", after(gone));
                    (gone.unsigned_abs(), text)
                }),
            },
            Chart {
                note: "Devices that become free, if pods use their full grace periods:".to_owned(),
                moments: bars(&releases, "device"),
                end: None,
            },
        ];
        let charts = charts.into_iter();
        charts.filter(|chart| !chart.moments.is_empty()).collect()
    }
}

/// Number of events at each moment, or in spans of equal length where there are many moments.
fn bars(seconds: &[i64], noun: &str) -> Vec<Moment> {
    let mut moments = sums(seconds.iter().copied());
    if moments.len() > MOMENTS {
        let last = seconds.iter().copied().max().unwrap_or_default();
        // Spans of equal length keep the shape of the evictions, which the busiest moments alone would not. Rounded
        // up, so that the last moment is within the last span.
        let spans = i64::try_from(MOMENTS).unwrap_or(i64::MAX);
        let span = last.checked_div(spans).unwrap_or(0).saturating_add(1);
        let begins = |at: &i64| at.checked_div(span).unwrap_or(0).saturating_mul(span);
        moments = sums(seconds.iter().map(begins));
    }
    let moments = moments.into_iter().map(|(seconds, number)| Moment {
        seconds: seconds.unsigned_abs(),
        when: after(seconds),
        number,
        what: counted(number, noun),
    });
    moments.collect()
}

fn sums(seconds: impl Iterator<Item = i64>) -> BTreeMap<i64, usize> {
    seconds.fold(BTreeMap::new(), |mut sums, at| {
        let sum: &mut usize = sums.entry(at).or_default();
        *sum = sum.saturating_add(1);
        sums
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Outcome;
    use crate::report::testing::Example;

    /// A report of pods that are evicted in so many seconds and have so many to stop.
    fn report(pods: &[(i64, i64)]) -> ImpactReport {
        let mut report = Example::new().report();
        let mut known = report.affected_pods.iter();
        let model = known.find(|pod| pod.outcome.is_evicted()).unwrap().clone();
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
        report.affected_pods = pods.iter().map(pod).collect();
        report
    }

    fn gone_in(pods: &[(i64, i64)]) -> Option<i64> {
        let report = report(pods);
        let now = report.metadata.observed();
        let leaving = departures(&report.affected_pods, now);
        let gone = leaving.iter().map(|it| it.gone).max()?;
        Some(gone.duration_since(now.0).as_secs())
    }

    #[test]
    fn the_last_pod_is_gone_after_its_grace_period() {
        for (pods, gone) in [
            (&[(0, 30)][..], 30),
            (&[(-5, 30), (300, 0)], 300),
            (&[(0, 600), (300, 30)], 600),
        ] {
            assert_eq!(gone_in(pods), Some(gone), "{pods:?}");
        }
        assert!(gone_in(&[(0, 0), (i64::MAX, i64::MAX)]).unwrap() > 1_000_000);
        assert_eq!(gone_in(&[]), None);
    }

    #[test]
    fn many_pods_wait_for_the_controllers_client() {
        // Eight pods are the burst; then six in a second.
        for (number, seconds) in [(8, 10), (40, 15), (200, 42)] {
            assert_eq!(gone_in(&vec![(0, 10); number]), Some(seconds), "{number}");
        }
        let many = report(&vec![(0, 10); 200]);
        assert_eq!(Timeline::of(&many).unwrap().delayed_until(), Some(32));
        // A pause lets the burst come back.
        let mut pods = vec![(0, 0); 100];
        pods.extend(vec![(100, 0); 8]);
        assert_eq!(gone_in(&pods), Some(100));
    }
}
