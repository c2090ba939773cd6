//! `help`: of the program, of a command, and of what reports and exit codes mean.

use super::context::Context;
use super::flags::examples;
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::Minor;
use crate::naming::nearest::nearest;
use crate::naming::words;
use crate::report::{Hazard, guard::Signal};

/// Explain a command, or a topic such as exit-codes
#[derive(clap::Args, Debug)]
pub(super) struct HelpArgs {
    /// A command, or one of: exit-codes, guards, hazards, selectors, versions
    topic: Option<String>,
}

/// List the flags that every command takes
#[derive(clap::Args, Debug)]
pub(super) struct OptionsArgs {}

/// Topics that are no commands.
pub(super) const TOPICS: [&str; 5] = ["exit-codes", "guards", "hazards", "selectors", "versions"];

/// Lists the flags that every command of the `program` takes.
pub(super) fn options(program: &clap::Command, context: &Context) -> Result<ExitStatus, Failure> {
    let global = program.get_arguments().filter(|it| it.is_global_set());
    let mut listed = clap::Command::new("options")
        .disable_help_flag(true)
        .help_template("The following options can be passed to any command:\n\n{options}\n")
        .args(global.cloned());
    context.printer.emit(&listed.render_help().to_string())?;
    Ok(ExitStatus::Success)
}

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
        Some("selectors") => SELECTORS.to_owned(),
        Some("versions") => versions(),
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

/// How wide these texts are, for terminals as narrow as most begin.
const WIDTH: usize = 80;

/// A term and what it means, in as many lines as that takes.
fn explained(term: &str, meaning: &str) -> String {
    let indent = " ".repeat(textwrap::core::display_width(term).saturating_add(2));
    let options = textwrap::Options::new(WIDTH).subsequent_indent(&indent);
    textwrap::fill(&format!("{term}  {meaning}"), options) + "\n"
}

fn exit_codes() -> String {
    let line = |status: ExitStatus| explained(&format!("{:>3}", status.code()), status.meaning());
    ExitStatus::ALL.into_iter().map(line).collect()
}

fn hazards() -> String {
    let width = Hazard::ALL
        .iter()
        .map(|hazard| hazard.code().len())
        .max()
        .unwrap_or_default();
    let line = |hazard: Hazard| explained(&format!("{:width$}", hazard.code()), hazard.meaning());
    Hazard::ALL.into_iter().map(line).collect()
}

fn guards() -> String {
    let signals: String = Signal::ALL
        .into_iter()
        .map(|signal| explained(&format!("  {:20}", signal.name()), signal.meaning()))
        .collect();
    format!(
        "A guard is SIGNAL OPERATOR QUANTITY without spaces, such as 'pods.evicted>20'\nor 'devices.selected>=50%'. It trips when the comparison holds, or when the\nvalue is not known; then the command ends with exit code 4.\n\n\
         Signals:\n{signals}\n\
         Operators: > >= < <= == !=\n"
    )
}

const SELECTORS: &str = "\
A DEVICE is DRIVER/POOL/DEVICE, as Kubernetes prints it. Names of pools may
have slashes: the first part is the driver, the last the device. `*` stands for
any, and a single part is a whole driver:

  gpu.example.com/node-7/gpu-0   one device
  'gpu.example.com/node-7/*'     all devices of a pool
  '*/node-7/*'                   all pools of that name, whatever the driver
  gpu.example.com                all devices of a driver

--driver, --pool and --device say the same, and --all-devices every device.
Quote what has a `*`.

A TAINT is KEY[=VALUE][:EFFECT], where EFFECT is None, NoSchedule or NoExecute:

  example.com/maintenance=firmware:NoExecute

A RULE is the name of a DeviceTaintRule, with or without
devicetaintrule.resource.k8s.io/ before it. Where rules are taken, so is
DEVICE KEY, the rule that taints exactly those devices with that key; `remove`
takes DEVICE KEY- as `kubectl taint` does. -l chooses rules by their labels.
";

/// Something that a version of Kubernetes does, or not.
type Behaviour = fn(&Semantics) -> bool;

/// What the versions of Kubernetes do differently.
fn versions() -> String {
    let known = [
        (33, 0),
        (34, 0),
        (35, 0),
        (36, 0),
        (37, 0),
        (37, 1),
        (37, 2),
    ]
    .map(|(minor, patch)| {
        let patch = Some(patch);
        (
            Minor { minor, patch },
            Semantics::of(Minor { minor, patch }),
        )
    });
    let rows: [(&str, Behaviour); 11] = [
        ("tolerations spare pods", |it| it.copies_tolerations),
        ("effect None", |it| it.has_effect_none),
        ("the controller reports on rules", |it| it.has_condition),
        ("a new effect begins a new time", |it| {
            it.server_renews_time_added
        }),
        ("unpublished devices are reached", |it| {
            it.reaches_unpublished
        }),
        ("extended resources are evicted", |it| {
            it.evicts_extended_resources
        }),
        ("rules choose by class and CEL", |it| {
            it.selects_by_expression
        }),
        ("no selector evicts everybody", |it| it.nil_selector_evicts),
        ("no selector blocks every device", |it| {
            it.nil_selector_blocks
        }),
        ("an unknown effect blocks", |it| it.unknown_effect_blocks),
        ("old reservations hide pods", |it| {
            it.stale_reservation_hides
        }),
    ];
    let mut text = format!(
        "Device taints came with Kubernetes {}. What is newer than {} is taken to\nbehave like it.\n\n{:31}",
        Semantics::OLDEST,
        Semantics::NEWEST,
        ""
    );
    for (version, _) in &known {
        text.push_str(&format!("{:>7}", version.to_string()));
    }
    for (what, holds) in rows {
        text.push_str(&format!("\n{what:31}"));
        for (_, semantics) in &known {
            let shown = match semantics {
                Some(semantics) if holds(semantics) => "yes",
                Some(_) => "-",
                None => "?",
            };
            text.push_str(&format!("{shown:>7}"));
        }
    }
    text.push_str("\n\nDRAWorkloadResourceClaims, off by default and unknown before 1.36, makes\nreservations for PodGroups count for their pods. Where it is on, say\n--feature-gates DRAWorkloadResourceClaims=true.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_fits_a_narrow_terminal() {
        for text in [
            exit_codes(),
            hazards(),
            guards(),
            SELECTORS.to_owned(),
            versions(),
        ] {
            assert!(text.ends_with('\n'), "{text}");
            for line in text.lines() {
                let width = textwrap::core::display_width(line);
                assert!(width <= WIDTH, "{width}: {line}");
            }
        }
    }

    #[test]
    fn versions_differ_where_the_engine_does() {
        let text = versions();
        let line = |begin: &str| {
            let found = text.lines().find(|line| line.starts_with(begin));
            let words = found.unwrap_or_default().split_whitespace();
            words.rev().take(7).map(str::to_owned).collect::<Vec<_>>()
        };
        let newest_first = |known: [&str; 7]| known.map(str::to_owned).to_vec();
        assert_eq!(
            line("effect None"),
            newest_first(["yes", "yes", "yes", "yes", "yes", "-", "-"])
        );
        assert_eq!(
            line("extended resources"),
            newest_first(["yes", "-", "-", "-", "-", "-", "-"])
        );
    }
}
