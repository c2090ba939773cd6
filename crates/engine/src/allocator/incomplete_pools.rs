//! Pools that the allocator skips because their drivers have not published all slices.

use std::collections::{BTreeMap, BTreeSet};

use crate::devices::{current_slices, pool_of};
use crate::impact::Impact;
use crate::model::{DriverName, PoolName, Snapshot};

/// A pool whose number of current slices is not its `resourceSliceCount`.
///
/// Once it is complete, claims may be allocated from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IncompletePool {
    /// Publisher of the pool.
    pub driver: DriverName,
    /// Its name.
    pub pool: PoolName,
}

/// The incomplete pools of the drivers that have selected devices, by name.
///
/// Upstream: `pools_incubating.go`, which compares with the first slice alone. `pool_slices` of `engine::devices` also
/// calls a pool incomplete whose slices contradict each other.
pub(super) fn incomplete_pools(
    snapshot: &Snapshot,
    impact: &Impact<'_>,
) -> BTreeSet<IncompletePool> {
    let devices = impact.devices.iter();
    let drivers: BTreeSet<&DriverName> = devices.map(|device| &device.id.driver).collect();
    let mut slices_of: BTreeMap<(&str, &str), Vec<_>> = BTreeMap::new();
    for slice in current_slices(&snapshot.slices) {
        if drivers.contains(&slice.driver) {
            slices_of.entry(pool_of(slice)).or_default().push(slice);
        }
    }
    let pools = slices_of.into_values().filter_map(|slices| {
        let first = slices.first()?;
        let is_whole = i64::try_from(slices.len()) == Ok(first.pool.slice_count);
        (!is_whole).then(|| IncompletePool {
            driver: first.driver.clone(),
            pool: first.pool.name.clone(),
        })
    });
    pools.collect()
}
