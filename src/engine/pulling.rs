//! May a device be pulled out of its node?
//!
//! Several witnesses have to agree, and one who is not there, or cannot say, is no witness that a device
//! is free:
//!
//! | witness | says |
//! |---|---|
//! | the API | no claim holds it, and no pod that did is left |
//! | the kubelet's list | no container uses it; it leaves out who was deleted by force |
//! | the kubelet's own notes | it is not prepared for anybody, those left out included |
//! | the driver | it is at work, so that what was given back is given back |
//!
//! The kubelet speaks for its own node: what one says that may be another's frees nothing.

use std::collections::BTreeSet;

use super::hindrance::{Presence, Publishers};
use super::inventory::{DeviceState, devices};
use super::semantics::Semantics;
use crate::model::{
    DeviceId, DeviceTaintRule, Dialect, DriverName, Effect, Gap, InUse, Kind, NamespacedName,
    NodeName, Pod, PreparedClaim, Reading, ResourceClaim, Uid, UsedDevice,
};

/// Who is asked about the devices of a node.
#[derive(Clone, Copy, Debug)]
pub struct Witnesses<'a> {
    /// What the API says.
    pub reading: &'a Reading,
    /// How that version of Kubernetes behaves.
    pub semantics: &'a Semantics,
    /// Whose kubelet was asked.
    pub node: &'a NodeName,
    /// What the kubelet lists.
    pub in_use: &'a InUse,
    /// What the kubelet has noted that its drivers have prepared; absent where that could not be read.
    pub prepared: Option<&'a [PreparedClaim]>,
    /// Whether it is the kubelet of that node.
    pub identity: Identity,
}

/// Whether a kubelet is the one of the node that is asked about. It does not say its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A pod that it lists is on that node, or where it was asked shows it.
    Shown,
    /// Nothing shows it: it may be the kubelet of any node that lists nobody.
    NotShown,
}

/// What the witnesses say of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Testimony {
    /// The device.
    pub device: DeviceId,
    /// Whether a taint evicts from it or keeps it from being allocated.
    pub is_tainted: bool,
    /// Everything that speaks against pulling it.
    pub objections: Vec<Objection>,
}

/// Something that speaks against pulling a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Objection {
    /// A container uses it.
    InUse {
        /// Whose.
        pod: NamespacedName,
        /// Its name.
        container: String,
        /// Through which claim.
        claim: NamespacedName,
    },
    /// A container uses it, and to the API it is free: no claim holds it.
    InUseAndFree {
        /// Whose.
        pod: NamespacedName,
    },
    /// A container uses it whose pod the claim is not reserved for.
    NotReserved {
        /// Whose.
        pod: NamespacedName,
        /// The claim.
        claim: NamespacedName,
    },
    /// A taint evicts from it, and a container uses it still.
    TaintedAndInUse,
    /// The kubelet has it prepared, for a claim of which it lists no container.
    Prepared {
        /// The claim.
        claim: NamespacedName,
    },
    /// The kubelet has noted a claim of which the driver has named no device: it may hold this one for it.
    MayBePrepared {
        /// The claim.
        claim: NamespacedName,
    },
    /// A claim holds it, and the kubelet shows nobody who uses it.
    ClaimedAndUnused {
        /// The claim.
        claim: NamespacedName,
    },
    /// A claim holds it.
    Claimed {
        /// The claim.
        claim: NamespacedName,
    },
    /// A pod that uses it was deleted, and is not gone.
    Leaving {
        /// The pod.
        pod: NamespacedName,
    },
    /// Its driver publishes nothing on the node: nobody can have given it back.
    DriverDown,
    /// Whether its driver is at work is not known.
    DriverUnknown,
    /// Nothing shows that the kubelet is the one of the node.
    NodeUnproven,
    /// The kubelet cannot say which devices are in use.
    KubeletBlind,
    /// The kubelet's notes could not be read, so that pods that were deleted by force are not seen.
    NotesUnread,
    /// What the API has of this kind is not known.
    Unread(Kind),
}

