//! What there is to complete a word with.

use std::collections::BTreeSet;

use super::values::Values;
use crate::model::{
    DeviceClass, DeviceId, DeviceTaintRule, ResourceClaim, ResourceSlice, Snapshot,
};
use crate::naming::completion::{self, Candidate, beginning};
use crate::report::guard::Signal;
use crate::topics::Topic;

/// What was found: an aid to typing, never an answer. What cannot be read is not proposed.
#[derive(Debug, Default)]
pub struct Known {
    /// Clusters of the kubeconfig.
    pub clusters: Vec<String>,
    /// Contexts of the kubeconfig.
    pub contexts: Vec<String>,
    /// Users of the kubeconfig.
    pub users: Vec<String>,
    /// Rules of the cluster.
    pub rules: Vec<DeviceTaintRule>,
    /// Slices of the cluster.
    pub slices: Vec<ResourceSlice>,
    /// Device classes of the cluster.
    pub classes: Vec<DeviceClass>,
    /// Claims of the cluster.
    pub claims: Vec<ResourceClaim>,
}

impl From<Snapshot> for Known {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            rules: snapshot.rules,
            slices: snapshot.slices,
            claims: snapshot.claims,
            classes: snapshot.classes,
            ..Self::default()
        }
    }
}

impl Known {
    /// The words of that sort that `typed` can become.
    pub(super) fn proposals(&self, values: Values, typed: &str) -> Vec<Candidate> {
        let names = |names: &[String]| words(names.iter().map(String::as_str), typed);
        let devices = || completion::devices(&self.devices(), typed);
        let rules = || completion::rules(&self.rules, typed);
        let keys = |ending| completion::keys(&self.rules, ending, typed);
        match values {
            Values::Claims => self.holders(typed),
            Values::Classes => words(self.classes.iter().map(|class| class.name.as_str()), typed),
            Values::Pods => self.pods(typed),
            Values::Clusters => names(&self.clusters),
            Values::Contexts => names(&self.contexts),
            Values::Users => names(&self.users),
            Values::Devices => devices(),
            Values::DevicesThenTaint => {
                [devices(), completion::taints(&self.rules, typed)].concat()
            }
            Values::RulesOrDevices => [rules(), devices(), keys("")].concat(),
            Values::RulesOrDevicesToRemove => [rules(), devices(), keys("-")].concat(),
            Values::DeviceNames => self.device_names(typed),
            Values::Drivers => self.drivers(typed),
            Values::Pools => self.pools(typed),
            Values::Nodes => self.nodes(typed),
            Values::Namespaces => self.namespaces(typed),
            Values::Labels => completion::labels(&self.rules, typed),
            Values::Rules => rules(),
            Values::Guards => beginning(
                Signal::ALL.map(|signal| Candidate {
                    word: signal.name().to_owned(),
                    help: Some(signal.meaning().to_owned()),
                }),
                typed,
            ),
            Values::Topics => words(Topic::ALL.iter().map(|topic| topic.name()), typed),
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

    /// Drivers that publish devices and begin with `typed`.
    fn drivers(&self, typed: &str) -> Vec<Candidate> {
        let slices = self.slices.iter();
        words(slices.map(|slice| slice.driver.as_str()), typed)
    }

    /// Pools that begin with `typed`.
    fn pools(&self, typed: &str) -> Vec<Candidate> {
        let slices = self.slices.iter();
        words(slices.map(|slice| slice.pool.name.as_str()), typed)
    }

    /// Names of devices within their pools that begin with `typed`.
    fn device_names(&self, typed: &str) -> Vec<Candidate> {
        let devices = self.slices.iter().flat_map(|slice| &slice.devices);
        words(devices.map(|device| device.name.as_str()), typed)
    }

    /// Nodes that have devices and begin with `typed`.
    fn nodes(&self, typed: &str) -> Vec<Candidate> {
        let nodes = self.slices.iter().flat_map(|slice| {
            let devices = slice.devices.iter();
            devices.filter_map(|device| slice.node_of(device))
        });
        words(nodes.map(|node| node.as_str()), typed)
    }

    /// Claims that hold devices, as NAMESPACE/NAME.
    fn holders(&self, typed: &str) -> Vec<Candidate> {
        let holders = self
            .claims
            .iter()
            .filter(|claim| claim.allocation.is_some());
        let names: Vec<String> = holders.map(|claim| claim.name.to_string()).collect();
        words(names.iter().map(String::as_str), typed)
    }

    /// Pods that claims are reserved for, as NAMESPACE/NAME.
    fn pods(&self, typed: &str) -> Vec<Candidate> {
        let mut names = Vec::new();
        for claim in &self.claims {
            let pods = claim
                .reserved_for
                .iter()
                .filter(|user| &*user.resource == "pods");
            names.extend(pods.map(|pod| format!("{}/{}", claim.name.namespace, pod.name)));
        }
        words(names.iter().map(String::as_str), typed)
    }

    /// Namespaces that have claims and begin with `typed`.
    fn namespaces(&self, typed: &str) -> Vec<Candidate> {
        let claims = self.claims.iter();
        words(claims.map(|claim| claim.name.namespace.as_str()), typed)
    }
}

/// Names that begin with `typed`.
fn words<'a>(names: impl Iterator<Item = &'a str>, typed: &str) -> Vec<Candidate> {
    let names: BTreeSet<&str> = names.collect();
    beginning(names.into_iter().map(Candidate::bare), typed)
}
