//! The command line as a whole.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::pin::Pin;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use super::context::{Context, Surroundings};
use super::flags::connection::ConnectionArgs;
use super::flags::examples;
use super::flags::repeated::repeated;
use super::profile::{CommandProfile, NamespaceFilter, Signals};
use super::settings::settings;
use super::{
    add, built, complete, completion, dedicate, deescalate, describe, devices, drain, escalate,
    explain, help, list, make_room, plan, podresources, preview, remove, restore, signal, snapshot,
    tolerations, undedicate, version, wait,
};
use crate::completion::{Known, Request};
use crate::error::{ExitStatus, Failure};
use crate::naming::nearest::nearest;
use crate::naming::phrase::{each_once, few};
use crate::naming::words;
use crate::output::{Printer, Repeated};

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
#[command(name = "kubectl-devicetaint", version = built::line(), disable_help_subcommand = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    connection: ConnectionArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Which pods would be evicted if this device had a NoExecute taint?
  kubectl devicetaint preview gpu.example.com/node-7/gpu-0
  # Which devices exist, and which pods use them?
  kubectl devicetaint devices --node node-7";

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
    Dedicate(dedicate::DedicateArgs),
    Undedicate(undedicate::UndedicateArgs),
    Tolerations(tolerations::TolerationsArgs),
    #[command(name = "podresources")]
    PodResources(podresources::PodResourcesArgs),
    Snapshot(snapshot::SnapshotArgs),
    Completion(completion::CompletionArgs),
    Version(version::VersionArgs),
    Options(help::OptionsArgs),
    Help(help::HelpArgs),
}

/// Runs the program and says how it ended; failures are printed already.
///
/// `arguments` begins with the name the program was called by.
pub async fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitStatus {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let surroundings = Surroundings::view();
    // Before anything is parsed: a command that is still being typed is none yet.
    if let Some(request) = Request::new(&arguments, surroundings.said_by_a_shell()) {
        let answer = request.begin(definition(None));
        let known = match answer.wanted() {
            Some(values) => {
                complete::view(values, request.before(), definition(None), &surroundings).await
            }
            None => Known::default(),
        };
        let text = answer.finish(known);
        // A user who presses TAB has not asked for an error.
        let _ = surroundings.plain_printer().emit(&text);
        return ExitStatus::Success;
    }
    let (cli, repeated) = match parse(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => return explain(&error, &surroundings.plain_printer()),
    };
    let command = cli.command.prepared();
    let accepted = refuse_namespace(&cli.connection, &command.profile);
    let mut context = Context::new(&surroundings, settings(cli.connection), repeated);
    context.connection.purpose = command.profile.purpose;
    let done = match accepted {
        Err(failure) => Err(failure),
        Ok(()) => command.dispatch(&context).await,
    };
    done.unwrap_or_else(|failure| {
        failure.print(&context.printer);
        failure.status()
    })
}

/// Refuses a namespace where it narrows nothing: ignored, it would look as if no other namespace were affected.
fn refuse_namespace(connection: &ConnectionArgs, profile: &CommandProfile) -> Result<(), Failure> {
    let why = match profile.namespace {
        NamespaceFilter::Meaningless(why) if connection.names_namespace() => why,
        NamespaceFilter::Meaningless(_) | NamespaceFilter::Narrows => return Ok(()),
    };
    let failure = Failure::usage(
        "--namespace applies only to `devices`, `explain`, `make-room` and `podresources list`",
    );
    Err(failure.hint(why).hint("omit --namespace"))
}

/// Rest of a command, once its context exists.
// On the heap: commands are long, and the stack would have to hold the longest twice over.
type Run = Box<dyn for<'a> FnOnce(&'a Context) -> Running<'a>>;
type Running<'a> = Pin<Box<dyn Future<Output = Result<ExitStatus, Failure>> + 'a>>;

/// A command that can be run, and its profile.
struct PreparedCommand {
    profile: CommandProfile,
    run: Run,
}

/// A command of the module `$of`, whose `run` takes its arguments and the context.
macro_rules! prepared {
    ($of:ident, $args:ident) => {
        PreparedCommand {
            profile: $args.profile(),
            run: Box::new(|context| Box::pin($of::run($args, context))),
        }
    };
}

impl Command {
    /// The only place that tells commands apart.
    fn prepared(self) -> PreparedCommand {
        match self {
            Self::Preview(args) => prepared!(preview, args),
            Self::Plan(args) => prepared!(plan, args),
            Self::Add(args) => prepared!(add, args),
            Self::Escalate(args) => prepared!(escalate, args),
            Self::Deescalate(args) => prepared!(deescalate, args),
            Self::Remove(args) => prepared!(remove, args),
            Self::List(args) => prepared!(list, args),
            Self::Describe(args) => prepared!(describe, args),
            Self::Explain(args) => prepared!(explain, args),
            Self::Wait(args) => prepared!(wait, args),
            Self::Devices(args) => prepared!(devices, args),
            Self::Drain(args) => prepared!(drain, args),
            Self::Restore(args) => prepared!(restore, args),
            Self::MakeRoom(args) => prepared!(make_room, args),
            Self::Dedicate(args) => prepared!(dedicate, args),
            Self::Undedicate(args) => prepared!(undedicate, args),
            Self::Tolerations(args) => prepared!(tolerations, args),
            Self::PodResources(args) => prepared!(podresources, args),
            Self::Snapshot(args) => prepared!(snapshot, args),
            Self::Version(args) => prepared!(version, args),
            Self::Completion(args) => {
                PreparedCommand::at_once(move |context| completion::run(&args, context))
            }
            Self::Options(_) => {
                PreparedCommand::at_once(|context| help::options(&Cli::command(), context))
            }
            Self::Help(args) => {
                PreparedCommand::at_once(move |context| help::run(&args, definition(None), context))
            }
        }
    }
}

