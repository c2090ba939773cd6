//! Previews of proposed taints on a reading: selected devices, impact and report.

use std::collections::BTreeSet;

use super::impact::ImpactReport;
use crate::assess::{Basis, DeviceBasis, Guard, Limits, Wholes};
use crate::engine::{self, Impact, ProposedTaint, Selection};
use crate::model::{DeviceId, DriverName};

impl DeviceBasis<'_> {
    /// The devices that the `proposed` taints select; which they are does not depend on pods.
    #[must_use]
    pub fn selected(&self, proposed: &[ProposedTaint]) -> Selection {
        engine::selection(&self.reading.snapshot, proposed, self.semantics)
    }

    /// The devices whose pods the answer needs: those that are selected, and those of the same drivers
    /// where `guards` take a share of all who use them.
    #[must_use]
    pub fn devices_of_question(
        &self,
        proposed: &[ProposedTaint],
        guards: &[Guard],
    ) -> BTreeSet<DeviceId> {
        let selected = self.selected(proposed).devices;
        // Pods of whole drivers are read only where a share of them is asked for: they may be most of the cluster's.
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
    /// What the `proposed` taints do.
    #[must_use]
    pub fn impact(&self, proposed: &'a [ProposedTaint]) -> Impact<'a> {
        engine::preview(&self.reading.snapshot, proposed, self.now, self.semantics)
    }

    /// Whom the `proposed` taints hit, of the pods that were read, and what `guards` say to that.
    #[must_use]
    pub fn report(&self, proposed: &[ProposedTaint], guards: &[Guard]) -> ImpactReport {
        let snapshot = &self.reading.snapshot;
        let impact = engine::preview(snapshot, proposed, self.now, self.semantics);
        let usage = engine::usage(snapshot, &engine::drivers_of(&impact));
        let wholes = Wholes {
            pods: usage.pods,
            devices: usage.devices,
        };
        ImpactReport::new(&impact, self, &Limits { guards, wholes })
    }
}
