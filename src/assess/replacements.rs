//! Reallocation of claims that lose their devices.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::completeness::{Basis, Number, as_text};
use crate::engine::allocator::{
    self, Available, ClaimReallocation, Completeness, IncompletePool, NodeFilter, Placeability,
    Range, Replacement, RequestCandidates, SearchBasis, Unknown, replacement,
};
use crate::engine::{Impact, PodImpact, ProposedTaint};
use crate::model::{Count, DriverName, Gap, Kind, NamespacedName, Reading, Source};
use crate::naming::phrase::{counted, few};

/// So many claims without a replacement are named to people; programs get all.
const NAMED: usize = 10;

/// Reallocation of the claims of evicted pods, with the taints in place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Replacements {
    /// Every claim through which a pod that is recreated would lose a device, ordered by namespace and name.
    #[serde(rename = "claimReplacements")]
    pub claims: Vec<ClaimReplacement>,
    /// Available devices in the DeviceClasses of the selected devices; null if unknown.
    pub available: Option<AvailableDevices>,
}

/// Reallocation of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimReplacement {
    /// The claim, as NAMESPACE/NAME.
    #[serde(rename = "claim", serialize_with = "as_text")]
    #[schemars(with = "String")]
    pub name: NamespacedName,
    /// True if the scheduler's allocator could reallocate this claim on at least one node if no other
    /// allocation changed; null if unknown.
    pub placeable: Option<bool>,
    /// Reasons why `placeable` is null; absent if `placeable` is not null.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// The requests of the claim; each subrequest of a request with firstAvailable has an entry of its own.
    pub requests: Vec<RequestReplacement>,
}

/// Number of devices that could serve a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestReplacement {
    /// The request, as REQUEST or REQUEST/SUBREQUEST.
    pub request: String,
    /// Devices that the request needs; null if it requests all devices of a node.
    pub needed_device_count: Option<i64>,
    /// Devices that the request could get: they match the request, the request tolerates their taints, and no
    /// other claim holds them. Devices on a node count only if the node is not cordoned, and if the node selector
    /// and node affinity of the claim's pods allow the node.
    pub available_device_count: Number,
    /// Upper bound of such devices on other nodes.
    #[serde(skip)]
    pub elsewhere: usize,
}

/// Devices that remain available in the DeviceClasses of the selected devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AvailableDevices {
    /// Names of the DeviceClasses of the selected devices, in alphabetical order.
    pub device_class_names: Vec<String>,
    /// Devices that claims without tolerations could still get with the proposed taints in place, counted in the
    /// DeviceClasses of the selected devices. Includes shareable devices with capacity left.
    pub available_device_count: Number,
    /// All devices in the DeviceClasses of the selected devices, available or not.
    pub class_device_count: Number,
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
        available.map_or_else(Count::default, |found| found.available_device_count.0)
    }

    /// Number of devices of the same classes.
    pub fn of_class(&self) -> Count {
        let available = self.available.as_ref();
        available.map_or_else(Count::default, |found| found.class_device_count.0)
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
        let why = format!("{reason} (claim {})", few(&claims));
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
            device_class_names: available.classes.clone(),
            available_device_count: count(available.devices).into(),
            class_device_count: count(available.whole).into(),
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
            unknown: unknown.iter().map(ToString::to_string).collect(),
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
            needed_device_count: reallocation.needs,
            available_device_count: count(reallocation.devices).into(),
            elsewhere: reallocation.elsewhere,
        }
    }

    /// Number of devices it needs, and of those that could serve it.
    fn offer(&self) -> String {
        let needs = self.needed_device_count;
        let needs = needs.map_or_else(|| "all".to_owned(), |it| it.to_string());
        let (request, devices) = (&self.request, self.available_device_count.0);
        match self.elsewhere {
            0 => format!("{request} needs {needs}, free {devices}"),
            more => format!("{request} needs {needs}, free {devices} (other nodes: {more})"),
        }
    }

    /// True if there seem to be enough devices, each taken by itself.
    fn has_enough(&self) -> bool {
        // With `allocationMode: All` at least one device has to be there.
        let needs = self.needed_device_count.unwrap_or(1);
        let needs = usize::try_from(needs).unwrap_or_default();
        let available = self.available_device_count;
        available.most().is_none_or(|most| most >= needs)
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

/// A device in use on the same hardware as a selected device: a device that shares counters with it, such as a partition,
/// or the selected device itself if it is shared. The pods listed here would not be evicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sibling {
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// Selected devices on the same hardware as `device`. Contains `device` itself if it is selected and several
    /// claims share it.
    #[serde(rename = "sharesHardwareWith")]
    pub beside: Vec<String>,
    /// Claims that hold the device and are reserved for pods that would not be evicted, as NAMESPACE/NAME.
    pub claims: Vec<String>,
    /// The pods for which the claims are reserved, as NAMESPACE/NAME.
    pub pods: Vec<String>,
    /// True if its users have administrative access only, which takes the device from no pod.
    #[serde(skip)]
    pub is_admin: bool,
}

