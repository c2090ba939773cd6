//! Times at which devices become free.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::timeline::departures;
use super::view::{Device, NotReleased, Pod};
use crate::assess::{Hazard, Outcome, Sibling};
use crate::engine::Impact;
use crate::engine::allocator::same_hardware;
use crate::model::{DeviceId, Snapshot};
use crate::report::taint::{ObjectReference, Time};

/// Reason why a pod's replacement keeps its devices in use: its claim may be allocated elsewhere, unless it
/// stays allocated.
fn returns(pod: &Pod) -> Option<NotReleased> {
    if has(pod, &[Hazard::ClaimStaysAllocated]) {
        return Some(NotReleased::PodReturns);
    }
    let may_return = pod.replacement_stays || has(pod, &[Hazard::ToleratesScheduleOnly]);
    may_return.then_some(NotReleased::PodMayReturn)
}

/// True if the pod's node cannot end it as things are.
fn is_stuck(pod: &Pod) -> bool {
    has(pod, &[Hazard::NodeNotReady, Hazard::DriverDown])
}

fn has(pod: &Pod, hazards: &[Hazard]) -> bool {
    pod.hazards.iter().any(|found| hazards.contains(found))
}

/// Notes of every device when it becomes free, of `devices` and `pods` that are all there are: never where a
/// pod stays on it, cannot end, may come right back to it, or is not known.
pub(super) fn note_freed(devices: &mut [Device], pods: &[Pod], now: Time) {
    let leaves = |pod: &Pod| !is_stuck(pod) && returns(pod).is_none();
    let leaving: BTreeMap<&str, Timestamp> = departures(pods, now)
        .into_iter()
        .filter(|departure| leaves(departure.pod))
        .map(|departure| (&*departure.pod.uid, departure.gone))
        .collect();
    let mut users: BTreeMap<String, Vec<&Pod>> = BTreeMap::new();
    for pod in pods {
        for claim in &pod.used_claims {
            let name = format!("{}/{}", pod.namespace, claim.name);
            users.entry(name).or_default().push(pod);
        }
    }
    // A claim without a known user is allocated all the same.
    let released = |claim: &ObjectReference| -> Option<Timestamp> {
        let gone = users.get(&claim.to_string())?.iter();
        // A single user that does not leave is enough for the claim to have no such time.
        let gone: Option<Vec<Timestamp>> =
            gone.map(|pod| leaving.get(&*pod.uid).copied()).collect();
        gone?.into_iter().max()
    };
    let holding = |claim: &ObjectReference| match users.get(&claim.to_string()) {
        Some(pods) => pods.iter().filter_map(|pod| keeps(pod)).min(),
        None => Some(NotReleased::NoKnownPod),
    };
    for device in devices.iter_mut() {
        // Admin access keeps no other claim from the device.
        let claims: Vec<&ObjectReference> = device
            .claims
            .iter()
            .filter(|claim| !is_administrative(claim, &device.device, &users))
            .collect();
        let released: Option<Vec<Timestamp>> = claims.iter().copied().map(released).collect();
        device.release_time = released.map(|all| Time(all.into_iter().fold(now.0, Timestamp::max)));
        device.not_released_reason = claims.into_iter().filter_map(holding).min();
    }
    note_returns(devices, pods);
}

/// Notes that any device of a driver may be in use again to which a replacement may return: the taints do not keep it off.
fn note_returns(devices: &mut [Device], pods: &[Pod]) {
    let returning = pods
        .iter()
        .filter(|pod| keeps(pod) == Some(NotReleased::PodMayReturn));
    let allocations = returning
        .flat_map(|pod| &pod.used_claims)
        .flat_map(|claim| &claim.allocations)
        .filter(|allocation| !allocation.admin_access);
    let drivers: BTreeSet<&str> = allocations
        .filter_map(|it| it.device.split('/').next())
        .collect();
    keep_in_use(devices, NotReleased::PodMayReturn, |device| {
        device
            .split('/')
            .next()
            .is_some_and(|driver| drivers.contains(driver))
    });
}

