//! Rules that taint devices from outside their driver.

use super::ids::{DeviceId, DeviceName, DriverName, ObjectName, PoolName, Uid};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::fmt;

/// A cluster-scoped `DeviceTaintRule`: one taint for all devices that a selector chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceTaintRule {
    /// The rule's name.
    pub name: ObjectName,
    /// Distinguishes it from a later rule of the same name.
    pub uid: Uid,
    /// Version of the object; opaque.
    pub resource_version: String,
    /// Raised by every change of the spec.
    pub generation: i64,
    /// Selected devices; the meaning of an absent selector depends on the Kubernetes version.
    pub selector: Option<DeviceSelector>,
    /// The taint that the selected devices get.
    pub taint: Taint,
    /// Last condition of the eviction controller, since 1.35.
    pub condition: Option<EvictionCondition>,
    /// Labels, annotations and other metadata.
    pub metadata: RuleMetadata,
    /// Field managers, in the server's order. Every write of the controller's status changes this, so that it
    /// does not show whether the rule itself has changed.
    pub managers: Vec<FieldManager>,
}

impl DeviceTaintRule {
    /// Creator of the rule, as far as the server recorded it: the program that has owned a part of it since
    /// it was created. Programs that changed it later own fields since later.
    pub fn maker(&self) -> Option<&FieldManager> {
        let created = self.metadata.created?;
        let mut writers = self
            .managers
            .iter()
            .filter(|manager| manager.subresource.is_none());
        writers.find(|manager| manager.time.is_some_and(|time| time <= created))
    }

    /// Last writer of the rule's spec, as far as the server recorded it: of the programs that own a part of
    /// it, the one whose last change is the newest. That change may have been to a
    /// label: the server keeps one time for all fields of a program.
    pub fn last_writer(&self) -> Option<&FieldManager> {
        let of_spec = self
            .managers
            .iter()
            .filter(|manager| manager.owns_spec && manager.subresource.is_none());
        // An entry without a time is less than all others: nothing says that it was last.
        of_spec.max_by_key(|manager| manager.time)
    }
}

/// Metadata of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleMetadata {
    /// For selecting rules, such as `app.kubernetes.io/managed-by`.
    pub labels: BTreeMap<String, String>,
    /// Plain text, such as `example.com/reason`.
    pub annotations: BTreeMap<String, String>,
    /// Time of creation; absent in objects that no server has seen.
    pub created: Option<Timestamp>,
    /// Time of deletion, if only a finalizer still holds it.
    pub deletion: Option<Timestamp>,
    /// Finalizers that delay its removal after deletion.
    pub finalizers: Vec<String>,
    /// The objects with which it goes.
    pub owners: Vec<Uid>,
}

/// Devices that a rule selects: those that match every field that is not null.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[cfg_attr(feature = "schemars", schemars(rename = "Selector"))]
pub struct DeviceSelector {
    /// Name of the driver; null means any.
    pub driver: Option<DriverName>,
    /// Name of the pool; null means any.
    pub pool: Option<PoolName>,
    /// Name of the device; null means any.
    pub device: Option<DeviceName>,
    /// Names of selector fields of a newer API. They are ignored, on the assumption that the eviction controller
    /// ignores them, too. Absent if there are none.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Vec::is_empty")
    )]
    pub unknown_fields: Vec<String>,
}

impl DeviceSelector {
    /// True if neither a driver, nor a pool, nor a device is given.
    pub fn selects_every_device(&self) -> bool {
        self.driver.is_none() && self.pool.is_none() && self.device.is_none()
    }

    /// True if the driver, pool and device that are given are these.
    pub fn has_names(&self, driver: &str, pool: &str, device: &str) -> bool {
        self.driver
            .as_ref()
            .is_none_or(|name| name.as_str() == driver)
            && self.pool.as_ref().is_none_or(|name| name.as_str() == pool)
            && self
                .device
                .as_ref()
                .is_none_or(|name| name.as_str() == device)
    }

    /// The one device that it names; absent if it may select several.
    pub fn device_id(&self) -> Option<DeviceId> {
        Some(DeviceId {
            driver: self.driver.clone()?,
            pool: self.pool.clone()?,
            device: self.device.clone()?,
        })
    }
}

impl From<DeviceId> for DeviceSelector {
    /// Selector of the one device, by its names.
    fn from(id: DeviceId) -> Self {
        Self {
            driver: Some(id.driver),
            pool: Some(id.pool),
            device: Some(id.device),
            ..Self::default()
        }
    }
}

/// The condition `EvictionInProgress` of a rule, written by the eviction controller since 1.35.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvictionCondition {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Reason, such as `PodsPendingEviction`.
    pub reason: String,
    /// The controller's counts, as text.
    pub message: String,
    /// Generation of the rule that the controller had seen.
    pub observed_generation: i64,
    /// Time of the last change.
    pub last_transition: Option<Timestamp>,
}

/// A `DeviceClass`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceClass {
    /// The class's name.
    pub name: ObjectName,
    /// CEL expressions; a device must satisfy all of them.
    pub expressions: Vec<String>,
    /// The extended resource that its devices serve, if any.
    pub extended_resource: Option<String>,
}

impl RuleMetadata {
    /// The annotation `key`, unless it is empty.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        let text = self.annotations.get(key).map(String::as_str);
        text.filter(|text| !text.is_empty())
    }
}

/// An entry of `metadata.managedFields`: a program, and what it is responsible for.
///
/// Absent from objects that were saved without it, as snapshots may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldManager {
    /// Name of the program, such as `kubectl-edit` or `argocd-controller`.
    pub name: String,
    /// Operation of the write.
    pub operation: ManagerOperation,
    /// The subresource that it wrote to, such as `status`; absent for the object itself.
    pub subresource: Option<String>,
    /// Time when it last added, changed or gave up a field; absent when the server did not say.
    pub time: Option<Timestamp>,
    /// True if it is responsible for at least one field of the spec.
    pub owns_spec: bool,
}

