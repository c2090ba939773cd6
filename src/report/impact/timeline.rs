//! Timeline of evictions: due times, the last pod, and devices free again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use super::release_time::{Departure, DeviceReleases, departures, is_stuck, returns};
use super::view::{ImpactReport, Pod, Selector};
use crate::assess::Totals;
use crate::naming::age::human_duration;
use crate::naming::phrase::{counted, few};
use crate::report::table::{Chart, Column, Moment, Table};
use crate::report::time::Time;

/// More moments than these are told in spans of equal length.
const MOMENTS: usize = 8;

/// What is told of a picture that may not be all.
const PARTIAL: &str = "The report is incomplete: events may be missing.";

/// Seconds from which on a delay by the controller's rate is worth telling.
const DELAY: i64 = 5;

/// So many columns has the longest bar.
const LONGEST: usize = 30;

/// When each pod is evicted and when the last one is gone.
pub(super) struct Timeline {
    /// How many pods are evicted, and how many devices are free again, by seconds from now.
    moments: BTreeMap<i64, TimelineEntry>,
    /// When the last pod is evicted, where the controller's rate delays it; zero where it does not.
    delayed_until: SignedDuration,
    /// When the last pod is gone if every one takes the whole of its grace period.
    gone_in: SignedDuration,
    /// Whether replacements of some of them may be evicted again.
    returns: bool,
    /// Pods that cannot end as things are.
    stuck: usize,
    /// The nodes of those pods, by name.
    stuck_on: Vec<String>,
    /// What has to be running so that pods can end, where it is not known whether it is.
    unknown_ends: Option<&'static str>,
    /// Whether there may be more pods than are known.
    is_whole: bool,
    /// What becomes of the devices.
    releases: DeviceReleases,
    /// Whether all selected devices are known.
    knows_devices: bool,
    /// Whether all devices were read, so that it is known which others are the same hardware.
    knows_hardware: bool,
}

/// How much happens at one moment, or in one span.
#[derive(Clone, Copy, Debug, Default)]
struct TimelineEntry {
    pods: usize,
    devices: usize,
}

impl TimelineEntry {
    fn add(&mut self, pods: usize, devices: usize) {
        self.pods = self.pods.saturating_add(pods);
        self.devices = self.devices.saturating_add(devices);
    }
}

/// The nodes on which pods cannot end as things are, each once.
fn nodes_of_stuck(leaving: &[Departure<'_>]) -> Vec<String> {
    let stuck = leaving.iter().filter(|departure| is_stuck(departure.pod));
    let nodes: BTreeSet<&String> = stuck
        .filter_map(|departure| departure.pod.node.as_ref())
        .collect();
    nodes.into_iter().cloned().collect()
}

/// Whether all selected devices are known: one that is named whole is, whatever could not be read.
fn knows_devices(report: &ImpactReport) -> bool {
    let is_one_device = |selector: &Selector| {
        selector.driver.is_some() && selector.pool.is_some() && selector.device.is_some()
    };
    let mut taints = report.proposed_taints.iter();
    report.assessment.totals.devices.exact().is_some()
        || taints.all(|taint| taint.selector.as_ref().is_some_and(is_one_device))
}

/// What has to be running so that the pods can end, where that could not be read.
fn unknown_ends(totals: &Totals) -> Option<&'static str> {
    let nodes = totals.pods_on_lost_nodes.exact().is_some();
    let drivers = totals.pods_without_driver.exact().is_some();
    match (nodes, drivers) {
        (true, true) => None,
        (false, true) => Some("the nodes of these pods"),
        (true, false) => Some("the drivers of these devices"),
        (false, false) => Some("the nodes and drivers of these pods"),
    }
}

impl Timeline {
    /// That of the pods that would be evicted; `None` where there is none.
    pub(super) fn of(report: &ImpactReport) -> Option<Self> {
        let now = report.metadata.observed();
        let leaving = departures(&report.affected_pods, now);
        let gone = leaving.iter().map(|departure| departure.gone).max()?;
        let evicted = leaving.iter().map(|departure| departure.evicted).max()?;
        let evicted_in = evicted.duration_since(now.0);
        let due = leaving.iter().map(|departure| due(departure.pod)).max()?;
        let releases = DeviceReleases::of(&report.selected_devices, now);
        let evicted = leaving
            .iter()
            .map(|departure| (seconds(departure, now), 1, 0));
        let freeing = releases.later.iter().map(|seconds| (*seconds, 0, 1));
        Some(Self {
            knows_devices: knows_devices(report),
            knows_hardware: report.assessment.totals.devices.exact().is_some(),
            returns: leaving.iter().any(|it| returns(it.pod).is_some()),
            stuck: leaving.iter().filter(|it| is_stuck(it.pod)).count(),
            stuck_on: nodes_of_stuck(&leaving),
            unknown_ends: unknown_ends(&report.assessment.totals),
            delayed_until: if evicted_in.as_secs().saturating_sub(due) >= DELAY {
                evicted_in
            } else {
                SignedDuration::ZERO
            },
            is_whole: report.assessment.totals.pods.exact().is_some(),
            moments: moments(&evicted.chain(freeing).collect::<Vec<_>>()),
            gone_in: gone.duration_since(now.0),
            releases,
        })
    }

