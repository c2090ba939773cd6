//! Checks before a device is pulled out of its node.
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
//! They have to agree about every other name and every part of the same hardware, too; and a taint has to keep new
//! pods off all of it that no claim or template is known to tolerate, for what is idle may be in use a moment later.
//!
//! The kubelet speaks for its own node: what one says that may be another's frees nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::hardware::{Alias, Hardware};
use super::impact::DeviceTaint;
use super::inventory::{DeviceState, devices, taints_on};
pub use super::removal_objection::RemovalObjection;
use super::rule_lifecycle::{blocks, is_blocked};
use super::semantics::Semantics;
use super::termination_blocker::{DriverPresence, Publishers};
use super::tolerant::tolerant;
use super::tolerate::is_tolerated_for_ever;
use crate::model::{
    DeviceId, Effect, Gap, InUse, Kind, NamespacedName, NodeName, Pod, PreparedClaim, Reading,
    ResourceClaim, Taint, Uid, UsedDevice,
};

/// Who is asked about the devices of a node.
#[derive(Clone, Copy, Debug)]
pub struct RemovalFacts<'a> {
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
    pub identity: KubeletIdentity,
}

/// Whether a kubelet is the one of the node that is asked about. It does not say its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KubeletIdentity {
    /// A pod that it lists is on that node, or where it was asked shows it.
    Shown,
    /// Nothing shows it: it may be the kubelet of any node that lists nobody.
    NotShown,
}

/// What the witnesses say of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovalCheck {
    /// The device.
    pub device: DeviceId,
    /// Whether a taint evicts from it or keeps it from being allocated; unknown where taints were not read.
    pub is_tainted: Option<bool>,
    /// The other names and the parts of its hardware.
    pub aliases: Vec<Alias>,
    /// Everything that speaks against pulling it.
    pub objections: Vec<RemovalObjection>,
}

impl RemovalCheck {
    /// Whether nothing speaks against it but that new pods may come.
    #[must_use]
    pub fn is_idle_and_not_tainted(&self) -> bool {
        let mut objections = self.objections.iter();
        !self.objections.is_empty()
            && objections.all(|one| match one {
                RemovalObjection::NotTainted | RemovalObjection::PartsNotTainted { .. } => true,
                RemovalObjection::InUse { .. }
                | RemovalObjection::InUseAndFree { .. }
                | RemovalObjection::NotReserved { .. }
                | RemovalObjection::TaintedAndInUse
                | RemovalObjection::Prepared { .. }
                | RemovalObjection::MayBePrepared { .. }
                | RemovalObjection::ClaimedAndUnused { .. }
                | RemovalObjection::Claimed { .. }
                | RemovalObjection::Leaving { .. }
                | RemovalObjection::DriverDown
                | RemovalObjection::DriverUnknown
                | RemovalObjection::NodeUnproven
                | RemovalObjection::KubeletBlind
                | RemovalObjection::NotesUnread
                | RemovalObjection::Unread(_)
                | RemovalObjection::SameHardware { .. }
                | RemovalObjection::MayBeSameHardware { .. }
                | RemovalObjection::Tolerated { .. }
                | RemovalObjection::NotSettled => false,
            })
    }

    /// What was found after a while, given what was found `before`: what was not idle then, or not known, has not
    /// been idle for long enough.
    #[must_use]
    pub fn settled(mut self, before: &[Self]) -> Self {
        let earlier = before.iter().find(|one| one.device == self.device);
        let was_idle = earlier.is_some_and(|one| one.objections.is_empty());
        if self.objections.is_empty() && !was_idle {
            self.objections.push(RemovalObjection::NotSettled);
        }
        self
    }
}