impl Sibling {
    /// Those of the devices that the considered taints of `impact` select, by name.
    pub fn of(impact: &Impact<'_>, basis: &Basis<'_>) -> Vec<Self> {
        let siblings = allocator::siblings(&basis.reading.snapshot, impact);
        siblings.iter().map(Self::new).collect()
    }

    fn new(sibling: &allocator::Sibling<'_>) -> Self {
        Self {
            device: sibling.device.to_string(),
            beside: sibling.beside.iter().map(ToString::to_string).collect(),
            claims: sibling
                .claims
                .iter()
                .map(|claim| claim.name.to_string())
                .collect(),
            pods: sibling.pods().iter().map(ToString::to_string).collect(),
            is_admin: sibling.is_admin,
        }
    }

    /// The device and its users, in one line.
    pub fn line(&self) -> String {
        format!("{}: {}", self.device, few(self.all_users()))
    }

    /// True if it is a selected device itself, of which others have shares.
    pub fn is_shared(&self) -> bool {
        self.beside == [self.device.as_str()]
    }

    /// Its pods, or its claims where it has no pods.
    fn all_users(&self) -> Vec<String> {
        if self.pods.is_empty() {
            let claims = self.claims.iter();
            return claims.map(|claim| format!("claim {claim}")).collect();
        }
        self.pods.clone()
    }
}

/// Users of the hardware that the pod leaves; absent where there are none but monitors with admin access.
pub(super) fn beside(siblings: &[Sibling], impact: &PodImpact<'_>) -> Option<String> {
    let held = impact.claims.iter().flat_map(|used| &used.results);
    let devices: BTreeSet<String> = held.map(|result| result.device.to_string()).collect();
    let is_beside = |sibling: &&Sibling| {
        let mut beside = sibling.beside.iter();
        !sibling.is_admin && beside.any(|device| devices.contains(device))
    };
    let users = siblings
        .iter()
        .filter(is_beside)
        .flat_map(Sibling::all_users);
    let users: BTreeSet<String> = users.collect();
    let users: Vec<String> = users.into_iter().collect();
    (!users.is_empty()).then(|| format!("hardware shared with {}", few(&users)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{ClaimUse, testing};

    fn request(needs: Option<i64>, devices: usize) -> RequestReplacement {
        RequestReplacement {
            request: "gpu".to_owned(),
            needed_device_count: needs,
            available_device_count: Count::known(devices).into(),
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

    fn sibling(device: &str, pods: &[&str]) -> Sibling {
        Sibling {
            device: device.to_owned(),
            beside: vec!["gpu.example.com/node-7/gpu-0".to_owned()],
            claims: vec!["team-a/claim".to_owned()],
            pods: pods.iter().map(ToString::to_string).collect(),
            is_admin: false,
        }
    }

    #[test]
    fn a_pod_names_the_users_of_its_hardware() {
        let pod = testing::pod("team-a", "train-0");
        let claim = testing::claim(&pod);
        let results = claim.allocation.iter().flat_map(|found| &found.results);
        let mut impact = testing::evicted(&pod, 0);
        impact.claims = vec![ClaimUse {
            claim: &claim.name,
            results: results.collect(),
        }];
        let device = "gpu.example.com/node-7/gpu-0";
        let all = [
            sibling(device, &["a/x", "a/y"]),
            sibling("gpu-1", &[]),
            sibling("gpu-2", &["a/z"]),
            sibling("gpu-3", &["a/z"]),
            Sibling {
                beside: vec!["gpu.example.com/node-7/gpu-9".to_owned()],
                ..sibling("gpu-4", &["a/z"])
            },
        ];
        let shared = beside(&all, &impact);
        assert_eq!(
            shared.as_deref(),
            Some("hardware shared with a/x, a/y, a/z, claim team-a/claim")
        );
        assert_eq!(beside(&all[4..], &impact), None);
    }
}
