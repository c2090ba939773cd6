//! Filters of listed devices.

use std::collections::BTreeSet;

use crate::assess::{Availabilities, Availability, DeviceBasis};
use crate::engine::DeviceState;
use crate::model::DeviceId;

/// Devices that a list has.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// The selected devices; `None` for all.
    pub selected: Option<BTreeSet<DeviceId>>,
    /// `--tainted`
    pub tainted: bool,
    /// `--free`
    pub free: bool,
    /// `--namespace`
    pub namespace: Option<String>,
}

impl ListFilter {
    /// Keeps those of the `devices` that are listed. A device is free only if that is known.
    pub fn keep(&self, devices: &mut Vec<DeviceState<'_>>, basis: &DeviceBasis<'_>) {
        let availabilities = self.free.then(|| Availabilities::new(basis.reading));
        devices.retain(|state| {
            let free = availabilities
                .as_ref()
                .is_none_or(|all| all.of(state) == Some(Availability::Free));
            free && self.wants(state)
        });
    }

    fn wants(&self, state: &DeviceState<'_>) -> bool {
        let tainted = !self.tainted || !state.taints.is_empty();
        let held = self.namespace.as_ref().is_none_or(|namespace| {
            let mut claims = state.claims.iter();
            claims.any(|claim| claim.name.namespace.as_str() == namespace)
        });
        let selected = self.selected.as_ref();
        let selected = selected.is_none_or(|selected| selected.contains(&state.id));
        selected && tainted && held
    }
}
