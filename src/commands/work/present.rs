//! The one way in which an answer is printed, and how the command ends that gave it.

use std::io::{self, Write};

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::cluster_view::ViewWarnings;
use crate::commands::context::Context;
use crate::decide::exit_status::AnswerState;
use crate::decide::{Strictness, exit_status};
use crate::error::{ExitStatus, Failure};
use crate::output::OutputError;
use crate::render::{Format, Page, RenderError, json, lists_missing_data, marks, render};
use crate::report::View;

/// Format of a report.
#[derive(clap::Args, Debug)]
pub(crate) struct OutputArgs {
    /// Output format: table, wide, json, yaml or name
    #[arg(short, long, hide_possible_values = true, value_parser = formats(&Format::COMMON), default_value = "table", value_name = "FORMAT", help_heading = "Output")]
    pub(crate) output: Format,
}

impl OutputArgs {
    /// The page in this format; with `--no-headers`, of rows alone.
    pub(crate) fn page(&self, no_headers: bool) -> Page {
        Page {
            bare: no_headers,
            ..self.output.into()
        }
    }
}

/// Format of a report that can be a page of its own.
#[derive(clap::Args, Debug)]
pub(crate) struct PageArgs {
    /// Output format: table, wide, json, yaml, markdown, html or name
    ///
    /// html is a single file that loads no others and needs no scripts.
    #[arg(short, long, hide_possible_values = true, value_parser = formats(&Format::ALL), default_value = "table", value_name = "FORMAT", help_heading = "Output")]
    pub(crate) output: Format,
}

/// Accepts these formats.
pub(crate) fn formats(formats: &[Format]) -> impl TypedValueParser<Value = Format> + use<> {
    let names = formats.iter().map(|format| format.as_str());
    PossibleValuesParser::new(names).try_map(|text| text.parse::<Format>())
}

/// Prints an answer and `view_warnings`, and gives the exit status.
///
/// Warnings go to standard error, and so does missing data that the result does not list.
pub(crate) fn present(
    answer: &impl View,
    view_warnings: &ViewWarnings,
    page: impl Into<Page>,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    present_as(answer, view_warnings, page, Strictness::Lenient, context)
}

/// As [`present`]; `strictness` decides if missing parts are a failure.
pub(crate) fn present_as(
    answer: &impl View,
    view_warnings: &ViewWarnings,
    page: impl Into<Page>,
    strictness: Strictness,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    let printer = &context.printer;
    let page = Page {
        width: context.width,
        ..page.into()
    };
    let format = page.format;
    view_warnings.tell(printer);
    // Data have the time in their metadata.
    let time = view_warnings.guessed_time();
    if let Some(line) = time.filter(|_| format.is_for_people()) {
        printer.note(&line);
    }
    let (warnings, incomplete) = answer.doubts();
    for warning in warnings {
        printer.warn(&warning.line());
    }
    if !lists_missing_data(answer, page) {
        for gap in incomplete {
            printer.warn(&format!("incomplete: {}", gap.line()));
        }
    }
    if answer.is_empty() {
        let place = match &context.namespace {
            Some(namespace) => format!(" in namespace {namespace}"),
            None => String::new(),
        };
        // Objects that were not read may exist.
        let doubt = if incomplete.is_empty() {
            ""
        } else {
            ", but the data is incomplete"
        };
        printer.note(&format!("No resources found{place}{doubt}"));
    }
    if format == Format::Json {
        let mut stdout = printer.result_writer();
        let written = json::write(answer, &mut stdout);
        written.map_err(|error| match error.is_io() {
            true => Failure::from(OutputError::from(io::Error::from(error))),
            false => RenderError::from(error).into(),
        })?;
        stdout.flush().map_err(OutputError::from)?;
    } else {
        let text = render(answer, page)?;
        printer.emit_marked(&text, &marks(answer, format))?;
    }
    let missing = incomplete.iter().map(|gap| gap.missing.clone());
    let state = AnswerState {
        refusal: answer.refusal(),
        // Only names cannot say that some of them are missing.
        unsaid: match format == Format::Name {
            true => answer.missing_from_names(),
            false => Vec::new(),
        },
        missing: missing.collect(),
    };
    exit_status(state, strictness)
}
