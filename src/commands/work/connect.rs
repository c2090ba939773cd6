//! The connection to a cluster, what the cluster serves, and what to say when it does not answer.

use std::sync::Arc;

use jiff::Timestamp;

use super::spectator::Spectator;
use crate::cluster::{
    ApiClient, ClusterError, Connection, Permission, Rules, Served, cluster_role_for, discover,
};
use crate::commands::context::Context;
use crate::error::{ExitStatus, Failure};
use crate::output::Printer;

/// A cluster that answers, and what it has.
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) client: ApiClient,
    pub(crate) served: Served,
}

/// Connects as the flags and the environment say, and asks the server what it has.
pub(crate) async fn connect(context: &Context) -> Result<Live, Failure> {
    let client = connect_client(context).await?;
    let served = Box::pin(discover(&client)).await.map_err(failed)?;
    Ok(Live { client, served })
}

/// Connects as the flags and the environment say, and asks the server nothing yet.
pub(crate) async fn connect_client(context: &Context) -> Result<ApiClient, Failure> {
    let observer = Arc::new(Spectator::new(&context.printer, context.verbosity));
    let connection = Connection::load(&context.connection, &context.environment, observer.as_ref())
        .await
        .map_err(failed)?;
    if context.printer.progress().is_seen() {
        tokio::spawn(Arc::clone(&observer).watch());
    }
    ApiClient::new(connection, observer).map_err(failed)
}

/// A cluster that does not do what is asked, with the way out.
pub(crate) fn failed(error: ClusterError) -> Failure {
    let denied: Vec<Permission> = error.denied().into_iter().cloned().collect();
    failed_for_want_of(&denied, error)
}

/// As [`failed`], for a read that is made of several: whoever is denied one of them learns of the
/// others too.
pub(crate) fn failed_with(client: &ApiClient, error: ClusterError) -> Failure {
    let mut denied = client.denied();
    denied.extend(error.denied().cloned());
    denied.sort_unstable();
    denied.dedup();
    failed_for_want_of(&denied, error)
}

/// A cluster that does not do what is asked, with the role that would have allowed all of it.
fn failed_for_want_of(denied: &[Permission], error: ClusterError) -> Failure {
    let forbidden = error.denied().is_some();
    let purpose = error.purpose();
    let hints = error.hints();
    let failure = hints.into_iter().fold(Failure::from(error), Failure::hint);
    if !forbidden {
        return failure;
    }
    let role = cluster_role_for(purpose, denied);
    failure.attach(format!("This role would allow it:\n{role}"))
}

impl Live {
    /// The rules of the cluster; a failure with what to switch on where it serves none.
    pub(crate) fn rules(&self) -> Result<Rules, Failure> {
        Rules::new(&self.client, &self.served).map_err(failed)
    }

    /// The failure with the role that would have allowed what was denied, if anything was.
    pub(crate) fn with_role(&self, failure: Failure) -> Failure {
        let denied = self.client.denied();
        if denied.is_empty() {
            return failure;
        }
        let role = cluster_role_for(self.client.purpose(), &denied);
        failure.attach(format!("This role would allow it:\n{role}"))
    }

    /// As [`failed_with`].
    pub(crate) fn failed(&self, error: ClusterError) -> Failure {
        failed_with(&self.client, error)
    }

    /// Says what the server warned of, and which role would have allowed more.
    pub(crate) fn tell(&self, printer: &Printer<'_>) {
        for warning in self.client.warnings() {
            printer.server_warning(&warning);
        }
        let denied = self.client.denied();
        if !denied.is_empty() {
            printer.block(&format!(
                "This role would allow what was denied:\n{}",
                cluster_role_for(self.client.purpose(), &denied)
            ));
        }
    }
}

/// The server's clock, which decides what is due and what has expired.
pub(crate) fn server_time(live: &Live) -> Result<Timestamp, Failure> {
    live.client.server_time().ok_or_else(|| {
        Failure::new(
            ExitStatus::Failed,
            format!("{} does not say what time it is", live.client.server()),
        )
    })
}
