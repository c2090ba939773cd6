//! The pages of the book about commands, one a command, from the definition of the command line.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, Command};
use kubectl_devicetaint::commands;

/// The pages by the names of their files.
pub fn pages() -> Vec<(String, String)> {
    let shown = every_command();
    shown
        .iter()
        .map(|(name, command)| (file_of(name), page(name, command)))
        .collect()
}

/// The entries of the commands in the contents of the book.
pub fn contents() -> String {
    let entries = every_command().into_iter().map(|(name, _)| {
        let depth = name.split(' ').count() - 1;
        let indent = "  ".repeat(depth + 1);
        format!("{indent}- [{name}](commands/{})\n", file_of(&name))
    });
    format!("- [Commands](commands.md)\n{}", entries.collect::<String>())
}

/// All commands, with the purpose of each.
pub fn table() -> String {
    let rows = every_command().into_iter().map(|(name, command)| {
        let about = command.get_about().map(ToString::to_string);
        let about = text(&about.unwrap_or_default());
        format!("| [`{name}`](commands/{}) | {about} |\n", file_of(&name))
    });
    format!("| command | |\n|---|---|\n{}", rows.collect::<String>())
}

/// The commands that are shown, those of others behind them, by their words.
fn every_command() -> Vec<(String, Command)> {
    let mut program = commands::command();
    program.build();
    let mut found = Vec::new();
    for command in program.get_subcommands().filter(|it| !it.is_hide_set()) {
        let name = command.get_name().to_owned();
        let inner = command.get_subcommands();
        let inner = inner.filter(|it| !it.is_hide_set() && it.get_name() != "help");
        let inner: Vec<_> = inner
            .map(|inner| (format!("{name} {}", inner.get_name()), inner.clone()))
            .collect();
        found.push((name, command.clone()));
        found.extend(inner);
    }
    found
}

fn file_of(name: &str) -> String {
    format!("{}.md", name.replace(' ', "-"))
}

fn page(name: &str, command: &Command) -> String {
    let mut page =
        format!("# {name}\n\n<!-- Made from the command line; see CONTRIBUTING.md. -->\n\n");
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    page.push_str(&paragraphs(&about, ""));
    // As the program prints it: the flags of every command make no `[OPTIONS]`.
    let mut usage = command.clone().mut_args(|argument| {
        let is_hidden = argument.is_global_set() || argument.is_hide_set();
        argument.hide(is_hidden)
    });
    let usage = usage.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    page.push_str(&format!("\n```text\n{usage}\n```\n"));
    if let Some(examples) = examples(command) {
        page.push_str(&format!("\n## Examples\n\n```sh\n{examples}```\n"));
    }
    let arguments: Vec<&Arg> = own(command, name).filter(|it| it.is_positional()).collect();
    page.push_str(&section("Arguments", &arguments));
    let mut by_heading: BTreeMap<&str, Vec<&Arg>> = BTreeMap::new();
    let mut headings: Vec<&str> = Vec::new();
    for argument in own(command, name).filter(|it| !it.is_positional()) {
        let heading = argument.get_help_heading().unwrap_or("Options");
        if !headings.contains(&heading) {
            headings.push(heading);
        }
        by_heading.entry(heading).or_default().push(argument);
    }
    for heading in headings {
        page.push_str(&section(heading, &by_heading[heading]));
    }
    if name != "options" {
        page.push_str(
            "\nIt also accepts the [global flags](options.md). See also: [exit codes](../exit-codes.md).\n",
        );
    }
    page
}

/// Arguments of this command alone; of `options`, those that every command takes.
fn own<'a>(command: &'a Command, name: &str) -> impl Iterator<Item = &'a Arg> {
    let wants_global = name == "options";
    command.get_arguments().filter(move |argument| {
        let is_help = argument.get_id() == "help" || argument.get_id() == "version";
        let is_hidden = argument.is_hide_set() && !argument.is_global_set();
        !is_help && !is_hidden && argument.is_global_set() == wants_global
    })
}

fn examples(command: &Command) -> Option<String> {
    let text = command.get_after_help()?.to_string();
    let examples = text.strip_prefix("Examples:\n")?;
    let lines = examples
        .lines()
        .map(|line| line.strip_prefix("  ").unwrap_or(line));
    Some(lines.map(|line| format!("{line}\n")).collect())
}

fn section(heading: &str, arguments: &[&Arg]) -> String {
    if arguments.is_empty() {
        return String::new();
    }
    let entries = arguments.iter().map(|argument| entry(argument));
    format!("\n## {heading}\n\n{}", entries.collect::<String>())
}

/// The argument as it is typed, its meaning, and its possible values.
fn entry(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let mut entry = format!("- `{}`  \n{}", typed(argument), paragraphs(&help, "  "));
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({})", value.get_name(), text(&help.to_string())),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    if takes_value && !values.is_empty() && !argument.is_hide_possible_values_set() {
        entry.push_str(&format!("\n  One of {}.\n", values.join(", ")));
    }
    let default: Vec<_> = argument
        .get_default_values()
        .iter()
        .map(|it| it.to_string_lossy())
        .collect();
    if takes_value && !default.is_empty() && !argument.is_hide_default_value_set() {
        entry.push_str(&format!("\n  Default: `{}`.\n", default.join(" ")));
    }
    entry
}

fn typed(argument: &Arg) -> String {
    let shown = argument.to_string();
    match (argument.get_short(), argument.is_positional()) {
        (Some(short), false) => format!("-{short}, {shown}"),
        _ => shown,
    }
}

/// Paragraphs of a help text in Markdown, each line behind `indent`.
fn paragraphs(help: &str, indent: &str) -> String {
    let paragraphs = help.split("\n\n").map(|paragraph| {
        let line = paragraph
            .lines()
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(" ");
        format!("{indent}{}\n", text(line.trim()))
    });
    paragraphs.collect::<Vec<_>>().join("\n")
}

/// Text without a meaning in Markdown, but for text in backticks.
pub fn text(plain: &str) -> String {
    let parts = plain.split('`').enumerate().map(|(number, part)| {
        if number % 2 == 1 {
            return format!("`{part}`");
        }
        part.chars()
            .flat_map(|it| {
                let is_mark = "\\*_<>[]|".contains(it);
                is_mark.then_some('\\').into_iter().chain([it])
            })
            .collect()
    });
    parts.collect()
}
