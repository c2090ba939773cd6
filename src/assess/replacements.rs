//! Reallocation of claims that lose their devices.

use std::collections::{BTreeMap, BTreeSet};

use super::basis::Basis;
use crate::engine::allocator::{
    Available, ClaimReallocation, Completeness, IncompletePool, NodeFilter, Placeability, Range,
    Replacement, RequestCandidates, SearchBasis, Unknown, replacement,
};
use crate::engine::{Impact, PodImpact, ProposedTaint};
use crate::model::{Count, DriverName, Gap, Kind, NamespacedName, Reading, Source};
use crate::naming::phrase::{counted, few, first_and_more};

/// So many claims without a replacement are named to people; programs get all.
const NAMED: usize = 10;

/// Reallocation of the claims whose pods would be evicted, with the taints in place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replacements {
    /// Every claim through which a pod that is recreated would lose a device, by namespace and name.
    pub claims: Vec<ClaimReplacement>,
    /// Devices of the selected devices' classes that stay allocatable; absent where that is not known.
    pub available: Option<AvailableDevices>,
}

/// Reallocation of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimReplacement {
    /// The claim.
    pub name: NamespacedName,
    /// True if it could be reallocated; absent where that is not known.
    pub placeable: Option<bool>,
    /// Why that is not known.
    pub unknown: BTreeSet<Unknown>,
    /// Its requests, alternatives one by one.
    pub requests: Vec<RequestReplacement>,
}

/// Number of devices that could serve a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestReplacement {
    /// The request, as REQUEST or REQUEST/SUBREQUEST.
    pub request: String,
    /// Number of devices it needs; absent where it wants all of a node.
    pub needs: Option<i64>,
    /// Devices that fit, are free, and are kept from it by no taint, on nodes on which a pod of the claim can
    /// be scheduled.
    pub devices: Count,
    /// Upper bound of such devices on other nodes.
    pub elsewhere: usize,
}

/// Devices of the selected devices' classes that stay allocatable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvailableDevices {
    /// The classes, by name.
    pub classes: Vec<String>,
    /// Free devices that no taint keeps from claims which tolerate none.
    pub devices: Count,
    /// All devices of these classes.
    pub of: Count,
}

impl Replacements {
    /// Replacements for the devices that pods of `impact` lose, and the gaps.
    pub fn of(impact: &Impact<'_>, basis: &Basis<'_>) -> (Self, Vec<Gap>) {
        let rules = impact.rules.iter();
        let proposed: Vec<ProposedTaint> = rules.map(|rule| rule.proposed.clone()).collect();
        Self::under(&proposed, impact, NodeFilter::Cordoned, basis)
    }

    /// Replacements for the devices that pods of `impact` lose while the taints of `proposed` are there,
    /// which need not be those that evict the pods, on the nodes that `filter` allows; and the gaps.
    pub fn under(
        proposed: &[ProposedTaint],
        impact: &Impact<'_>,
        filter: NodeFilter,
        basis: &Basis<'_>,
    ) -> (Self, Vec<Gap>) {
        let known = SearchBasis {
            semantics: basis.semantics,
            completeness: completeness(basis.reading),
        };
        let snapshot = &basis.reading.snapshot;
        let mut found = replacement(snapshot, proposed, impact, filter, known);
        // Nothing recreates a pod without a controller; one of an unknown kind may.
        let recreated = impact
            .pods
            .iter()
            .filter(|pod| pod.pod.controller.is_some());
        let recreated: BTreeSet<&NamespacedName> = recreated
            .flat_map(|pod| pod.claims.iter().map(|used| used.claim))
            .collect();
        found
            .claims
            .retain(|lost| recreated.contains(&lost.claim.name));
        (Self::new(&found), gaps(&found, basis.reading))
    }

