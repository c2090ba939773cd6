//! Who has to agree before this happens?

use std::collections::BTreeSet;

use super::headline::headline;
use super::view::{ImpactReport, Pod, Reach};
use crate::report::metadata::Incomplete;
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
            && self.summary.not_evicted().exact().is_some();
        match self.why_a_count() {
            Some(why) => Consent::PodCount {
                pods: self.summary.pods,
                why,
            },
            None if hinders_nobody => Consent::Nothing,
            None => Consent::Yes,
        }
    }

    /// The answer in a few lines, with what it lacks: whoever agrees to it has to know both.
    #[must_use]
    pub fn summary_lines(&self) -> Vec<String> {
        let mut lines = headline(self);
        let lacking = self.incomplete.iter().map(Incomplete::line);
        lines.extend(lacking.map(|line| format!("not known: {line}")));
        lines
    }

    /// Who administers devices is on many of them, often from a namespace of its own: that a monitor
    /// is evicted too says nothing about how broad a change is, unless it keeps the cluster alive.
    fn why_a_count(&self) -> Option<String> {
        let reaches = |reach: Reach| self.taints.iter().any(|taint| taint.reach == reach);
        if reaches(Reach::EveryDevice) {
            return Some("every device of every driver is selected".to_owned());
        }
        if reaches(Reach::EveryDeviceForTheScheduler) {
            return Some("the scheduler takes every device of every driver as tainted".to_owned());
        }
        let evicted = || self.pods.iter().filter(|pod| pod.outcome.is_evicted());
        if evicted().any(|pod: &Pod| pod.namespace == SYSTEM) {
            return Some(format!("pods in {SYSTEM} are evicted"));
        }
        let working = evicted().filter(|pod| !only_administers(pod));
        let namespaces: BTreeSet<&str> = working.map(|pod| pod.namespace.as_str()).collect();
        (self.summary.namespaces > 1 && namespaces.len() > 1).then(|| {
            let namespaces = counted(self.summary.namespaces, "namespace");
            format!("pods in {namespaces} are evicted")
        })
    }
}

fn only_administers(pod: &Pod) -> bool {
    let mut devices = pod.claims.iter().flat_map(|claim| &claim.devices);
    !pod.claims.is_empty() && devices.all(|device| device.admin_access)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Impact;
    use crate::model::{Effect, Gap, Kind};
    use crate::report::Basis;
    use crate::report::impact::Limits;
    use crate::report::testing::{self, Example};

    fn in_one_namespace(report: &mut ImpactReport) {
        for pod in &mut report.pods {
            pod.namespace = "team-a".to_owned();
        }
        report.summary.namespaces = 1;
    }

    #[test]
    fn a_monitor_in_another_namespace_does_not_ask_for_the_number() {
        let mut report = Example::new().report();
        let monitor = report.pods.iter_mut().find(|pod| pod.name == "bare-0");
        let claims = &mut monitor.unwrap().claims;
        let devices = claims.iter_mut().flat_map(|claim| &mut claim.devices);
        devices.for_each(|device| device.admin_access = true);
        assert_eq!(report.consent(), Consent::Yes);
        // What keeps the cluster alive is another matter.
        let monitor = report.pods.iter_mut().find(|pod| pod.name == "bare-0");
        monitor.unwrap().namespace = SYSTEM.to_owned();
        assert!(matches!(report.consent(), Consent::PodCount { .. }));
    }

    #[test]
    fn a_rule_without_a_selector_is_told_and_asked_about_as_what_it_is() {
        let mut report = Example::new().report();
        report.pods.clear();
        report.summary = crate::report::impact::Summary::default();
        report.taints[0].reach = Reach::EveryDeviceForTheScheduler;
        assert_eq!(
            report.summary_lines(),
            [
                "No pod would be evicted by a rule without a selector, but the scheduler takes every device of every driver as tainted by it."
            ]
        );
        let Consent::PodCount { why, .. } = report.consent() else {
            panic!("a number is asked for");
        };
        assert_eq!(
            why,
            "the scheduler takes every device of every driver as tainted"
        );
        report.taints[0].reach = Reach::NoDevice;
        assert_eq!(
            report.summary_lines(),
            ["No device is selected by a rule without a selector, so no pod would be evicted."]
        );
        assert_eq!(report.consent(), Consent::Yes);
    }

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
        in_one_namespace(&mut report);
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
        report.taints[0].taint.effect = "NoExecute".to_owned();
        assert_eq!(report.consent(), Consent::Yes);
    }

    #[test]
    fn whom_nobody_may_see_keeping_off_devices_is_asked_about_and_evicts_nobody() {
        let mut example = Example::new();
        example.considered.taint.effect = Effect::NoSchedule;
        let denied = Gap::of(Kind::Pod, "access denied");
        example.reading.gaps.push(denied.clone());
        let impact = Impact {
            pods: Vec::new(),
            ..example.impact()
        };
        let basis = Basis {
            reading: &example.reading,
            semantics: &testing::semantics(37),
            now: testing::now(),
        };
        let report = ImpactReport::new(&impact, &basis, &Limits::default());
        assert_eq!(report.unknown_evictions(), Vec::<String>::new());
        assert_eq!(report.incomplete[0].why, denied.why);
        assert_eq!(report.consent(), Consent::Yes);

        example.considered.taint.effect = Effect::NoExecute;
        let report = example.report();
        assert_eq!(report.unknown_evictions().len(), 1);
    }

    #[test]
    fn what_evicts_is_asked_about_even_if_nobody_uses_it() {
        let mut report = Example::new().report();
        report.pods.clear();
        report.summary.namespaces = 0;
        report.taints[0].taint.effect = "NoExecute".to_owned();
        assert_eq!(report.consent(), Consent::Yes);
    }

    #[test]
    fn every_device_asks_for_the_number_even_if_no_pod_is_hit() {
        let mut report = Example::new().report();
        report.pods.clear();
        report.taints[0].reach = Reach::EveryDevice;
        assert!(matches!(report.consent(), Consent::PodCount { .. }));
    }
}
