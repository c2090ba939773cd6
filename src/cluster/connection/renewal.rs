//! Credentials that can be had anew: from a file that is replaced, or from a plugin.

use kube::config::AuthInfo;

use super::kubeconfig::Chosen;
use super::material::Material;
use super::options::Environment;
use crate::cluster::error::ClusterError;
use crate::cluster::observer::Observer;

/// How to get credentials again when they have expired.
#[derive(Clone, Debug)]
pub(in crate::cluster) struct Renewal {
    chosen: Chosen,
    environment: Environment,
}

impl Renewal {
    /// `None` when the credentials would be the same again.
    pub(in crate::cluster) fn of(chosen: &Chosen, environment: &Environment) -> Option<Self> {
        Material::new(chosen).expires().then(|| Self {
            chosen: chosen.clone(),
            environment: environment.clone(),
        })
    }

    /// Reads the file or runs the plugin again.
    pub(in crate::cluster) async fn credentials(
        &self,
        observer: &dyn Observer,
    ) -> Result<AuthInfo, ClusterError> {
        Material::new(&self.chosen)
            .user(&self.environment, observer)
            .await
    }
}
