//! Progress of a drain, as a view for a terminal and as one line.
//!
//! The view has at most 20 lines of at most 78 characters, whatever there is to say, so that it fits a terminal of
//! 80×24: the units with their stages, and of the current one the pods that are left, each with its
//! reason, and the workloads that are not ready.
//!
//! Function of facts and time: no I/O, no clock. What differs only by the time is the same state.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::ending::DrainEnd;
use super::facts::{EvictionObstacle, UnitFacts, UnitPod};
use super::pod_class::Treatment;
use super::restart_run::Departure;
use super::stage::UnitStage;
use super::unit_run::UnitRun;
use super::unit_step::UnitEnd;
use crate::model::Uid;
use crate::naming::age::human_duration;
use crate::naming::phrase::counted;

/// Characters of a line at most: the sign of progress takes two columns of 80.
const COLUMNS: usize = 78;
/// Lines for units, pods and workloads at most, with their headings. With the heading of the view they are 20: the rest of a
/// terminal is for messages.
const UNIT_LINES: usize = 5;
const POD_LINES: usize = 8;
const WORKLOAD_LINES: usize = 6;
/// Lines of a view at most.
const MOST_LINES: usize = 20;
/// Lines of one reason at most: a server's message names the budget at its end.
const REASON_LINES: usize = 3;
/// Reasons of each kind in the line.
const NAMED: usize = 3;

/// A unit with its stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedUnit {
    /// What it is called.
    pub name: String,
    /// Its stage.
    pub stage: UnitStage,
}

/// Facts about a drain at one time, of which the progress is shown.
#[derive(Clone, Copy, Debug)]
pub struct DrainView<'a> {
    /// Name of the drain.
    pub drain: &'a str,
    /// The units of this run, in their order.
    pub units: &'a [StagedUnit],
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
    /// The view for a terminal.
    pub lines: Vec<String>,
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

/// The units of a run, of which `end` tells how far it is, in the `order` in which they begin: whatever becomes of the
/// others, a unit keeps its place.
#[must_use]
pub fn staged_units(order: &[String], end: &DrainEnd) -> Vec<StagedUnit> {
    let unit = |name: &str, stage| StagedUnit {
        name: name.to_owned(),
        stage,
    };
    let over = end.units.iter().map(|(name, over)| {
        // It may have been reversed since.
        let stage = match end.skipped.contains_key(name) {
            true => UnitStage::Reversed,
            false => stage(over),
        };
        unit(name, stage)
    });
    let waiting = end
        .waiting
        .iter()
        .map(|name| unit(name, UnitStage::Waiting));
    let running = end
        .running
        .iter()
        .map(|name| unit(name, UnitStage::Draining));
    let mut units: Vec<StagedUnit> = over.chain(running).chain(waiting).collect();
    // In the order of the plan, so that a unit keeps its number when it ends.
    units.sort_by_key(|unit| order.iter().position(|name| *name == unit.name));
    units
}

fn stage(end: &UnitEnd) -> UnitStage {
    match end {
        UnitEnd::Idle(_) => UnitStage::Idle,
        UnitEnd::Held(_) => UnitStage::Held,
        UnitEnd::Blocked(_) => UnitStage::Blocked,
        UnitEnd::Reversed(_) => UnitStage::Reversed,
        // Another run goes on with it.
        UnitEnd::TakenOver(_) => UnitStage::Draining,
    }
}

