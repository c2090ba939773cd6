//! Failures, and the exit status of a run.
//!
//! [`Failure`] is what every command returns when it cannot do what was asked: a message with its
//! causes, what to do about it, and the [`ExitStatus`] that scripts see. Nothing is printed and
//! nothing exits here, except that [`Failure::print`] hands the lines to a [`Printer`].

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use crate::output::Printer;

/// Exit status of the plugin; the numbers are part of its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitStatus {
    /// 0: done, or nothing to do.
    Success,
    /// 1: the request failed, by the API, a permission, a file or the decision of another user; the
    /// same command would fail again.
    Failed,
    /// 2: the command line was wrong.
    Usage,
    /// 4: refused by a guard, a missing confirmation or an impact that grew; nothing was changed.
    Refused,
    /// 5: timed out waiting, or evicted pods come back each time; the change was applied, and what remains is
    /// printed.
    TimedOut,
    /// 6: the report is incomplete, or not confirmed by the controller, and the command line makes that an error.
    Incomplete,
    /// 75: a temporary error: the network, a server that is busy or fails, or a concurrent change. `EX_TEMPFAIL` of
    /// sysexits.h.
    TryAgain,
    /// 130: interrupted from the keyboard (SIGINT).
    Interrupted,
    /// 143: stopped by SIGTERM.
    Terminated,
}

impl ExitStatus {
    /// Every status, by code.
    pub const ALL: [Self; 9] = [
        Self::Success,
        Self::Failed,
        Self::Usage,
        Self::Refused,
        Self::TimedOut,
        Self::Incomplete,
        Self::TryAgain,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 4,
            Self::TimedOut => 5,
            Self::Incomplete => 6,
            Self::TryAgain => 75,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// True if a signal ended the program.
    pub fn is_signal(self) -> bool {
        self == Self::Interrupted || self == Self::Terminated
    }

    /// Meaning of the code, in one line for `help exit-codes`.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success, or nothing to do",
            Self::Failed => {
                "error, such as a missing permission or object; the same command would usually fail again"
            }
            Self::Usage => "usage: the command line is invalid",
            Self::Refused => {
                "refused, and nothing was changed: for example, a guard tripped, a confirmation is missing, the \
                 impact does not match --expect, or a device cannot be removed from the machine safely; `react \
                 --once`: a limit holds a device back"
            }
            Self::TimedOut => {
                "the wait ended before its condition was met: for example, it timed out, a drain is unfinished, another \
                 pod got the devices, or the release of a device is not confirmed; the changes of the command stay, \
                 unless make-room removed its rules"
            }
            Self::Incomplete => {
                "the report is incomplete (with --strict or -o name), `plan` cannot compare costs, `react --once` \
                 cannot read a signal, or the eviction controller expects another number of evictions than `preview \
                 --publish`, or does not respond"
            }
            Self::TryAgain => {
                "temporary error: the network, a busy or failing server, or a concurrent change; run the \
                 same command again: it completes what is missing"
            }
            Self::Interrupted => "interrupted (SIGINT)",
            Self::Terminated => "terminated (SIGTERM)",
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}

/// Error of a command, with hints.
///
/// Made from any error by `?`, with [`ExitStatus::Failed`]; not an error itself, since it is the
/// end of the way.
#[derive(Debug)]
pub struct Failure {
    status: ExitStatus,
    error: anyhow::Error,
    details: Vec<String>,
    hints: Vec<String>,
}

impl Failure {
    /// A failure that ends with `status`, for reasons that `error` and its sources tell.
    pub fn new(status: ExitStatus, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            status,
            error: anyhow::Error::from_boxed(error.into()),
            details: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// The command line was wrong.
    pub fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ExitStatus::Usage, error)
    }

    /// A guard or a missing confirmation stands in the way; nothing was changed.
    pub fn refused(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ExitStatus::Refused, error)
    }

    /// Adds a fact about it, shown in a line of its own below the error, in the order of addition.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    /// Adds several details.
    #[must_use]
    pub fn with_details(self, details: impl IntoIterator<Item: Into<String>>) -> Self {
        details.into_iter().fold(self, Self::detail)
    }

    /// Adds something to do about it; hints are shown in the order in which they were added.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Makes the failure end with another exit status.
    #[must_use]
    pub fn ending(self, status: ExitStatus) -> Self {
        Self { status, ..self }
    }

    /// Says what could not be done for that reason; the error so far becomes its cause.
    #[must_use]
    pub fn context(self, what: impl fmt::Display + Send + Sync + 'static) -> Self {
        Self {
            error: self.error.context(what.to_string()),
            ..self
        }
    }

    /// The `E` among the error and its causes, if there is one.
    pub fn cause<E: Error + Send + Sync + 'static>(&self) -> Option<&E> {
        let boxed = || self.error.downcast_ref::<Box<dyn Error + Send + Sync>>();
        let direct = self.error.downcast_ref();
        // `anyhow` keeps a boxed error as the box, so that a downcast to the error itself finds nothing.
        let direct = direct.or_else(|| boxed()?.downcast_ref());
        direct.or_else(|| self.error.chain().find_map(|cause| cause.downcast_ref()))
    }

    /// Exit status for the error.
    pub fn status(&self) -> ExitStatus {
        self.status
    }

    /// The signal that ended the program, as it has to end then; absent if none did.
    pub fn signal(&self) -> Option<ExitStatus> {
        Some(self.status).filter(|status| status.is_signal())
    }

    /// Facts about it, in the order in which they were added.
    pub fn details(&self) -> &[String] {
        &self.details
    }

    /// Hints, most useful first.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Prints `error: …`, a line for each detail and a `hint: …` for each hint to standard error.
    pub fn print(&self, printer: &Printer<'_>) {
        printer.error(&self.to_string());
        for detail in &self.details {
            printer.detail(detail);
        }
        for hint in &self.hints {
            printer.hint(hint);
        }
    }
}

