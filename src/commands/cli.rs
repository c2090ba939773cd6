//! The command line as a whole.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::ready;
use std::path::Path;
use std::pin::Pin;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use super::context::{Context, Surroundings};
use super::{
    add, complete, dedicate, deescalate, describe, devices, drain, escalate, explain, help, list,
    make_room, plan, podresources, preview, react, remove, restore, signal, snapshot, tolerations,
    undedicate, version, wait,
};
use crate::cluster::{ConnectionOptions, Purpose};
use crate::error::{ExitStatus, Failure};
use crate::naming::phrase::{advice, each_once, flag_advice, nearest};
use crate::output::Printer;

/// Taint DRA devices safely: preview which pods are evicted, when, and at what risk
///
/// DRA (Dynamic Resource Allocation) is the Kubernetes API for devices such as GPUs. A DeviceTaintRule
/// with effect NoExecute evicts each pod that uses a device selected by the rule, unless the pod
/// tolerates the rule's taint. These evictions ignore PodDisruptionBudgets, and are immediate unless a
/// matching toleration has tolerationSeconds. This plugin shows the affected pods in advance, with the
/// same logic as the device-taint-eviction controller of Kubernetes.
///
/// kubectl accepts flags only after the plugin's name: `kubectl devicetaint --context prod
/// devices`.
#[derive(Debug, Parser)]
#[command(name = "kubectl-devicetaint", version = version::line(), disable_help_subcommand = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    connection: ConnectionOptions,
}

const EXAMPLES: &str = "\
Examples:
  # Which pods would be evicted if this device had a NoExecute taint?
  kubectl devicetaint preview gpu.example.com/node-7/gpu-0";

#[derive(Debug, Subcommand)]
enum Command {
    Preview(preview::PreviewArgs),
    Plan(plan::PlanArgs),
    #[command(alias = "create")]
    Add(add::AddArgs),
    Escalate(escalate::EscalateArgs),
    Deescalate(deescalate::DeescalateArgs),
    #[command(alias = "delete")]
    Remove(remove::RemoveArgs),
    #[command(alias = "get")]
    List(list::ListArgs),
    Describe(describe::DescribeArgs),
    Explain(explain::ExplainArgs),
    Wait(wait::WaitArgs),
    Devices(devices::DevicesArgs),
    Drain(drain::DrainArgs),
    Restore(restore::RestoreArgs),
    MakeRoom(make_room::MakeRoomArgs),
    React(react::ReactArgs),
    Dedicate(dedicate::DedicateArgs),
    Undedicate(undedicate::UndedicateArgs),
    Tolerations(tolerations::TolerationsArgs),
    #[command(name = "podresources")]
    PodResources(podresources::PodResourcesArgs),
    Snapshot(snapshot::SnapshotArgs),
    Completion(help::CompletionArgs),
    Version(version::VersionArgs),
    Options(help::OptionsArgs),
    Help(help::HelpArgs),
}

/// Runs the program and says how it ended; failures are printed already.
///
/// The arguments begin with the name the program was called by.
pub async fn run() -> ExitStatus {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let surroundings = Surroundings::view();
    // Before anything is parsed: a command that is still being typed is none yet.
    if surroundings.completes(arguments.first(), arguments.get(1))
        && let Some(text) = complete::complete(&arguments, &definition(None), &surroundings).await
    {
        // A user who presses TAB has not asked for an error.
        let _ = surroundings.plain_printer().emit(&text);
        return ExitStatus::Success;
    }
    let Cli {
        command,
        connection,
    } = match parse(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => return explain(&error, &surroundings.plain_printer()),
    };
    // Ignored, it would look as if no other namespace were affected.
    let is_narrowed = connection.narrowing_namespace().is_some() && !command.takes_namespace();
    let context = Context::new(&surroundings, connection, command.purpose());
    let done = if is_narrowed {
        Err(Failure::usage(
            "--namespace applies only to `devices`, `explain`, `make-room` and `podresources list`",
        ))
    } else if command.tidies_up() {
        command.run(&context).await
    } else {
        let mut signals = signal::Signals::listen();
        signal::stoppable_by(command.run(&context), &mut signals, &context).await
    };
    done.unwrap_or_else(|failure| {
        failure.print(&context.printer);
        failure.status()
    })
}

