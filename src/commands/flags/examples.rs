//! Examples in the help: printed as they are written, so that they can be pasted.

/// Placeholder of a space at which no line may be broken.
const GLUE: char = '\u{a0}';

/// Number of examples in the short help.
const FEW: usize = 2;

/// Where the global flags are; kubectl has it at the same place.
const OPTIONS: &str = "Use `kubectl devicetaint options` for the global flags.";

/// The command and its subcommands, with examples whose lines are not broken anywhere: half a command
/// is another command. The short help has the first of them, the long help all.
pub(crate) fn unbroken(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    let command = names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, unbroken)
    });
    match command.get_after_help().map(ToString::to_string) {
        Some(text) => command
            .after_help(glued(&format!("{}\n\n{OPTIONS}", few(&text))))
            .after_long_help(glued(&format!("{text}\n\n{OPTIONS}"))),
        // It lists the global flags itself.
        None if command.get_name() == "options" => command,
        None => command.after_help(glued(OPTIONS)),
    }
}

/// The first of the examples, which a blank line divides.
fn few(examples: &str) -> String {
    let blocks: Vec<&str> = examples.split("\n\n").take(FEW).collect();
    blocks.join("\n\n")
}

fn glued(text: &str) -> String {
    text.replace(' ', &GLUE.to_string())
}

/// The text of the help as it is printed.
pub(crate) fn shown(help: &str) -> String {
    help.replace(GLUE, " ")
}
