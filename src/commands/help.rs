//! `help` of the program, a command or a topic, `options`, and the scripts of `completion`.

use clap::ValueEnum;
use clap_complete::env::{Bash, EnvCompleter, Fish, Powershell, Zsh};

use super::context::{COMPLETED_SHELL, Context};
use crate::error::{ExitStatus, Failure};
use crate::naming::phrase::{advice, nearest};
use crate::topics::Topic;

/// Show help for a command, or for a topic such as exit-codes
#[derive(clap::Args, Debug)]
pub(super) struct HelpArgs {
    /// A command, or one of: exit-codes, guards, hazards, selectors
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
        (None, _) => shown(&program.render_long_help().to_string()),
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
    if let Some(mut command) = program.find_subcommand_mut(name) {
        if let Some(subcommand) = subcommand {
            let found = command.find_subcommand_mut(subcommand);
            command = found.ok_or_else(|| {
                Failure::usage(format!("{name} has no subcommand {subcommand:?}")).hint(format!(
                    "to list the subcommands: kubectl devicetaint help {name}"
                ))
            })?;
        }
        return Ok(shown(&command.render_long_help().to_string()));
    }
    let commands = program.get_subcommands();
    let commands = commands.map(|command| command.get_name().to_owned());
    let topics = Topic::ALL.map(|topic| topic.name().to_owned());
    let known: Vec<String> = commands.chain(topics).collect();
    let near = nearest(name, known.clone()).into_iter().next();
    let hint = advice(name).or(near.map(|found| format!("did you mean {found}?")));
    let hint = hint.unwrap_or_else(|| format!("choose a topic: {}", known.join(", ")));
    Err(Failure::usage(format!("no help topic {name:?}")).hint(hint))
}

/// Placeholder of a space at which no line may be broken.
const GLUE: char = '\u{a0}';

/// Number of examples in the short help.
const FEW: usize = 2;

/// Where the global flags are; kubectl has it at the same place.
const OPTIONS: &str = "Use `kubectl devicetaint options` for the global flags.";

/// The command and its subcommands, with examples whose lines are not broken anywhere: half a command
/// is another command. The short help has the first of them, the long help all.
pub(super) fn unbroken(command: clap::Command) -> clap::Command {
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
pub(super) fn shown(help: &str) -> String {
    help.replace(GLUE, " ")
}

/// Print the completion script of a shell
///
/// The script completes commands that begin with kubectl-devicetaint. In bash, add to ~/.bashrc: `source
/// <(kubectl-devicetaint completion bash)`; in zsh, add to ~/.zshrc, after compinit: `source <(kubectl-devicetaint
/// completion zsh)`; in fish, write the script to ~/.config/fish/completions/kubectl-devicetaint.fish; in PowerShell,
/// add to $PROFILE: `kubectl-devicetaint completion powershell | Out-String | Invoke-Expression`.
///
/// For commands that begin with `kubectl devicetaint`, kubectl's own completion runs a second program: a link to the
/// plugin that is named kubectl_complete-devicetaint, in a directory of PATH.
#[derive(clap::Args, Debug)]
#[command(after_help = COMPLETION_EXAMPLES)]
pub(super) struct CompletionArgs {
    /// bash, zsh, fish or powershell
    #[arg(value_enum, value_name = "SHELL", hide_possible_values = true)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
}

const COMPLETION_EXAMPLES: &str = "\
Examples:
  # For commands that begin with kubectl-devicetaint, in bash; source the file
  kubectl devicetaint completion bash > ~/.kubectl-devicetaint.bash";

/// The function that completes in zsh.
const ZSH_FUNCTION: &str = "_clap_dynamic_completer_kubectl_devicetaint";

/// The name of the plugin in `PATH`.
const PROGRAM: &str = "kubectl-devicetaint";

/// Prints the script of a shell.
pub(super) fn completion(args: &CompletionArgs, context: &Context) -> Result<ExitStatus, Failure> {
    context.printer.emit(&match args.shell {
        Shell::Bash => script(&Bash)?,
        Shell::Zsh => script(&Zsh)?,
        Shell::Fish => script(&Fish)?,
        Shell::Powershell => script(&Powershell)?,
    })?;
    Ok(ExitStatus::Success)
}

/// The script that makes a shell ask this program.
fn script(shell: &dyn EnvCompleter) -> Result<String, Failure> {
    let mut text = Vec::new();
    shell.write_registration(COMPLETED_SHELL, PROGRAM, PROGRAM, PROGRAM, &mut text)?;
    let text = String::from_utf8_lossy(&text);
    // The output of this program has no control characters but line breaks, in bash either.
    let text = text.replace(r"$'\013'", r"$'\n'");
    // A word that ends at the cursor with what divides words there has to keep it.
    let text = text.replace(
        "words[COMP_CWORD]=\"$2\"",
        "[[ \"${words[COMP_CWORD]}\" == [:=] ]] || words[COMP_CWORD]=\"$2\"",
    );
    // Found by fpath, the script is the body of the function that completes: its first call has to answer.
    let registration = format!("compdef {ZSH_FUNCTION} {PROGRAM}");
    let text = text.replace(
        &registration,
        &format!(
            "if [[ \"${{funcstack[1]}}\" == _{PROGRAM} ]]; then\n    {ZSH_FUNCTION} \"$@\"\nelse\n    {registration}\nfi"
        ),
    );
    Ok(text.trim_matches('\n').to_owned() + "\n")
}