    fn new(replacement: &Replacement<'_>) -> Self {
        let claims: Vec<_> = replacement
            .claims
            .iter()
            .map(|reallocation| ClaimReplacement::new(reallocation, replacement))
            .collect();
        let available = replacement.available.as_ref();
        Self {
            claims,
            available: available
                .map(|available| AvailableDevices::new(available, &replacement.incomplete_pools)),
        }
    }

    /// Claims of the pod that cannot be reallocated, and the devices for them; absent where all could, or
    /// that is unknown.
    pub(super) fn lost_by(&self, impact: &PodImpact<'_>) -> Option<String> {
        let claims = impact.claims.iter().filter_map(|used| {
            // `claims` are sorted by name.
            let place = self
                .claims
                .binary_search_by_key(&used.claim, |claim| &claim.name);
            let claim = self.claims.get(place.ok()?)?;
            (claim.placeable == Some(false)).then_some(claim)
        });
        let mut offers: Vec<String> = claims.map(ClaimReplacement::offers).collect();
        offers.dedup();
        (!offers.is_empty()).then(|| format!("no replacement: {}", offers.join(", ")))
    }

    fn unplaceable_claims(&self) -> Vec<&ClaimReplacement> {
        let claims = self.claims.iter();
        claims
            .filter(|claim| claim.placeable == Some(false))
            .collect()
    }

    /// Number of claims that could not be reallocated even alone.
    pub fn unplaceable(&self) -> Count {
        let with = |placeable| {
            let claims = self.claims.iter();
            claims.filter(|claim| claim.placeable == placeable).count()
        };
        let known = with(Some(false));
        Count::between(known, known.saturating_add(with(None)))
    }

    /// Number of devices of the same classes that stay allocatable.
    pub fn available(&self) -> Count {
        let available = self.available.as_ref();
        available.map(|found| found.devices).unwrap_or_default()
    }

    /// Number of devices of the same classes.
    pub fn of_class(&self) -> Count {
        self.available
            .as_ref()
            .map(|found| found.of)
            .unwrap_or_default()
    }

    /// Lines for the user; none if all claims can be reallocated.
    pub fn lines(&self) -> Vec<String> {
        let unplaceable = self.unplaceable_claims();
        // Claims with the same reason share a line.
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for claim in unplaceable {
            let offers = claim.offers();
            match reasons.iter_mut().find(|(known, _)| *known == offers) {
                Some((_, claims)) => claims.push(claim.name.to_string()),
                None => reasons.push((offers, vec![claim.name.to_string()])),
            }
        }
        let named = reasons.iter().take(NAMED);
        let mut lines: Vec<String> = named
            .map(|(offers, claims)| unplaceable_line(offers, claims))
            .collect();
        let rest = reasons.iter().skip(NAMED);
        let more: usize = rest.map(|(_, claims)| claims.len()).sum();
        if more > 0 {
            lines.push(format!(
                "no replacement for {}",
                counted(more, "more claim")
            ));
        }
        lines
    }
}

/// Says that the claims cannot be reallocated, with the devices for each of their requests.
fn unplaceable_line(offers: &str, claims: &[String]) -> String {
    match claims {
        [only] => format!("no replacement for claim {only}: {offers}"),
        several => format!(
            "no replacement for {} ({}): {offers}",
            counted(several.len(), "claim"),
            few(several)
        ),
    }
}

/// Reason why it is unknown if a claim could be reallocated; empty where it is known. Pools that the
/// allocator passes over for now are no "no".
fn unknown(
    reallocation: &ClaimReallocation<'_>,
    replacement: &Replacement<'_>,
) -> BTreeSet<Unknown> {
    match &reallocation.placeability {
        Placeability::Placeable => BTreeSet::new(),
        Placeability::Unplaceable => passed_over(reallocation, replacement)
            .into_iter()
            .map(|pool| {
                let why = "is incomplete, and the scheduler skips it";
                Unknown::from(format!("pool {}/{} {why}", pool.driver, pool.pool))
            })
            .collect(),
        Placeability::Unknown(why) => why.clone(),
    }
}

