//! Examples in the help: printed as they are written, so that they can be pasted.

/// Stands for a space at which no line may be broken.
const GLUE: char = '\u{a0}';

/// The command and its subcommands, with examples whose lines are not broken anywhere: half a command
/// is another command.
pub(crate) fn unbroken(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    let command = names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, unbroken)
    });
    match command.get_after_help().map(ToString::to_string) {
        Some(text) => command.after_help(text.replace(' ', &GLUE.to_string())),
        None => command,
    }
}

/// The text of the help as it is printed.
pub(crate) fn shown(help: &str) -> String {
    help.replace(GLUE, " ")
}