/// The progress of units that are drained at the same time, as one: each has its share of the lines.
#[must_use]
pub fn combined(parts: &[&DrainProgress]) -> DrainProgress {
    let all = |text: fn(&DrainProgress) -> &String| {
        let texts: Vec<&str> = parts.iter().map(|part| text(part).as_str()).collect();
        texts.join("; ")
    };
    // An equal share for each unit, so that the first does not hide the others.
    let share = MOST_LINES.checked_div(parts.len()).unwrap_or(MOST_LINES);
    let lines = parts
        .iter()
        .flat_map(|part| part.lines.iter().take(share.max(1)));
    DrainProgress {
        state: all(|part| &part.state),
        line: all(|part| &part.line),
        lines: lines.take(MOST_LINES).cloned().collect(),
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
        let heading = shortened(&format!("{heading}, {}", self.time_left()), COLUMNS);
        let lines = [heading].into_iter().chain(self.unit_lines(place));
        let left = section(&self.left_heading(), &left, POD_LINES);
        let broken = section("workloads that are not ready", &broken, WORKLOAD_LINES);
        DrainProgress {
            state: sentence(&state),
            line: sentence(&line),
            lines: lines.chain(left).chain(broken).collect(),
        }
    }

    /// The place of the current unit among the units.
    fn place(&self) -> usize {
        let mut units = self.units.iter();
        let place = units.position(|unit| unit.name == self.current);
        place.unwrap_or_default()
    }

    /// The current unit with its neighbours; the others by their stages.
    fn unit_lines(&self, place: usize) -> Vec<String> {
        let line = |unit: &StagedUnit| {
            let stage = unit.stage.as_str();
            // The stage is at the end, and the name may be as long as a path.
            let room = COLUMNS.saturating_sub(stage.len().saturating_add(4));
            format!("  {}  {stage}", shortened(&unit.name, room))
        };
        let Some(more) = self
            .units
            .len()
            .checked_sub(UNIT_LINES)
            .filter(|it| *it > 0)
        else {
            return self.units.iter().map(line).collect();
        };
        let shown = UNIT_LINES.saturating_sub(1);
        let more = more.saturating_add(1);
        // The unit before it is shown, too: it has begun before.
        let first = place.saturating_sub(1).min(more);
        let (before, rest) = self.units.split_at(first);
        let (near, after) = rest.split_at(shown.min(rest.len()));
        let stages = counted_stages(before.iter().chain(after));
        let last = shortened(&format!("  … and {more} more: {stages}"), COLUMNS);
        near.iter().map(line).chain([last]).collect()
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
            Treatment::NeedsConsent(flag) => Some(format!("evicted only with {flag}")),
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
            Departure::Restart(owner) => match self.run.restart_refusal(owner) {
                Some(message) => format!("its owner cannot be restarted: {message}"),
                None => "its owner was not restarted yet".to_owned(),
            },
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
            Some(EvictionObstacle::Workload(uid)) if self.run.is_broken(self.facts, uid) => {
                format!(
                    "not evicted yet, waits until {} is ready",
                    self.workload(uid)
                )
            }
            Some(EvictionObstacle::Workload(uid)) => format!(
                "not evicted yet: pods of {} are still evicted from another device, node or pool of the drain",
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

/// How many units have which stage.
fn counted_stages<'a>(units: impl Iterator<Item = &'a StagedUnit>) -> String {
    let stages: Vec<UnitStage> = units.map(|unit| unit.stage).collect();
    let all = [
        UnitStage::Idle,
        UnitStage::Held,
        UnitStage::Reversed,
        UnitStage::Blocked,
        UnitStage::Draining,
        UnitStage::Waiting,
    ];
    let counts = all.into_iter().filter_map(|stage| {
        let count = stages.iter().filter(|one| **one == stage).count();
        (count > 0).then(|| format!("{count} {}", stage.as_str()))
    });
    counts.collect::<Vec<_>>().join(", ")
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

/// The reasons below a heading, in at most `limit` lines; nothing where there are none.
fn section(heading: &str, reasons: &[Reason], limit: usize) -> Vec<String> {
    if reasons.is_empty() {
        return Vec::new();
    }
    let blocks: Vec<Vec<String>> = reasons
        .iter()
        .map(|reason| wrapped(&reason.with_time()))
        .collect();
    let heading = shortened(&format!("{heading}:"), COLUMNS);
    let room = limit.saturating_sub(1);
    let height = |blocks: &[Vec<String>]| blocks.iter().map(Vec::len).sum::<usize>();
    // All of it, if it fits: a line that counts a single hidden one would take its place.
    if height(&blocks) <= room {
        return [heading].into_iter().chain(blocks.concat()).collect();
    }
    // One line says how many are left out.
    let fits = |count: &usize| height(&blocks[..*count]) < room;
    let shown = (0..blocks.len()).take_while(fits).last();
    let (shown, hidden) = blocks.split_at(shown.unwrap_or_default());
    let more = format!("  … and {} more", hidden.len());
    [heading]
        .into_iter()
        .chain(shown.concat())
        .chain([more])
        .collect()
}

/// The text in lines that are broken between words; the end of a text that is too long is left out.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = "  ".to_owned();
    for word in text.split(' ') {
        let is_empty = line.trim_start().is_empty();
        let length = line.chars().count().saturating_add(word.chars().count());
        if !is_empty && length >= COLUMNS && lines.len().saturating_add(1) < REASON_LINES {
            lines.push(line);
            line = format!("      {word}");
        } else if is_empty {
            line.push_str(word);
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.push(line);
    lines.iter().map(|line| shortened(line, COLUMNS)).collect()
}

/// The text in at most so many characters; what is left out is shown as `…`.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let start = text.chars().take(most.saturating_sub(1));
    start.chain(['…']).collect()
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

    fn progress(units: &[StagedUnit], current: &str, pods: usize) -> DrainProgress {
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
    fn a_unit_keeps_its_number_whatever_becomes_of_the_others() {
        let order: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        let ended = |units: &[&str], running: &[&str], waiting: &[&str]| {
            let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
            let units = units.iter();
            DrainEnd {
                units: units
                    .map(|&it| (it.to_owned(), UnitEnd::Idle(Vec::new())))
                    .collect(),
                running: names(running),
                waiting: names(waiting),
                ..DrainEnd::default()
            }
        };
        for (end, current, place) in [
            (ended(&[], &["a", "b"], &["c"]), "a", "unit 1 of 3 (a)"),
            (ended(&[], &["a", "b"], &["c"]), "b", "unit 2 of 3 (b)"),
            // The second was faster, and the first is still the first.
            (ended(&["b"], &["a", "c"], &[]), "a", "unit 1 of 3 (a)"),
            (ended(&["b"], &["a", "c"], &[]), "c", "unit 3 of 3 (c)"),
            (ended(&["b", "c"], &["a"], &[]), "a", "unit 1 of 3 (a)"),
        ] {
            let units = staged_units(&order, &end);
            let line = progress(&units, current, 1).line;
            assert!(line.contains(place), "{place}: {line}");
        }
    }

    #[test]
    fn what_keeps_a_terminating_pod_or_a_unit_without_pods_is_named_and_time_alone_is_no_news() {
        let units = [StagedUnit {
            name: "a".to_owned(),
            stage: UnitStage::Draining,
        }];
        let shown = |facts: &UnitFacts| {
            let view = DrainView {
                drain: "fw",
                units: &units,
                current: "a",
                run: &UnitRun::new(limits()),
                facts,
                elapsed: Duration::from_secs(10),
            };
            let DrainProgress { state, line, .. } = view.progress();
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
    fn the_view_fits_a_small_terminal_whatever_there_is_to_say() {
        let unit = |number: usize| StagedUnit {
            name: format!(
                "gpu.example.com/pool-with-a-long-name-{number}/{}",
                "x".repeat(80)
            ),
            stage: UnitStage::Waiting,
        };
        for (units, pods) in [(1, 0), (1, 40), (40, 1), (40, 40)] {
            let units: Vec<StagedUnit> = (0..units).map(unit).collect();
            let name = units[0].name.clone();
            let one = progress(&units, &name, pods);
            let both = combined(&[&one, &one]);
            for lines in [&one.lines, &both.lines] {
                assert!(lines.len() <= MOST_LINES, "{lines:#?}");
                let is_short = |line: &String| line.chars().count() <= COLUMNS;
                assert!(lines.iter().all(is_short), "{lines:#?}");
            }
        }
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let units = [StagedUnit {
            name: "node-1".to_owned(),
            stage: UnitStage::Draining,
        }];
        let shown = progress(&units, "node-1", 40);
        let hidden = shown.lines.iter().find(|line| line.contains("more"));
        assert!(hidden.is_some(), "{:#?}", shown.lines);
        assert!(shown.line.contains("40 pods left"), "{}", shown.line);
        assert!(shown.state.contains("… and 37 more"), "{}", shown.state);
    }
}
