//! Random clusters, small and odd, that shrink.
//!
//! A [`Case`] describes a cluster in terms of small numbers, so that it shrinks towards nothing; it is
//! rendered to ordinary Kubernetes objects, which the program under test and the real control plane both
//! read.

#![allow(
    dead_code,
    unused_imports,
    reason = "every test binary uses its own part"
)]

mod render;
mod strategy;

pub use render::{Objects, START, list};
pub use strategy::{Family, any_case};

/// A whole cluster.
#[derive(Clone, Debug)]
pub struct Case {
    pub slices: Vec<SliceSpec>,
    pub claims: Vec<ClaimSpec>,
    pub pods: Vec<PodSpec>,
    pub rules: Vec<RuleSpec>,
    /// True if the gate `DRAWorkloadResourceClaims` is on.
    pub pod_groups: bool,
}

#[derive(Clone, Debug)]
pub struct SliceSpec {
    pub driver: u8,
    pub pool: u8,
    pub generation: i8,
    pub slice_count: u8,
    pub devices: Vec<(u8, Vec<TaintSpec>)>,
}

#[derive(Clone, Debug)]
pub struct TaintSpec {
    pub key: u8,
    pub value: u8,
    pub effect: &'static str,
    /// Seconds from the start of virtual time.
    pub added: i64,
}

#[derive(Clone, Debug)]
pub struct ClaimSpec {
    pub namespace: u8,
    pub results: Option<Vec<ResultSpec>>,
    pub owner: OwnerSpec,
    pub reserved_for: Vec<ReservationSpec>,
}

#[derive(Clone, Debug)]
pub struct ResultSpec {
    pub driver: u8,
    pub pool: u8,
    pub device: u8,
    pub admin_access: bool,
    pub shared: bool,
    pub tolerations: Vec<TolerationSpec>,
}

#[derive(Clone, Debug)]
pub struct TolerationSpec {
    pub key: Option<u8>,
    pub operator: &'static str,
    pub value: u8,
    pub effect: &'static str,
    pub seconds: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerSpec {
    Unowned,
    Pod(u8),
    /// A pod of that name which has since been replaced.
    FormerPod(u8),
    PodGroup(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservationSpec {
    Pod(u8),
    /// The name of a pod with the UID of its predecessor.
    FormerPod(u8),
    /// A pod that does not exist.
    NoPod,
    /// The UID of a pod under another name; only its UID is compared for counting.
    RenamedPod(u8),
    PodGroup(u8),
}

#[derive(Clone, Debug)]
pub struct PodSpec {
    pub namespace: u8,
    pub scheduled: bool,
    pub phase: &'static str,
    pub terminating: bool,
    pub claims: Vec<ReferenceSpec>,
    pub pod_group: Option<u8>,
    pub extended: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceSpec {
    Claim(u8),
    Template(u8),
    /// A template for which no claim was generated yet.
    TemplateWithoutStatus,
    /// A template for which none was needed.
    TemplateWithoutClaim,
}

#[derive(Clone, Debug)]
pub struct RuleSpec {
    pub selector: Option<[Option<u8>; 3]>,
    pub taint: TaintSpec,
}