/// What the witnesses say of each device of the node, by name: of those that are published there, that
/// claims of pods there hold, and that the kubelet knows.
#[must_use]
pub fn testimonies(witnesses: &Witnesses<'_>) -> Vec<Testimony> {
    let snapshot = &witnesses.reading.snapshot;
    let inventory = devices(snapshot, witnesses.semantics).devices;
    let names = BTreeSet::from([witnesses.node.clone()]);
    let publishers = Publishers::of(witnesses.reading, &names);
    let used: Vec<UsedDevice<'_>> = witnesses.in_use.devices().collect();
    let mut here: BTreeSet<DeviceId> = used.iter().map(|used| used.device.device.clone()).collect();
    let noted = witnesses.prepared.unwrap_or_default().iter();
    here.extend(noted.flat_map(|claim| claim.devices.iter().cloned()));
    let is_here = |state: &DeviceState<'_>| {
        state.node == Some(witnesses.node)
            || state.claims.iter().any(|claim| {
                let mut pods = pods_of(claim, &snapshot.pods);
                pods.any(|pod| pod.node.as_ref() == Some(witnesses.node))
            })
    };
    here.extend(
        inventory
            .iter()
            .filter(|state| is_here(state))
            .map(|state| state.id.clone()),
    );
    let is_blind = is_blind(witnesses);
    let testimony = |device: DeviceId| {
        let state = inventory.iter().find(|state| state.id == device);
        let used: Vec<_> = used
            .iter()
            .filter(|used| used.device.device == device)
            .collect();
        let case = Case {
            witnesses,
            device: &device,
            state,
            used: &used,
        };
        let mut objections = case.of_kubelet();
        objections.extend(case.of_api());
        objections.extend(case.of_driver(&publishers));
        match witnesses.identity {
            Identity::Shown => {}
            Identity::NotShown => objections.push(Objection::NodeUnproven),
        }
        if is_blind {
            objections.push(Objection::KubeletBlind);
        }
        if witnesses.prepared.is_none() {
            objections.push(Objection::NotesUnread);
        }
        objections.sort();
        objections.dedup();
        Testimony {
            is_tainted: state.is_some_and(is_tainted),
            objections,
            device,
        }
    };
    here.into_iter().map(testimony).collect()
}

/// Pods of which the kubelet says that they are on its node, and the API that they are on another one:
/// it is not the kubelet of the node that is meant.
#[must_use]
pub fn strangers<'a>(witnesses: &Witnesses<'a>) -> Vec<(&'a NamespacedName, &'a NodeName)> {
    let pods = witnesses.reading.snapshot.pods.iter();
    let known = pods.filter(|pod| witnesses.in_use.pods.iter().any(|one| one.name == pod.name));
    known
        .filter_map(|pod| Some((&pod.name, pod.node.as_ref()?)))
        .filter(|(_, node)| *node != witnesses.node)
        .collect()
}

/// One device, and what is known of it.
struct Case<'a, 'w> {
    witnesses: &'w Witnesses<'a>,
    device: &'w DeviceId,
    state: Option<&'w DeviceState<'a>>,
    used: &'w [&'w UsedDevice<'a>],
}

impl Case<'_, '_> {
    fn of_kubelet(&self) -> Vec<Objection> {
        let mut objections = Vec::new();
        let claims = self.state.map_or(&[][..], |state| &state.claims);
        let gaps = self.witnesses.reading.gaps.iter();
        let knows_claims = !gaps
            .filter_map(Gap::kind)
            .any(|kind| kind == Kind::ResourceClaim);
        for used in self.used {
            let (pod, claim) = (used.pod.name.clone(), used.claim.name.clone());
            let holder = claims.iter().find(|known| known.name == claim);
            match holder {
                Some(holder) if !is_reserved(holder, &pod) => {
                    objections.push(Objection::NotReserved {
                        pod: pod.clone(),
                        claim: claim.clone(),
                    });
                }
                None if knows_claims => {
                    objections.push(Objection::InUseAndFree { pod: pod.clone() });
                }
                Some(_) | None => {}
            }
            objections.push(Objection::InUse {
                pod,
                container: used.container.name.clone(),
                claim,
            });
        }
        if !self.used.is_empty() && self.state.is_some_and(evicts) {
            objections.push(Objection::TaintedAndInUse);
        }
        let noted = self.witnesses.prepared.unwrap_or_default().iter();
        let noted = noted.filter(|claim| claim.devices.contains(self.device));
        let unlisted =
            noted.filter(|claim| self.used.iter().all(|used| used.claim.name != claim.name));
        objections.extend(unlisted.map(|claim| Objection::Prepared {
            claim: claim.name.clone(),
        }));
        objections.extend(self.of_silent_drivers());
        objections
    }

