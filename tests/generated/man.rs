//! Manual pages, one a command, from the definition of the command line.

use std::fs;

use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use jiff::Timestamp;
use kubectl_devicetaint::commands::{self, variables};
use kubectl_devicetaint::error::ExitStatus;

use super::folder;

/// The pages by the names of their files.
pub fn pages() -> Vec<(String, String)> {
    let mut program = commands::command();
    program.build();
    let shown = |command: &&clap::Command| !command.is_hide_set();
    let commands: Vec<clap::Command> = program.get_subcommands().filter(shown).cloned().collect();
    let mut pages = vec![page(&program, "kubectl-devicetaint", &commands)];
    for command in &commands {
        let name = format!("kubectl-devicetaint-{}", command.get_name());
        // The flags of every command are on the first page.
        let own = command.clone().mut_args(|argument| {
            let is_hidden = argument.is_global_set() || argument.is_hide_set();
            argument.hide(is_hidden)
        });
        pages.push(page(&own, &name, &[]));
        for inner in command.get_subcommands().filter(shown) {
            let own = inner.clone().mut_args(|argument| {
                let is_hidden = argument.is_global_set() || argument.is_hide_set();
                argument.hide(is_hidden)
            });
            if inner
                .get_arguments()
                .any(|it| !it.is_global_set() && it.get_id() != "help")
            {
                pages.push(page(&own, &format!("{name}-{}", inner.get_name()), &[]));
            }
        }
    }
    pages
}

/// Columns of a page on a terminal of 80.
const WIDTH: usize = 78;
/// Middle of a page's first line.
const MANUAL: &str = "Kubernetes";
/// Placeholder of the date until it is known if the page has changed.
const DATE: &str = "0000-00-00";
/// Beginning of every section that clap_mangen writes; once is enough.
const PREAMBLE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// A page; the first one names the others.
fn page(command: &clap::Command, name: &str, others: &[clap::Command]) -> (String, String) {
    let examples = command.get_after_help().map(ToString::to_string);
    let command = command
        .clone()
        .display_name(name)
        .after_help("")
        .after_long_help("")
        .mut_args(whole);
    let man = Man::new(command)
        .title(title(name))
        .date(DATE)
        .manual(MANUAL)
        .source(concat!("kubectl-devicetaint ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    man.render_title(&mut text).unwrap();
    man.render_name_section(&mut text).unwrap();
    man.render_synopsis_section(&mut text).unwrap();
    man.render_description_section(&mut text).unwrap();
    man.render_options_section(&mut text).unwrap();
    if !others.is_empty() {
        commands_section(others).to_writer(&mut text).unwrap();
    }
    let statuses = ExitStatus::ALL.map(|it| (it.code().to_string(), it.meaning()));
    let statuses = statuses
        .iter()
        .map(|(code, meaning)| (code.as_str(), *meaning));
    listed("EXIT STATUS", statuses)
        .to_writer(&mut text)
        .unwrap();
    listed("ENVIRONMENT", variables())
        .to_writer(&mut text)
        .unwrap();
    if let Some(examples) = examples
        .as_deref()
        .and_then(|text| text.strip_prefix("Examples:\n"))
    {
        let mut roff = Roff::new();
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in examples.lines() {
            roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        }
        roff.control("fi", []);
        roff.to_writer(&mut text).unwrap();
    }
    let mut also = Roff::new();
    also.control("SH", ["SEE ALSO"]);
    let seen: Vec<Inline> = match others {
        [] => vec![
            bold("kubectl-devicetaint"),
            roman("(1), for the global flags"),
        ],
        _ => vec![bold("kubectl"), roman("(1)")],
    };
    also.text(seen).to_writer(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let text = PREAMBLE.to_owned() + &text.replace(PREAMBLE, "");
    let file = format!("{name}.1");
    let text = dated(&file, &text);
    (file, text)
}

/// The page with the day on which it changed last: that of the page in the repository, unless something
/// else in it is different. So the same sources make the same pages on every day.
fn dated(file: &str, text: &str) -> String {
    let kept = fs::read_to_string(folder("man").join(file)).unwrap_or_default();
    let day = date_of(&kept).unwrap_or(DATE);
    let as_kept = text.replacen(DATE, day, 1);
    if kept == as_kept {
        return as_kept;
    }
    let today = Timestamp::now().strftime("%Y-%m-%d").to_string();
    text.replacen(DATE, &today, 1)
}

/// The date of a page.
pub fn date_of(page: &str) -> Option<&str> {
    let title = page.lines().find(|line| line.starts_with(".TH "))?;
    title.split(' ').nth(3)
}

/// Both ends of a page's first line: the name, or as many of its last words as fit.
fn title(name: &str) -> String {
    // Twice the title with `(1)`, and the middle with a space on each side.
    let room = (WIDTH - MANUAL.len() - 2) / 2 - "(1)".len();
    let mut title = name;
    while title.len() > room {
        title = title
            .split_once('-')
            .expect("a word is shorter than half a line")
            .1;
    }
    title.to_owned()
}

/// A section of terms with their meanings.
fn listed<'a>(heading: &str, entries: impl Iterator<Item = (&'a str, &'a str)>) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", [heading]);
    for (term, meaning) in entries {
        roff.control("TP", []);
        roff.text([bold(term)]);
        roff.text([roman(meaning)]);
    }
    roff
}

/// The argument with a long help, without which a page leaves out arguments that the short help does not show.
fn whole(argument: clap::Arg) -> clap::Arg {
    match (argument.get_long_help(), argument.get_help().cloned()) {
        (None, Some(help)) => argument.long_help(help),
        _ => argument,
    }
}

fn commands_section(commands: &[clap::Command]) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["COMMANDS"]);
    for command in commands {
        let about = command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        roff.control("TP", []);
        roff.text([bold(format!(
            "kubectl-devicetaint-{}(1)",
            command.get_name()
        ))]);
        roff.text([roman(about)]);
    }
    roff
}
