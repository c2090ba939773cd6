//! Devices in use on the hardware of selected ones.

use super::basis::Basis;
use crate::engine::{Impact, PodImpact, allocator};
use crate::model::NamespacedName;
use crate::naming::phrase::first_and_more;

/// How many devices are named for each pod; JSON has all.
const NAMED: usize = 3;

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
    /// Whether its users have administrative access only, which takes the device from nobody.
    pub is_admin: bool,
}

impl Sibling {
    /// Those of the devices that the considered taints of `impact` select, by name.
    #[must_use]
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

    /// Where it is and who uses it, in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let device = &self.device;
        let users = self.users();
        if self.is_shared() {
            return format!("{device} is shared, and stays in use by {users}");
        }
        let beside = first_and_more(&self.beside);
        format!("{device} is on the same hardware as {beside}, and stays in use by {users}")
    }

    /// Who stays, as somebody who leaves `device` is told.
    fn told_at(&self, device: &str) -> String {
        let users = self.users();
        if self.is_shared() {
            format!("{device} stays in use by {users}")
        } else {
            format!(
                "{}, on the same hardware as {device}, stays in use by {users}",
                self.device
            )
        }
    }

    /// Whether it is a selected device itself, of which others have shares.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.beside == [self.device.as_str()]
    }

    fn users(&self) -> String {
        if self.pods.is_empty() {
            format!("claim {}", first_and_more(&self.claims))
        } else {
            format!("pod {}", first_and_more(&self.pods))
        }
    }
}

/// Who stays on the hardware that the pod leaves; absent where nobody does.
pub(super) fn beside(siblings: &[Sibling], impact: &PodImpact<'_>) -> Option<String> {
    let held = impact.claims.iter().flat_map(|used| &used.results);
    let mut devices: Vec<String> = held.map(|result| result.device.to_string()).collect();
    // Several shares of one device are several results.
    devices.sort_unstable();
    devices.dedup();
    let told = devices.iter().flat_map(|device| {
        let beside = move |sibling: &&Sibling| sibling.beside.contains(device);
        let beside = siblings.iter().filter(beside);
        beside.map(|sibling| sibling.told_at(device))
    });
    let told: Vec<String> = told.collect();
    let more = told.len().saturating_sub(NAMED);
    let mut told: Vec<String> = told.into_iter().take(NAMED).collect();
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    (!told.is_empty()).then(|| told.join("; "))
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
    fn a_pod_is_told_of_the_first_who_stay_beside_what_it_leaves() {
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
        assert_eq!(
            beside(&all, &impact).as_deref(),
            Some(
                "gpu.example.com/node-7/gpu-0 stays in use by pod a/x and 1 more; \
                 gpu-1, on the same hardware as gpu.example.com/node-7/gpu-0, stays in use by claim team-a/claim; \
                 gpu-2, on the same hardware as gpu.example.com/node-7/gpu-0, stays in use by pod a/z; and 1 more"
            )
        );
        assert_eq!(beside(&all[4..], &impact), None);
    }
}