/// What the witnesses say of each device of the node, by name: of those that are published there, that
/// claims of pods there hold, and that the kubelet knows; and of what else is the same hardware.
#[must_use]
pub fn removal_checks(facts: &RemovalFacts<'_>) -> Vec<RemovalCheck> {
    let snapshot = &facts.reading.snapshot;
    let inventory = devices(snapshot, facts.semantics);
    let hardware = Hardware::of(&snapshot.slices);
    let here = hardware.closure(&known_here(facts, &inventory));
    let taints = taints_on(&here, &inventory, snapshot, facts.semantics);
    let names = BTreeSet::from([facts.node.clone()]);
    let publishers = Publishers::of(facts.reading, &names);
    let own: BTreeMap<DeviceId, Vec<RemovalObjection>> = here
        .iter()
        .map(|device| {
            let state = inventory.iter().find(|state| state.id == *device);
            let used = facts.in_use.devices();
            let used: Vec<_> = used.filter(|used| used.device.device == *device).collect();
            let case = DeviceCheck {
                facts,
                device,
                state,
                taints: &taints[device],
                used: &used,
            };
            (device.clone(), case.objections(&publishers))
        })
        .collect();
    // Of what nothing is published nobody can say which hardware it is; where slices were not read that is not the
    // driver's doing, and speaks against every device already.
    let is_unpublished = |id: &&DeviceId| !hardware.knows(id) && !slices_unread(facts.reading);
    let unknown: Vec<&DeviceId> = here.iter().filter(is_unpublished).collect();
    let about_witnesses = about(facts);
    let check = |device: &DeviceId| {
        let aliases = hardware.aliases(device);
        let mut objections = own.get(device).cloned().unwrap_or_default();
        objections.extend(through(&aliases, &own, &objections));
        let others = unknown.iter().filter(|other| **other != device);
        objections.extend(others.map(|other| RemovalObjection::MayBeSameHardware {
            device: (*other).clone(),
        }));
        objections.extend(about_witnesses.iter().cloned());
        objections.sort();
        objections.dedup();
        RemovalCheck {
            is_tainted: match is_blocked(&taints[device]) {
                true => Some(true),
                false => (!taints_unread(facts.reading)).then_some(false),
            },
            aliases,
            objections,
            device: device.clone(),
        }
    };
    here.iter().map(check).collect()
}

/// The devices that are published on the node, that claims of pods there hold, and that the kubelet knows.
fn known_here(facts: &RemovalFacts<'_>, inventory: &[DeviceState<'_>]) -> BTreeSet<DeviceId> {
    let pods = &facts.reading.snapshot.pods;
    let used = facts.in_use.devices();
    let mut here: BTreeSet<DeviceId> = used.map(|used| used.device.device.clone()).collect();
    let noted = facts.prepared.unwrap_or_default().iter();
    here.extend(noted.flat_map(|claim| claim.devices.iter().cloned()));
    let is_here = |state: &&DeviceState<'_>| {
        state.node == Some(facts.node)
            || state
                .claims
                .iter()
                .any(|claim| pods_of(claim, pods).any(|pod| pod.node.as_ref() == Some(facts.node)))
    };
    let found = inventory.iter().filter(is_here);
    here.extend(found.map(|state| state.id.clone()));
    here
}

/// What speaks against a device because of what speaks against its `aliases`, unless that is among its `own`.
fn through(
    aliases: &[Alias],
    all: &BTreeMap<DeviceId, Vec<RemovalObjection>>,
    own: &[RemovalObjection],
) -> Vec<RemovalObjection> {
    let mut objections = Vec::new();
    let mut untainted = Vec::new();
    for alias in aliases {
        let against = all.get(&alias.device).into_iter().flatten();
        for objection in against {
            if *objection == RemovalObjection::NotTainted {
                untainted.push(alias.device.clone());
            } else if objection.is_about_use() && !own.contains(objection) {
                objections.push(RemovalObjection::SameHardware {
                    device: alias.device.clone(),
                    link: alias.link.clone(),
                    objection: Box::new(objection.clone()),
                });
            }
        }
    }
    if !untainted.is_empty() {
        let devices = untainted;
        objections.push(RemovalObjection::PartsNotTainted { devices });
    }
    objections
}

/// What speaks against every device, since a witness cannot be believed.
fn about(facts: &RemovalFacts<'_>) -> Vec<RemovalObjection> {
    let unproven = match facts.identity {
        KubeletIdentity::Shown => None,
        KubeletIdentity::NotShown => Some(RemovalObjection::NodeUnproven),
    };
    let blind = is_blind(facts).then_some(RemovalObjection::KubeletBlind);
    let unread = (facts.prepared.is_none()).then_some(RemovalObjection::NotesUnread);
    let reading = facts.reading;
    let gaps = || reading.gaps.iter().filter_map(Gap::kind);
    let kinds = [
        Kind::ResourceClaim,
        Kind::Pod,
        Kind::ResourceClaimTemplate,
        // Which other devices are the same hardware, and what drivers taint.
        Kind::ResourceSlice,
    ];
    let missing = kinds
        .into_iter()
        .filter(|kind| gaps().any(|gap| gap == *kind));
    let about = unproven.into_iter().chain(blind).chain(unread);
    about.chain(missing.map(RemovalObjection::Unread)).collect()
}