    /// That pods cannot end as things are, in a sentence; absent if all can.
    pub(super) fn stuck_line(&self) -> Option<String> {
        (self.stuck > 0).then(|| {
            format!(
                "Completion time unknown, because {} cannot terminate until these nodes and their drivers are running again: {}.",
                counted(self.stuck, "pod"),
                few(&self.stuck_on)
            )
        })
    }

    /// When the last pod is gone, in a sentence; nothing where that is not known for want of pods.
    pub(super) fn sentence(&self) -> Option<String> {
        // A pod that cannot end has no time, so that there is none for the last of all.
        if let Some(line) = self.stuck_line() {
            return Some(line);
        }
        let gone = human_duration(self.gone_in);
        // "All 3 devices" would be wrong where a fourth one could not be read.
        let releases = match (self.knows_devices, self.knows_hardware) {
            (true, true) => self.releases.by_then(),
            (true, false) => {
                "; unknown whether the same hardware is in use through other devices".to_owned()
            }
            (false, _) => "; not all selected devices are known".to_owned(),
        };
        // An end that may not come is no end.
        let the = self.unknown_ends.map_or_else(
            || "The".to_owned(),
            |running| format!("If {running} are running, which is unknown, the"),
        );
        let last = if self.delayed_until.is_zero() {
            format!("{the} last evicted pod is")
        } else {
            let delayed = human_duration(self.delayed_until);
            format!("{the} last pod is evicted after about {delayed} (controller rate limit) and")
        };
        let others = if self.returns {
            "; replacements may be evicted again"
        } else {
            ""
        };
        self.is_whole.then(|| {
            format!("{last} gone after about {gone} (at full grace period{others}){releases}.")
        })
    }

    /// The evictions as a picture, from now until the last pod is gone, and what becomes free by them.
    pub(super) fn pictures(&self) -> Vec<Chart> {
        let is_known = self.is_whole && self.stuck == 0 && self.unknown_ends.is_none();
        let gone = when(self.gone_in.as_secs());
        let note = if self.is_whole { "" } else { PARTIAL };
        let evictions = Chart {
            note: note.to_owned(),
            moments: self.bars("pod", |entry| entry.pods),
            end: is_known.then(|| {
                let seconds = self.gone_in.as_secs().unsigned_abs();
                (seconds, format!("{gone}: the last pod is gone"))
            }),
        };
        let devices = Chart {
            note: "Devices that become free, if pods use their full grace periods:".to_owned(),
            moments: self.bars("device", |entry| entry.devices),
            end: None,
        };
        let charts = [evictions, devices].into_iter();
        charts.filter(|chart| !chart.moments.is_empty()).collect()
    }

    /// The moments as the FROM column names them. From ten minutes on, times are shown in whole minutes: moments of
    /// the same minute are one row, since their rows would have the same time.
    fn rows(&self) -> Vec<(String, TimelineEntry)> {
        let mut rows: Vec<(String, TimelineEntry)> = Vec::new();
        for (seconds, entry) in &self.moments {
            let time = when(*seconds);
            // Seconds that read alike, such as 150 and 151 minutes as `2h`, are one row.
            match rows.last_mut() {
                Some((known, sum)) if *known == time => sum.add(entry.pods, entry.devices),
                _ => rows.push((time, *entry)),
            }
        }
        rows
    }

    fn bars(&self, noun: &str, number: impl Fn(&TimelineEntry) -> usize) -> Vec<Moment> {
        let moments = self
            .moments
            .iter()
            .map(|(seconds, entry)| (*seconds, number(entry)))
            .filter(|(_, number)| *number > 0);
        alike(moments)
            .into_iter()
            .map(|(seconds, number)| moment(seconds, number, noun))
            .collect()
    }

