//! Ctrl-C and SIGTERM, at any step.

use std::pin::pin;
use std::time::Duration;

use super::context::Context;
use crate::error::{ExitStatus, Failure};

/// Within which a signal that was sent is heard of.
const DELIVERY: Duration = Duration::from_millis(100);

/// Waits for somebody to stop the program.
#[cfg(unix)]
pub(super) async fn received() -> ExitStatus {
    use tokio::signal::unix::{SignalKind, signal};

    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return keyboard().await;
    };
    tokio::select! {
        // A question that any signal breaks off sends SIGINT after it.
        biased;
        _ = terminate.recv() => ExitStatus::Terminated,
        status = keyboard() => status,
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
    let mut stop = pin!(received());
    tokio::select! {
        outcome = work => match outcome {
            Err(failure) if failure.status() == ExitStatus::Interrupted => {
                // Whoever breaks off a question is known only now.
                let status = tokio::time::timeout(DELIVERY, stop).await;
                Err(failure.ending(status.unwrap_or(ExitStatus::Interrupted)))
            }
            outcome => outcome,
        },
        status = &mut stop => Err(interrupted(status, context)),
    }
}

/// What to tell whoever stopped the program: what was changed by then, and what was not.
fn interrupted(status: ExitStatus, context: &Context) -> Failure {
    let failure = Failure::new(status, "interrupted");
    let account = context.ledger.account();
    account.into_iter().fold(failure, Failure::hint)
}
