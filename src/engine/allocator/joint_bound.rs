//! Upper bound for how many claims can be allocated at the same time.
//!
//! A bound, not a plan: every claim is reduced to the request that is hardest to serve, and every device
//! serves one claim only, unless it is shared. Constraints, counters, capacities and nodes are left out,
//! so that fewer may find a place, and never more.

use std::collections::BTreeMap;

use super::candidate_devices::{Candidacy, FittingDevices, is_free};
use super::claim_group::ClaimGroup;
use super::cluster_state::ClusterState;
use super::demand::Choice;
use super::pod_nodes::AllowedView;
use super::usage::Usage;
use crate::model::DeviceAmount;

/// Limit on pairs of groups and sorts of devices; beyond it the bound is the number of claims.
//
// The time for the flow grows faster than their number, and the number of claims is a bound that is always right.
const PAIRS: usize = 1_000_000;

/// How many of the affected claims can be placed at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JointBound {
    /// At the most.
    pub at_most: usize,
    /// Of so many.
    pub claims: usize,
}

/// What claims that ask for the same need of devices which others cannot have too.
struct JointDemand {
    claims: usize,
    /// How many devices each needs.
    devices: usize,
    /// Identities of the devices that would do.
    candidates: Vec<u32>,
}

/// Claims that ask for the same, and whose pods can be scheduled on the same nodes.
pub(super) struct WantedClaims<'s, 'a> {
    pub(super) group: &'s ClaimGroup<'a>,
    /// The views of these nodes; absent for all.
    pub(super) views: Option<&'s [AllowedView]>,
    pub(super) claims: usize,
}

/// How many of these claims can be placed at the most.
pub(super) fn joint_bound<'a>(
    wanted: &[WantedClaims<'_, 'a>],
    usage: Usage<'_, '_>,
    state: &ClusterState<'a>,
) -> usize {
    let mut free = 0_usize;
    let mut needs = Vec::new();
    for WantedClaims {
        group,
        views,
        claims,
    } in wanted
    {
        let claims = *claims;
        let fitting = group.fitting.iter().map(|(fitting, _)| fitting);
        let hardest = match views {
            None => hardest(group, fitting, usage, state),
            Some(views) => {
                let views: Vec<_> = views.iter().map(|it| &state.views[it.view]).collect();
                let seen: Vec<_> = fitting.map(|it| it.seen_from(&views, state)).collect();
                hardest(group, seen.iter(), usage, state)
            }
        };
        match hardest {
            Some((devices, candidates)) => needs.push(JointDemand {
                claims,
                devices,
                candidates,
            }),
            None => free = free.saturating_add(claims),
        }
    }
    free.saturating_add(bound(&needs))
}

/// The request that is hardest to serve: how many devices it needs, and which ones would do. Absent
/// where every request is content with what others can have too.
fn hardest<'f, 'a: 'f>(
    group: &ClaimGroup<'a>,
    mut fitting: impl Iterator<Item = &'f FittingDevices<'a>>,
    usage: Usage<'_, '_>,
    state: &ClusterState<'_>,
) -> Option<(usize, Vec<u32>)> {
    let mut hardest: Option<(usize, Vec<u32>)> = None;
    for demand in group.demands.iter().flatten() {
        let mut candidates = Vec::new();
        let mut needed = usize::MAX;
        let mut is_exclusive = true;
        for choice in &demand.choices {
            let fitting = fitting.next()?;
            needed = needed.min(match choice.terms.amount {
                DeviceAmount::Exactly(count) => usize::try_from(count).unwrap_or_default(),
                DeviceAmount::All | DeviceAmount::Unknown(_) => 1,
            });
            is_exclusive &= collect(choice, fitting, usage, state, &mut candidates);
        }
        candidates.sort_unstable();
        candidates.dedup();
        if !is_exclusive || needed == 0 {
            continue;
        }
        // The request with the fewest candidates for each device needed binds most; any of them would give a
        // bound.
        let load =
            |needed: usize, devices: usize| devices.checked_div(needed).unwrap_or(usize::MAX);
        let is_harder = hardest.as_ref().is_none_or(|(before, known)| {
            load(needed, candidates.len()) < load(*before, known.len())
        });
        if is_harder {
            hardest = Some((needed, candidates));
        }
    }
    hardest
}

/// Adds what would do; `false` where it is something that others can have too.
fn collect(
    choice: &Choice<'_>,
    fitting: &FittingDevices<'_>,
    usage: Usage<'_, '_>,
    state: &ClusterState<'_>,
    candidates: &mut Vec<u32>,
) -> bool {
    let mut is_exclusive = !choice.terms.admin_access;
    for (pool, devices) in &fitting.pools {
        for (place, _) in devices {
            let at = state.at(*place);
            if is_free(choice, pool, *place, usage, state) != Candidacy::No {
                is_exclusive &= !at.device.allow_multiple_allocations;
                candidates.push(at.identity);
            }
        }
    }
    is_exclusive
}