    /// The evictions as a chart, with the devices that are free again; `None` where all are at once.
    pub(super) fn chart(&self) -> Option<Table> {
        let rows = self.rows();
        let moments = || rows.iter().map(|(_, entry)| entry);
        let most = moments().map(|entry| entry.pods).max()?;
        let times =
            |number: fn(&TimelineEntry) -> usize| moments().map(number).filter(|it| *it > 0);
        let frees = times(|entry| entry.devices).count();
        // A single bar compares nothing, and the sentence has said when it is.
        if times(|entry| entry.pods).count() < 2 && frees < 2 {
            return None;
        }
        let cell = |number: usize, noun| match number {
            0 => String::new(),
            some => counted(some, noun),
        };
        let row = |(time, entry): &(String, TimelineEntry)| {
            let length = entry.pods.saturating_mul(LONGEST);
            // Rounded up, so that one pod beside hundreds has a bar, too.
            let bar = "█".repeat(length.div_ceil(most.max(1)));
            let mut cells = vec![time.clone(), cell(entry.pods, "pod"), bar];
            if frees > 0 {
                cells.push(cell(entry.devices, "device"));
            }
            cells
        };
        let mut columns = vec![
            Column::text("FROM"),
            Column::number("EVICTED"),
            Column::text("CHART"),
        ];
        if frees > 0 {
            columns.push(Column::text("FREE-AGAIN"));
        }
        Some(Table {
            columns,
            rows: rows.iter().map(row).collect(),
        })
    }
}

/// Seconds until its tolerations end; zero is at once.
fn due(pod: &Pod) -> i64 {
    pod.evict_in_seconds.unwrap_or_default().max(0)
}

/// Seconds until it is evicted; zero is at once. A delay that is not worth telling is none.
fn seconds(departure: &Departure<'_>, now: Time) -> i64 {
    let evicted = departure.evicted.duration_since(now.0).as_secs();
    let due = due(departure.pod);
    // A delay of less than the estimate is worth would make a row of every pod.
    if evicted.saturating_sub(due) < DELAY {
        due
    } else {
        evicted
    }
}

/// What happens at each moment, or in spans of equal length where there are many moments.
fn moments(entries: &[(i64, usize, usize)]) -> BTreeMap<i64, TimelineEntry> {
    let moments = sums(entries.iter().copied());
    let Some((last, _)) = moments.last_key_value() else {
        return moments;
    };
    if moments.len() <= MOMENTS {
        return moments;
    }
    // Spans of equal length keep the shape of the evictions, which the busiest moments alone would not.
    let spans = i64::try_from(MOMENTS).unwrap_or(i64::MAX);
    // Rounded up, so that the last moment is within the last span.
    let span = last.checked_div(spans).unwrap_or(0).saturating_add(1);
    sums(entries.iter().map(|(seconds, pods, devices)| {
        let begins = seconds.checked_div(span).unwrap_or(0);
        (begins.saturating_mul(span), *pods, *devices)
    }))
}

fn sums(entries: impl Iterator<Item = (i64, usize, usize)>) -> BTreeMap<i64, TimelineEntry> {
    let mut moments: BTreeMap<i64, TimelineEntry> = BTreeMap::new();
    for (seconds, pods, devices) in entries {
        let sum = moments.entry(seconds).or_default();
        sum.add(pods, devices);
    }
    moments
}

/// So many of them at that moment.
fn moment(seconds: i64, number: usize, noun: &str) -> Moment {
    Moment {
        seconds: seconds.unsigned_abs(),
        when: when(seconds),
        number,
        what: counted(number, noun),
    }
}

/// The moment in words.
fn when(seconds: i64) -> String {
    match seconds {
        0 => "now".to_owned(),
        later => format!("+{}", human_duration(SignedDuration::from_secs(later))),
    }
}

