//! `help`: of the program, of a command, and of topics such as reports and exit codes.

use super::context::Context;
use super::flags::examples;
use crate::error::{ExitStatus, Failure};
use crate::naming::nearest::nearest;
use crate::naming::words;
use crate::topics::Topic;

/// Show help for a command, or for a topic such as exit-codes
#[derive(clap::Args, Debug)]
pub(super) struct HelpArgs {
    /// A command, or one of: exit-codes, guards, hazards, selectors, versions
    #[arg(value_name = "TOPIC")]
    topic: Option<String>,

    /// Subcommand of the command, such as `status` of `drain`
    subcommand: Option<String>,
}

/// List the global flags
#[derive(clap::Args, Debug)]
pub(super) struct OptionsArgs {}

/// Lists the flags that every command of the `program` takes.
pub(super) fn options(program: &clap::Command, context: &Context) -> Result<ExitStatus, Failure> {
    let global = program.get_arguments().filter(|it| it.is_global_set());
    let mut listed = clap::Command::new("options")
        .disable_help_flag(true)
        .help_template("Global flags:\n\n{options}\n")
        .args(global.cloned());
    context.printer.emit(&listed.render_help().to_string())?;
    Ok(ExitStatus::Success)
}

/// Explains the topic, or the `program`.
pub(super) fn run(
    args: &HelpArgs,
    mut program: clap::Command,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    let text = match (args.topic.as_deref(), args.subcommand.as_deref()) {
        (None, _) => examples::shown(&program.render_long_help().to_string()),
        (Some(name), subcommand) => match Topic::named(name).filter(|_| subcommand.is_none()) {
            Some(topic) => topic.text(),
            None => of_command(name, subcommand, program)?,
        },
    };
    context.printer.emit(&text)?;
    Ok(ExitStatus::Success)
}

fn of_command(
    name: &str,
    subcommand: Option<&str>,
    mut program: clap::Command,
) -> Result<String, Failure> {
    program.build();
    if let Some(command) = program.find_subcommand_mut(name) {
        let Some(subcommand) = subcommand else {
            return Ok(examples::shown(&command.render_long_help().to_string()));
        };
        let found = command.find_subcommand_mut(subcommand);
        let found = found.ok_or_else(|| {
            Failure::usage(format!("{name} has no subcommand {subcommand:?}")).hint(format!(
                "to list the subcommands: kubectl devicetaint help {name}"
            ))
        })?;
        return Ok(examples::shown(&found.render_long_help().to_string()));
    }
    let known: Vec<String> = program
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .chain(Topic::ALL.map(|topic| topic.name().to_owned()))
        .collect();
    let failure = Failure::usage(format!("no help topic {name:?}"));
    if let Some(advice) = words::advice(name) {
        return Err(failure.hint(advice));
    }
    Err(failure.hint(match nearest(name, known.clone()).first() {
        Some(found) => format!("did you mean {found}?"),
        None => format!("choose a topic: {}", known.join(", ")),
    }))
}