impl Command {
    /// Purpose of the connection; absent if none is needed.
    fn purpose(&self) -> Option<Purpose> {
        Some(match self {
            Self::Preview(args) if args.publish => Purpose::Publish,
            Self::Preview(_) => Purpose::Preview,
            Self::Plan(_) => Purpose::Plan,
            Self::Add(_) => Purpose::Add,
            Self::Escalate(_) => Purpose::Escalate,
            Self::Deescalate(_) => Purpose::Deescalate,
            Self::Remove(_) => Purpose::Remove,
            Self::List(_) => Purpose::List,
            Self::Describe(_) => Purpose::Describe,
            Self::Explain(_) => Purpose::Explain,
            Self::Wait(_) => Purpose::Wait,
            Self::Devices(_) => Purpose::Devices,
            Self::Restore(_) => Purpose::Restore,
            Self::MakeRoom(_) => Purpose::MakeRoom,
            Self::React(_) => Purpose::React,
            Self::Dedicate(_) => Purpose::Dedicate,
            Self::Undedicate(_) => Purpose::Undedicate,
            Self::Tolerations(_) => Purpose::Tolerations,
            Self::Snapshot(_) => Purpose::Snapshot,
            Self::Drain(args) => args.purpose(),
            Self::PodResources(args) => return args.purpose(),
            Self::Version(_) | Self::Completion(_) | Self::Options(_) | Self::Help(_) => {
                return None;
            }
        })
    }

    /// True if `--namespace` narrows the pods or claims of the command.
    fn takes_namespace(&self) -> bool {
        matches!(
            self,
            Self::Devices(_) | Self::Explain(_) | Self::MakeRoom(_)
        ) || matches!(self, Self::PodResources(args) if args.lists())
    }

    /// True if the command listens to signals itself, since it has to ask the cluster for something then.
    fn tidies_up(&self) -> bool {
        matches!(self, Self::MakeRoom(_) | Self::React(_))
            || matches!(self, Self::Preview(args) if args.publish)
    }

    /// Runs the command.
    // On the heap: commands are long, and the stack would have to hold the longest twice over.
    fn run(
        self,
        context: &Context,
    ) -> Pin<Box<dyn Future<Output = Result<ExitStatus, Failure>> + '_>> {
        match self {
            Self::Preview(args) => Box::pin(preview::run(args, context)),
            Self::Plan(args) => Box::pin(plan::run(args, context)),
            Self::Add(args) => Box::pin(add::run(args, context)),
            Self::Escalate(args) => Box::pin(escalate::run(args, context)),
            Self::Deescalate(args) => Box::pin(deescalate::run(args, context)),
            Self::Remove(args) => Box::pin(remove::run(args, context)),
            Self::List(args) => Box::pin(list::run(args, context)),
            Self::Describe(args) => Box::pin(describe::run(args, context)),
            Self::Explain(args) => Box::pin(explain::run(args, context)),
            Self::Wait(args) => Box::pin(wait::run(args, context)),
            Self::Devices(args) => Box::pin(devices::run(args, context)),
            Self::Drain(args) => Box::pin(drain::run(args, context)),
            Self::Restore(args) => Box::pin(restore::run(args, context)),
            Self::MakeRoom(args) => Box::pin(make_room::run(args, context)),
            Self::React(args) => Box::pin(react::run(args, context)),
            Self::Dedicate(args) => Box::pin(dedicate::run(args, context)),
            Self::Undedicate(args) => Box::pin(undedicate::run(args, context)),
            Self::Tolerations(args) => Box::pin(tolerations::run(args, context)),
            Self::PodResources(args) => Box::pin(podresources::run(args, context)),
            Self::Snapshot(args) => Box::pin(snapshot::run(args, context)),
            Self::Version(args) => Box::pin(version::run(args, context)),
            Self::Completion(args) => Box::pin(ready(help::completion(&args, context))),
            Self::Options(_) => Box::pin(ready(help::options(&Cli::command(), context))),
            Self::Help(args) => Box::pin(ready(help::run(&args, definition(None), context))),
        }
    }
}

