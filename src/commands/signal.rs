//! Ctrl-C and SIGTERM, at any step.

use super::context::Context;
use crate::error::{ExitStatus, Failure};

/// Waits for somebody to stop the program.
#[cfg(unix)]
pub(super) async fn received() -> ExitStatus {
    use tokio::signal::unix::{SignalKind, signal};

    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return keyboard().await;
    };
    tokio::select! {
        status = keyboard() => status,
        _ = terminate.recv() => ExitStatus::Terminated,
    }
}

/// Waits for somebody to stop the program.
#[cfg(not(unix))]
pub(super) async fn received() -> ExitStatus {
    keyboard().await
}

async fn keyboard() -> ExitStatus {
    if tokio::signal::ctrl_c().await.is_err() {
        // Nobody can be heard, so that nobody is waited for.
        std::future::pending::<()>().await;
    }
    ExitStatus::Interrupted
}

/// Does what `work` does until somebody stops the program, who is then told how far it was.
///
/// Not for commands that have something to clean up; they listen themselves.
pub(super) async fn stoppable(
    work: impl Future<Output = Result<ExitStatus, Failure>>,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    tokio::select! {
        outcome = work => outcome,
        status = received() => Err(interrupted(status, context)),
    }
}

/// What to tell whoever stopped the program: what was changed by then, and what was not.
fn interrupted(status: ExitStatus, context: &Context) -> Failure {
    let failure = Failure::new(status, "interrupted");
    let account = context.ledger.account();
    account.into_iter().fold(failure, Failure::hint)
}
