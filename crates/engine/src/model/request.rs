//! Device requests of claims; read only for reports that use them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ids::ObjectName;
use super::toleration::Toleration;

/// Replacement of an expression in a redacted snapshot.
pub const REDACTED: &str = "redacted";

/// The spec of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClaimSpec {
    /// All have to be served, in the order of the claim.
    pub requests: Vec<DeviceRequest>,
    /// Constraints between the devices.
    pub constraints: Vec<DeviceConstraint>,
}

/// Something that a claim asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceRequest {
    /// Unique within the claim.
    pub name: Arc<str>,
    /// Kind of the request.
    pub kind: RequestKind,
}

/// Kind of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Exactly this.
    Exactly(RequestTerms),
    /// The first of these that can be had, each with a name that is unique within the request.
    FirstAvailable(Vec<(Arc<str>, RequestTerms)>),
    /// Something that this plugin does not know.
    Unknown,
}

/// Terms of a request: its devices, and their number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestTerms {
    /// The class that they have to be of; empty where none is named.
    pub class: ObjectName,
    /// Expressions that all have to hold.
    pub expressions: Vec<Arc<str>>,
    /// Number of devices.
    pub amount: DeviceAmount,
    /// True if for administration, beside other users of the device.
    pub admin_access: bool,
    /// Tolerations.
    pub tolerations: Vec<Toleration>,
    /// Requested capacities, as the quantities are written.
    pub capacity: BTreeMap<Arc<str>, Arc<str>>,
    /// True if it has fields that this plugin does not know.
    pub is_more: bool,
}

/// Number of requested devices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceAmount {
    /// Exact number.
    Exactly(i64),
    /// All devices on the node.
    All,
    /// A mode from a newer API.
    Unknown(Arc<str>),
}

/// Constraint between the devices of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceConstraint {
    /// For which requests, as REQUEST or REQUEST/SUBREQUEST; all where none is named.
    pub requests: Vec<Arc<str>>,
    /// Rule of the constraint.
    pub rule: ConstraintRule,
}

/// Rule of a constraint: attributes that have to be equal or distinct.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConstraintRule {
    /// The attribute has to be the same everywhere.
    Same(Arc<str>),
    /// The attribute has to be another everywhere.
    Distinct(Arc<str>),
    /// Something from a newer API.
    Unknown,
}