/// One device, and what is known of it.
struct DeviceCheck<'a, 'w> {
    facts: &'w RemovalFacts<'a>,
    device: &'w DeviceId,
    state: Option<&'w DeviceState<'a>>,
    taints: &'w [DeviceTaint<'a>],
    used: &'w [UsedDevice<'a>],
}

impl DeviceCheck<'_, '_> {
    /// What speaks against the device itself.
    fn objections(&self, publishers: &Publishers) -> Vec<RemovalObjection> {
        let mut objections = self.of_kubelet();
        objections.extend(self.of_api());
        objections.extend(self.of_driver(publishers));
        objections.extend(self.of_newcomers());
        objections
    }

    /// Who may come to use it.
    fn of_newcomers(&self) -> Vec<RemovalObjection> {
        let blocking: Vec<&Taint> = self
            .taints
            .iter()
            .map(|taint| taint.taint)
            .filter(|taint| blocks(&taint.effect))
            .collect();
        if blocking.is_empty() {
            let gaps = || self.facts.reading.gaps.iter().filter_map(Gap::kind);
            return if gaps().any(|kind| kind == Kind::DeviceTaintRule) {
                vec![RemovalObjection::Unread(Kind::DeviceTaintRule)]
            } else if gaps().any(|kind| kind == Kind::ResourceSlice) {
                // Which speaks against every device.
                Vec::new()
            } else {
                vec![RemovalObjection::NotTainted]
            };
        }
        let device = self.state.and_then(|state| state.device);
        let snapshot = &self.facts.reading.snapshot;
        let found = tolerant(snapshot, &blocking, &self.device.driver, device);
        found
            .into_iter()
            .map(|by| RemovalObjection::Tolerated { by })
            .collect()
    }

    fn of_kubelet(&self) -> Vec<RemovalObjection> {
        let mut objections = Vec::new();
        let claims = self.state.map_or(&[][..], |state| &state.claims);
        let gaps = self.facts.reading.gaps.iter();
        let knows_claims = !gaps
            .filter_map(Gap::kind)
            .any(|kind| kind == Kind::ResourceClaim);
        for used in self.used {
            let (pod, claim) = (used.pod.name.clone(), used.claim.name.clone());
            let holder = claims.iter().find(|known| known.name == claim);
            match holder {
                Some(holder) if !is_reserved(holder, &pod) => {
                    objections.push(RemovalObjection::NotReserved {
                        pod: pod.clone(),
                        claim: claim.clone(),
                    });
                }
                // Where claims were not read completely, one that is missing may be there all the same.
                None if knows_claims => {
                    objections.push(RemovalObjection::InUseAndFree { pod: pod.clone() });
                }
                Some(_) | None => {}
            }
            objections.push(RemovalObjection::InUse {
                pod,
                container: used.container.name.clone(),
                claim,
            });
        }
        if self.is_evicted_from() {
            objections.push(RemovalObjection::TaintedAndInUse);
        }
        let noted = self
            .facts
            .prepared
            .unwrap_or_default()
            .iter()
            .filter(|claim| claim.devices.contains(self.device));
        let unlisted =
            noted.filter(|claim| self.used.iter().all(|used| used.claim.name != claim.name));
        objections.extend(unlisted.map(|claim| RemovalObjection::Prepared {
            claim: claim.name.clone(),
        }));
        objections.extend(self.of_silent_drivers());
        objections
    }

