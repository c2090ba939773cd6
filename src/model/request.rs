//! What claims ask for; read only where a question needs it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ids::ObjectName;
use super::toleration::Toleration;

/// What stands in a redacted snapshot in place of an expression.
pub const REDACTED: &str = "redacted";

/// The spec of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClaimSpec {
    /// All have to be served, in the order of the claim.
    pub requests: Vec<DeviceRequest>,
    /// What has to hold between the devices.
    pub constraints: Vec<DeviceConstraint>,
}

/// Something that a claim asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceRequest {
    /// Unique within the claim.
    pub name: Arc<str>,
    /// What would do.
    pub kind: RequestKind,
}

/// What serves a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Exactly this.
    Exactly(RequestTerms),
    /// The first of these that can be had, each with a name that is unique within the request.
    FirstAvailable(Vec<(Arc<str>, RequestTerms)>),
    /// Something that this plugin does not know.
    Unknown,
}

/// Which devices are asked for, and how many.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestTerms {
    /// The class that they have to be of; empty where none is named.
    pub class: ObjectName,
    /// Expressions that all have to hold.
    pub expressions: Vec<Arc<str>>,
    /// How many.
    pub amount: DeviceAmount,
    /// Whether for administration, beside other users of the device.
    pub admin_access: bool,
    /// Which taints are put up with.
    pub tolerations: Vec<Toleration>,
    /// How much of each capacity, as the quantity is written.
    pub capacity: BTreeMap<Arc<str>, Arc<str>>,
    /// Whether it asks for something else that this plugin does not know.
    pub is_more: bool,
}

/// How many devices are asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceAmount {
    /// So many.
    Exactly(i64),
    /// All that there are on the node.
    All,
    /// A mode from a newer API.
    Unknown(Arc<str>),
}

/// What has to hold between the devices of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceConstraint {
    /// For which requests, as REQUEST or REQUEST/SUBREQUEST; all where none is named.
    pub requests: Vec<Arc<str>>,
    /// What.
    pub rule: ConstraintRule,
}

/// How the devices of a claim have to be alike, or not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConstraintRule {
    /// The attribute has to be the same everywhere.
    Same(Arc<str>),
    /// The attribute has to be another everywhere.
    Distinct(Arc<str>),
    /// Something from a newer API.
    Unknown,
}
