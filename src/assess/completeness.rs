//! Gaps of an answer, and the numbers that they make uncertain.
//!
//! Takes the gaps of a reading and of the engine's answer. A gap makes only those numbers uncertain that are
//! counted from what is missing: without the pods it is still known which devices a taint selects, and
//! without the slices still which pods it evicts.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::availability::Availabilities;
use crate::engine::Semantics;
use crate::model::{Affects, Count, Counted, Gap, Kind, Reading};
use crate::naming::phrase::each_once;

/// Something that reports count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CountSubject {
    /// Selected devices in slices.
    Published,
    /// Selected devices in claims, and the claims that hold them.
    Allocated,
    /// Selected devices, in slices or in claims.
    Selected,
    /// The pods that use selected devices, and which of them the proposed taints evict.
    Pods,
    /// The budgets that their loss would overdraw.
    Budgets,
    /// The workloads that they belong to, and which of these have none left.
    Workloads,
    /// Devices that could replace lost ones.
    Replacements,
    /// When the evicted ones leave: other taints may drive them off earlier.
    Times,
    /// Published devices, and their nodes.
    Inventory,
    /// Claims that hold a device, and the pods that claims name as users.
    Holders,
    /// Taints of a device.
    Taints,
    /// The state of the nodes on which pods run, from which pods on nodes that are not ready are counted.
    Nodes,
}

/// Gaps of an answer, and their effect on its numbers.
#[derive(Clone, Debug)]
pub struct ReportCompleteness<'a> {
    gaps: Vec<&'a Gap>,
}

impl<'a> ReportCompleteness<'a> {
    /// Collects these gaps. Those that do not concern the question are left out, and equal ones count once.
    pub fn new(gaps: impl IntoIterator<Item = &'a Gap>) -> Self {
        let mut kept: Vec<&'a Gap> = Vec::new();
        for gap in gaps {
            if gap.affects != Affects::Nothing && !kept.contains(&gap) {
                kept.push(gap);
            }
        }
        Self { gaps: kept }
    }

    /// The gaps, in the order in which they were met.
    pub fn gaps(&self) -> impl Iterator<Item = &'a Gap> + '_ {
        self.gaps.iter().copied()
    }

    /// Count of `subject`, of which `number` were found.
    pub fn count(&self, subject: CountSubject, number: usize) -> Count {
        if self.is_complete(subject) {
            return Count::known(number);
        }
        // Missing data can only add to the count.
        Count::at_least(number)
    }

    /// True if nothing that `subject` is counted from is missing.
    pub fn is_complete(&self, subject: CountSubject) -> bool {
        !self.gaps.iter().any(|gap| concerns(gap, subject))
    }

    /// The names of what is missing for any of `subjects`, such as `resourceclaims, pods`; empty when
    /// nothing is.
    pub fn missing(&self, subjects: &[CountSubject]) -> String {
        let concerned = |gap: &&&Gap| subjects.iter().any(|subject| concerns(gap, *subject));
        let missing = self.gaps.iter().filter(concerned);
        each_once(missing.map(|gap| gap.what.clone())).join(", ")
    }
}

/// True if `subject` is counted from the kind that `gap` says is missing.
fn concerns(gap: &Gap, subject: CountSubject) -> bool {
    let is = |subjects: &[CountSubject]| subjects.contains(&subject);
    if gap.what == Gap::REPLACEMENTS {
        return subject == CountSubject::Replacements;
    }
    match gap.kind().map(Kind::counted) {
        // Answers can do without it: nothing is counted from it.
        None | Some(Counted::Nothing) => false,
        // Evicted pods are known from allocation results.
        Some(Counted::Slices) => is(&[
            CountSubject::Published,
            CountSubject::Selected,
            CountSubject::Times,
            CountSubject::Budgets,
            CountSubject::Replacements,
            CountSubject::Inventory,
            CountSubject::Taints,
        ]),
        Some(Counted::Claims) => !is(&[
            CountSubject::Published,
            CountSubject::Inventory,
            CountSubject::Taints,
        ]),
        // Other rules may evict pods earlier and taint devices that would be free; the pods that these taints
        // evict stay the same.
        Some(Counted::Rules) => is(&[
            CountSubject::Times,
            CountSubject::Budgets,
            CountSubject::Replacements,
            CountSubject::Taints,
        ]),
        Some(Counted::Pods) => is(&[
            CountSubject::Pods,
            CountSubject::Budgets,
            CountSubject::Workloads,
        ]),
        Some(Counted::Budgets) => subject == CountSubject::Budgets,
        Some(Counted::Workloads) => subject == CountSubject::Workloads,
        Some(Counted::Nodes) => subject == CountSubject::Nodes,
    }
}

/// Basis of answers about devices, claims and rules. Pods need not have been read, so it has no verdicts on
/// them: [`Basis`] has.
#[derive(Clone, Copy, Debug)]
pub struct DeviceBasis<'a> {
    /// The snapshot and where it is from.
    pub reading: &'a Reading,
    /// The Kubernetes behaviour that was applied.
    pub semantics: &'a Semantics,
    /// The instant for which the question was answered.
    pub now: Timestamp,
}

/// Basis of answers about pods: the pods of the devices in question were read.
#[derive(Clone, Copy, Debug)]
pub struct Basis<'a>(DeviceBasis<'a>);

impl DeviceBasis<'_> {
    /// True if all claims are known: without them it is unknown which devices are in use.
    pub fn knows_usage(&self) -> bool {
        ReportCompleteness::new(&self.reading.gaps).is_complete(CountSubject::Allocated)
    }
}