impl PreparedCommand {
    /// One that waits for nothing, and needs no cluster.
    fn at_once(run: impl FnOnce(&Context) -> Result<ExitStatus, Failure> + 'static) -> Self {
        Self {
            profile: CommandProfile::without_cluster(),
            run: Box::new(|context| Box::pin(std::future::ready(run(context)))),
        }
    }

    async fn dispatch(self, context: &Context) -> Result<ExitStatus, Failure> {
        let running = (self.run)(context);
        let mut signals = match self.profile.signals {
            Signals::TidiesUp => return running.await,
            Signals::End => signal::Signals::listen(),
        };
        signal::stoppable_by(running, &mut signals, context).await
    }
}

/// Runs the command that `arguments` are, without the program's name, in a context that is there.
#[cfg(test)]
pub(super) async fn run_in(arguments: &[&str], context: &Context) -> Result<ExitStatus, Failure> {
    let named = std::iter::once("kubectl-devicetaint").chain(arguments.iter().copied());
    let arguments: Vec<OsString> = named.map(OsString::from).collect();
    (parse(&arguments)?.0.command.prepared().run)(context).await
}

/// The flags of `arguments`, which are without the program's name, that printed commands repeat.
#[cfg(test)]
pub(super) fn repeated_by(arguments: &[&str]) -> Repeated {
    let named = std::iter::once("kubectl-devicetaint").chain(arguments.iter().copied());
    let arguments: Vec<OsString> = named.map(OsString::from).collect();
    parse(&arguments).expect("a command").1
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
    examples::unbroken(command)
}

/// The definition of the command line, for who writes manuals: without line breaks in examples, and
/// with the flags that every command takes.
pub fn command() -> clap::Command {
    Cli::command().bin_name("kubectl devicetaint")
}

/// Parsed arguments, and those flags that printed commands repeat.
fn parse(arguments: &[OsString]) -> Result<(Cli, Repeated), clap::Error> {
    let mut program = definition(arguments.first());
    // Only a built definition has the flags of every command in each of them, which `repeated` asks for.
    program.build();
    refuse_repeated_context(&program, arguments)?;
    let matches = program
        .clone()
        .try_get_matches_from(arguments)
        .map_err(|error| by_meaning(error, &program))?;
    let cli = Cli::from_arg_matches(&matches)?;
    Ok((cli, repeated(&program, &matches)))
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

/// Names the command for a word known from elsewhere: the command that is spelled most like it may do the
/// opposite. Else suggests the commands that are spelled like it.
fn by_meaning(mut error: clap::Error, program: &clap::Command) -> clap::Error {
    if let Some(advice) = flag_of_others(&error, program) {
        // The suggestion of a flag or value would be wrong.
        error.remove(ContextKind::SuggestedArg);
        let advice = ContextValue::StyledStrs(vec![advice.into()]);
        error.insert(ContextKind::Suggested, advice);
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        // No value begins with a dash: `-- --flag` would be the next error.
        error.remove(ContextKind::Suggested);
        return error;
    };
    let (advice, similar) = (words::advice(word), spelled_like(word, program));
    error.remove(ContextKind::SuggestedSubcommand);
    if let Some(advice) = advice {
        let advice = ContextValue::StyledStrs(vec![advice.into()]);
        error.insert(ContextKind::Suggested, advice);
    } else if !similar.is_empty() {
        let similar = ContextValue::Strings(similar);
        error.insert(ContextKind::SuggestedSubcommand, similar);
    }
    error
}

/// Names the commands that have the flag which another command does not know.
fn flag_of_others(error: &clap::Error, program: &clap::Command) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if let Some(advice) = words::flag_advice(flag) {
        return Some(advice.to_owned());
    }
    let is_global = |long: &str| {
        program
            .get_arguments()
            .any(|it| it.get_long() == Some(long))
    };
    let is_begun =
        |similar: &str| similar.starts_with(flag) && !is_global(similar.trim_start_matches('-'));
    if let Some(ContextValue::String(similar)) = error.get(ContextKind::SuggestedArg)
        && is_begun(similar)
    {
        return None;
    }
    let long = flag.strip_prefix("--")?;
    let has_it = |command: &&clap::Command| {
        let mut arguments = command.get_arguments();
        arguments.any(|argument| !argument.is_hide_set() && argument.get_long() == Some(long))
    };
    let commands = program.get_subcommands().filter(|it| !it.is_hide_set());
    let names: Vec<String> = commands
        .filter(has_it)
        .map(|it| it.get_name().to_owned())
        .collect();
    (!names.is_empty()).then(|| format!("commands with this flag: {}", few(&names)))
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
        let similar = tip.split_once(" exists: ").map(|(_, only)| only.to_owned());
        let several = tip.split_once(" exist: ");
        let similar = similar.or(several.map(|(_, names)| format!("one of {names}")));
        Some(similar.map_or(format!("hint: {tip}"), |name| {
            format!("hint: did you mean {name}?")
        }))
    };
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| hint(line).unwrap_or_else(|| line.to_owned()))
        .collect();
    lines.join("\n")
}

/// Prints the message of clap: help and version as results, mistakes as messages.
fn explain(error: &clap::Error, printer: &Printer<'_>) -> ExitStatus {
    let text = with_hints(&examples::shown(&error.render().to_string()));
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
        examples::shown(&text.unwrap_or_default())
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
            let words = ["kubectl-devicetaint"].into_iter().chain(words.split(' '));
            let parsed = parse(&words.map(OsString::from).collect::<Vec<_>>());
            assert_eq!(parsed.is_ok(), is_accepted);
            if let Err(error) = parsed {
                assert_eq!(error.exit_code(), 2);
            }
        }
    }
}
