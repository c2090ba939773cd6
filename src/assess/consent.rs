//! What a change needs before it is made.

use std::collections::BTreeSet;
use std::fmt;

use super::totals::{Tally, Totals};
use crate::engine::{PodImpact, SelectorScope, Semantics};
use crate::model::{Count, Effect};

/// What a change needs before it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Nothing: it hinders nobody.
    Nothing,
    /// A yes.
    Yes,
    /// More than a yes: the number of pods that it evicts, typed at a terminal, or a limit beside `--yes`.
    Wide {
        /// The number of pods.
        pods: Count,
        /// Reason for which it is wide.
        why: WhyWide,
    },
}

/// Of a change that was not assessed: a yes is not enough, and the number of pods is unknown.
impl Default for Consent {
    fn default() -> Self {
        Self::Wide {
            pods: Count::default(),
            why: WhyWide::EveryDevice,
        }
    }
}

/// Reason for which a change is wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyWide {
    /// A selector chooses every device of every driver.
    EveryDevice,
    /// A rule without a selector, by which the scheduler takes every device as tainted.
    EveryDeviceForTheScheduler,
    /// Pods are evicted that keep the cluster alive.
    SystemPods,
    /// Pods in so many namespaces are evicted.
    Namespaces(Count),
}

impl fmt::Display for WhyWide {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EveryDevice => formatter.pad("every device of every driver is selected"),
            Self::EveryDeviceForTheScheduler => {
                formatter.pad("the scheduler treats every device of every driver as tainted")
            }
            Self::SystemPods => write!(formatter, "pods in {SYSTEM} are evicted"),
            Self::Namespaces(count) => {
                write!(
                    formatter,
                    "pods in {} namespaces are evicted",
                    count.counted()
                )
            }
        }
    }
}

impl WhyWide {
    /// The reason for a drain, whose pods are evicted or replaced by a restart.
    #[must_use]
    pub fn of_drain(&self) -> String {
        match self {
            Self::EveryDevice | Self::EveryDeviceForTheScheduler => self.to_string(),
            Self::SystemPods => format!("pods in {SYSTEM} leave the devices"),
            Self::Namespaces(count) => {
                format!("pods in {} namespaces leave the devices", count.counted())
            }
        }
    }
}

/// The namespace of what keeps the cluster alive.
const SYSTEM: &str = "kube-system";

/// What the change with these verdicts needs.
#[must_use]
pub fn consent(tally: &Tally<'_, '_>, totals: &Totals, semantics: &Semantics) -> Consent {
    let rules = || tally.impact.rules.iter().map(|rule| rule.proposed);
    // Effect None hinders nobody, however many devices it selects.
    if rules().all(|proposed| proposed.taint.effect == Effect::None) {
        return Consent::Nothing;
    }
    let reach = rules().map(|proposed| {
        SelectorScope::of(
            proposed.selector.as_ref(),
            &proposed.taint.effect,
            semantics,
        )
    });
    // Pods that could not be counted may use the devices: an unknown number is not none.
    let affects_no_pod =
        !tally.evicts() && tally.pods.is_empty() && totals.pods_not_evicted.exact().is_some();
    match why_wide(tally, totals, reach) {
        Some(why) => Consent::Wide {
            pods: totals.pods,
            why,
        },
        None if affects_no_pod => Consent::Nothing,
        None => Consent::Yes,
    }
}

