//! Which devices are there, and who uses them?

use crate::engine::DeviceTaint;
use crate::model::{DeviceId, NodeName, Pod, ResourceClaim};

/// One device as the cluster is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceState<'a> {
    /// The device.
    pub id: DeviceId,
    /// Its node, when it is local to one.
    pub node: Option<&'a NodeName>,
    /// Whether a slice of the pool's newest generation has it; an allocated device need not be.
    pub published: bool,
    /// How many allocation results name it; shares and administrative access count.
    pub allocations: usize,
    /// Its taints, the driver's first, then the rules' by name.
    pub taints: Vec<DeviceTaint<'a>>,
    /// The claims that hold it, by namespace and name, each once.
    pub claims: Vec<&'a ResourceClaim>,
    /// The pods that those claims are reserved for, by namespace and name, each once.
    pub pods: Vec<&'a Pod>,
}
