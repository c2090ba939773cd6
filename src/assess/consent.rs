//! Approval that a change needs.

use std::collections::BTreeSet;
use std::fmt;

use super::totals::{Tally, Totals};
use crate::engine::{PodImpact, SelectorScope, Semantics};
use crate::model::{Count, Effect};

/// Approval that a change needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// None: it affects no pod.
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

/// The namespace of what keeps the cluster alive.
const SYSTEM: &str = "kube-system";

/// Approval that the change with these verdicts needs.
pub fn consent(tally: &Tally<'_, '_>, totals: &Totals, semantics: &Semantics) -> Consent {
    let rules = || tally.impact.rules.iter().map(|rule| rule.proposed);
    // Effect None affects no pod, however many devices it selects.
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
        !tally.evicts() && tally.pods.is_empty() && totals.not_evicted_pod_count.exact().is_some();
    match why_wide(tally, totals, reach) {
        Some(why) => Consent::Wide {
            pods: totals.evicted_pod_count.0,
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
    (namespaces.len() > 1).then_some(WhyWide::Namespaces(totals.namespace_count.0))
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
    use crate::engine::Impact;
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

    /// Approval needed where no pod uses the devices.
    fn needed_unused(example: &Example) -> Consent {
        let impact = Impact {
            pods: Vec::new(),
            ..example.impact()
        };
        needed_at(minor(37, 2), &impact, example)
    }

    type Needed = fn(&Example) -> Consent;

    #[test]
    fn what_nobody_has_assessed_needs_a_number_that_nobody_can_type() {
        let Consent::Wide { pods, .. } = Consent::default() else {
            panic!("a yes is not enough");
        };
        assert_eq!(pods.exact(), None);
    }

    #[test]
    fn what_is_evicted_and_seen_decides_how_it_is_asked_about() {
        let alone = |effect: &str| {
            let mut example = Example::new().in_one_namespace();
            example.proposed.taint.effect = effect.into();
            example
        };
        let changed = |change: &dyn Fn(&mut Example)| {
            let mut example = Example::new();
            change(&mut example);
            example
        };
        let results = |example: &mut Example| {
            let allocation = example.claims[0].allocation.as_mut().unwrap();
            allocation.results[0].admin_access = true;
        };
        let monitor = changed(&results);
        let of_system = changed(&|example| {
            results(example);
            example.pods[0].name.namespace = SYSTEM.into();
        });
        let half_a_monitor = changed(&|example| {
            let results = &mut example.claims[0].allocation.as_mut().unwrap().results;
            let monitored = AllocationResult {
                admin_access: true,
                ..results[0].clone()
            };
            results.push(monitored);
        });
        let blind = changed(&|example| {
            example.proposed.taint.effect = Effect::NoSchedule;
            let gap = Gap::of(Kind::Pod, "access denied");
            example.reading.gaps.push(gap);
        });
        let every_device = changed(&|example| {
            example.proposed.selector = Some(DeviceSelector::default());
        });
        let wide = |pods, why| Consent::Wide {
            pods: Count::known(pods),
            why,
        };
        let two = || wide(3, WhyWide::Namespaces(Count::known(2)));
        let (used, unused): (Needed, Needed) = (needed, needed_unused);
        for (name, example, needed, expected) in [
            ("two namespaces", Example::new(), used, two()),
            ("a monitor in another one", monitor, used, Consent::Yes),
            ("a pod with half a monitor", half_a_monitor, used, two()),
            ("system", of_system, used, wide(3, WhyWide::SystemPods)),
            ("evicts", alone("NoExecute"), used, Consent::Yes),
            ("evicts, unused", alone("NoExecute"), unused, Consent::Yes),
            ("unknown effect", alone("Perhaps"), used, Consent::Yes),
            ("no effect", alone("None"), used, Consent::Nothing),
            ("keeps off", alone("NoSchedule"), used, Consent::Yes),
            ("unused", alone("NoSchedule"), unused, Consent::Nothing),
            ("pods are not seen", blind, unused, Consent::Yes),
            ("all", every_device, unused, wide(0, WhyWide::EveryDevice)),
        ] {
            assert_eq!(needed(&example), expected, "{name}");
        }
    }
}