fn bound(needs: &[JointDemand]) -> usize {
    let claims = needs
        .iter()
        .map(|need| need.claims)
        .fold(0, usize::saturating_add);
    let mut sorts: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let mut by_device: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (number, need) in needs.iter().enumerate() {
        for device in &need.candidates {
            by_device.entry(*device).or_default().push(number);
        }
    }
    // Devices that the same groups can use are one sort: the size of the flow depends on how many different
    // requests there are, and not on how many devices.
    for groups in by_device.into_values() {
        let count = sorts.entry(groups).or_default();
        *count = count.saturating_add(1);
    }
    if needs.len().saturating_mul(sorts.len()) > PAIRS {
        return claims;
    }
    let sorts: Vec<(Vec<usize>, usize)> = sorts.into_iter().collect();
    // Two relaxations of a problem that is NP-hard with several devices for each claim: one device is enough for
    // every claim, or devices are divided freely among claims, the modest ones first. Each is never too low, and
    // so is the smaller of the two.
    let one_each = flow(needs.iter().map(|need| need.claims).collect(), &sorts);
    let all = needs
        .iter()
        .map(|need| need.claims.saturating_mul(need.devices));
    let mut devices = flow(all.collect(), &sorts);
    // The most claims that so many devices are enough for: those that need the fewest.
    let mut cheapest: Vec<&JointDemand> = needs.iter().collect();
    cheapest.sort_by_key(|need| need.devices);
    let mut enough = 0_usize;
    for need in cheapest {
        let served = need
            .claims
            .min(devices.checked_div(need.devices).unwrap_or(need.claims));
        devices = devices.saturating_sub(served.saturating_mul(need.devices));
        enough = enough.saturating_add(served);
    }
    one_each.min(enough)
}

/// How much of the `demand` of the groups can be served from `sorts` of devices, each of which serves
/// some groups and has so many.
///
/// Augmenting paths: a group takes from a sort, or from another group that can take from elsewhere.
fn flow(demand: Vec<usize>, sorts: &[(Vec<usize>, usize)]) -> usize {
    let mut left: Vec<usize> = sorts.iter().map(|(_, count)| *count).collect();
    let mut given: Vec<BTreeMap<usize, usize>> = vec![BTreeMap::new(); sorts.len()];
    let mut total = 0_usize;
    for (group, mut wanted) in demand.into_iter().enumerate() {
        while wanted > 0 {
            let Some(path) = path(group, sorts, &left, &given) else {
                break;
            };
            let [.., (_, last)] = path.as_slice() else {
                break;
            };
            let along = path.windows(2).map(|pair| {
                let (sort, next) = (pair[0].1, pair[1].0);
                given[sort].get(&next).copied().unwrap_or_default()
            });
            let amount = along
                .min()
                .unwrap_or(usize::MAX)
                .min(left[*last])
                .min(wanted);
            left[*last] = left[*last].saturating_sub(amount);
            for (place, (taker, sort)) in path.iter().enumerate() {
                let taken = given[*sort].entry(*taker).or_default();
                *taken = taken.saturating_add(amount);
                if let Some((next, _)) = path.get(place.saturating_add(1)) {
                    let lost = given[*sort].entry(*next).or_default();
                    *lost = lost.saturating_sub(amount);
                }
            }
            wanted = wanted.saturating_sub(amount);
            total = total.saturating_add(amount);
        }
    }
    total
}

/// A way to serve `group`: who takes from which sort, the first being the group; whoever comes next
/// gives way there. The last sort has something left.
fn path(
    group: usize,
    sorts: &[(Vec<usize>, usize)],
    left: &[usize],
    given: &[BTreeMap<usize, usize>],
) -> Option<Vec<(usize, usize)>> {
    let mut came_from: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let mut seen = vec![false; sorts.len()];
    let mut waiting = std::collections::VecDeque::from([group]);
    while let Some(taker) = waiting.pop_front() {
        for (sort, (groups, _)) in sorts.iter().enumerate() {
            if seen[sort] || groups.binary_search(&taker).is_err() {
                continue;
            }
            seen[sort] = true;
            if left[sort] > 0 {
                let mut path = vec![(taker, sort)];
                let mut at = taker;
                while let Some((before, through)) = came_from.get(&at) {
                    path.push((*before, *through));
                    at = *before;
                }
                path.reverse();
                return Some(path);
            }
            for (other, amount) in &given[sort] {
                if *amount > 0 && *other != group && !came_from.contains_key(other) {
                    came_from.insert(*other, (taker, sort));
                    waiting.push_back(*other);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(claims: usize, devices: usize, candidates: &[u32]) -> JointDemand {
        JointDemand {
            claims,
            devices,
            candidates: candidates.to_vec(),
        }
    }

    #[test]
    fn claims_that_want_the_same_devices_have_to_share_them() {
        for (name, needs, expected) in [
            ("nobody", vec![], 0),
            ("enough", vec![need(2, 1, &[0, 1, 2])], 2),
            ("too few", vec![need(3, 1, &[0, 1])], 2),
            ("none", vec![need(3, 1, &[])], 0),
            (
                "one gives way",
                vec![need(1, 1, &[0, 1]), need(1, 1, &[0])],
                2,
            ),
            (
                "a chain gives way",
                vec![
                    need(1, 1, &[0, 1]),
                    need(1, 1, &[1, 2]),
                    need(1, 1, &[0]),
                    need(1, 1, &[1]),
                ],
                3,
            ),
            ("two each", vec![need(3, 2, &[0, 1, 2, 3, 4])], 2),
            (
                "the modest first",
                vec![need(1, 4, &[0, 1, 2, 3]), need(3, 1, &[0, 1, 2, 3])],
                3,
            ),
        ] {
            assert_eq!(bound(&needs), expected, "{name}");
        }
    }
}
