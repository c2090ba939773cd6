//! The one way in which an answer is printed, and how the command ends that gave it.

use std::io::{self, Write};

use super::cluster_view::ViewWarnings;
use super::output_request::OutputRequest;
use crate::commands::context::Context;
use crate::decide::exit_status;
use crate::decide::exit_status::AnswerState;
use crate::error::{ExitStatus, Failure};
use crate::output::{OutputError, Printer};
use crate::render::{Format, Page, RenderError, json, marks, render, unsaid};
use crate::report::View;

/// Prints an answer and `view_warnings`, and gives the exit status.
///
/// Warnings go to standard error. So does missing data, where the result has no place for it: that is printed
/// even when only results and errors are requested.
pub(crate) fn present(
    answer: &impl View,
    view_warnings: &ViewWarnings,
    wanted: OutputRequest,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    let printer = &context.printer;
    view_warnings.tell(printer);
    // Data have the time in their metadata.
    let time = view_warnings.guessed_time();
    if let Some(line) = time.filter(|_| wanted.format.is_for_people()) {
        printer.note(&line);
    }
    tell(answer, printer);
    if answer.is_empty() {
        let place = match &context.namespace {
            Some(namespace) => format!(" in namespace {namespace}"),
            None => String::new(),
        };
        // Objects that were not read may exist.
        let doubt = if answer.incomplete().is_empty() {
            ""
        } else {
            ", but the data is incomplete"
        };
        printer.note(&format!("No resources found{place}{doubt}"));
    }
    if wanted.format == Format::Json {
        let mut stdout = printer.result_writer();
        let written = json::write(answer, &mut stdout);
        written.map_err(|error| match error.is_io() {
            true => Failure::from(OutputError::from(io::Error::from(error))),
            false => RenderError::from(error).into(),
        })?;
        stdout.flush().map_err(OutputError::from)?;
    } else {
        let text = render(answer, page(wanted, context))?;
        printer.emit_marked(&text, &marks(answer, wanted.format))?;
    }
    ending(answer, wanted)
}

/// Prints those parts of an answer that it has no place for.
fn tell(answer: &impl View, printer: &Printer<'_>) {
    let unsaid = answer.warnings().iter();
    for warning in unsaid.filter(|warning| !answer.mentions(warning)) {
        printer.warn(&warning.line());
    }
    if !answer.says_what_is_not_known() {
        for gap in answer.incomplete() {
            printer.warn(&gap.line());
        }
    }
}

/// The page that an answer is printed on.
fn page(wanted: OutputRequest, context: &Context) -> Page {
    Page {
        format: wanted.format,
        width: context.width,
    }
}

/// Exit status of a command that gave this answer.
fn ending(answer: &impl View, wanted: OutputRequest) -> Result<ExitStatus, Failure> {
    let state = AnswerState {
        refusal: answer.refusal(),
        unsaid: unsaid(answer, wanted.format),
        missing: answer
            .incomplete()
            .iter()
            .map(|gap| gap.missing.clone())
            .collect(),
    };
    exit_status(state, wanted.strictness)
}