/// Runs the command that `arguments` are, without the program's name, in a context that is there.
#[cfg(test)]
pub(super) async fn run_in(arguments: &[&str], context: &Context) -> Result<ExitStatus, Failure> {
    parse(&named(arguments))?.command.run(context).await
}

#[cfg(test)]
fn named(arguments: &[&str]) -> Vec<OsString> {
    let named = std::iter::once("kubectl-devicetaint").chain(arguments.iter().copied());
    named.map(OsString::from).collect()
}

/// The definition of the command line, named as the user called the program.
fn definition(called: Option<&OsString>) -> clap::Command {
    // kubectl runs a plugin by this name; a file of another name was called by itself.
    let by_kubectl = called
        .and_then(|name| Path::new(name).file_stem())
        .is_none_or(|stem| stem.to_string_lossy().starts_with("kubectl-"));
    let name = if by_kubectl {
        "kubectl devicetaint"
    } else {
        "kubectl-devicetaint"
    };
    let command = Cli::command().bin_name(name);
    // The flags of every command would hide those of one; `options` shows them.
    let command = command.mut_args(|argument| {
        let is_hidden = argument.is_global_set() || argument.is_hide_set();
        argument.hide(is_hidden)
    });
    help::unbroken(command)
}

/// The definition of the command line, for who writes manuals: without line breaks in examples, and
/// with the flags that every command takes.
pub fn command() -> clap::Command {
    Cli::command().bin_name("kubectl devicetaint")
}

/// Parsed arguments.
fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let program = definition(arguments.first());
    refuse_repeated_context(&program, arguments)?;
    let matches = program
        .clone()
        .try_get_matches_from(arguments)
        .map_err(|error| by_meaning(error, &program))?;
    Cli::from_arg_matches(&matches)
}

/// Refuses a second `--context`: clap takes the last one when one stands before the subcommand and one behind it.
fn refuse_repeated_context(
    program: &clap::Command,
    arguments: &[OsString],
) -> Result<(), clap::Error> {
    let words = arguments.iter().map(|word| word.to_string_lossy());
    let flags = words.take_while(|word| word != "--");
    let contexts = flags.filter(|word| word == "--context" || word.starts_with("--context="));
    if contexts.count() < 2 {
        return Ok(());
    }
    let message = "only one --context is allowed: a command uses one cluster\n";
    Err(program.clone().error(ErrorKind::ArgumentConflict, message))
}

/// The error with one tip: what does here what the typed word does elsewhere, or names that are spelled like it.
fn by_meaning(mut error: clap::Error, program: &clap::Command) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(_) | None => None,
    };
    let is_flag = error.kind() == ErrorKind::UnknownArgument;
    let command = text(ContextKind::InvalidSubcommand);
    let flag = text(ContextKind::InvalidArg).filter(|_| is_flag);
    let tip = match (&command, &flag) {
        (Some(word), _) => advice(word),
        (None, Some(flag)) => flag_advice(flag).map(str::to_owned),
        (None, None) => None,
    };
    // No value begins with a dash: `-- --flag` would be the next error.
    error.remove(ContextKind::Suggested);
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedSubcommand);
        let tip = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tip);
    } else if let Some(word) = command {
        // The command that clap finds most similar may do the opposite.
        error.remove(ContextKind::SuggestedSubcommand);
        let similar = spelled_like(&word, program);
        if !similar.is_empty() {
            let similar = ContextValue::Strings(similar);
            error.insert(ContextKind::SuggestedSubcommand, similar);
        }
    }
    error
}

