//! Ctrl-C and SIGTERM, at any step; SIGHUP for commands that have to take something back.

use std::pin::pin;
use std::time::Duration;

use super::context::Context;
use crate::cluster::Purpose;
use crate::decide::change_log::RUN_AGAIN;
use crate::error::{ExitStatus, Failure};

/// Within this time a signal that was sent is delivered.
const DELIVERY: Duration = Duration::from_millis(100);

/// Receives Ctrl-C and SIGTERM from its creation on: a signal that comes before the first wait is not lost.
pub(super) struct Signals {
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
    /// Only where requested: other commands end by it as programs do.
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    /// Listens from now on; must be called within a Tokio runtime.
    pub(super) fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            hangup: None,
        }
    }

    /// As [`Signals::listen`], for SIGHUP too, which ends a program whose terminal is closed; it counts as SIGTERM.
    pub(super) fn listen_for_hangup() -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        let hangup = || signal(SignalKind::hangup()).ok();
        Self {
            hangup: (!ignores_hangup()).then(hangup).flatten(),
            ..Self::listen()
        }
    }

    /// Waits for a signal that stops the program.
    pub(super) async fn next(&mut self) -> ExitStatus {
        tokio::select! {
            // A question that any signal breaks off sends SIGINT after it.
            biased;
            () = received(&mut self.terminate) => ExitStatus::Terminated,
            () = received(&mut self.hangup) => ExitStatus::Terminated,
            () = received(&mut self.interrupt) => ExitStatus::Interrupted,
        }
    }
}

impl Signals {
    /// The signal that has arrived, if one has.
    pub(super) async fn arrived(&mut self) -> Option<ExitStatus> {
        tokio::time::timeout(Duration::ZERO, self.next()).await.ok()
    }
}

/// True if the program was started to survive SIGHUP, as by `nohup`: to listen would end that. Known on Linux only.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    is_hangup_ignored(&status)
}

/// By the mask of ignored signals in a process's status, whose first bit is SIGHUP.
#[cfg(unix)]
fn is_hangup_ignored(status: &str) -> bool {
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}

/// Waits for the signal; forever if it cannot be received.
#[cfg(unix)]
async fn received(signal: &mut Option<tokio::signal::unix::Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}

#[cfg(not(unix))]
impl Signals {
    /// Listens from the first wait on.
    pub(super) fn listen() -> Self {
        Self {}
    }

    /// As [`Signals::listen`]: there is no SIGHUP.
    pub(super) fn listen_for_hangup() -> Self {
        Self::listen()
    }

    /// Waits for a signal to stop; forever if signals cannot be received.
    pub(super) async fn next(&mut self) -> ExitStatus {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        ExitStatus::Interrupted
    }
}

/// Runs `work` until one of these signals stops the program, and then reports the progress.
pub(super) async fn stoppable_by<T>(
    work: impl Future<Output = Result<T, Failure>>,
    signals: &mut Signals,
    context: &Context,
) -> Result<T, Failure> {
    let (mut stop, mut work) = (pin!(signals.next()), pin!(work));
    let status = tokio::select! {
        outcome = &mut work => return match outcome {
            Err(failure) if failure.status() == ExitStatus::Interrupted => {
                // The signal that breaks off a question is known only now.
                let status = tokio::time::timeout(DELIVERY, stop).await;
                Err(failure.ending(status.unwrap_or(ExitStatus::Interrupted)))
            }
            outcome => outcome,
        },
        status = &mut stop => status,
    };
    Err(interrupted(status, context))
}

/// Failure of an interrupted command: lists what was changed by then and what was not, for commands that
/// change anything.
pub(super) fn interrupted(status: ExitStatus, context: &Context) -> Failure {
    let failure = Failure::new(status, "interrupted");
    if context.connection.purpose.is_none_or(Purpose::only_reads) {
        return failure;
    }
    context.log.account(failure, Some(RUN_AGAIN))
}

#[cfg(all(test, unix))]
mod tests {
    use super::is_hangup_ignored;

    #[test]
    fn what_nohup_has_a_program_ignore_is_seen() {
        for (status, ignored) in [
            (
                "Name:\tx\nSigIgn:\t0000000000000001\nSigCgt:\t0000000000000000\n",
                true,
            ),
            ("SigIgn:\t0000000000001001\n", true),
            ("SigIgn:\t0000000000001000\n", false),
            ("SigCgt:\t0000000000000001\n", false),
            ("SigIgn:\tnothing\n", false),
            ("", false),
        ] {
            assert_eq!(is_hangup_ignored(status), ignored, "{status:?}");
        }
    }
}