    /// Whether a taint evicts a pod that uses it: none that it tolerates for ever, and none of what the API does not
    /// know to be in use.
    fn is_evicted_from(&self) -> bool {
        let Some(state) = self.state else {
            return false;
        };
        let taints = self.taints.iter().map(|taint| taint.taint);
        let evicting: Vec<&Taint> = taints
            .filter(|taint| taint.effect == Effect::NoExecute)
            .collect();
        self.used.iter().any(|used| {
            let claim = state
                .claims
                .iter()
                .find(|claim| claim.name == used.claim.name);
            let allocation = claim.and_then(|claim| claim.allocation.as_ref());
            let results = allocation.into_iter().flat_map(|found| &found.results);
            results
                .filter(|result| result.device == *self.device)
                .any(|result| {
                    let semantics = self.facts.semantics;
                    let stays = |taint: &&Taint| {
                        is_tolerated_for_ever(taint, &result.tolerations, semantics)
                    };
                    !evicting.iter().all(stays)
                })
        })
    }

    /// Claims for which the driver may hold the device, unless the API says which devices they have.
    fn of_silent_drivers(&self) -> impl Iterator<Item = RemovalObjection> {
        let noted = self.facts.prepared.unwrap_or_default().iter();
        let silent = noted.filter(|claim| claim.silent_drivers.contains(&self.device.driver));
        let known = &self.facts.reading.snapshot.claims;
        let unknown = silent.filter(|noted| !known.iter().any(|claim| is_of_now(noted, claim)));
        unknown.map(|claim| RemovalObjection::MayBePrepared {
            claim: claim.name.clone(),
        })
    }

    fn of_api(&self) -> Vec<RemovalObjection> {
        let reading = self.facts.reading;
        let mut objections = Vec::new();
        for claim in self.state.into_iter().flat_map(|state| &state.claims) {
            let name = claim.name.clone();
            objections.push(if self.used.is_empty() {
                RemovalObjection::ClaimedAndUnused { claim: name }
            } else {
                RemovalObjection::Claimed { claim: name }
            });
            let pods = pods_of(claim, &reading.snapshot.pods);
            let leaving = pods.filter(|pod| pod.deletion.is_some());
            objections.extend(leaving.map(|pod| RemovalObjection::Leaving {
                pod: pod.name.clone(),
            }));
        }
        objections
    }

    fn of_driver(&self, publishers: &Publishers) -> Option<RemovalObjection> {
        match publishers.presence(self.facts.node, &self.device.driver) {
            DriverPresence::Published => None,
            DriverPresence::Gone { .. } => Some(RemovalObjection::DriverDown),
            // Devices that belong to no single node have their driver somewhere.
            DriverPresence::Unknown if self.state.is_some_and(|state| state.published) => None,
            DriverPresence::Unknown => Some(RemovalObjection::DriverUnknown),
        }
    }
}

/// Whether the kubelet cannot speak of devices of DRA, since the gate is off that lets it, which shows where pods
/// run with claims and it names no claim at all.
fn is_blind(facts: &RemovalFacts<'_>) -> bool {
    // Only a running pod that the kubelet lists shows it: one that has not begun has no devices yet, and the list
    // leaves out who was deleted by force.
    let names_claims = facts.in_use.devices().next().is_some();
    let listed = |name: &NamespacedName| facts.in_use.pods.iter().any(|pod| pod.name == *name);
    let snapshot = &facts.reading.snapshot;
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
    claim
        .reserved_for
        .iter()
        .any(|consumer| consumer.name == pod.name || *consumer.resource != *"pods")
}

/// Whether the claim has the devices with which it was noted: it was not allocated anew since, as long as it
/// is reserved for the pods of then.
fn is_of_now(noted: &PreparedClaim, claim: &ResourceClaim) -> bool {
    let is_reserved = |pod: &Uid| {
        claim
            .reserved_for
            .iter()
            .any(|consumer| consumer.uid == *pod)
    };
    claim.uid == noted.uid
        && claim.allocation.is_some()
        && !noted.pods.is_empty()
        && noted.pods.iter().all(is_reserved)
}

/// Whether a rule or a driver may taint a device without being known.
fn taints_unread(reading: &Reading) -> bool {
    let mut gaps = reading.gaps.iter().filter_map(Gap::kind);
    gaps.any(|kind| matches!(kind, Kind::DeviceTaintRule | Kind::ResourceSlice))
}

/// Whether ResourceSlices could not be read, so that nothing is known of which devices are the same hardware.
#[must_use]
pub fn slices_unread(reading: &Reading) -> bool {
    let mut gaps = reading.gaps.iter().filter_map(Gap::kind);
    gaps.any(|kind| kind == Kind::ResourceSlice)
}