impl DeviceBasis<'_> {
    /// Reports whether all claims and taints are known, so that a device can be known to be free.
    pub fn knows_free_devices(&self) -> bool {
        let availabilities = Availabilities::new(self.reading);
        let completeness = availabilities.completeness();
        [CountSubject::Holders, CountSubject::Taints]
            .into_iter()
            .all(|subject| completeness.is_complete(subject))
    }
}

impl<'a> Basis<'a> {
    /// The basis of answers for the instant `now`; `reading` has the pods of the devices in question.
    pub fn new(reading: &'a Reading, semantics: &'a Semantics, now: Timestamp) -> Self {
        Self(DeviceBasis {
            reading,
            semantics,
            now,
        })
    }
}

impl<'a> Deref for Basis<'a> {
    type Target = DeviceBasis<'a>;

    fn deref(&self) -> &DeviceBasis<'a> {
        &self.0
    }
}

/// A count; in documents, null if it is not exactly known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Number(pub Count);

impl From<Count> for Number {
    fn from(count: Count) -> Self {
        Self(count)
    }
}

impl Deref for Number {
    type Target = Count;

    fn deref(&self) -> &Count {
        &self.0
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.exact().serialize(serializer)
    }
}

impl JsonSchema for Number {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<usize>::json_schema(generator)
    }
}

/// Serializes a value as its text.
pub(super) fn as_text<S: Serializer>(
    value: &impl fmt::Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// A point in time; RFC 3339 in UTC wherever it is shown, to the second as in the Kubernetes API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Timestamp);

impl Time {
    /// The time without a part of a second.
    pub fn to_the_second(self) -> Timestamp {
        // Every number of seconds that a time has is one that a time can have.
        Timestamp::from_second(self.0.as_second()).unwrap_or(self.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_the_second().fmt(formatter)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(de::Error::custom)
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A point in time: RFC 3339, UTC, to the second.",
            "type": "string",
            "format": "date-time",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(what: &str, affects: Affects) -> Gap {
        Gap {
            what: what.to_owned(),
            why: "denied".to_owned(),
            affects,
        }
    }

    fn missing(kind: Kind) -> Gap {
        gap(kind.plural(), kind.affects())
    }

    fn counts(gaps: &[Gap]) -> [String; 5] {
        let completeness = ReportCompleteness::new(gaps);
        [
            CountSubject::Published,
            CountSubject::Allocated,
            CountSubject::Selected,
            CountSubject::Pods,
            CountSubject::Times,
        ]
        .map(|subject| completeness.count(subject, 2).to_string())
    }

    #[test]
    fn a_number_is_uncertain_only_where_what_it_is_counted_from_is_missing() {
        let one = |kind| vec![missing(kind)];
        let other = vec![gap("nodes", Affects::Details), gap("x", Affects::Nothing)];
        for (gaps, shown) in [
            (vec![], "2 2 2 2 2"),
            (one(Kind::ResourceSlice), "2+ 2 2+ 2 2+"),
            (one(Kind::ResourceClaim), "2 2+ 2+ 2+ 2+"),
            (one(Kind::DeviceTaintRule), "2 2 2 2 2+"),
            (one(Kind::Pod), "2 2 2 2+ 2"),
            (other, "2 2 2 2 2"),
        ] {
            assert_eq!(counts(&gaps).join(" "), shown, "{gaps:?}");
        }
    }

    #[test]
    fn what_concerns_nothing_is_no_gap_of_the_answer_and_what_occurs_twice_is_one() {
        let gaps = [
            gap("x", Affects::Nothing),
            missing(Kind::Pod),
            missing(Kind::Pod),
        ];
        let completeness = ReportCompleteness::new(&gaps);
        assert_eq!(completeness.gaps().count(), 1);
        assert_eq!(completeness.missing(&[CountSubject::Pods]), "pods");
        assert!(completeness.is_complete(CountSubject::Selected));
    }

    #[test]
    fn a_kind_from_which_nothing_is_counted_leaves_no_number_open() {
        let counts_nothing = |kind: &Kind| kind.counted() == Counted::Nothing;
        let mut kinds = Kind::ALL.into_iter().filter(counts_nothing).peekable();
        assert!(kinds.peek().is_some());
        for kind in kinds {
            let gap = gap(kind.plural(), Affects::Details);
            let completeness = ReportCompleteness::new([&gap]);
            for subject in [
                CountSubject::Selected,
                CountSubject::Pods,
                CountSubject::Budgets,
                CountSubject::Replacements,
            ] {
                assert!(completeness.is_complete(subject), "{kind:?} {subject:?}");
            }
        }
    }

    #[test]
    fn times_are_rfc_3339_both_ways() {
        let time = Time("2026-11-21T02:00:34+01:00".parse().unwrap());
        let json = serde_json::to_string(&time).unwrap();
        assert_eq!(json, r#""2026-11-21T01:00:34Z""#);
        assert_eq!(serde_json::from_str::<Time>(&json).unwrap(), time);
        assert!(serde_json::from_str::<Time>(r#""yesterday""#).is_err());
        let within = Time("2026-11-21T01:00:34.987Z".parse().unwrap());
        assert_eq!(serde_json::to_string(&within).unwrap(), json);
    }

    #[test]
    fn a_number_that_is_not_known_is_null() {
        let numbers = [Count::known(3), Count::at_least(3), Count::between(0, 1)].map(Number);
        assert_eq!(serde_json::to_string(&numbers).unwrap(), "[3,null,null]");
    }
}