/// A pod with admin access only, such as a monitor, is on many devices, often in a namespace of its own: it does not count
/// as a further namespace, unless it is in kube-system.
fn why_wide(
    tally: &Tally<'_, '_>,
    totals: &Totals,
    reach: impl Iterator<Item = SelectorScope>,
) -> Option<WhyWide> {
    let reach: Vec<SelectorScope> = reach.collect();
    if reach.contains(&SelectorScope::EveryDevice) {
        return Some(WhyWide::EveryDevice);
    }
    if reach.contains(&SelectorScope::EveryDeviceForTheScheduler) {
        return Some(WhyWide::EveryDeviceForTheScheduler);
    }
    let evicted = || tally.evicted().map(|pod| pod.impact);
    let namespace = |impact: &PodImpact<'_>| impact.pod.name.namespace.to_string();
    if evicted().any(|impact| namespace(impact) == SYSTEM) {
        return Some(WhyWide::SystemPods);
    }
    // Monitors run in a namespace of their own, and would make every preview one of several namespaces.
    let working = evicted().filter(|impact| !only_administers(impact));
    let namespaces: BTreeSet<String> = working.map(namespace).collect();
    (namespaces.len() > 1).then_some(WhyWide::Namespaces(totals.namespaces))
}

fn only_administers(impact: &PodImpact<'_>) -> bool {
    // `all` holds of nothing as well, and a pod without known claims may use anything.
    let mut devices = impact.claims.iter().flat_map(|used| &used.results);
    !impact.claims.is_empty() && devices.all(|result| result.admin_access)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Assessed, Basis, DisruptionFacts, Limits};
    use crate::engine::{Impact, RuleImpact};
    use crate::model::{AllocationResult, DeviceSelector, Gap, Kind, Minor};
    use crate::report::testing::{self, Example};

    fn needed_at(minor: Minor, impact: &Impact<'_>, example: &Example) -> Consent {
        let semantics = Semantics::of(minor).unwrap();
        let basis = Basis::new(&example.reading, &semantics, testing::now());
        let disruption_facts = DisruptionFacts::of(impact, &basis);
        let assessed = Assessed::new(impact, &disruption_facts, &basis, &Limits::default());
        assessed.assessment.consent
    }

    fn minor(minor: u32, patch: u32) -> Minor {
        Minor {
            minor,
            patch: Some(patch),
        }
    }

    fn needed(example: &Example) -> Consent {
        needed_at(minor(37, 2), &example.impact(), example)
    }

    /// What it needs where no pod uses the devices.
    fn needed_unused(example: &Example) -> Consent {
        let impact = Impact {
            pods: Vec::new(),
            ..example.impact()
        };
        needed_at(minor(37, 2), &impact, example)
    }

    #[test]
    fn what_nobody_has_assessed_needs_a_number_that_nobody_can_type() {
        let Consent::Wide { pods, .. } = Consent::default() else {
            panic!("a yes is not enough");
        };
        assert_eq!(pods.exact(), None);
    }

    #[test]
    fn a_monitor_in_another_namespace_does_not_ask_for_the_number() {
        let mut example = Example::new();
        let monitor = example.claims[0].allocation.as_mut().unwrap();
        monitor.results[0].admin_access = true;
        assert_eq!(needed(&example), Consent::Yes);
        // What keeps the cluster alive is another matter.
        example.pods[0].name.namespace = SYSTEM.into();
        let expected = Consent::Wide {
            pods: Count::known(3),
            why: WhyWide::SystemPods,
        };
        assert_eq!(needed(&example), expected);
        assert_eq!(
            WhyWide::SystemPods.to_string(),
            "pods in kube-system are evicted"
        );
    }

    #[test]
    fn a_rule_without_a_selector_is_asked_about_as_what_it_is() {
        let mut example = Example::new();
        example.proposed.selector = None;
        let impact = Impact {
            pods: Vec::new(),
            ..example.impact()
        };
        let mut found = std::collections::BTreeSet::new();
        for release in [(34, 0), (35, 0), (36, 0), (37, 0), (37, 2)] {
            let release = minor(release.0, release.1);
            let semantics = Semantics::of(release).unwrap();
            let needed = needed_at(release, &impact, &example);
            let effect = &example.proposed.taint.effect;
            let expected = match SelectorScope::of(None, effect, &semantics) {
                SelectorScope::EveryDevice => "every device of every driver is selected",
                SelectorScope::EveryDeviceForTheScheduler => {
                    "the scheduler treats every device of every driver as tainted"
                }
                SelectorScope::NoDevice | SelectorScope::Described => {
                    assert_eq!(needed, Consent::Yes);
                    continue;
                }
            };
            let Consent::Wide { why, .. } = needed else {
                panic!("a number is asked for: {needed:?}");
            };
            assert_eq!(why.to_string(), expected);
            found.insert(expected);
        }
        assert!(!found.is_empty());
    }

    #[test]
    fn more_than_one_namespace_asks_for_the_number() {
        let why = WhyWide::Namespaces(Count::known(2));
        assert_eq!(why.to_string(), "pods in 2 namespaces are evicted");
        assert_eq!(why.of_drain(), "pods in 2 namespaces leave the devices");
        assert_eq!(
            WhyWide::SystemPods.of_drain(),
            "pods in kube-system leave the devices"
        );
        let every = WhyWide::EveryDevice;
        assert_eq!(every.of_drain(), every.to_string());
        let expected = Consent::Wide {
            pods: Count::known(3),
            why,
        };
        assert_eq!(needed(&Example::new()), expected);
    }

    #[test]
    fn what_evicts_in_one_namespace_needs_a_yes_and_what_does_nothing_needs_nothing() {
        let mut example = Example::new().in_one_namespace();
        assert_eq!(needed(&example), Consent::Yes);
        example.proposed.taint.effect = Effect::Unknown("Perhaps".to_owned());
        assert_eq!(needed(&example), Consent::Yes);
        example.proposed.taint.effect = Effect::None;
        assert_eq!(needed(&example), Consent::Nothing);
    }

    #[test]
    fn keeping_pods_off_devices_that_nobody_uses_needs_nothing() {
        let mut example = Example::new().in_one_namespace();
        example.proposed.taint.effect = Effect::NoSchedule;
        assert_eq!(needed(&example), Consent::Yes);
        assert_eq!(needed_unused(&example), Consent::Nothing);
        example.proposed.taint.effect = Effect::NoExecute;
        assert_eq!(needed_unused(&example), Consent::Yes);
    }

    #[test]
    fn whom_nobody_may_see_keeping_off_devices_is_asked_about() {
        let mut example = Example::new();
        example.proposed.taint.effect = Effect::NoSchedule;
        example
            .reading
            .gaps
            .push(Gap::of(Kind::Pod, "access denied"));
        assert_eq!(needed_unused(&example), Consent::Yes);
    }

    #[test]
    fn every_device_asks_for_the_number_even_if_no_pod_is_hit() {
        let mut example = Example::new();
        example.proposed.selector = Some(DeviceSelector::default());
        let Consent::Wide { why, .. } = needed_unused(&example) else {
            panic!("a number is asked for");
        };
        assert_eq!(why, WhyWide::EveryDevice);
    }

    #[test]
    fn a_rule_with_effect_none_hides_nothing_of_another_one_that_evicts() {
        let example = Example::new().in_one_namespace();
        let mut harmless = example.proposed.clone();
        harmless.taint.effect = Effect::None;
        let mut impact = example.impact();
        let second = RuleImpact {
            proposed: &harmless,
            ..impact.rules[0].clone()
        };
        impact.rules.push(second);
        let needed = |impact: &Impact<'_>| needed_at(minor(37, 2), impact, &example);
        assert_eq!(needed(&impact), Consent::Yes);
        impact.pods.clear();
        assert_eq!(needed(&impact), Consent::Yes, "what evicts, unused");
        impact.rules.remove(0);
        assert_eq!(needed(&impact), Consent::Nothing);
    }

    #[test]
    fn a_pod_that_uses_one_device_and_monitors_another_is_no_monitor() {
        let mut example = Example::new();
        let results = &mut example.claims[0].allocation.as_mut().unwrap().results;
        let monitored = AllocationResult {
            admin_access: true,
            ..results[0].clone()
        };
        results.push(monitored);
        let Consent::Wide { why, .. } = needed(&example) else {
            panic!("its namespace counts");
        };
        assert_eq!(why, WhyWide::Namespaces(Count::known(2)));
    }
}
