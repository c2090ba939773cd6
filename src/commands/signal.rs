//! Ctrl-C and SIGTERM, at any step.

use std::pin::pin;
use std::time::Duration;

use super::context::Context;
use crate::cluster::Purpose;
use crate::decide::ledger::Incompleteness;
use crate::error::{ExitStatus, Failure};

/// Within which a signal that was sent is heard of.
const DELIVERY: Duration = Duration::from_millis(100);

/// Hears Ctrl-C and SIGTERM, from the moment on that it is made: a signal that comes before anybody
/// waits for it is not lost.
pub(super) struct Signals {
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    /// Listens from now on; must be called within a Tokio runtime.
    pub(super) fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
        }
    }

    /// Waits for somebody to stop the program.
    pub(super) async fn received(mut self) -> ExitStatus {
        tokio::select! {
            // A question that any signal breaks off sends SIGINT after it.
            biased;
            () = heard(&mut self.terminate) => ExitStatus::Terminated,
            () = heard(&mut self.interrupt) => ExitStatus::Interrupted,
        }
    }
}

/// Waits for the signal; for ever when it cannot be heard.
#[cfg(unix)]
async fn heard(signal: &mut Option<tokio::signal::unix::Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}

#[cfg(not(unix))]
impl Signals {
    /// Listens as soon as somebody waits.
    pub(super) fn listen() -> Self {
        Self {}
    }

    /// Waits for somebody to stop the program; for ever when nobody can be heard.
    pub(super) async fn received(self) -> ExitStatus {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        ExitStatus::Interrupted
    }
}

/// Does what `work` does until somebody stops the program, who is then told how far it was.
///
/// Not for commands that have something to clean up; they listen themselves.
pub(super) async fn stoppable<T>(
    work: impl Future<Output = Result<T, Failure>>,
    context: &Context,
) -> Result<T, Failure> {
    let mut stop = pin!(Signals::listen().received());
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

/// What to tell whoever stopped the program: what was changed by then, and what was not; nothing of
/// that where nothing is ever changed.
fn interrupted(status: ExitStatus, context: &Context) -> Failure {
    let failure = Failure::new(status, "interrupted");
    if context.connection.purpose.is_none_or(Purpose::only_reads) {
        return failure;
    }
    context.ledger.account(failure, Incompleteness::Passing)
}
