//! The connection to a cluster, the kinds that it serves, and the messages when it does not answer.

use std::sync::Arc;

use jiff::Timestamp;

use super::read_progress::ReadProgress;
use crate::cluster::{ApiClient, ClusterError, Connection, Purpose, Rules, ServedKinds, discover};
use crate::commands::context::Context;
use crate::decide::version::{require_predictions, semantics_of};
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::Minor;
use crate::output::Printer;

/// A cluster that answers, and its kinds.
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) client: ApiClient,
    pub(crate) served: ServedKinds,
}

/// Behavior of the version `found`, unless that of another version is `asked` for.
///
/// # Errors
///
/// A version that the command of this purpose does not support.
pub(crate) fn semantics_for(
    purpose: Option<Purpose>,
    asked: Option<Minor>,
    found: Option<Minor>,
) -> Result<Semantics, Failure> {
    let semantics = semantics_of(asked, found)?;
    if !purpose.is_some_and(Purpose::works_without_predictions) {
        require_predictions(&semantics)?;
    }
    Ok(semantics)
}

/// Connects by the flags and the environment, and asks the server for its kinds.
///
/// # Errors
///
/// When that fails, or the command does not support the version of the server.
pub(crate) async fn connect(context: &Context) -> Result<Live, Failure> {
    let client = connect_client(context).await?;
    let served = Box::pin(discover(&client)).await.map_err(failed)?;
    let live = Live { client, served };
    live.semantics(None)?;
    Ok(live)
}

/// Connects as the flags and the environment say, and asks the server nothing yet.
pub(crate) async fn connect_client(context: &Context) -> Result<ApiClient, Failure> {
    let observer = Arc::new(ReadProgress::new(&context.printer, context.verbosity));
    let connection = Connection::load(&context.connection, &context.environment, observer.as_ref())
        .await
        .map_err(failed)?;
    if context.printer.progress().is_seen() {
        tokio::spawn(Arc::clone(&observer).watch());
    }
    let client = ApiClient::new(connection, observer).map_err(failed)?;
    context.asked(&client);
    Ok(client)
}

/// Failure of a request to the cluster, with the way out, and if trying again is one.
pub(crate) fn failed(error: ClusterError) -> Failure {
    let status = if error.passes() {
        ExitStatus::TryAgain
    } else {
        ExitStatus::Failed
    };
    let hint = error.hint();
    let failure = Failure::from(error).ending(status);
    hint.into_iter().fold(failure, Failure::hint)
}

impl Live {
    /// Behavior of the cluster, unless that of another version is `asked` for; a failure if the command does
    /// not support the version.
    pub(crate) fn semantics(&self, asked: Option<Minor>) -> Result<Semantics, Failure> {
        semantics_for(self.client.purpose(), asked, self.served.version)
    }

    /// The rules of the cluster; a failure with what to switch on where it serves none.
    pub(crate) fn rules(&self) -> Result<Rules, Failure> {
        Rules::new(&self.client, &self.served).map_err(failed)
    }

    /// Prints the warnings of the server.
    pub(crate) fn tell(&self, printer: &Printer<'_>) {
        for warning in self.client.warnings() {
            printer.server_warning(&warning);
        }
    }
}

/// The server's clock, which decides what is due and what has expired.
pub(crate) fn server_time(live: &Live) -> Result<Timestamp, Failure> {
    live.client.server_time().ok_or_else(|| {
        Failure::new(
            ExitStatus::Failed,
            format!(
                "{} sends no Date header, so the time is unknown",
                live.client.server()
            ),
        )
    })
}
