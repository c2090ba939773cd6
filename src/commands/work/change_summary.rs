//! Report that a command prints as data about its changes: one document, however it ends.

use crate::commands::context::Context;
use crate::error::{ExitStatus, Failure};
use crate::render::{Format, Page, render};
use crate::report::ChangeReport;
use crate::report::change::DryRun;

/// Prints a report, if that was requested.
pub(super) fn print(
    report: &ChangeReport,
    format: Option<Format>,
    context: &Context,
) -> Result<(), Failure> {
    let Some(format) = format else {
        return Ok(());
    };
    let page = Page {
        format,
        width: None,
    };
    // Before it is printed: a failure to print must not be followed by a second document.
    context.accounted();
    let report = report.clone().in_cluster(context.cluster().as_ref());
    Ok(context.printer.emit(&render(&report, page)?)?)
}

/// Runs a command, with a report also where it fails before it comes to any rule. An invalid command line
/// gets none: its request is unknown.
pub(crate) async fn accounted(
    work: impl Future<Output = Result<ExitStatus, Failure>>,
    format: Option<Format>,
    dry_run: DryRun,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    let done = work.await;
    match &done {
        Err(failure) if failure.status() != ExitStatus::Usage && !context.is_accounted() => {
            let report = ChangeReport::new(Vec::new(), dry_run);
            print(
                &report.with_error(Some(failure.to_string())),
                format,
                context,
            )?;
        }
        Ok(_) | Err(_) => {}
    }
    done
}
