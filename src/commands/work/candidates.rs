//! Names that complete a word, from the cluster or saved files.

use std::path::PathBuf;
use std::sync::Arc;

use super::source::read_files;
use crate::cluster::{
    self, ApiClient, Connection, ConnectionOptions, Environment, ServedKinds, Silent, discover,
    read_names,
};
use crate::completion::{Known, Values};
use crate::error::Failure;
use crate::model::Kind;

/// Where to look for names.
pub(crate) struct Sources {
    /// Files that were named with `--from`; the cluster where there are none.
    pub(crate) from: Vec<PathBuf>,
    pub(crate) connection: ConnectionOptions,
    pub(crate) environment: Environment,
}

impl Sources {
    /// The objects in which such words are, read side by side.
    ///
    /// # Errors
    ///
    /// When the files or the cluster cannot be read; completion ignores that.
    pub(crate) async fn objects(&self, values: Values) -> Result<Known, Failure> {
        if !self.from.is_empty() {
            let reading = read_files(&self.from, cluster::read).await?;
            return Ok(Known::from(reading.snapshot));
        }
        let connection = Connection::load(&self.connection, &self.environment, &Silent).await?;
        let client = ApiClient::new(connection, Arc::new(Silent))?;
        let served = discover(&client).await?;
        Ok(names(&client, &served, values).await)
    }
}

/// The objects of these kinds, as far as they can be read.
async fn names(client: &ApiClient, served: &ServedKinds, values: Values) -> Known {
    let wants = |kind| values.kinds().contains(&kind);
    let (rules, slices, claims) = futures::join!(
        optional(wants(Kind::DeviceTaintRule), read_names(client, served)),
        optional(wants(Kind::ResourceSlice), read_names(client, served)),
        optional(wants(Kind::ResourceClaim), read_names(client, served)),
    );
    Known {
        rules: rules.unwrap_or_default(),
        slices: slices.unwrap_or_default(),
        claims: claims.unwrap_or_default(),
    }
}

/// Reads if wanted; `None` if it cannot be read.
async fn optional<T>(
    is_wanted: bool,
    read: impl Future<Output = Result<Vec<T>, cluster::ClusterError>>,
) -> Option<Vec<T>> {
    if is_wanted {
        read.await.ok()
    } else {
        Some(Vec::new())
    }
}
