//! What speaks against pulling a device out of its node.

use super::hardware::HardwareLink;
use super::tolerant::TolerantClaim;
use crate::model::{DeviceId, Kind, NamespacedName};

/// Something that speaks against pulling a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemovalObjection {
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
    /// A taint on it evicts a pod that uses it still.
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
    /// Another name or a part of the same hardware, against which something speaks.
    SameHardware {
        /// The other name.
        device: DeviceId,
        /// What it shares with this one.
        link: HardwareLink,
        /// What speaks against that one.
        objection: Box<RemovalObjection>,
    },
    /// A device that is held and not published: what hardware it is on is not known.
    MayBeSameHardware {
        /// That device.
        device: DeviceId,
    },
    /// No taint keeps new pods off.
    NotTainted,
    /// No taint keeps new pods off other names and parts of the same hardware.
    PartsNotTainted {
        /// Those, by name.
        devices: Vec<DeviceId>,
    },
    /// Its taints are tolerated for scheduling, so that a new pod may come.
    Tolerated {
        /// By what.
        by: TolerantClaim,
    },
    /// It was not idle when it was looked at first.
    NotSettled,
}

/// What an objection is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectionSubject<'a> {
    /// The pod, if it is about one.
    pub pod: Option<&'a NamespacedName>,
    /// The claim, if it is about one.
    pub claim: Option<&'a NamespacedName>,
    /// The other device through which it is about this one, if so.
    pub device: Option<&'a DeviceId>,
}

impl RemovalObjection {
    /// What is objected, also where it is objected to another name of the same hardware.
    #[must_use]
    pub fn innermost(&self) -> &Self {
        let mut found = self;
        while let Self::SameHardware { objection, .. } = found {
            found = objection;
        }
        found
    }

    /// The objects that it is about.
    #[must_use]
    pub fn subject(&self) -> ObjectionSubject<'_> {
        let nothing = ObjectionSubject::default();
        match self {
            Self::InUse { pod, claim, .. } | Self::NotReserved { pod, claim } => ObjectionSubject {
                pod: Some(pod),
                claim: Some(claim),
                ..nothing
            },
            Self::InUseAndFree { pod } | Self::Leaving { pod } => ObjectionSubject {
                pod: Some(pod),
                ..nothing
            },
            Self::Prepared { claim }
            | Self::MayBePrepared { claim }
            | Self::ClaimedAndUnused { claim }
            | Self::Claimed { claim } => ObjectionSubject {
                claim: Some(claim),
                ..nothing
            },
            Self::SameHardware {
                device, objection, ..
            } => ObjectionSubject {
                device: Some(device),
                ..objection.subject()
            },
            Self::MayBeSameHardware { device } => ObjectionSubject {
                device: Some(device),
                ..nothing
            },
            Self::TaintedAndInUse
            | Self::DriverDown
            | Self::DriverUnknown
            | Self::NodeUnproven
            | Self::KubeletBlind
            | Self::NotesUnread
            | Self::Unread(_)
            | Self::NotTainted
            | Self::PartsNotTainted { .. }
            | Self::Tolerated { .. }
            | Self::NotSettled => nothing,
        }
    }

    /// Whether it is about who uses or may use the device, and so about its hardware by every name.
    pub(super) fn is_about_use(&self) -> bool {
        match self {
            Self::InUse { .. }
            | Self::InUseAndFree { .. }
            | Self::NotReserved { .. }
            | Self::Prepared { .. }
            | Self::MayBePrepared { .. }
            | Self::ClaimedAndUnused { .. }
            | Self::Claimed { .. }
            | Self::Leaving { .. }
            | Self::DriverDown
            | Self::DriverUnknown
            | Self::Tolerated { .. } => true,
            Self::TaintedAndInUse
            | Self::NodeUnproven
            | Self::KubeletBlind
            | Self::NotesUnread
            | Self::Unread(_)
            | Self::SameHardware { .. }
            | Self::MayBeSameHardware { .. }
            | Self::NotTainted
            | Self::PartsNotTainted { .. }
            | Self::NotSettled => false,
        }
    }
}