/// Notes that devices do not become free whose hardware stays in use through other devices, which are `siblings`:
/// the driver may not be restarted and the card not be pulled.
pub(super) fn note_hardware_in_use(devices: &mut [Device], siblings: &[Sibling]) {
    // Shares of a selected device are on that device itself, whose claims are counted already.
    let apart = siblings
        .iter()
        .filter(|sibling| !sibling.is_shared() && !sibling.is_admin);
    let in_use: BTreeSet<&str> = apart
        .flat_map(|sibling| sibling.beside.iter().map(String::as_str))
        .collect();
    keep_in_use(devices, NotReleased::HardwareInUse, |device| {
        in_use.contains(device)
    });
}

/// Notes that selected devices do not become free, or may not, that are the same hardware as a selected device of
/// which that is so.
pub(super) fn note_selected_hardware_in_use(
    devices: &mut [Device],
    snapshot: &Snapshot,
    impact: &Impact<'_>,
) {
    for (is_certain, reason) in [
        (true, NotReleased::HardwareInUse),
        (false, NotReleased::HardwareMayBeInUse),
    ] {
        let is_held = |device: &Device| {
            let why = device.not_released_reason;
            why.is_some_and(|why| why.is_certain() == is_certain)
        };
        let same = same_as_selected(devices, is_held, snapshot, impact);
        keep_in_use(devices, reason, |device| same.contains(device));
    }
}

/// Notes for that reason that devices of these names may not become free.
pub(super) fn note_may_be_used<'d>(
    devices: &mut [Device],
    reason: NotReleased,
    names: impl IntoIterator<Item = &'d DeviceId>,
) {
    let names: BTreeSet<String> = names.into_iter().map(ToString::to_string).collect();
    keep_in_use(devices, reason, |device| names.contains(device));
}

/// Notes that it is not known when devices become free that are in use `now`, or are the same hardware as one that is:
/// whether the pods on them can end could not be read.
pub(super) fn note_unknown_ends(
    devices: &mut [Device],
    snapshot: &Snapshot,
    impact: &Impact<'_>,
    now: Timestamp,
) {
    let is_used = |device: &Device| device.release_time.is_some_and(|at| at.0 > now);
    let mut unknown = same_as_selected(devices, is_used, snapshot, impact);
    let used = devices.iter().filter(|device| is_used(device));
    unknown.extend(used.map(|device| device.device.clone()));
    keep_in_use(devices, NotReleased::EndUnknown, |device| {
        unknown.contains(device)
    });
}

/// The other selected devices that are the same hardware as one that `is_held`.
fn same_as_selected(
    devices: &[Device],
    is_held: impl Fn(&Device) -> bool,
    snapshot: &Snapshot,
    impact: &Impact<'_>,
) -> BTreeSet<String> {
    let held = devices.iter().filter(|device| is_held(device));
    let held: BTreeSet<DeviceId> = held
        .filter_map(|device| DeviceId::parse(&device.device))
        .collect();
    let selected = impact.devices.iter().map(|device| &device.id).collect();
    let same = same_hardware(snapshot, &selected, &held.iter().collect());
    same.iter().map(ToString::to_string).collect()
}

/// Notes for that reason that the hardware of those of the devices stays in use, or may, that `is_in_use` accepts.
fn keep_in_use(devices: &mut [Device], reason: NotReleased, is_in_use: impl Fn(&str) -> bool) {
    for device in devices
        .iter_mut()
        .filter(|device| is_in_use(&device.device))
    {
        device.release_time = None;
        let why = device.not_released_reason;
        device.not_released_reason = Some(why.map_or(reason, |why| why.min(reason)));
    }
}

/// True if the claim has the device with admin access only, as far as its pods are known.
fn is_administrative(
    claim: &ObjectReference,
    device: &str,
    users: &BTreeMap<String, Vec<&Pod>>,
) -> bool {
    let pods = users.get(&claim.to_string()).into_iter().flatten();
    let used = pods.flat_map(|pod| &pod.used_claims);
    let own = used.filter(|used| used.name == claim.name);
    let mut allocations = own
        .flat_map(|used| &used.allocations)
        .filter(|allocation| allocation.device == device)
        .peekable();
    allocations.peek().is_some() && allocations.all(|allocation| allocation.admin_access)
}

