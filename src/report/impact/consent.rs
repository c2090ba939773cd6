//! Who has to agree before this happens?

use std::collections::BTreeSet;

use super::headline::headline;
use super::view::{ImpactReport, Pod, TaintImpact};
use crate::report::table::counted;

/// What a change needs before it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Nothing: it hinders nobody.
    Nothing,
    /// A yes.
    Yes,
    /// The number of pods that it evicts, typed by somebody who has read it.
    PodCount {
        /// The number.
        pods: usize,
        /// Why a yes is not enough.
        why: String,
    },
}

/// The namespace of what keeps the cluster alive.
const SYSTEM: &str = "kube-system";

impl ImpactReport {
    /// What the change that this report is about needs.
    #[must_use]
    pub fn consent(&self) -> Consent {
        let effects: BTreeSet<&str> = self
            .taints
            .iter()
            .map(|impact| impact.taint.effect.as_str())
            .collect();
        if effects.iter().all(|effect| *effect == "None") {
            return Consent::Nothing;
        }
        let hinders_nobody = !effects.contains("NoExecute")
            && self.pods.is_empty()
            && self.unknown_evictions().is_empty();
        match self.why_a_count() {
            Some(why) => Consent::PodCount {
                pods: self.summary.pods,
                why,
            },
            None if hinders_nobody => Consent::Nothing,
            None => Consent::Yes,
        }
    }

    /// The answer in a few lines.
    #[must_use]
    pub fn summary_lines(&self) -> Vec<String> {
        headline(self)
    }

    fn why_a_count(&self) -> Option<String> {
        if self.taints.iter().any(selects_everything) {
            return Some("every device of every driver is selected".to_owned());
        }
        let mut evicted = self.pods.iter().filter(|pod| pod.outcome.is_evicted());
        if evicted.any(|pod: &Pod| pod.namespace == SYSTEM) {
            return Some(format!("pods in {SYSTEM} are evicted"));
        }
        let namespaces = self.summary.namespaces;
        (namespaces > 1)
            .then(|| format!("pods in {} are evicted", counted(namespaces, "namespace")))
    }
}

fn selects_everything(impact: &TaintImpact) -> bool {
    let Some(selector) = &impact.selector else {
        return true;
    };
    selector.driver.is_none()
        && selector.pool.is_none()
        && selector.device.is_none()
        && selector.device_class_name.is_none()
        && selector.expressions.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::Example;

    #[test]
    fn more_than_one_namespace_asks_for_the_number() {
        let report = Example::new().report();
        assert_eq!(
            report.consent(),
            Consent::PodCount {
                pods: 3,
                why: "pods in 2 namespaces are evicted".to_owned()
            }
        );
    }

    #[test]
    fn what_evicts_in_one_namespace_needs_a_yes_and_what_does_nothing_needs_nothing() {
        let mut report = Example::new().report();
        report.summary.namespaces = 1;
        assert_eq!(report.consent(), Consent::Yes);
        report.pods[0].namespace = SYSTEM.to_owned();
        report.pods[0].outcome = super::super::Outcome::EvictedNow;
        assert!(matches!(report.consent(), Consent::PodCount { .. }));
        report.taints[0].taint.effect = "None".to_owned();
        assert_eq!(report.consent(), Consent::Nothing);
    }

    #[test]
    fn keeping_pods_off_devices_that_nobody_uses_needs_nothing() {
        let mut report = Example::new().report();
        report.summary.namespaces = 0;
        report.taints[0].taint.effect = "NoSchedule".to_owned();
        assert_eq!(report.consent(), Consent::Yes);
        report.pods.clear();
        assert_eq!(report.consent(), Consent::Nothing);
        report.incomplete = vec![crate::report::metadata::Incomplete {
            what: "pods".to_owned(),
            why: "access denied".to_owned(),
            affects: crate::report::metadata::Affects::Evictions,
        }];
        assert_eq!(report.consent(), Consent::Yes);
        report.incomplete.clear();
        report.taints[0].taint.effect = "NoExecute".to_owned();
        assert_eq!(report.consent(), Consent::Yes);
    }

    #[test]
    fn every_device_asks_for_the_number_even_if_no_pod_is_hit() {
        let mut report = Example::new().report();
        report.pods.clear();
        report.summary.namespaces = 0;
        report.taints[0].selector = None;
        assert!(matches!(report.consent(), Consent::PodCount { .. }));
    }
}