/// The commands that are spelled like `word`, as help names them. A hidden alias that is spelled like it
/// counts for its command, and never for one that does something else.
fn spelled_like(word: &str, program: &clap::Command) -> Vec<String> {
    let commands = program.get_subcommands();
    let names = commands.flat_map(|command| {
        let name = command.get_name();
        let all = command.get_all_aliases().chain([name]);
        all.map(move |known| (known.to_owned(), name.to_owned()))
    });
    let names: BTreeMap<String, String> = names.collect();
    let similar = nearest(word, names.keys().cloned());
    each_once(similar.iter().filter_map(|known| names.get(known).cloned()))
}

/// A message of clap with its tips as hints, which every other error of this program has.
fn with_hints(text: &str) -> String {
    let hint = |line: &str| {
        let tip = line.strip_prefix("  tip: ")?;
        let (_, names) = tip.split_once(" exists: ").or(tip.split_once(" exist: "))?;
        Some(format!("hint: did you mean {names}?"))
    };
    let hint = |line: &str| hint(line).unwrap_or(line.replace("  tip: ", "hint: "));
    let lines: Vec<String> = text.split('\n').map(hint).collect();
    lines.join("\n")
}

/// Prints the message of clap: help and version as results, mistakes as messages.
fn explain(error: &clap::Error, printer: &Printer<'_>) -> ExitStatus {
    let text = with_hints(&help::shown(&error.render().to_string()));
    if error.use_stderr() {
        printer.block(&text);
        return ExitStatus::Usage;
    }
    match printer.emit(&text) {
        Ok(()) => ExitStatus::Success,
        Err(_) => ExitStatus::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands of `examples`, one each, lines that go on with a backslash put together.
    fn commands(examples: &str) -> Vec<String> {
        let joined = examples.replace("\\\n", " ");
        let lines = joined.lines().map(str::trim);
        let commands = lines.filter(|line| line.starts_with("kubectl "));
        commands.map(str::to_owned).collect()
    }

    #[cfg(unix)]
    /// The words of a command as a shell takes them apart, up to what it does with the output.
    fn words_of(command: &str) -> Vec<String> {
        let script = format!(
            "kubectl() {{ printf '%s\\n' kubectl \"$@\" >&3; }}\n{{ {command}; }} 3>&1 >/dev/null"
        );
        let folder = tempfile::tempdir().unwrap();
        let output = std::process::Command::new("sh")
            .args(["-euc", &script])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn all_commands() -> Vec<clap::Command> {
        let mut program = definition(None);
        program.build();
        let subcommands: Vec<_> = program.get_subcommands().cloned().collect();
        std::iter::once(program).chain(subcommands).collect()
    }

    fn examples_of(command: &clap::Command) -> String {
        let text = command.get_after_long_help().map(ToString::to_string);
        help::shown(&text.unwrap_or_default())
    }

    #[cfg(unix)]
    #[test]
    fn examples_can_be_pasted_and_use_what_there_is() {
        let mut pasted = 0;
        for command in all_commands() {
            for example in commands(&examples_of(&command)) {
                let words = words_of(&example);
                // The first kubectl of the line; what is behind a pipe is another program's affair.
                assert_eq!(words[..2], ["kubectl", "devicetaint"], "{example}");
                let mine = std::iter::once("kubectl-devicetaint")
                    .chain(words[2..].iter().map(String::as_str));
                let parsed = definition(None).try_get_matches_from(mine);
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
                let bare = example
                    .split('\'')
                    .step_by(2)
                    .any(|part| part.contains(['*', '?', '[']));
                assert!(!bare, "unquoted glob: {example}");
                pasted += 1;
            }
        }
        assert!(pasted > 20, "{pasted}");
    }

    #[test]
    fn a_second_context_is_a_mistake_wherever_it_stands() {
        for (words, is_accepted) in [
            ("list --context a", true),
            ("list --context a --context b", false),
            ("--context a list --context b", false),
            ("--context=a list --context=a", false),
        ] {
            let parsed = parse(&named(&words.split(' ').collect::<Vec<_>>()));
            assert_eq!(parsed.is_ok(), is_accepted);
            if let Err(error) = parsed {
                assert_eq!(error.exit_code(), 2);
            }
        }
    }
}
