//! What the kubelet of this node says.

use std::path::Path;
use std::time::Duration;

use crate::commands::context::Context;
use crate::error::{ExitStatus, Failure};
use crate::kubelet::{Lister, notes_beside};
use crate::model::{InUse, PreparedClaim, Warning};

/// What a kubelet says is in use.
pub(crate) struct ListedByKubelet {
    /// What it lists.
    pub(crate) in_use: InUse,
    /// What it has noted for itself beside its socket; absent where that could not be read.
    pub(crate) prepared: Option<Vec<PreparedClaim>>,
    /// Why that could not be read.
    pub(crate) unread: Option<Warning>,
}

/// What the kubelet behind the `socket` says is in use; without a limit of the user's it has a day, and a connection
/// that says nothing for so long says nothing at all.
///
/// # Errors
///
/// When it cannot be asked; trying again may help.
pub(crate) async fn listed(socket: &Path, context: &Context) -> Result<ListedByKubelet, Failure> {
    const DAY: Duration = Duration::from_secs(86_400);
    let limit = context.connection.request_timeout.unwrap_or(DAY);
    let in_use = Lister::new(socket, limit).list().await;
    let in_use = in_use.map_err(|error| {
        let status = if error.passes() {
            ExitStatus::TryAgain
        } else {
            ExitStatus::Failed
        };
        let hint = error.hint();
        Failure::new(status, error).hint(hint)
    })?;
    let (prepared, unread) = match notes_beside(socket) {
        Ok(prepared) => (Some(prepared), None),
        Err(message) => (
            None,
            Some(Warning {
                code: "notes-unread",
                message,
                fix: None,
            }),
        ),
    };
    Ok(ListedByKubelet {
        in_use,
        prepared,
        unread,
    })
}