/// The pools in which the claim may find a place once they are whole: those of drivers whose devices it
/// has.
fn passed_over<'r>(
    reallocation: &ClaimReallocation<'_>,
    replacement: &'r Replacement<'_>,
) -> Vec<&'r IncompletePool> {
    let allocation = reallocation.claim.allocation.iter();
    let results = allocation.flat_map(|allocation| &allocation.results);
    let drivers: BTreeSet<&DriverName> = results.map(|result| &result.device.driver).collect();
    let pools = replacement.incomplete_pools.iter();
    pools
        .filter(|pool| drivers.contains(&pool.driver))
        .collect()
}

/// Gaps of replacements: each unread kind once unless it is reported already, and every other reason once
/// with its claims.
fn gaps(replacement: &Replacement<'_>, reading: &Reading) -> Vec<Gap> {
    let mut is_unread = false;
    let mut reasons: BTreeMap<Unknown, Vec<String>> = BTreeMap::new();
    for reallocation in &replacement.claims {
        for why in unknown(reallocation, replacement) {
            if why.is_unread() {
                is_unread = true;
            } else {
                let claims = reasons.entry(why).or_default();
                claims.push(reallocation.claim.name.to_string());
            }
        }
    }
    let unread = if is_unread {
        unread(reading)
    } else {
        Default::default()
    };
    let found = reasons.len();
    let reasons = reasons.into_iter().take(NAMED).map(|(reason, claims)| {
        let why = format!("{reason} (claim {})", first_and_more(&claims));
        Gap::of_replacements(&why)
    });
    let more = found.saturating_sub(NAMED);
    let more = (more > 0).then(|| Gap::of_replacements(&counted(more, "other reason")));
    unread.into_iter().chain(reasons).chain(more).collect()
}

/// Gaps of unread classes, nodes or templates; absent where the unread kind is reported as a gap of replacements
/// already. A gap of the kind itself tells only what else is unknown without it.
fn unread(reading: &Reading) -> Vec<Gap> {
    if reading.gaps.iter().any(|gap| gap.what == Gap::REPLACEMENTS) {
        return Vec::new();
    }
    let gap_of = |kind: Kind| reading.gaps.iter().find(|gap| gap.kind() == Some(kind));
    let templates = Some(Kind::ResourceClaimTemplate).filter(|kind| gap_of(*kind).is_some());
    let (denied, absent): (Vec<Kind>, Vec<Kind>) = [Kind::DeviceClass, Kind::Node]
        .into_iter()
        .chain(templates)
        .filter(|kind| !reading.known.contains(kind) || gap_of(*kind).is_some())
        .partition(|kind| gap_of(*kind).is_some());
    let denied = denied.into_iter().filter_map(|kind| {
        let why = &gap_of(kind)?.why;
        let reason = why.strip_suffix(&format!(": {}", kind.without()));
        Some(Gap::of_replacements(reason.unwrap_or(why)))
    });
    let kinds = absent.into_iter();
    let kinds: Vec<&str> = match reading.source {
        Source::Cluster { .. } => kinds.map(Kind::plural).collect(),
        Source::Files => kinds.map(Kind::as_str).collect(),
    };
    let absent = match (kinds.as_slice(), &reading.source) {
        ([], _) => None,
        (kinds, Source::Files) => Some(format!("the input contains no {}", kinds.join(" and no "))),
        (kinds, Source::Cluster { .. }) => Some(format!("{} were not read", kinds.join(" and "))),
    };
    let absent = absent.map(|reason| Gap::of_replacements(&reason));
    denied.chain(absent).collect()
}

impl AvailableDevices {
    /// Of pools that are not whole there may be more.
    fn new(available: &Available, unfinished: &BTreeSet<IncompletePool>) -> Self {
        let count = |range: Range| {
            if unfinished.is_empty() {
                count(range)
            } else {
                count(range).or_more()
            }
        };
        Self {
            classes: available.classes.clone(),
            devices: count(available.devices),
            of: count(available.whole),
        }
    }
}