    /// Claims for which the driver may hold the device, unless the API says which devices they have.
    fn of_silent_drivers(&self) -> impl Iterator<Item = Objection> {
        let noted = self.witnesses.prepared.unwrap_or_default().iter();
        let silent = noted.filter(|claim| claim.silent_drivers.contains(&self.device.driver));
        let known = &self.witnesses.reading.snapshot.claims;
        let unknown = silent.filter(|noted| !known.iter().any(|claim| is_of_now(noted, claim)));
        unknown.map(|claim| Objection::MayBePrepared {
            claim: claim.name.clone(),
        })
    }

    fn of_api(&self) -> Vec<Objection> {
        let reading = self.witnesses.reading;
        let kinds = [Kind::ResourceClaim, Kind::Pod];
        let gaps = || reading.gaps.iter().filter_map(Gap::kind);
        let unread = kinds
            .into_iter()
            .filter(|kind| gaps().any(|gap| gap == *kind));
        let mut objections: Vec<Objection> = unread.map(Objection::Unread).collect();
        for claim in self.state.into_iter().flat_map(|state| &state.claims) {
            let name = claim.name.clone();
            objections.push(if self.used.is_empty() {
                Objection::ClaimedAndUnused { claim: name }
            } else {
                Objection::Claimed { claim: name }
            });
            let pods = pods_of(claim, &reading.snapshot.pods);
            let leaving = pods.filter(|pod| pod.deletion.is_some());
            objections.extend(leaving.map(|pod| Objection::Leaving {
                pod: pod.name.clone(),
            }));
        }
        objections
    }

    fn of_driver(&self, publishers: &Publishers) -> Option<Objection> {
        match publishers.presence(self.witnesses.node, &self.device.driver) {
            Presence::Published => None,
            Presence::Gone { .. } => Some(Objection::DriverDown),
            // Devices that belong to no single node have their driver somewhere.
            Presence::Unknown if self.state.is_some_and(|state| state.published) => None,
            Presence::Unknown => Some(Objection::DriverUnknown),
        }
    }
}

/// Whether the kubelet cannot speak of devices of DRA: in old words, or with the gate off that lets it,
/// which shows where pods run with claims and it names no claim at all.
fn is_blind(witnesses: &Witnesses<'_>) -> bool {
    match witnesses.in_use.dialect {
        Dialect::V1Alpha1 => return true,
        Dialect::V1 => {}
    }
    let names_claims = witnesses.in_use.devices().next().is_some();
    let listed = |name: &NamespacedName| witnesses.in_use.pods.iter().any(|pod| pod.name == *name);
    let snapshot = &witnesses.reading.snapshot;
    let holding = snapshot
        .claims
        .iter()
        .filter(|claim| claim.allocation.is_some());
    let mut users = holding.flat_map(|claim| pods_of(claim, &snapshot.pods));
    !names_claims
        && users.any(|pod| pod.containers == crate::model::Containers::Running && listed(&pod.name))
}

/// The pods that the claim is reserved for, as far as they are known.
fn pods_of<'a>(claim: &'a ResourceClaim, pods: &'a [Pod]) -> impl Iterator<Item = &'a Pod> {
    pods.iter().filter(|pod| {
        pod.name.namespace == claim.name.namespace
            && claim
                .reserved_for
                .iter()
                .any(|consumer| consumer.uid == pod.uid)
    })
}

