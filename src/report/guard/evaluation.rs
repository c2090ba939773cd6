//! Does a guard trip?

use super::comparison::Range;
use super::expression::{Guard, Quantity};
use super::outcome::GuardResult;
use super::signal::{Signal, Whole};
use crate::report::Count;
use crate::report::impact::Summary;
use crate::report::knowledge::Knowledge;

/// What percentages are taken of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wholes {
    /// The pods that use devices of the same drivers as the selected ones.
    pub pods: usize,
    /// The devices of the same drivers as the selected ones.
    pub devices: usize,
}

impl Wholes {
    /// What a percentage of the signal is taken of, as far as it is known.
    fn count(
        &self,
        (signal, of): (Signal, Whole),
        summary: &Summary,
        knowledge: &Knowledge<'_>,
    ) -> Count {
        match of {
            Whole::Pods => knowledge.count(signal.subject(), self.pods),
            Whole::Devices => knowledge.count(signal.subject(), self.devices),
            Whole::Class => summary.devices_of_class(),
        }
    }
}

impl Guard {
    /// Compares the guard with what a report counts.
    ///
    /// It trips when the comparison holds, and also when it may hold: a number that is not known is
    /// no reason to go on. What is known of it may settle the comparison all the same.
    #[must_use]
    pub fn evaluate(
        &self,
        summary: &Summary,
        wholes: &Wholes,
        knowledge: &Knowledge<'_>,
    ) -> GuardResult {
        let value = value_of(self.signal, summary);
        let whole = match self.quantity {
            Quantity::Number(_) => None,
            Quantity::Percent { of, .. } => {
                Some(wholes.count((self.signal, of), summary, knowledge))
            }
        };
        let missing = || match knowledge.missing(self.signal.subjects()) {
            // That is no gap of what was read: some objects do not say it.
            missing if missing.is_empty() => self.signal.unsaid().to_owned(),
            missing => missing,
        };
        self.result(value, whole, missing)
    }

    /// What becomes of the guard where the signal counts `value`, and what a percentage is taken of is
    /// `whole`; `missing` says why one of them is not known.
    pub(super) fn result(
        &self,
        value: Count,
        whole: Option<Count>,
        missing: impl FnOnce() -> String,
    ) -> GuardResult {
        let answer = match self.quantity {
            Quantity::Number(limit) => {
                let limit = Range::exactly(limit.into());
                self.operator.holds(Range::of(value, 1), limit)
            }
            // Both sides times one hundred, so that nothing is rounded.
            Quantity::Percent { percent, .. } => {
                let limit = Range::of(whole.unwrap_or(Count::at_least(0)), percent.into());
                self.operator.holds(Range::of(value, 100), limit)
            }
        };
        let known = value.exact().is_some() && whole.is_none_or(|whole| whole.exact().is_some());
        let bounded = value.exact().is_none();
        GuardResult {
            expression: self.expression.clone(),
            value: value.exact(),
            whole: whole.and_then(Count::exact),
            tripped: answer != Some(false),
            at_least: bounded.then(|| value.least()),
            at_most: value.most().filter(|_| bounded),
            unknown_without: (!known).then(missing),
            policy: self.policy.clone(),
        }
    }
}