/// Operation with which a program wrote an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ManagerOperation {
    /// Server-side apply: it means to keep its fields, and conflicts with others who set them.
    Apply,
    /// Create, update or patch.
    Update,
    /// From a newer API; shown as is.
    Unknown(String),
}

impl ManagerOperation {
    /// The operation as it is spelled in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for ManagerOperation {
    fn from(text: &str) -> Self {
        match text {
            "Apply" => Self::Apply,
            "Update" => Self::Update,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

/// Effect of a taint on pods. New effects may appear before this crate knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Effect {
    /// Informational: never blocks, never evicts.
    #[default]
    None,
    /// Blocks new allocations of the device.
    NoSchedule,
    /// Blocks new allocations and evicts the pods that use the device.
    NoExecute,
    /// Shown as is and otherwise ignored, as the API asks of clients.
    #[cfg_attr(feature = "serde", serde(untagged))]
    Unknown(String),
}

impl Effect {
    /// The effect as it is spelled in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "None",
            Self::NoSchedule => "NoSchedule",
            Self::NoExecute => "NoExecute",
            Self::Unknown(text) => text,
        }
    }

    /// True if it evicts pods.
    pub fn evicts(&self) -> bool {
        match self {
            Self::NoExecute => true,
            Self::None | Self::NoSchedule | Self::Unknown(_) => false,
        }
    }
}

impl From<&str> for Effect {
    fn from(text: &str) -> Self {
        match text {
            "None" => Self::None,
            "NoSchedule" => Self::NoSchedule,
            "NoExecute" => Self::NoExecute,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// A mark on a device, printed `KEY[=VALUE]:EFFECT`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    /// A label key, such as `example.com/maintenance`.
    pub key: String,
    /// A label value; empty when the taint has none.
    pub value: String,
    /// Effect.
    pub effect: Effect,
    /// Since when; seconds count. The API server always fills it in, so that it is absent only in
    /// objects that no server has seen.
    pub time_added: Option<Timestamp>,
}

impl fmt::Display for Taint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value.is_empty() {
            write!(formatter, "{}:{}", self.key, self.effect)
        } else {
            write!(formatter, "{}={}:{}", self.key, self.value, self.effect)
        }
    }
}

/// Comparison of values by a toleration.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// Same value; also what an absent operator means.
    #[default]
    Equal,
    /// Any value.
    Exists,
    /// From a newer API: tolerates nothing, as upstream.
    Unknown(String),
}

impl Operator {
    /// The operator as it is spelled in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Equal => "Equal",
            Self::Exists => "Exists",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for Operator {
    fn from(text: &str) -> Self {
        match text {
            "" | "Equal" => Self::Equal,
            "Exists" => Self::Exists,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

/// Toleration of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Toleration {
    /// Key it covers; empty covers every key.
    pub key: String,
    /// Comparison of values.
    pub operator: Operator,
    /// Value it covers, for [`Operator::Equal`].
    pub value: String,
    /// Effect it covers; absent covers every effect for the scheduler, and **none** for eviction.
    pub effect: Option<Effect>,
    /// For how many seconds a `NoExecute` taint is tolerated; absent means forever, zero or less
    /// means not at all.
    pub seconds: Option<i64>,
}

impl Toleration {
    /// The narrowest that covers `taint` for its own effect, forever.
    pub fn covering(taint: &Taint) -> Self {
        Self {
            key: taint.key.clone(),
            operator: if taint.value.is_empty() {
                Operator::Exists
            } else {
                Operator::Equal
            },
            value: taint.value.clone(),
            effect: Some(taint.effect.clone()),
            seconds: None,
        }
    }
}

impl fmt::Display for Toleration {
    /// `KEY[=VALUE]:EFFECT[ for Ns]`, with `*` for "any".
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.key.is_empty() { "*" } else { &self.key })?;
        match &self.operator {
            Operator::Equal => write!(formatter, "={}", self.value)?,
            Operator::Exists => {}
            Operator::Unknown(operator) => write!(formatter, " {operator} {}", self.value)?,
        }
        let effect = self.effect.as_ref().map_or("*", Effect::as_str);
        write!(formatter, ":{effect}")?;
        match self.seconds {
            Some(seconds) => write!(formatter, " for {seconds}s"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Effect, ManagerOperation};

    fn manager(name: &str, second: i64) -> FieldManager {
        FieldManager {
            name: name.to_owned(),
            operation: ManagerOperation::Update,
            subresource: None,
            time: Timestamp::from_second(second).ok(),
            owns_spec: true,
        }
    }

    #[test]
    fn the_newest_program_with_a_part_of_the_spec_is_the_last_writer() {
        let label = FieldManager {
            owns_spec: false,
            ..manager("argocd-controller", 9)
        };
        let status = FieldManager {
            subresource: Some("status".to_owned()),
            ..manager("kube-controller-manager", 8)
        };
        let rule = DeviceTaintRule {
            name: "drain".into(),
            uid: "uid".into(),
            resource_version: "1".to_owned(),
            generation: 1,
            taint: Taint {
                key: "a".to_owned(),
                effect: Effect::None,
                ..Taint::default()
            },
            managers: vec![
                manager("kubectl", 7),
                manager("kubectl-create", 3),
                label,
                status,
            ],
            ..DeviceTaintRule::default()
        };
        let last = rule.last_writer().map(|manager| manager.name.as_str());
        assert_eq!(last, Some("kubectl"));
    }
}
