//! Previews of proposed taints on a reading: selected devices, impact and report.

use std::collections::BTreeSet;

use super::impact::ImpactReport;
use crate::assess::{Assessed, Basis, DeviceBasis, DisruptionFacts, Guard, Limits, Wholes};
use crate::engine::{self, Impact, ProposedTaint, Selection};
use crate::model::{DeviceId, DriverName, Uid};

impl DeviceBasis<'_> {
    /// The devices that the `proposed` taints select; which they are does not depend on pods.
    pub fn selected(&self, proposed: &[ProposedTaint]) -> Selection {
        engine::selection(&self.reading.snapshot, proposed, self.semantics)
    }

    /// Devices whose pods the answer needs: the selected ones, and those of the same drivers where `guards`
    /// take a share of all pods that use them.
    pub fn devices_of_question(
        &self,
        proposed: &[ProposedTaint],
        guards: &[Guard],
    ) -> BTreeSet<DeviceId> {
        let selected = self.selected(proposed).devices;
        // Pods of whole drivers are read only where a guard takes a share of them: they may be most of the cluster's.
        if !guards.iter().any(Guard::needs_whole) {
            return selected;
        }
        let drivers: BTreeSet<&DriverName> = selected.iter().map(|id| &id.driver).collect();
        let claims = self.reading.snapshot.claims.iter();
        let results = claims
            .filter_map(|claim| claim.allocation.as_ref())
            .flat_map(|allocation| &allocation.results);
        let held = results.map(|result| &result.device);
        held.filter(|id| drivers.contains(&id.driver))
            .cloned()
            .collect()
    }
}

impl<'a> Basis<'a> {
    /// Impact of the `proposed` taints.
    pub fn impact(&self, proposed: &'a [ProposedTaint]) -> Impact<'a> {
        engine::preview(&self.reading.snapshot, proposed, self.now, self.semantics)
    }

    /// Leaves the pods that are `kept` out of the number that the user approves, in the report of these taints.
    pub fn agree_without(
        &self,
        report: &mut ImpactReport,
        proposed: &[ProposedTaint],
        kept: &BTreeSet<Uid>,
    ) {
        let mut impact = self.impact(proposed);
        impact.pods.retain(|pod| !kept.contains(&pod.pod.uid));
        let limits = Limits {
            guards: &[],
            wholes: Wholes::default(),
        };
        let disruption_facts = DisruptionFacts::of(&impact, self);
        let agreed = Assessed::new(&impact, &disruption_facts, self, &limits).assessment;
        report.assessment.totals.pods = agreed.totals.pods;
        report.assessment.consent = agreed.consent;
    }

    /// Report of the pods read that the `proposed` taints affect, and of the results of `guards`.
    pub fn report(&self, proposed: &[ProposedTaint], guards: &[Guard]) -> ImpactReport {
        let snapshot = &self.reading.snapshot;
        let impact = engine::preview(snapshot, proposed, self.now, self.semantics);
        self.report_of(&impact, guards)
    }

    /// The report on the evictions of `pods` and no others, which use devices with the `proposed` taints.
    pub fn report_on(
        &self,
        pods: &BTreeSet<Uid>,
        proposed: &[ProposedTaint],
        guards: &[Guard],
    ) -> ImpactReport {
        let mut impact = self.impact(proposed);
        impact.evict_only(pods, self.now);
        self.report_of(&impact, guards)
    }

    fn report_of(&self, impact: &Impact<'_>, guards: &[Guard]) -> ImpactReport {
        let snapshot = &self.reading.snapshot;
        let usage = engine::usage(snapshot, &engine::drivers_of(impact));
        let wholes = Wholes {
            pods: usage.pods,
            devices: usage.devices,
        };
        ImpactReport::new(impact, self, &Limits { guards, wholes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{claim_in_use, now, pod, proposed, reading, semantics};
    use crate::model::{ClaimSource, Count, PodClaim};

    #[test]
    fn pods_that_stay_are_no_part_of_the_number_that_is_agreed_to() {
        let mut reading = reading();
        for (namespace, name) in [("team-a", "web"), ("monitoring", "monitor")] {
            let mut pod = pod(namespace, name);
            let claim = claim_in_use(&pod);
            pod.claims = vec![PodClaim {
                name: "gpu".into(),
                source: ClaimSource::Claim(claim.name.name.clone()),
            }];
            reading.snapshot.claims.push(claim);
            reading.snapshot.pods.push(pod);
        }
        let (semantics, proposed) = (semantics(37), [proposed(None)]);
        let basis = Basis::new(&reading, &semantics, now());
        let mut report = basis.report(&proposed, &[]);
        assert_eq!(report.assessment.totals.pods, Count::known(2));
        let kept = [reading.snapshot.pods[1].uid.clone()].into();
        basis.agree_without(&mut report, &proposed, &kept);
        assert_eq!(report.assessment.totals.pods, Count::known(1));
    }
}
