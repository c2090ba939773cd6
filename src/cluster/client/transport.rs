//! A client whose credentials are renewed when the server no longer accepts them.
//!
//! Tokens of pods and of credential plugins last for minutes or hours, and a wait may last longer.
//! Credentials that have worked and work no longer are asked for again, once for all requests that
//! wait for them. Those that never worked are wrong, and a plugin that asks a person is not run twice.
//!
//! Upstream: `maybeRefreshCreds` in `client-go/plugin/pkg/client/auth/exec`, and `cachingTokenSource`
//! in `client-go/transport`.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::Config;

use super::connector::connect;
use super::failure::unusable;
use crate::cluster::connection::Renewal;
use crate::cluster::error::ClusterError;
use crate::cluster::error::Server;
use crate::cluster::observer::Observer;

/// The way to one server.
pub(in crate::cluster) struct Transport {
    config: Config,
    renewal: Option<Renewal>,
    current: Mutex<Access>,
    /// Held while new credentials are asked for.
    renewing: futures::lock::Mutex<()>,
}

/// A client with certain credentials.
#[derive(Clone)]
pub(in crate::cluster) struct Access {
    pub(in crate::cluster) client: kube::Client,
    /// How often they were renewed before.
    generation: u32,
    /// The server has accepted them.
    accepted: bool,
}

impl Transport {
    /// Prepares the way; must be called within a Tokio runtime.
    pub(in crate::cluster) fn new(
        config: Config,
        renewal: Option<Renewal>,
    ) -> Result<Self, kube::Error> {
        Ok(Self {
            current: Mutex::new(Access {
                client: connect(&config)?,
                generation: 0,
                accepted: false,
            }),
            config,
            renewal,
            renewing: futures::lock::Mutex::default(),
        })
    }

    /// What requests are sent with at the moment.
    pub(in crate::cluster) fn access(&self) -> Access {
        self.current().clone()
    }

    /// Notes that the server knows whose request it was.
    pub(in crate::cluster) fn accepted(&self, access: &Access) {
        let mut current = self.current();
        if current.generation == access.generation {
            current.accepted = true;
        }
    }

    /// Renews what the server has rejected; `false` when that is of no use.
    ///
    /// # Errors
    ///
    /// When new credentials cannot be had.
    pub(in crate::cluster) async fn renew(
        &self,
        rejected: &Access,
        server: &std::sync::Arc<Server>,
        observer: &dyn Observer,
    ) -> Result<bool, ClusterError> {
        let Some(renewal) = &self.renewal else {
            return Ok(false);
        };
        // An async lock, because it is held while a plugin runs; `current` is locked only for moments.
        let _alone = self.renewing.lock().await;
        let current = self.access();
        if current.generation != rejected.generation {
            // Another request was first.
            return Ok(true);
        }
        // Credentials that never worked would be rejected again, and a plugin would ask its questions twice.
        if !current.accepted {
            return Ok(false);
        }
        let mut config = self.config.clone();
        config.auth_info = renewal.credentials(observer).await?;
        let client = connect(&config).map_err(|error| unusable(server, &error))?;
        *self.current() = Access {
            client,
            generation: current.generation.wrapping_add(1),
            accepted: false,
        };
        Ok(true)
    }

    fn current(&self) -> MutexGuard<'_, Access> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Transport")
            .field("renewal", &self.renewal)
            .finish_non_exhaustive()
    }
}
