//! Shared counters that partitions of a device consume.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::capacity::CapacityError;
use super::cluster_state::ClusterState;
use super::pool::{Counters, Pool};
use super::quantity::{Amount, amount};
use super::usage::Usage;
use crate::model::Device;

/// Rest of the counters of each pool, less what was chosen so far.
#[derive(Clone, Debug, Default)]
pub(super) struct AvailableCounters<'a> {
    by_pool: HashMap<u32, Counters<'a>>,
}

impl<'a> AvailableCounters<'a> {
    /// Takes what the device consumes, unless that is more than is left.
    ///
    /// A counter that is overdrawn already keeps back every device of its pool that consumes any.
    ///
    /// Upstream: `checkAvailableCounters`.
    pub(super) fn take(
        &mut self,
        pool: &Pool<'a>,
        device: &Device,
        usage: Usage<'_, '_>,
        state: &ClusterState<'_>,
    ) -> Result<bool, CapacityError> {
        let left = self
            .by_pool
            .entry(pool.place)
            .or_insert_with(|| left(pool, usage, state));
        change(left, device, |left, taken| left.checked_sub(taken))?;
        // All counters of the pool, as upstream: also those that this device does not consume.
        for counter in left.values().flat_map(BTreeMap::values) {
            if counter.ok_or(CapacityError::Unreadable)? < 0 {
                change(left, device, |left, taken| left.checked_add(taken))?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Gives back what the device consumes.
    pub(super) fn give_back(&mut self, pool: &Pool<'a>, device: &Device) {
        if let Some(left) = self.by_pool.get_mut(&pool.place) {
            // A taken amount can be given back.
            let _ = change(left, device, |left, taken| left.checked_add(taken));
        }
    }
}

/// Rest beside the devices in use, on other nodes too.
fn left<'a>(pool: &Pool<'a>, usage: Usage<'_, '_>, state: &ClusterState<'_>) -> Counters<'a> {
    let mut left = pool.counters.clone();
    // A pool may span nodes, and its counters are those of the pool.
    for place in pool.devices.iter().chain(&pool.elsewhere) {
        let at = state.at(*place);
        // However many shares of a device are in use, it has consumed its counters once.
        if usage.is_held(at.identity) || usage.is_shared(at.identity) {
            let known = change(&mut left, at.device, |left, taken| left.checked_sub(taken));
            if known.is_err() {
                // One unreadable amount makes all of them unknown: it may have been taken from any.
                for counter in left.values_mut().flat_map(BTreeMap::values_mut) {
                    *counter = None;
                }
            }
        }
    }
    left
}

fn change(
    counters: &mut Counters<'_>,
    device: &Device,
    apply: impl Fn(Amount, Amount) -> Option<Amount>,
) -> Result<(), CapacityError> {
    for taken in device.terms.iter().flat_map(|terms| &terms.consumes) {
        // Nothing is lost: a pool in which a device names a set or a counter that is not defined is `Invalid`, and
        // no search looks at it.
        let Some(set) = counters.get_mut(&*taken.set) else {
            continue;
        };
        for (name, written) in &taken.counters {
            let more = amount(written).ok_or(CapacityError::Unreadable)?;
            if let Some(counter) = set.get_mut(&**name) {
                *counter = counter.and_then(|counter| apply(counter, more));
            }
        }
    }
    Ok(())
}
