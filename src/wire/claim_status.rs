//! `ResourceClaim` without its spec, which plays no part once devices are allocated.
//!
//! Only the question for a replacement needs it. For live reads, which are protobuf: a decoder that
//! does not know a field passes over it.

use super::claim::{self, ResourceClaimStatus};
use super::meta::ObjectMeta;

/// As [`claim::ResourceClaim`].
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ResourceClaim {
    #[prost(message, optional, tag = "1")]
    metadata: Option<ObjectMeta>,
    #[prost(message, optional, tag = "3")]
    status: Option<ResourceClaimStatus>,
}

impl From<ResourceClaim> for claim::ResourceClaim {
    fn from(claim: ResourceClaim) -> Self {
        Self {
            metadata: claim.metadata,
            // `None` means not read, which differs from a claim that requests nothing.
            spec: None,
            status: claim.status,
        }
    }
}