impl fmt::Display for Failure {
    /// The error and its sources in one line, joined by `: `; a source whose text the message
    /// before it ends with already is not repeated.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = String::new();
        for cause in self.error.chain() {
            let text = cause.to_string();
            if last.is_empty() {
                formatter.write_str(&text)?;
            // Libraries often repeat the text of their source in their own.
            } else if !last.ends_with(&text) {
                write!(formatter, ": {text}")?;
            } else {
                continue;
            }
            last = text;
        }
        Ok(())
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            status: ExitStatus::Failed,
            error: error.into(),
            details: Vec::new(),
            hints: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Layered {
        #[error("cannot read pods.yaml")]
        Named(#[source] Box<Layered>),
        #[error("line 3: {0}")]
        Repeating(#[source] Box<Layered>),
        #[error("found a tab")]
        Cause,
    }

    #[test]
    fn a_chain_is_joined_by_colons() {
        let failure = Failure::from(Layered::Named(Box::new(Layered::Cause)));
        assert_eq!(failure.to_string(), "cannot read pods.yaml: found a tab");
        assert_eq!(failure.status(), ExitStatus::Failed);
    }

    #[test]
    fn only_the_ends_by_a_signal_are_signals() {
        let signal = |status| Failure::new(status, "x").signal();
        for status in [ExitStatus::Interrupted, ExitStatus::Terminated] {
            assert_eq!(signal(status), Some(status));
        }
        assert_eq!(signal(ExitStatus::TryAgain), None);
        assert_eq!(signal(ExitStatus::Failed), None);
    }

    #[test]
    fn a_source_that_was_quoted_already_is_not_repeated() {
        let repeating = Layered::Repeating(Box::new(Layered::Cause));
        let failure = Failure::from(Layered::Named(Box::new(repeating)));
        assert_eq!(
            failure.to_string(),
            "cannot read pods.yaml: line 3: found a tab"
        );
    }

    #[test]
    fn what_could_not_be_done_goes_before_its_causes_which_are_still_found() {
        let chain = || Layered::Named(Box::new(Layered::Cause));
        for failure in [Failure::from(chain()), Failure::usage(chain())] {
            let failure = failure.context("the effect was not lowered");
            assert_eq!(
                failure.to_string(),
                "the effect was not lowered: cannot read pods.yaml: found a tab"
            );
            assert!(matches!(failure.cause(), Some(Layered::Named(_))));
            assert!(failure.cause::<std::fmt::Error>().is_none());
        }
    }

    #[test]
    fn hints_follow_the_error_in_their_order() {
        let mut stderr = Vec::new();
        {
            let printer = Printer::plain(std::io::sink(), &mut stderr);
            Failure::usage("no device \"gpu-\u{1b}[2J\"")
                .hint("did you mean gpu-0?")
                .detail("devices: gpu-0, gpu-1")
                .hint("list them: kubectl devicetaint devices")
                .print(&printer);
        }
        insta::assert_snapshot!(String::from_utf8(stderr).unwrap(), @r#"
        error: no device "gpu-\x1b[2J"
          devices: gpu-0, gpu-1
        hint: did you mean gpu-0?
        hint: list them: kubectl devicetaint devices
        "#);
    }

    #[test]
    fn exit_codes_are_those_of_the_contract() {
        let codes = ExitStatus::ALL.map(ExitStatus::code);
        assert_eq!(codes, [0, 1, 2, 4, 5, 6, 75, 130, 143]);
    }

    #[test]
    fn constructors_choose_the_status() {
        for (failure, status) in [
            (Failure::usage("wrong"), ExitStatus::Usage),
            (Failure::refused("no"), ExitStatus::Refused),
            (
                Failure::new(ExitStatus::Incomplete, "partly"),
                ExitStatus::Incomplete,
            ),
        ] {
            assert_eq!(failure.status(), status);
        }
    }
}
