//! `help`: of the program, of a command, and of what reports and exit codes mean.

use super::context::Context;
use super::flags::examples;
use crate::error::{ExitStatus, Failure};
use crate::naming::nearest::nearest;
use crate::naming::words;
use crate::report::{Hazard, guard::Signal};

/// Explain a command, the exit codes, the hazards or the guards
#[derive(clap::Args, Debug)]
pub(super) struct HelpArgs {
    /// A command, or one of: exit-codes, hazards, guards
    topic: Option<String>,
}

/// Topics that are no commands.
const TOPICS: [&str; 3] = ["exit-codes", "hazards", "guards"];

/// Explains what was asked for, or the `program`.
pub(super) fn run(
    args: &HelpArgs,
    mut program: clap::Command,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    let text = match args.topic.as_deref() {
        None => examples::shown(&program.render_long_help().to_string()),
        Some("exit-codes") => exit_codes(),
        Some("hazards") => hazards(),
        Some("guards") => guards(),
        Some(other) => of_command(other, program)?,
    };
    context.printer.emit(&text)?;
    Ok(ExitStatus::Success)
}

fn of_command(name: &str, mut program: clap::Command) -> Result<String, Failure> {
    program.build();
    if let Some(command) = program.find_subcommand_mut(name) {
        return Ok(examples::shown(&command.render_long_help().to_string()));
    }
    let known: Vec<String> = program
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .chain(TOPICS.map(str::to_owned))
        .collect();
    let failure = Failure::usage(format!("no help about {name:?}"));
    if let Some(advice) = words::advice(name) {
        return Err(failure.hint(advice));
    }
    Err(failure.hint(match nearest(name, known.clone()).first() {
        Some(found) => format!("did you mean {found}?"),
        None => format!("there is help about: {}", known.join(", ")),
    }))
}

fn exit_codes() -> String {
    let line = |status: ExitStatus| format!("{:>3}  {}\n", status.code(), status.meaning());
    ExitStatus::ALL.into_iter().map(line).collect()
}

fn hazards() -> String {
    let width = Hazard::ALL
        .iter()
        .map(|hazard| hazard.code().len())
        .max()
        .unwrap_or_default();
    let line = |hazard: Hazard| format!("{:width$}  {}\n", hazard.code(), hazard.meaning());
    Hazard::ALL.into_iter().map(line).collect()
}

fn guards() -> String {
    let signals: String = Signal::ALL
        .into_iter()
        .map(|signal| format!("  {:20}  {}\n", signal.name(), signal.meaning()))
        .collect();
    format!(
        "A guard is SIGNAL OPERATOR QUANTITY without spaces, such as 'pods.evicted>20' or 'devices.selected>=50%'.\n\
         It trips when the comparison holds; then the command ends with exit code 4.\n\n\
         Signals:\n{signals}\n\
         Operators: > >= < <= == !=\n"
    )
}
