//! Evaluation of guards.

use schemars::JsonSchema;
use serde::Serialize;

use super::expression::{Guard, Quantity, Signal, Whole};
use crate::assess::completeness::{CountSubject, Number, ReportCompleteness};
use crate::assess::totals::{Tally, Totals};
use crate::model::Count;

/// Bases of percentages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wholes {
    /// The pods that use devices of the same drivers as the selected ones.
    pub pods: usize,
    /// The devices of the same drivers as the selected ones.
    pub devices: usize,
}

/// Limits of the impact.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    /// The guards, in the order in which they were given.
    pub guards: &'a [Guard],
    /// Bases of their percentages.
    pub wholes: Wholes,
}

/// Measured impact that guards compare.
pub(in crate::assess) struct Measured<'m> {
    pub(in crate::assess) tally: &'m Tally<'m, 'm>,
    pub(in crate::assess) totals: &'m Totals,
    pub(in crate::assess) wholes: &'m Wholes,
}

impl Measured<'_> {
    /// Count of the signal.
    fn value(&self, signal: Signal) -> Count {
        signal.count(self.tally, self.totals)
    }

    /// Base of its percentages, as far as that is known.
    fn whole(&self, signal: Signal, of: Whole) -> Count {
        let completeness = self.tally.completeness;
        // The row names first what the whole is counted from.
        let subject = signal
            .reads()
            .first()
            .copied()
            .unwrap_or(CountSubject::Pods);
        match of {
            Whole::Pods => completeness.count(subject, self.wholes.pods),
            Whole::Devices => completeness.count(subject, self.wholes.devices),
            Whole::Class => self.totals.class_device_count.0,
        }
    }
}

impl Guard {
    /// Compares the guard with the counts.
    ///
    /// It trips when the comparison holds, and also when it may hold: an unknown number is no reason to go
    /// on. Its bounds may settle the comparison all the same.
    pub(in crate::assess) fn evaluate(&self, measured: &Measured<'_>) -> GuardOutcome {
        let whole = match self.quantity {
            Quantity::Number(_) => None,
            Quantity::Percent { of, .. } => Some(measured.whole(self.signal, of)),
        };
        let value = measured.value(self.signal);
        let answer = match self.quantity {
            Quantity::Number(limit) => self.operator.holds(value, Count::known(limit)),
            // Both sides times one hundred, so that nothing is rounded.
            Quantity::Percent { percent, .. } => {
                let limit = whole.unwrap_or_default().times(percent);
                self.operator.holds(value.times(100), limit)
            }
        };
        // A bound may settle the comparison, and is then reported as one.
        let known = value.exact().is_some() && whole.is_none_or(|whole| whole.exact().is_some());
        GuardOutcome {
            guard: self.clone(),
            value: value.into(),
            whole: whole.map(Number),
            tripped: answer != Some(false),
            missing: (!known).then(|| unknown_without(self.signal, measured.tally.completeness)),
        }
    }
}

/// Missing data without which the count of the signal is unknown.
fn unknown_without(signal: Signal, completeness: &ReportCompleteness<'_>) -> String {
    match completeness.missing(signal.reads()) {
        missing if missing.is_empty() => signal.unsaid().to_owned(),
        missing => missing,
    }
}

/// Result of a guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GuardResult")]
pub struct GuardOutcome {
    /// The guard.
    #[serde(flatten)]
    pub guard: Guard,
    /// Value of the left side of the guard, such as the number of evicted pods for `pods.evicted>20`; null if
    /// unknown.
    #[serde(rename = "count")]
    pub value: Number,
    /// The number that is 100% for a guard with a percentage, such as `pods.evicted>=50%`; null for other guards, or
    /// if unknown.
    #[serde(rename = "totalCount")]
    pub whole: Option<Number>,
    /// True if the guard tripped: the comparison is true, or may be true because data is unknown. If so, the
    /// command changes nothing.
    pub tripped: bool,
    /// The missing data because of which `count` or `totalCount` is unknown; absent if no data is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl GuardOutcome {
    /// Value, as far as that is known, with the base of a percentage.
    pub fn value_in_words(&self) -> String {
        let whole = self
            .whole
            .and_then(|whole| whole.exact())
            .map_or_else(String::new, |whole| format!(" of {whole}"));
        let known = format!("the value is {}{whole}", *self.value);
        match &self.missing {
            Some(missing) => format!("{known} (missing: {missing})"),
            None => known,
        }
    }

    /// The guard with why it tripped, where its value does not say so itself.
    pub fn reason(&self) -> String {
        let expression = &self.guard.expression;
        if self.missing.is_some() {
            format!("{expression}, {}", self.value_in_words())
        } else {
            expression.clone()
        }
    }
}

/// Comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
    Unequal,
}

