//! Owners of taints that keep a device from a claim.

use crate::model::{DeviceId, ObjectName, Taint};

/// Owner of a taint that keeps a device back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaintOwner {
    /// A rule's.
    Rule(ObjectName),
    /// One that was asked about and that no rule has, by its place.
    Proposed(usize),
    /// The driver's on this device, of which it may have several.
    Driver(DeviceId, Box<Taint>),
}
