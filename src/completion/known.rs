//! Names that complete a word.

use std::collections::BTreeSet;

use super::values::Values;
use crate::model::{DeviceId, DeviceTaintRule, ResourceClaim, ResourceSlice, Snapshot};
use crate::naming::completion::{self, Candidate, beginning};

/// Objects that were read: an aid to typing. What cannot be read is not proposed.
#[derive(Debug, Default)]
pub struct Known {
    /// Rules of the cluster.
    pub rules: Vec<DeviceTaintRule>,
    /// Slices of the cluster.
    pub slices: Vec<ResourceSlice>,
    /// Claims of the cluster.
    pub claims: Vec<ResourceClaim>,
}

impl From<Snapshot> for Known {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            rules: snapshot.rules,
            slices: snapshot.slices,
            claims: snapshot.claims,
        }
    }
}

impl Known {
    /// The words of that sort that `typed` can become.
    pub(super) fn proposals(&self, values: Values, typed: &str) -> Vec<Candidate> {
        let devices = || completion::devices(&self.devices(), typed);
        let rules = || completion::rules(&self.rules, typed);
        let keys = || words(self.rules.iter().map(|rule| &*rule.taint.key), typed);
        match values {
            Values::Devices => devices(),
            Values::DevicesThenTaint => [devices(), keys()].concat(),
            Values::Namespaces => {
                let claims = self.claims.iter();
                words(claims.map(|claim| claim.name.namespace.as_str()), typed)
            }
            Values::Nodes => self.nodes(typed),
            Values::Rules => rules(),
            Values::RulesOrDevices => [rules(), devices(), keys()].concat(),
        }
    }

    /// The devices that are published.
    fn devices(&self) -> BTreeSet<DeviceId> {
        let devices = self.slices.iter().flat_map(|slice| {
            let devices = slice.devices.iter();
            devices.map(|device| slice.id_of(device))
        });
        devices.collect()
    }

    /// Nodes that have devices and begin with `typed`.
    fn nodes(&self, typed: &str) -> Vec<Candidate> {
        let nodes = self.slices.iter().flat_map(|slice| {
            let devices = slice.devices.iter();
            devices.filter_map(|device| slice.node_of(device))
        });
        words(nodes.map(|node| node.as_str()), typed)
    }
}

/// Names that begin with `typed`.
fn words<'a>(names: impl Iterator<Item = &'a str>, typed: &str) -> Vec<Candidate> {
    // Several slices have the same node, several rules the same key.
    let names: BTreeSet<&str> = names.collect();
    beginning(names.into_iter().map(Candidate::bare), typed)
}