/// Why a device of the pod does not become free by its eviction, if it does not.
fn keeps(pod: &Pod) -> Option<NotReleased> {
    match pod.outcome {
        Outcome::Tolerates | Outcome::NotEvicted => Some(NotReleased::PodStays),
        Outcome::Terminating => Some(NotReleased::PodTerminating),
        Outcome::EvictedNow | Outcome::EvictedLater if is_stuck(pod) => Some(NotReleased::PodStuck),
        Outcome::EvictedNow | Outcome::EvictedLater => returns(pod),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Basis, Limits, Outcome};
    use crate::engine::preview;
    use crate::model::{Kind, StatefulSet, Toleration};
    use crate::report::impact::ImpactReport;
    use crate::report::testing::{self, Example, TAINT, reference};

    /// When the device of these pods is free, in seconds; each has a claim of its own to it.
    fn free_in(change: impl FnOnce(&mut Vec<Pod>, &mut Device)) -> Option<i64> {
        let ImpactReport {
            affected_pods: mut pods,
            selected_devices: mut devices,
            metadata,
            ..
        } = Example::new().report();
        let now = metadata.observed();
        pods.retain(|pod| pod.outcome.is_evicted());
        let names = pods.iter().flat_map(|pod| {
            let claims = pod.used_claims.iter();
            claims.map(|claim| reference(&format!("{}/{}", pod.namespace, claim.name)))
        });
        devices[0].claims = names.collect();
        change(&mut pods, &mut devices[0]);
        note_freed(&mut devices, &pods, now);
        let free_at = devices[0].release_time?;
        Some(free_at.0.duration_since(now.0).as_secs())
    }

    #[test]
    fn a_device_is_not_free_while_its_hardware_is_in_use_through_another_one() {
        let mut device = Example::new().report().selected_devices.remove(0);
        device.release_time = Some(Time(Timestamp::UNIX_EPOCH));
        device.not_released_reason = None;
        let sibling = |beside: &str| Sibling {
            device: "vm.example.com/node-7/card-0".to_owned(),
            beside: vec![beside.to_owned()],
            claims: Vec::new(),
            pods: Vec::new(),
            is_admin: false,
        };
        let noted = |siblings: &[Sibling]| {
            let mut devices = [device.clone()];
            note_hardware_in_use(&mut devices, siblings);
            let [device] = devices;
            (device.release_time.is_some(), device.not_released_reason)
        };
        assert_eq!(noted(&[sibling("another")]), (true, None));
        let in_use = (false, Some(NotReleased::HardwareInUse));
        assert_eq!(noted(&[sibling(&device.device)]), in_use);
        // Administrative access takes the hardware from no pod.
        let mut monitor = sibling(&device.device);
        monitor.is_admin = true;
        assert_eq!(noted(&[monitor]), (true, None));
        let mut shared = sibling(&device.device);
        shared.device.clone_from(&device.device);
        assert_eq!(noted(&[shared]), (true, None));
    }

    #[test]
    fn a_device_is_free_when_the_last_pod_on_it_is_gone() {
        // One is evicted in 9,000 s and has 3,600 to stop.
        assert_eq!(free_in(|_, _| ()), Some(12_600));
        let soon = free_in(|pods, device| {
            let late = pods
                .iter()
                .position(|pod| pod.evict_in_seconds == Some(9_000));
            let late = pods.remove(late.unwrap());
            device
                .claims
                .retain(|claim| claim.name != late.used_claims[0].name);
        });
        assert_eq!(soon, Some(330));
        assert_eq!(free_in(|_, device| device.claims.clear()), Some(0));
    }

    #[test]
    fn a_device_is_not_free_while_somebody_stays_or_is_not_known() {
        for outcome in [
            Outcome::Tolerates,
            Outcome::Terminating,
            Outcome::NotEvicted,
        ] {
            let stays = free_in(|pods, _| pods[0].outcome = outcome);
            assert_eq!(stays, None, "{outcome:?}");
        }
        for hazard in [
            Hazard::DriverDown,
            Hazard::NodeNotReady,
            Hazard::ToleratesScheduleOnly,
            Hazard::ClaimStaysAllocated,
        ] {
            let stays = free_in(|pods, _| pods[0].hazards.push(hazard));
            assert_eq!(stays, None, "{hazard:?}");
        }
        let watches = |only: bool| {
            free_in(|pods, _| {
                pods[0].outcome = Outcome::Tolerates;
                let mut allocations = pods[0].used_claims[0].allocations.clone();
                allocations[0].admin_access = true;
                if !only {
                    let mut working = allocations[0].clone();
                    working.admin_access = false;
                    allocations.push(working);
                }
                pods[0].used_claims[0].allocations = allocations;
            })
        };
        assert_eq!(
            watches(true),
            Some(12_600),
            "admin access keeps no other claim off"
        );
        assert_eq!(watches(false), None);
        let unknown = free_in(|_, device| device.claims.push(reference("team-x/of-nobody")));
        assert_eq!(unknown, None);
    }

    /// The devices of a card whose first partition a pod uses that tolerates the taint so long, by name.
    fn of_card(seconds: Option<i64>, is_node_known: bool) -> Vec<Device> {
        let mut user = testing::pod("team-a", "slow-0");
        let mut claim = testing::claim_in_use(&user);
        let result = &mut claim.allocation.as_mut().expect("allocated").results[0];
        result.device = testing::device("gpu-0-mig-0");
        result.tolerations = Vec::from_iter(seconds.map(|seconds| Toleration {
            key: TAINT.key.as_str().into(),
            operator: "Exists".into(),
            value: "".into(),
            effect: Some("NoExecute".into()),
            seconds: Some(seconds),
        }));
        user.claims = testing::uses(claim.name.name.as_str());
        user.controller = Some(testing::controller("StatefulSet", "slow"));
        let mut reading = testing::reading();
        reading.snapshot.slices = vec![testing::slice(vec![
            testing::drawing("gpu-0", "80Gi"),
            testing::drawing("gpu-0-mig-0", "40Gi"),
            testing::drawing("gpu-0-mig-1", "40Gi"),
        ])];
        reading.snapshot.claims = vec![claim];
        reading.snapshot.pods = vec![user];
        reading.snapshot.stateful_sets = vec![StatefulSet(testing::workload("slow", 1))];
        reading.snapshot.nodes = vec![testing::node("node-7")];
        if !is_node_known {
            reading.known.remove(&Kind::Node);
        }
        let mut taint = testing::proposed(None);
        taint.selector.as_mut().expect("a selector").device = None;
        let (taints, semantics) = ([taint], testing::semantics(37));
        let basis = Basis::new(&reading, &semantics, testing::now());
        let impact = preview(&reading.snapshot, &taints, basis.now, &semantics);
        ImpactReport::new(&impact, &basis, &Limits::default()).selected_devices
    }

    #[test]
    fn hardware_to_which_a_replacement_may_come_is_not_known_to_be_free() {
        let why = |devices: &[Device]| -> Vec<Option<NotReleased>> {
            let devices = devices.iter();
            devices.map(|device| device.not_released_reason).collect()
        };
        let may_return = Some(NotReleased::PodMayReturn);
        let devices = of_card(Some(20), true);
        assert_eq!(why(&devices), [may_return; 3]);
        assert!(devices.iter().all(|device| device.release_time.is_none()));
        let devices = of_card(None, true);
        assert_eq!(why(&devices), [None; 3]);
        assert!(devices.iter().all(|device| device.release_time.is_some()));
    }

    #[test]
    fn no_device_is_known_to_be_free_while_a_node_is_not_known_that_has_to_end_a_pod_on_its_hardware()
     {
        for device in of_card(None, false) {
            assert_eq!(device.release_time, None);
            assert_eq!(device.not_released_reason, Some(NotReleased::EndUnknown));
        }
    }
}