/// What the signal counts in a report.
fn value_of(signal: Signal, summary: &Summary) -> Count {
    match signal {
        Signal::PodsEvicted => summary.evicted(),
        Signal::PodsEvictedNow => summary.evicted_now(),
        Signal::PodsCritical => summary.critical(),
        Signal::PodsUnmanaged => summary.unmanaged(),
        Signal::PodsSeverityDanger => summary.in_danger(),
        Signal::WorkloadsAffected => summary.affected_workloads(),
        Signal::WorkloadsDown => summary.lost_workloads(),
        Signal::NamespacesAffected => summary.affected_namespaces(),
        Signal::DevicesSelected => summary.selected_devices(),
        Signal::BudgetsViolated => summary.violated_budgets(),
        Signal::ClaimsUnplaceable => summary.unplaceable_claims(),
        Signal::DevicesAvailable => summary.available_devices(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Gap, Kind};
    use crate::report::impact::{Limits, Severities};
    use crate::report::testing::{self, Example};
    use crate::report::{Basis, ImpactReport};

    fn tripped(guard: &str) -> bool {
        let summary = Summary {
            devices: 5,
            pods: 2,
            pods_now: 1,
            pods_critical: 1,
            pods_unmanaged: 2,
            workloads: 2,
            workloads_down: 1,
            severities: Severities {
                danger: 2,
                ..Severities::default()
            },
            namespaces: 1,
            ..Summary::default()
        };
        let wholes = Wholes {
            pods: 20,
            devices: 8,
        };
        let guard: Guard = guard.parse().unwrap();
        guard.evaluate(&summary, &wholes, &all_known()).tripped
    }

    fn all_known() -> Knowledge<'static> {
        Knowledge::new([], &testing::semantics(37))
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
        let summary = Summary {
            pods: 3,
            ..Summary::default()
        };
        let wholes = Wholes {
            pods: 12,
            devices: 0,
        };
        let guard: Guard = "pods.evicted>25%".parse().unwrap();
        let expected = GuardResult {
            expression: "pods.evicted>25%".to_owned(),
            value: Some(3),
            whole: Some(12),
            tripped: false,
            at_least: None,
            at_most: None,
            unknown_without: None,
            policy: None,
        };
        assert_eq!(guard.evaluate(&summary, &wholes, &all_known()), expected);
    }

    #[test]
    fn a_guard_whose_value_is_not_known_trips_unless_what_is_known_settles_it() {
        let no_pods = [missing(Kind::Pod)];
        let no_slices = [missing(Kind::ResourceSlice)];
        let no_rules = [missing(Kind::DeviceTaintRule)];
        let unevaluable = [Gap {
            what: "devices of the considered taint".to_owned(),
            ..missing(Kind::Pod)
        }];
        // 3 pods are evicted as far as is known, 1 of them now; 1 device is selected.
        for (gaps, guard, tripped, said) in [
            (
                &no_pods,
                "pods.evicted>0",
                true,
                "the value is not known, it is at least 3 (missing: pods)",
            ),
            (
                &no_pods,
                "pods.evicted>20",
                true,
                "the value is not known, it is at least 3 (missing: pods)",
            ),
            (
                &no_pods,
                "pods.evicted<3",
                false,
                "the value is not known, it is at least 3 (missing: pods)",
            ),
            (
                &no_pods,
                "pods.evicted==2",
                false,
                "the value is not known, it is at least 3 (missing: pods)",
            ),
            (
                &no_pods,
                "pods.evicted!=3",
                true,
                "the value is not known, it is at least 3 (missing: pods)",
            ),
            (
                &no_pods,
                "namespaces.affected>5",
                true,
                "the value is not known, it is at least 2 (missing: pods)",
            ),
            (
                &no_pods,
                "pods.critical>0",
                true,
                "the value is not known (missing: pods)",
            ),
            (
                &no_pods,
                "pods.unmanaged<1",
                false,
                "the value is not known, it is at least 1 (missing: pods)",
            ),
            (
                &no_pods,
                "workloads.affected>2",
                true,
                "the value is not known, it is at least 2 (missing: pods)",
            ),
            (
                &unevaluable,
                "pods.unmanaged>0",
                true,
                "the value is not known, it is 0 to 1 (missing: devices of the considered taint)",
            ),
            (&no_pods, "devices.selected>1", false, "the value is 1"),
            (&no_pods, "devices.selected>0", true, "the value is 1"),
            (&no_slices, "pods.evicted>3", false, "the value is 3"),
            (
                &no_slices,
                "devices.selected>20",
                true,
                "the value is not known, it is at least 1 (missing: resourceslices)",
            ),
            (
                &no_rules,
                "pods.evicted.now>1",
                true,
                "the value is not known, it is 1 to 3 (missing: devicetaintrules)",
            ),
            (
                &no_rules,
                "pods.evicted.now>3",
                false,
                "the value is not known, it is 1 to 3 (missing: devicetaintrules)",
            ),
            (
                &unevaluable,
                "pods.evicted>3",
                false,
                "the value is not known, it is 0 to 3 (missing: devices of the considered taint)",
            ),
            (
                &unevaluable,
                "pods.evicted>2",
                true,
                "the value is not known, it is 0 to 3 (missing: devices of the considered taint)",
            ),
        ] {
            let result = result_of(guard, gaps);
            assert_eq!(result.tripped, tripped, "{guard} without {}", gaps[0].what);
            assert_eq!(result.value_in_words(), said, "{guard}");
        }
    }

    #[test]
    fn a_guard_about_nothing_that_could_be_read_says_so() {
        let mut example = Example::new();
        example.reading.gaps = vec![missing(Kind::Pod)];
        let guards = ["pods.evicted>0".parse().unwrap()];
        let limits = Limits {
            guards: &guards,
            ..Limits::default()
        };
        let mut impact = example.impact();
        impact.pods.clear();
        let semantics = testing::semantics(37);
        let basis = Basis {
            reading: &example.reading,
            semantics: &semantics,
            now: testing::now(),
        };
        let report = ImpactReport::new(&impact, &basis, &limits);
        let result = &report.guards[0];
        assert_eq!((result.value, result.at_least), (None, Some(0)));
        assert_eq!(
            report.refusal().as_deref(),
            Some("guard tripped: pods.evicted>0, the value is not known (missing: pods)")
        );
    }

    #[test]
    fn a_share_of_an_unknown_whole_is_not_known() {
        let pods = missing(Kind::Pod);
        let result = result_of("pods.evicted>50%", &[pods]);
        assert!(result.tripped);
        assert_eq!((result.value, result.whole), (None, None));
        let slices = result_of("devices.selected>=50%", &[missing(Kind::ResourceSlice)]);
        assert!(slices.tripped, "{slices:?}");
    }

    fn missing(kind: Kind) -> Gap {
        Gap {
            what: kind.plural().to_owned(),
            why: "denied".to_owned(),
            affects: kind.affects(),
        }
    }

    fn result_of(guard: &str, gaps: &[Gap; 1]) -> GuardResult {
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
        report.guards.remove(0)
    }
}
