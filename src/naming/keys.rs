//! Keys of the labels, annotations and taints that this program writes.

use jiff::Timestamp;

use crate::model::{RuleMetadata, Taint};

/// A name in the domain of the project. A macro, so that constants can be made of it.
macro_rules! in_group {
    ($name:literal) => {
        concat!("devicetaint.dev/", $name)
    };
}

pub(crate) use in_group;

/// Name of this program: value of `MANAGED_BY`, and field manager.
pub const THIS_PROGRAM: &str = "kubectl-devicetaint";
/// Label that says which program made the rule.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Label that the rules of one command have in common.
pub const BATCH: &str = in_group!("batch");
/// Label: the dedication that a rule or a policy is part of.
pub const DEDICATION: &str = in_group!("dedication");
/// Label: the drain that a rule is part of.
pub const DRAIN: &str = in_group!("drain");
/// Label: a hash of the unit of its drain that a rule is part of; annotation of the same key: the unit.
pub const DRAIN_UNIT: &str = in_group!("drain-unit");
/// Label: the UID of the pod for which the devices of a rule are kept.
pub const MAKE_ROOM: &str = in_group!("make-room");
/// Label: the policy of `react` that a rule is part of.
pub const POLICY: &str = in_group!("policy");
/// Annotation: since when the signal of a policy is as it is, and the effect that the policy has set.
pub const SINCE: &str = in_group!("since");
/// Annotation: why the rule is there.
pub const REASON: &str = in_group!("reason");
/// Annotation: when it should be gone, as RFC 3339.
pub const EXPIRES: &str = in_group!("expires");
/// Annotation: who made it.
pub const CREATED_BY: &str = in_group!("created-by");
/// Annotation: what the device was that the rule was made for, as a JSON object of attributes.
pub const IDENTITY: &str = in_group!("identity");
/// Annotation: who last changed what it does.
pub const CHANGED_BY: &str = in_group!("changed-by");
/// Annotation: the run of this program that made it, as a UID that is new with every run.
pub const CREATED_BY_RUN: &str = in_group!("created-by-run");
/// Annotation: the run of this program that last changed it.
pub const CHANGED_BY_RUN: &str = in_group!("changed-by-run");
/// Key of the taint of every dedication; its value is the name of the dedication.
pub const DEDICATED: &str = in_group!("dedicated");

/// Time when the rule expires; absent also when the annotation is no time.
pub fn expires(metadata: &RuleMetadata) -> Option<Timestamp> {
    metadata.annotation(EXPIRES)?.parse().ok()
}

/// True if the rule has expired by `now`, the server's time.
pub fn is_expired(metadata: &RuleMetadata, now: Timestamp) -> bool {
    expires(metadata).is_some_and(|at| at <= now)
}

/// The dedication that the taint belongs to.
pub fn dedication(taint: &Taint) -> Option<&str> {
    let is_one = taint.key == DEDICATED && !taint.value.is_empty();
    is_one.then_some(taint.value.as_str())
}