/// Whether the claim is reserved for a pod of that name, or for a whole group, which names no pod.
fn is_reserved(claim: &ResourceClaim, pod: &NamespacedName) -> bool {
    let mut consumers = claim.reserved_for.iter();
    consumers.any(|consumer| consumer.name == pod.name || *consumer.resource != *"pods")
}

/// Whether the claim has the devices with which it was noted: it was not allocated anew since, as long as it
/// is reserved for the pods of then.
fn is_of_now(noted: &PreparedClaim, claim: &ResourceClaim) -> bool {
    let is_reserved = |pod: &Uid| {
        let mut consumers = claim.reserved_for.iter();
        consumers.any(|consumer| consumer.uid == *pod)
    };
    claim.uid == noted.uid
        && claim.allocation.is_some()
        && !noted.pods.is_empty()
        && noted.pods.iter().all(is_reserved)
}

fn is_tainted(state: &DeviceState<'_>) -> bool {
    let mut taints = state.taints.iter();
    taints.any(|taint| super::life::blocks(&taint.taint.effect))
}

fn evicts(state: &DeviceState<'_>) -> bool {
    let mut taints = state.taints.iter();
    taints.any(|taint| taint.taint.effect == Effect::NoExecute)
}

/// The devices that `rules` select and that the kubelet of a node has not given back, each with what
/// shows that. A kubelet that cannot speak of claims says nothing, which is no reason to call any free.
#[must_use]
pub fn still_held(
    rules: &[DeviceTaintRule],
    in_use: &InUse,
    prepared: &[PreparedClaim],
) -> Vec<(DeviceId, Objection)> {
    let used = in_use.devices().map(|used| {
        let objection = Objection::InUse {
            pod: used.pod.name.clone(),
            container: used.container.name.clone(),
            claim: used.claim.name.clone(),
        };
        (used.device.device.clone(), objection)
    });
    let noted = prepared.iter().flat_map(|claim| {
        let objection = Objection::Prepared {
            claim: claim.name.clone(),
        };
        let devices = claim.devices.iter();
        devices.map(move |device| (device.clone(), objection.clone()))
    });
    let mut held: Vec<(DeviceId, Objection)> = used.chain(noted).collect();
    held.retain(|(device, _)| rules.iter().any(|rule| may_select(rule, device)));
    held.extend(prepared.iter().flat_map(|claim| vague(rules, claim)));
    held.sort();
    held.dedup();
    let mut known: BTreeSet<DeviceId> = BTreeSet::new();
    // What is in use is noted too; once is enough.
    held.retain(|(device, objection)| {
        let is_use = matches!(objection, Objection::InUse { .. });
        known.insert(device.clone()) || is_use
    });
    held
}

/// What drivers may hold for a claim that have not said what, where a rule selects anything of theirs; any of
/// their devices, as people write it.
fn vague(
    rules: &[DeviceTaintRule],
    claim: &PreparedClaim,
) -> impl Iterator<Item = (DeviceId, Objection)> {
    let may_be_meant = |driver: &&DriverName| {
        let selectors = rules.iter().map(|rule| rule.selector.as_ref());
        let mut drivers = selectors.map(|selector| selector.and_then(|one| one.driver.as_ref()));
        drivers.any(|selected| selected.is_none_or(|selected| selected == *driver))
    };
    let drivers = claim.silent_drivers.iter().filter(may_be_meant);
    drivers.map(|driver| {
        let any = DeviceId {
            driver: driver.clone(),
            pool: "*".into(),
            device: "*".into(),
        };
        let claim = claim.name.clone();
        (any, Objection::MayBePrepared { claim })
    })
}

/// Whether the rule selects the device as far as names say; what selects by anything else may.
fn may_select(rule: &DeviceTaintRule, device: &DeviceId) -> bool {
    let Some(selector) = &rule.selector else {
        return true;
    };
    let driver = selector
        .driver
        .as_ref()
        .is_none_or(|driver| *driver == device.driver);
    let pool = selector
        .pool
        .as_ref()
        .is_none_or(|pool| *pool == device.pool);
    let name = selector
        .device
        .as_ref()
        .is_none_or(|name| *name == device.device);
    driver && pool && name
}
