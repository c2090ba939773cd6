//! What there is to complete a word with: names in the cluster, in saved files, in the kubeconfig.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::source::read_files;
use crate::cluster::{
    self, ApiClient, Connection, ConnectionOptions, Environment, KubeconfigNames, Silent, discover,
    read_names,
};
use crate::error::Failure;
use crate::model::{DeviceId, DeviceTaintRule, Kind, ResourceClaim, ResourceSlice, Snapshot};
use crate::naming::completion::{Candidate, beginning};

/// Where to look for names.
pub(crate) struct Sources {
    /// Files that were named with `--from`; the cluster where there are none.
    pub(crate) from: Vec<PathBuf>,
    pub(crate) connection: ConnectionOptions,
    pub(crate) environment: Environment,
}

/// What was found: an aid to typing, never an answer. What cannot be read is not proposed.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) kubeconfig: KubeconfigNames,
    pub(crate) rules: Vec<DeviceTaintRule>,
    slices: Vec<ResourceSlice>,
    claims: Vec<ResourceClaim>,
}

impl Sources {
    /// The names in the kubeconfig.
    pub(crate) fn kubeconfig(&self) -> Known {
        let names = KubeconfigNames::load(&self.connection, &self.environment);
        Known {
            kubeconfig: names.unwrap_or_default(),
            ..Known::default()
        }
    }

    /// The objects of these kinds, read side by side.
    ///
    /// # Errors
    ///
    /// When the files or the cluster cannot be read; whoever only proposes words says nothing of it.
    pub(crate) async fn objects(&self, kinds: &[Kind]) -> Result<Known, Failure> {
        if !self.from.is_empty() {
            let reading = read_files(&self.from, cluster::read).await?;
            return Ok(Known::from(reading.snapshot));
        }
        let connection = Connection::load(&self.connection, &self.environment, &Silent).await?;
        let client = ApiClient::new(connection, Arc::new(Silent))?;
        let served = discover(&client).await?;
        let wants = |kind| kinds.contains(&kind);
        let (rules, slices, claims) = futures::join!(
            optional(wants(Kind::DeviceTaintRule), read_names(&client, &served)),
            optional(wants(Kind::ResourceSlice), read_names(&client, &served)),
            optional(wants(Kind::ResourceClaim), read_names(&client, &served)),
        );
        Ok(Known {
            rules,
            slices,
            claims,
            ..Known::default()
        })
    }
}

/// What is read, if it is wanted and can be had.
async fn optional<T>(
    is_wanted: bool,
    read: impl Future<Output = Result<Vec<T>, cluster::ClusterError>>,
) -> Vec<T> {
    if is_wanted {
        read.await.unwrap_or_default()
    } else {
        Vec::new()
    }
}

impl From<Snapshot> for Known {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            rules: snapshot.rules,
            slices: snapshot.slices,
            claims: snapshot.claims,
            ..Self::default()
        }
    }
}

impl Known {
    /// The devices that are published.
    pub(crate) fn devices(&self) -> BTreeSet<DeviceId> {
        let devices = self.slices.iter().flat_map(|slice| {
            let devices = slice.devices.iter();
            devices.map(|device| slice.id_of(device))
        });
        devices.collect()
    }

    /// Drivers that publish devices and begin with `typed`.
    pub(crate) fn drivers(&self, typed: &str) -> Vec<Candidate> {
        let slices = self.slices.iter();
        words(slices.map(|slice| slice.driver.as_str()), typed)
    }

    /// Pools that begin with `typed`.
    pub(crate) fn pools(&self, typed: &str) -> Vec<Candidate> {
        let slices = self.slices.iter();
        words(slices.map(|slice| slice.pool.name.as_str()), typed)
    }

    /// Names of devices within their pools that begin with `typed`.
    pub(crate) fn device_names(&self, typed: &str) -> Vec<Candidate> {
        let devices = self.slices.iter().flat_map(|slice| &slice.devices);
        words(devices.map(|device| device.name.as_str()), typed)
    }

    /// Nodes that have devices and begin with `typed`.
    pub(crate) fn nodes(&self, typed: &str) -> Vec<Candidate> {
        let nodes = self.slices.iter().flat_map(|slice| {
            let devices = slice.devices.iter();
            devices.filter_map(|device| slice.node_of(device))
        });
        words(nodes.map(|node| node.as_str()), typed)
    }

    /// Namespaces that have claims and begin with `typed`.
    pub(crate) fn namespaces(&self, typed: &str) -> Vec<Candidate> {
        let claims = self.claims.iter();
        words(claims.map(|claim| claim.name.namespace.as_str()), typed)
    }
}

/// Names that begin with `typed`.
pub(crate) fn words<'a>(names: impl Iterator<Item = &'a str>, typed: &str) -> Vec<Candidate> {
    let names: BTreeSet<&str> = names.collect();
    beginning(names.into_iter().map(Candidate::bare), typed)
}
