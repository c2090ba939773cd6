//! A client whose credentials are renewed when the server no longer accepts them.
//!
//! Tokens of pods and of credential plugins last for minutes or hours, and a wait may last longer.
//! Credentials that have worked and work no longer are asked for again, once for all requests that
//! wait for them. Those that never worked are wrong, and a plugin that asks a person is not run twice.
//!
//! Upstream: `maybeRefreshCreds` in `client-go/plugin/pkg/client/auth/exec`, and `cachingTokenSource`
//! in `client-go/transport`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::Config;

use super::connector::connect;
use super::failure::unusable;
use crate::cluster::connection::Renewal;
use crate::cluster::error::{ClusterError, Server};
use crate::cluster::observer::Observer;

/// The way to one server.
pub(super) struct Transport {
    config: Config,
    renewal: Option<Renewal>,
    current: Mutex<Access>,
    /// Held while new credentials are asked for.
    renewing: futures::lock::Mutex<()>,
}

/// A client with certain credentials.
#[derive(Clone)]
pub(super) struct Access {
    pub(super) client: kube::Client,
    /// Number of earlier renewals.
    generation: u32,
    /// The server has accepted them.
    accepted: bool,
}

impl Transport {
    /// Prepares the way; must be called within a Tokio runtime.
    pub(super) fn new(config: Config, renewal: Option<Renewal>) -> Result<Self, kube::Error> {
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

    /// Current credentials and connection for requests.
    pub(super) fn access(&self) -> Access {
        self.current().clone()
    }

    /// Notes that the server knows whose request it was.
    pub(super) fn accepted(&self, access: &Access) {
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
    pub(super) async fn renew(
        &self,
        rejected: &Access,
        server: &Server,
        observer: &dyn Observer,
    ) -> Result<bool, ClusterError> {
        let Some(renewal) = &self.renewal else {
            return Ok(false);
        };
        // An async lock, because it is held while a plugin runs; `current` is locked only for moments.
        let _alone = self.renewing.lock().await;
        let current = self.access();
        // Another request was first, or these never worked: a plugin would ask its questions twice.
        if current.generation != rejected.generation || !current.accepted {
            return Ok(current.generation != rejected.generation);
        }
        let mut config = self.config.clone();
        config.auth_info = renewal.credentials(observer).await?;
        *self.current() = Access {
            client: connect(&config).map_err(|error| unusable(server, &error))?,
            generation: current.generation.wrapping_add(1),
            accepted: false,
        };
        Ok(true)
    }

    fn current(&self) -> MutexGuard<'_, Access> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