impl Operator {
    // Longer spellings first: `>` is the beginning of `>=`.
    const SPELLINGS: [(&'static str, Self); 6] = [
        (">=", Self::AtLeast),
        ("<=", Self::AtMost),
        ("==", Self::Equal),
        ("!=", Self::Unequal),
        (">", Self::Above),
        ("<", Self::Below),
    ];

    /// The operator that the text begins with, and the rest.
    pub(super) fn strip(text: &str) -> Option<(Self, &str)> {
        Self::SPELLINGS
            .into_iter()
            .find_map(|(spelling, operator)| Some((operator, text.strip_prefix(spelling)?)))
    }

    /// True if the comparison holds for all values that the two may have, false if for none; absent otherwise.
    pub(super) fn holds(self, value: Count, limit: Count) -> Option<bool> {
        match self {
            Self::Above => value.is_above(limit),
            Self::AtLeast => limit.is_above(value).map(std::ops::Not::not),
            Self::Below => limit.is_above(value),
            Self::AtMost => value.is_above(limit).map(std::ops::Not::not),
            Self::Equal => value.equals(limit),
            Self::Unequal => value.equals(limit).map(std::ops::Not::not),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Basis, DisruptionFacts, Hazard, Severities};
    use crate::model::{DisruptionAction, FailurePolicy, Gap, Job, Kind, Workload};
    use crate::report::testing;
    use crate::report::testing::Example;

    /// Outcome of a guard for these totals, where all is known.
    fn outcome(guard: &str, totals: &Totals, wholes: &Wholes) -> GuardOutcome {
        let (example, semantics) = (Example::new(), testing::semantics(37));
        let impact = example.impact();
        let basis = Basis::new(&example.reading, &semantics, testing::now());
        let guard: Guard = guard.parse().unwrap();
        guard.evaluate(&Measured {
            tally: &Tally {
                impact: &impact,
                pods: &[],
                disruption_facts: &DisruptionFacts::of(&impact, &basis),
                completeness: &ReportCompleteness::new([]),
            },
            totals,
            wholes,
        })
    }

    fn of(number: usize) -> Number {
        Count::known(number).into()
    }

    fn tripped(guard: &str) -> bool {
        let totals = Totals {
            device_count: of(5),
            evicted_pod_count: of(2),
            evicted_now_pod_count: of(1),
            critical_pod_count: of(1),
            unmanaged_pod_count: of(2),
            workload_count: of(2),
            down_workload_count: of(1),
            severities: Severities {
                danger_pod_count: of(2),
                ..Severities::default()
            },
            namespace_count: of(1),
            ..Totals::default()
        };
        let wholes = Wholes {
            pods: 20,
            devices: 8,
        };
        outcome(guard, &totals, &wholes).tripped
    }

    #[test]
    fn a_guard_trips_when_its_comparison_holds() {
        for (guard, expected) in [
            ("pods.evicted>1", true),
            ("pods.evicted>2", false),
            ("pods.evicted>=2", true),
            ("pods.evicted<2", false),
            ("pods.evicted<=2", true),
            ("pods.evicted==2", true),
            ("pods.evicted!=2", false),
            ("pods.evicted.now>0", true),
            ("pods.evicted.now>1", false),
            ("namespaces.affected>=1", true),
            ("pods.critical>0", true),
            ("pods.critical>1", false),
            ("pods.critical>=5%", true),
            ("pods.critical>5%", false),
            ("pods.unmanaged>1", true),
            ("pods.unmanaged>2", false),
            ("pods.unmanaged>10%", false),
            ("workloads.down>0", true),
            ("workloads.down>1", false),
            ("pods.severity.danger>1", true),
            ("pods.severity.danger>2", false),
            ("pods.severity.danger>=10%", true),
            ("pods.severity.danger>10%", false),
            ("workloads.affected>1", true),
            ("workloads.affected>2", false),
            ("devices.selected>4", true),
            ("pods.evicted>10%", false),
            ("pods.evicted>=10%", true),
            ("pods.evicted>9%", true),
            ("pods.evicted.now>=5%", true),
            ("devices.selected>62%", true),
            ("devices.selected>63%", false),
            (" pods.evicted > 1 ", true),
        ] {
            assert_eq!(tripped(guard), expected, "{guard}");
        }
    }

    #[test]
    fn a_result_tells_the_guard_the_value_and_the_whole() {
        let totals = Totals {
            evicted_pod_count: of(3),
            ..Totals::default()
        };
        let wholes = Wholes {
            pods: 12,
            devices: 0,
        };
        let expected = GuardOutcome {
            guard: "pods.evicted>25%".parse().unwrap(),
            value: of(3),
            whole: Some(of(12)),
            tripped: false,
            missing: None,
        };
        assert_eq!(outcome("pods.evicted>25%", &totals, &wholes), expected);
    }

    #[test]
    fn a_guard_whose_value_is_not_known_trips_unless_what_is_known_settles_it() {
        let no_pods = [missing(Kind::Pod)];
        let no_slices = [missing(Kind::ResourceSlice)];
        let no_rules = [missing(Kind::DeviceTaintRule)];
        let no_sets = [missing(Kind::ReplicaSet)];
        let least = |count| format!("{count}+ (missing: pods)");
        let of_sets = "1-3 (missing: replicasets)";
        let of_rules = "1-3 (missing: devicetaintrules)";
        let no_slice = "1+ (missing: resourceslices)";
        let no_set = "<unknown> (missing: replicasets)";
        let (least_3, least_2, least_1) = (&*least(3), &*least(2), &*least(1));
        let no_pod = "<unknown> (missing: pods)";
        // 3 pods are evicted, perhaps more, 1 of them now; 1 device is selected.
        for (gaps, guard, tripped, said) in [
            (&no_pods, "pods.evicted>0", true, least_3),
            (&no_pods, "pods.evicted>20", true, least_3),
            (&no_pods, "pods.evicted<3", false, least_3),
            (&no_pods, "pods.evicted==2", false, least_3),
            (&no_pods, "pods.evicted!=3", true, least_3),
            (&no_pods, "namespaces.affected>5", true, least_2),
            (&no_pods, "pods.critical>0", true, no_pod),
            (&no_pods, "pods.unmanaged<1", false, least_1),
            (&no_pods, "workloads.affected>2", true, least_2),
            (&no_sets, "pods.unmanaged>1", true, of_sets),
            (&no_sets, "pods.unmanaged>3", false, of_sets),
            (&no_sets, "pods.critical>0", false, "0"),
            (&no_sets, "jobs.failed>0", true, no_set),
            (&no_sets, "workloads.recovering>0", true, no_set),
            (&no_pods, "devices.selected>1", false, "1"),
            (&no_pods, "devices.selected>0", true, "1"),
            (&no_slices, "pods.evicted>3", false, "3"),
            (&no_slices, "devices.selected>20", true, no_slice),
            (&no_rules, "pods.evicted.now>1", true, of_rules),
            (&no_rules, "pods.evicted.now>3", false, of_rules),
        ] {
            let result = result_of(guard, gaps);
            assert_eq!(result.tripped, tripped, "{guard} without {}", gaps[0].what);
            let said = format!("the value is {said}");
            assert_eq!(result.value_in_words(), said, "{guard}");
        }
    }

    #[test]
    fn a_job_counts_once_and_one_of_which_it_is_not_known_may_fail() {
        use DisruptionAction::Ignore;
        let mut example = Example::new();
        let of_job = testing::job;
        let job = |name: &str, failure| {
            Job(Workload {
                failure: Some(failure),
                ..testing::workload(name, 1)
            })
        };
        example.pods[0].controller = Some(of_job("other"));
        example.pods[1].controller = Some(of_job("sweep"));
        example.pods[2].controller = Some(of_job("sweep"));
        let sweep = || job("sweep", testing::failure_policy(0));
        for (other, guard, tripped, said) in [
            (Ignore, "jobs.failed>0", true, "the value is 1"),
            (Ignore, "jobs.failed>1", false, "the value is 1"),
            (
                DisruptionAction::Depends(vec!["FailJob".to_owned()]),
                "jobs.failed>1",
                true,
                "the value is 1-2 (missing: how Jobs react to lost pods)",
            ),
        ] {
            let other = FailurePolicy {
                disruption: other,
                ..testing::failure_policy(0)
            };
            example.reading.snapshot.jobs = vec![sweep(), job("other", other)];
            let guards = [guard.parse().unwrap()];
            let limits = Limits {
                guards: &guards,
                ..Limits::default()
            };
            let result = example.report_within(&limits).assessment.guards.remove(0);
            assert_eq!(result.tripped, tripped, "{guard}");
            assert_eq!(result.value_in_words(), said, "{guard}");
        }
    }

    #[test]
    fn a_signal_that_counts_pods_with_a_hazard_reads_what_the_hazard_reads() {
        for (signal, hazard) in [
            (Signal::PodsUnmanaged, Hazard::Unmanaged),
            (Signal::PodsCritical, Hazard::Critical),
        ] {
            let mut reads = hazard.reads().iter();
            assert!(
                reads.all(|subject| signal.reads().contains(subject)),
                "{signal}"
            );
        }
    }

    fn missing(kind: Kind) -> Gap {
        Gap {
            what: kind.plural().to_owned(),
            why: "denied".to_owned(),
            affects: kind.affects(),
        }
    }

    fn result_of(guard: &str, gaps: &[Gap; 1]) -> GuardOutcome {
        let mut example = Example::new();
        example.reading.gaps = gaps.to_vec();
        let guards = [guard.parse().unwrap()];
        let limits = Limits {
            guards: &guards,
            wholes: Wholes {
                pods: 6,
                devices: 1,
            },
        };
        let mut report = example.report_within(&limits);
        report.assessment.guards.remove(0)
    }
}
