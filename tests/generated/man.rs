//! Manual pages, one a command, from the definition of the command line.

use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use kubectl_devicetaint::commands;

/// The pages by the names of their files.
pub fn pages() -> Vec<(String, String)> {
    let mut program = commands::command();
    program.build();
    let shown = |command: &&clap::Command| !command.is_hide_set();
    let commands: Vec<clap::Command> = program.get_subcommands().filter(shown).cloned().collect();
    let mut pages = vec![page(&program, "kubectl-devicetaint", &commands)];
    for command in &commands {
        let name = format!("kubectl-devicetaint-{}", command.get_name());
        // What every command takes stands on the first page.
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
        .title(name)
        .date("")
        .manual("kubectl devicetaint")
        .source("");
    let mut text = Vec::new();
    man.render_title(&mut text).unwrap();
    man.render_name_section(&mut text).unwrap();
    man.render_synopsis_section(&mut text).unwrap();
    man.render_description_section(&mut text).unwrap();
    man.render_options_section(&mut text).unwrap();
    if !others.is_empty() {
        commands_section(others).to_writer(&mut text).unwrap();
    }
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
            roman("(1), for the flags that every command takes"),
        ],
        _ => vec![bold("kubectl"), roman("(1)")],
    };
    also.text(seen).to_writer(&mut text).unwrap();
    (format!("{name}.1"), String::from_utf8(text).unwrap())
}

/// The argument with a long help, without which a page leaves out what the short help does not show.
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
