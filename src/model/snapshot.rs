//! Everything that was read, and what is known about the reading itself.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

use super::{DeviceClass, DeviceTaintRule, Pod, ResourceClaim, ResourceSlice};

/// The cluster at one moment. The order of the objects carries no meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// All rules.
    pub rules: Vec<DeviceTaintRule>,
    /// All slices, of every pool generation.
    pub slices: Vec<ResourceSlice>,
    /// All claims, allocated or not.
    pub claims: Vec<ResourceClaim>,
    /// The pods that use a claim.
    pub pods: Vec<Pod>,
    /// All device classes; only rules of 1.33 and 1.34 need them.
    pub classes: Vec<DeviceClass>,
}

/// A kind of object that a preview is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `ResourceSlice`
    ResourceSlice,
    /// `ResourceClaim`
    ResourceClaim,
    /// `DeviceTaintRule`
    DeviceTaintRule,
    /// `Pod`
    Pod,
    /// `DeviceClass`
    DeviceClass,
}

impl Kind {
    /// Every kind, in the order in which they depend on each other.
    pub const ALL: [Self; 5] = [
        Self::ResourceSlice,
        Self::ResourceClaim,
        Self::DeviceTaintRule,
        Self::Pod,
        Self::DeviceClass,
    ];

    /// The kind as it is spelled in objects.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ResourceSlice => "ResourceSlice",
            Self::ResourceClaim => "ResourceClaim",
            Self::DeviceTaintRule => "DeviceTaintRule",
            Self::Pod => "Pod",
            Self::DeviceClass => "DeviceClass",
        }
    }

    /// The resource as it is spelled in URLs and permissions.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::ResourceSlice => "resourceslices",
            Self::ResourceClaim => "resourceclaims",
            Self::DeviceTaintRule => "devicetaintrules",
            Self::Pod => "pods",
            Self::DeviceClass => "deviceclasses",
        }
    }

    /// How far an answer about evictions depends on it.
    #[must_use]
    pub fn affects(self) -> Affects {
        match self {
            Self::ResourceClaim | Self::Pod | Self::DeviceClass => Affects::Evictions,
            // Allocated devices are named in the claims; what other taints do comes on top.
            Self::ResourceSlice | Self::DeviceTaintRule => Affects::Details,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// A Kubernetes minor version, printed `1.37`; with a patch where one is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor {
    /// The number after `1.`.
    pub minor: u32,
    /// The number after that, when it is known.
    pub patch: Option<u32>,
}

impl fmt::Display for Minor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.patch {
            Some(patch) => write!(formatter, "1.{}.{patch}", self.minor),
            None => write!(formatter, "1.{}", self.minor),
        }
    }
}

/// A snapshot, with where it is from and what it lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The facts.
    pub snapshot: Snapshot,
    /// Where they are from.
    pub source: Source,
    /// The cluster's time when it was read: the server's clock, or the newest time in the files.
    pub observed_at: Option<Timestamp>,
    /// The Kubernetes version that the source shows, as far as it does.
    pub version: Option<Minor>,
    /// The state of each list, by the resource's plural; opaque.
    pub resource_versions: BTreeMap<String, String>,
    /// Oddities, in the order in which they were met.
    pub warnings: Vec<Warning>,
    /// What could not be read.
    pub gaps: Vec<Gap>,
}

/// Where a snapshot is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A live cluster.
    Cluster {
        /// Name of the kubeconfig context, if there is one.
        context: Option<String>,
        /// The server's own version, such as `v1.37.0`.
        server_version: Option<String>,
    },
    /// Saved files.
    Files,
}

/// Something odd that does not keep a question from being answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    /// Stable, such as `duplicate-object`.
    pub code: &'static str,
    /// What was found, naming the object.
    pub message: String,
    /// What to do about it, if anything.
    pub fix: Option<String>,
}

/// A part of the answer that is missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// What is missing, such as `pods`.
    pub what: String,
    /// Why, and what that means for the answer.
    pub why: String,
    /// How far the answer depends on it.
    pub affects: Affects,
}

impl Gap {
    /// The kind of object that could not be read, at all or completely; absent when something else
    /// is missing.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.plural() == self.what)
    }
}

/// How far an answer depends on something that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Affects {
    /// Who is evicted: counts of pods are lower bounds, and nothing may count as done or free.
    Evictions,
    /// Only what is said beside it, such as other taints, budgets, nodes or events.
    Details,
    /// Nothing of this question.
    Nothing,
}