impl ClaimReplacement {
    fn new(reallocation: &ClaimReallocation<'_>, replacement: &Replacement<'_>) -> Self {
        let unknown = unknown(reallocation, replacement);
        let placeable = unknown
            .is_empty()
            .then_some(reallocation.placeability == Placeability::Placeable);
        let requests = reallocation.requests.iter();
        Self {
            name: reallocation.claim.name.clone(),
            placeable,
            unknown,
            requests: requests.map(RequestReplacement::new).collect(),
        }
    }

    /// Devices for each of its requests.
    fn offers(&self) -> String {
        let requests: Vec<String> = self
            .requests
            .iter()
            .map(RequestReplacement::offer)
            .collect();
        let requests = requests.join(", ");
        if self.requests.iter().all(RequestReplacement::has_enough) {
            return format!("{requests}, not on one node");
        }
        requests
    }
}

impl RequestReplacement {
    fn new(reallocation: &RequestCandidates) -> Self {
        Self {
            request: reallocation.request.clone(),
            needs: reallocation.needs,
            devices: count(reallocation.devices),
            elsewhere: reallocation.elsewhere,
        }
    }

    /// Number of devices it needs, and of those that could serve it.
    fn offer(&self) -> String {
        let needs = self
            .needs
            .map_or_else(|| "all".to_owned(), |it| it.to_string());
        let (request, devices) = (&self.request, self.devices);
        match self.elsewhere {
            0 => format!("{request} needs {needs}, free {devices}"),
            more => format!("{request} needs {needs}, free {devices} (other nodes: {more})"),
        }
    }

    /// True if there seem to be enough devices, each taken by itself.
    fn has_enough(&self) -> bool {
        // With `allocationMode: All` at least one device has to be there.
        let needs = self.needs.unwrap_or(1);
        let needs = usize::try_from(needs).unwrap_or_default();
        self.devices.most().is_none_or(|most| most >= needs)
    }
}

fn count(range: Range) -> Count {
    Count::between(range.least, range.most)
}

/// Kinds in `reading` that replacements can rely on. Of nodes, those of the pods may be known and others not,
/// which is a gap of replacements then.
pub fn completeness(reading: &Reading) -> Completeness {
    let has_gap = |kind: Kind| reading.gaps.iter().any(|gap| gap.kind() == Some(kind));
    let is_read = |kind: Kind| {
        // A kind that was read in part is known, and has a gap.
        reading.known.contains(&kind) && !has_gap(kind)
    };
    let mut gaps = reading.gaps.iter();
    Completeness {
        slices: is_read(Kind::ResourceSlice),
        claims: is_read(Kind::ResourceClaim),
        rules: is_read(Kind::DeviceTaintRule),
        classes: is_read(Kind::DeviceClass),
        nodes: is_read(Kind::Node) && !gaps.any(|gap| gap.what == Gap::REPLACEMENTS),
        templates: !has_gap(Kind::ResourceClaimTemplate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(needs: Option<i64>, devices: usize) -> RequestReplacement {
        RequestReplacement {
            request: "gpu".to_owned(),
            needs,
            devices: Count::known(devices),
            elsewhere: 0,
        }
    }

    #[test]
    fn a_request_for_all_devices_of_a_node_has_enough_where_there_is_any() {
        assert!(request(None, 1).has_enough());
        assert!(!request(None, 0).has_enough());
    }

    #[test]
    fn a_kind_that_was_read_in_part_is_not_complete_and_no_other_is_in_doubt() {
        let mut reading = crate::report::testing::reading();
        reading.gaps = vec![Gap::of(Kind::DeviceClass, "one page was denied")];
        let found = completeness(&reading);
        assert!(!found.classes);
        assert!(found.slices && found.claims && found.rules && found.nodes);
        reading.gaps = vec![Gap::of_replacements("some nodes were not read")];
        let found = completeness(&reading);
        assert!(!found.nodes);
        assert!(found.slices && found.claims && found.rules && found.classes);
    }
}
