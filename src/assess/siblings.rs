//! Devices in use on the hardware of selected ones.

use std::collections::BTreeSet;

use super::basis::Basis;
use crate::engine::{Impact, PodImpact, allocator};
use crate::model::NamespacedName;
use crate::naming::phrase::first_and_more;

/// A device in use on the hardware of a selected one: a partition or the whole of it, or the same device where it is
/// shared. Its users would stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// The selected devices beside which it is, itself where it is shared.
    pub beside: Vec<String>,
    /// The claims that hold it and whose users would stay.
    pub claims: Vec<NamespacedName>,
    /// The pods for which the claims are reserved.
    pub pods: Vec<NamespacedName>,
    /// True if its users have administrative access only, which takes the device from no pod.
    pub is_admin: bool,
}

impl Sibling {
    /// Those of the devices that the considered taints of `impact` select, by name.
    pub fn of(impact: &Impact<'_>, basis: &Basis<'_>) -> Vec<Self> {
        let siblings = allocator::siblings(&basis.reading.snapshot, impact);
        siblings.iter().map(Self::new).collect()
    }

    fn new(sibling: &allocator::Sibling<'_>) -> Self {
        Self {
            device: sibling.device.to_string(),
            beside: sibling.beside.iter().map(ToString::to_string).collect(),
            claims: sibling
                .claims
                .iter()
                .map(|claim| claim.name.clone())
                .collect(),
            pods: sibling.pods().into_iter().collect(),
            is_admin: sibling.is_admin,
        }
    }

    /// The device and its users, in one line.
    pub fn line(&self) -> String {
        format!("{}: {}", self.device, first_and_more(&self.all_users()))
    }

    /// True if it is a selected device itself, of which others have shares.
    pub fn is_shared(&self) -> bool {
        self.beside == [self.device.as_str()]
    }

    /// Its pods, or its claims where it has no pods.
    fn all_users(&self) -> Vec<String> {
        if self.pods.is_empty() {
            let claims = self.claims.iter();
            return claims.map(|claim| format!("claim {claim}")).collect();
        }
        self.pods.iter().map(ToString::to_string).collect()
    }
}

/// Users of the hardware that the pod leaves; absent where there are none but monitors with admin access.
pub(super) fn beside(siblings: &[Sibling], impact: &PodImpact<'_>) -> Option<String> {
    let held = impact.claims.iter().flat_map(|used| &used.results);
    let devices: BTreeSet<String> = held.map(|result| result.device.to_string()).collect();
    let is_beside = |sibling: &&Sibling| {
        let mut beside = sibling.beside.iter();
        !sibling.is_admin && beside.any(|device| devices.contains(device))
    };
    let users = siblings
        .iter()
        .filter(is_beside)
        .flat_map(Sibling::all_users);
    let users: BTreeSet<String> = users.collect();
    let users: Vec<String> = users.into_iter().collect();
    (!users.is_empty()).then(|| format!("hardware shared with {}", first_and_more(&users)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ClaimUse;
    use crate::report::testing;

    fn sibling(device: &str, pods: &[&str]) -> Sibling {
        Sibling {
            device: device.to_owned(),
            beside: vec!["gpu.example.com/node-7/gpu-0".to_owned()],
            claims: vec![testing::full_name("team-a/claim")],
            pods: pods.iter().copied().map(testing::full_name).collect(),
            is_admin: false,
        }
    }

    #[test]
    fn a_pod_names_the_first_user_of_its_hardware_and_counts_the_others() {
        let pod = testing::pod("team-a", "train-0");
        let claim = testing::claim(&pod);
        let results = claim.allocation.iter().flat_map(|found| &found.results);
        let mut impact = testing::evicted(&pod, 0);
        impact.claims = vec![ClaimUse {
            claim: &claim.name,
            results: results.collect(),
        }];
        let device = "gpu.example.com/node-7/gpu-0";
        let all = [
            sibling(device, &["a/x", "a/y"]),
            sibling("gpu-1", &[]),
            sibling("gpu-2", &["a/z"]),
            sibling("gpu-3", &["a/z"]),
            Sibling {
                beside: vec!["gpu.example.com/node-7/gpu-9".to_owned()],
                ..sibling("gpu-4", &["a/z"])
            },
        ];
        let shared = beside(&all, &impact);
        assert_eq!(
            shared.as_deref(),
            Some("hardware shared with a/x and 3 more")
        );
        assert_eq!(beside(&all[4..], &impact), None);
    }
}