/// The moments, which are in order, with those that have the same words as one: `+20m` is every second of a minute.
fn alike(moments: impl IntoIterator<Item = (i64, usize)>) -> Vec<(i64, usize)> {
    let mut alike: Vec<(i64, usize)> = Vec::new();
    for (seconds, number) in moments {
        match alike.last_mut() {
            Some((known, sum)) if when(*known) == when(seconds) => {
                *sum = sum.saturating_add(number);
            }
            _ => alike.push((seconds, number)),
        }
    }
    alike
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Hazard, Outcome};
    use crate::model::Count;
    use crate::report::testing::Example;

    #[test]
    fn devices_of_a_pool_are_not_all_known_where_slices_could_not_be_read() {
        let mut report = Example::new().report();
        assert!(knows_devices(&report));
        report.assessment.totals.devices = Count::at_least(1);
        assert!(knows_devices(&report), "it is named whole");
        let selector = report.proposed_taints[0].selector.as_mut().unwrap();
        selector.device = None;
        assert!(!knows_devices(&report));
    }

    /// A report of pods that are evicted in so many seconds and have so many to stop.
    fn timeline(pods: &[(i64, i64)]) -> Option<Timeline> {
        let mut report = Example::new().report();
        let evicted = report
            .affected_pods
            .iter()
            .find(|pod| pod.outcome.is_evicted());
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
        report.affected_pods = pods.iter().map(pod).collect();
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
        let pods = &mut report.assessment.totals.pods;
        *pods = pods.or_more();
        assert_eq!(sentence(&report), None);
        let picture = Timeline::of(&report).unwrap().pictures().remove(0);
        assert!(picture.end.is_none() && picture.note.contains("incomplete"));
        let mut returning = Example::new().report();
        let again = "; replacements may be evicted again";
        assert!(!sentence(&returning).unwrap().contains(again));
        let mut pods = returning.affected_pods.iter_mut();
        let evicted = pods.find(|pod| pod.outcome.is_evicted()).unwrap();
        evicted.hazards.push(Hazard::ToleratesScheduleOnly.into());
        assert!(sentence(&returning).unwrap().contains(again));
        let evicted = report
            .affected_pods
            .iter_mut()
            .find(|pod| pod.outcome.is_evicted());
        evicted.unwrap().hazards.push(Hazard::DriverDown.into());
        let told = sentence(&report).unwrap();
        assert!(
            report.summary_lines().contains(&told),
            "before a change, too"
        );
        assert!(
            told.contains("unknown, because 1 pod cannot terminate"),
            "{told}"
        );
        assert!(told.ends_with("running again: node-7."), "{told}");
        assert_eq!(Timeline::of(&report).unwrap().pictures()[0].end, None);
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
        let paced = timeline(&vec![(0, 10); 200]).unwrap();
        let told = paced.sentence().unwrap();
        let expected = "The last pod is evicted after about 32s (controller rate limit) and gone after about 42s (";
        assert!(told.starts_with(expected), "{told}");
        assert!(paced.moments.len() > 3 && paced.moments[&0].pods < 100);
        // Who waits between lets the burst come back.
        let mut pods = vec![(0, 0); 100];
        pods.extend(vec![(100, 0); 8]);
        assert_eq!(timeline(&pods).unwrap().gone_in.as_secs(), 100);
    }

    #[test]
    fn a_chart_shows_each_moment_or_spans_of_many() {
        assert!(timeline(&[(0, 1), (-3, 1)]).unwrap().chart().is_none());
        let timeline_of_three = timeline(&[(0, 1), (-3, 1), (90, 30)]).unwrap();
        let picture = timeline_of_three.pictures().remove(0);
        let moments = picture.moments.iter();
        let moments = moments.map(|it| (it.seconds, &*it.when, it.number, &*it.what));
        let expected = [(0, "now", 2, "2 pods"), (90, "+90s", 1, "1 pod")];
        assert_eq!(moments.collect::<Vec<_>>(), expected);
        let end = (120, "+2m: the last pod is gone".to_owned());
        assert_eq!((picture.note.as_str(), picture.end), ("", Some(end)));
        let chart = timeline(&[(0, 1), (0, 1), (0, 1), (90, 1)])
            .unwrap()
            .chart();
        let rows = chart.unwrap().rows;
        assert_eq!(rows[0], ["now", "3 pods", &"█".repeat(30)]);
        assert_eq!(rows[1], ["+90s", "1 pod", &"█".repeat(10)]);
        let chart = timeline(&[(0, 1), (1_200, 1), (1_230, 1)]).unwrap().chart();
        let rows = chart.unwrap().rows;
        assert_eq!(rows[1], ["+20m", "2 pods", &"█".repeat(30)]);
        assert_eq!(rows.len(), 2, "a time is shown once");
        let many: Vec<(i64, i64)> = (0..100).map(|seconds| (seconds * 10, 1)).collect();
        let chart = timeline(&many).unwrap().chart().unwrap();
        assert_eq!(chart.rows.len(), MOMENTS);
        let moments = timeline(&many).unwrap().moments;
        let all: usize = moments.values().map(|entry| entry.pods).sum();
        assert_eq!(all, 100);
    }
}
