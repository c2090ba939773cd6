//! What goes on, for programs: opened at the beginning of a command, and complete at its end.

use std::iter;
use std::path::{Path, PathBuf};

use futures::channel::oneshot;

use super::changer::Lines;
use crate::commands::context::Context;
use crate::error::{ExitStatus, Failure};
use crate::output::Journal;
use crate::report::command_event::EventDetail;

/// What a command writes to standard output beside events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Results {
    /// Lines that say what events say too, and that can be left out.
    Lines,
    /// What was asked for, in whatever format.
    Answer,
}

/// Whether standard output is free for results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdout {
    /// It is.
    Free,
    /// Events go there.
    Taken,
}

/// Tells from now on what goes on, if that was asked for.
///
/// # Errors
///
/// When two things would go to standard output, and when the file cannot be opened.
pub(crate) async fn begin(
    target: Option<&Path>,
    command: &str,
    results: Results,
    context: &Context,
) -> Result<Stdout, Failure> {
    let Some(target) = target else {
        return Ok(Stdout::Free);
    };
    let (journal, stdout) = if target == Path::new("-") {
        if results == Results::Answer {
            return Err(Failure::usage(
                "the events (--events -) and the report cannot both use standard output",
            )
            .hint("write the events to a file: --events FILE"));
        }
        (Journal::on_standard_output(), Stdout::Taken)
    } else {
        // Opened first: a file that cannot be written stops the command before it changes anything.
        (open(target.to_owned()).await?, Stdout::Free)
    };
    context.record(journal);
    context.happens(EventDetail::Began {
        command: command.to_owned(),
    });
    Ok(stdout)
}

/// As [`begin`], for a command that prints `lines` of what it changes: how it does beside its events.
///
/// # Errors
///
/// As [`begin`].
pub(crate) async fn begin_beside(
    target: Option<&Path>,
    command: &str,
    lines: Lines,
    context: &Context,
) -> Result<Lines, Failure> {
    let results = match lines {
        Lines::Printed => Results::Lines,
        Lines::Left => Results::Answer,
    };
    Ok(match begin(target, command, results, context).await? {
        Stdout::Free => lines,
        Stdout::Taken => Lines::Left,
    })
}

/// Opens the file on a thread of its own: a pipe that nobody reads is waited for, and whoever waits can
/// be stopped.
async fn open(path: PathBuf) -> Result<Journal, Failure> {
    let (sender, opened) = oneshot::channel();
    let opener = std::thread::Builder::new().name("events".to_owned());
    opener.spawn(move || {
        // Whoever has gone meanwhile needs no answer.
        let _ = sender.send(Journal::at_the_end_of(&path));
    })?;
    Ok(opened.await??)
}

/// The error with its details, which events have no field for.
fn in_one_line(failure: &Failure) -> String {
    let details = failure.details().iter().cloned();
    let parts: Vec<String> = iter::once(failure.to_string()).chain(details).collect();
    parts.join("; ")
}

/// Tells how the command ended, and sees to it that everything is written. Gives the status with which
/// the program ends: events that could not be written make a failure of a success, and of nothing else.
pub(crate) fn end(done: &Result<ExitStatus, Failure>, context: &Context) -> ExitStatus {
    let (status, failure) = match done {
        Ok(status) => (*status, None),
        Err(failure) => (failure.status(), Some(failure)),
    };
    let Some(journal) = context.journal() else {
        return status;
    };
    context.happens(EventDetail::Ended {
        exit_code: status.code(),
        error: failure.map(in_one_line),
        hints: failure.map_or_else(Vec::new, |failure| failure.hints().to_vec()),
    });
    let Err(error) = journal.close() else {
        return status;
    };
    Failure::from(error)
        .detail("this error did not stop the command; only the events are incomplete")
        .print(&context.printer);
    match status {
        // Lost events count only if nothing else failed: any other status is of more use to a script.
        ExitStatus::Success | ExitStatus::Unchanged => ExitStatus::Failed,
        ExitStatus::Failed
        | ExitStatus::Usage
        | ExitStatus::Refused
        | ExitStatus::TimedOut
        | ExitStatus::Incomplete
        | ExitStatus::TryAgain
        | ExitStatus::Interrupted
        | ExitStatus::Terminated => status,
    }
}
