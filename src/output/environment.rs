//! Terminals and colours.
//!
//! Facts about the surroundings, as a value: `main` looks them up, so that
//! everything else can be tested without them.

use std::borrow::Cow;

/// Environment of the two streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Width of the terminal that standard output goes to, in columns; absent when it is none.
    pub width: Option<u16>,
    /// True if standard error goes to a terminal.
    pub stderr_is_terminal: bool,
    /// True if `NO_COLOR` is set and not empty.
    pub no_color: bool,
    /// True if `TERM` is `dumb`.
    pub dumb_terminal: bool,
}

impl Environment {
    /// Says whether results on standard output are coloured, as far as they can be.
    pub fn colors_stdout(&self) -> bool {
        self.width.is_some() && !self.no_color && !self.dumb_terminal
    }

    /// Says whether messages on standard error are coloured.
    pub fn colors_stderr(&self) -> bool {
        self.stderr_is_terminal && !self.no_color && !self.dumb_terminal
    }
}

/// Beginning of every command of this program where it is printed.
const PROGRAM: &str = "kubectl devicetaint ";

/// Beginnings of kubectl's own commands, as far as any are advised.
const VERBS: [&str; 4] = ["apply", "auth whoami", "create", "get"];

/// A flag of this run that other commands need too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedFlag {
    /// The flag, such as `--context`; a command that has it already keeps its own.
    pub flag: &'static str,
    /// The flag with its value as words of a shell, such as `--context prod`.
    pub words: String,
    /// The subcommands that take it.
    pub commands: Vec<String>,
    /// Owner of those commands.
    pub of: Owner,
}

/// Owner of the commands that take a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Commands of this program alone.
    Program,
    /// Commands of kubectl too, all of them.
    Kubectl,
}

/// The flags of this run that printed commands repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeated(pub Vec<RepeatedFlag>);

impl Repeated {
    /// The text with these flags in every command that takes them, behind the name of the subcommand.
    pub fn in_commands_of<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.0.is_empty() || !text.contains("kubectl ") {
            return Cow::Borrowed(text);
        }
        let mut parts = text.split(PROGRAM);
        let mut complete = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            // The flags that a command takes depend on its subcommand.
            let subcommand: String = part.chars().take_while(is_of_name).collect();
            complete.push_str(PROGRAM);
            complete.push_str(&subcommand);
            let rest = &part[subcommand.len()..];
            // A command in backticks ends with them; what a sentence says after it is not the command's own.
            let own = rest.split('`').next().unwrap_or_default();
            for flag in self.missing_in(&subcommand, own) {
                complete.push(' ');
                complete.push_str(&flag.words);
            }
            complete.push_str(rest);
        }
        Cow::Owned(self.in_commands_of_kubectl(&complete))
    }

    /// The text with the flags that kubectl takes in its commands.
    fn in_commands_of_kubectl(&self, text: &str) -> String {
        let flags = self.0.iter().filter(|flag| flag.of == Owner::Kubectl);
        let words: String = flags.map(|flag| format!(" {}", flag.words)).collect();
        // Only verbs of commands: a sentence about kubectl itself takes no flags.
        VERBS.iter().fold(text.to_owned(), |text, verb| {
            [' ', '`'].into_iter().fold(text, |text, end| {
                let command = format!("kubectl {verb}{end}");
                text.replace(&command, &format!("kubectl {verb}{words}{end}"))
            })
        })
    }

    /// The flags that `subcommand` takes and does not have among its `own` words.
    fn missing_in<'a>(
        &'a self,
        subcommand: &'a str,
        own: &'a str,
    ) -> impl Iterator<Item = &'a RepeatedFlag> {
        self.0.iter().filter(move |flag| {
            let mut words = own.split([' ', '=']);
            let takes_it = flag.commands.iter().any(|command| command == subcommand);
            takes_it && words.all(|word| word != flag.flag)
        })
    }
}

/// True if names of subcommands have this character.
fn is_of_name(character: &char) -> bool {
    character.is_ascii_lowercase() || *character == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_need_a_terminal_that_has_them() {
        let terminal = Environment {
            width: Some(80),
            stderr_is_terminal: true,
            ..Environment::default()
        };
        let no_color = Environment {
            no_color: true,
            ..terminal
        };
        let dumb = Environment {
            dumb_terminal: true,
            ..terminal
        };
        for (name, environment, colored) in [
            ("terminal", terminal, true),
            ("pipe", Environment::default(), false),
            ("NO_COLOR", no_color, false),
            ("TERM=dumb", dumb, false),
        ] {
            assert_eq!(environment.colors_stderr(), colored, "{name}");
            assert_eq!(environment.colors_stdout(), colored, "{name}, results");
        }
    }

    fn flag(flag: &'static str, words: &str, commands: &[&str]) -> RepeatedFlag {
        RepeatedFlag {
            flag,
            words: words.to_owned(),
            commands: commands.iter().map(|&name| name.to_owned()).collect(),
            of: if flag == "--context" {
                Owner::Kubectl
            } else {
                Owner::Program
            },
        }
    }

    #[test]
    fn flags_are_put_into_commands_that_take_them_and_lack_them() {
        let repeated = Repeated(vec![
            flag("--context", "--context prod", &["list", "add", "devices"]),
            flag(
                "--from",
                "--from a.json --from b.json",
                &["list", "devices"],
            ),
        ]);
        for (text, complete) in [
            (
                "see `kubectl devicetaint list`, or not",
                "see `kubectl devicetaint list --context prod --from a.json --from b.json`, or not",
            ),
            (
                "next: kubectl devicetaint add a k:None",
                "next: kubectl devicetaint add --context prod a k:None",
            ),
            (
                "kubectl devicetaint devices --from=c and `kubectl devicetaint list --context x`",
                "kubectl devicetaint devices --context prod --from=c and \
                 `kubectl devicetaint list --from a.json --from b.json --context x`",
            ),
            (
                "kubectl devicetaint help guards",
                "kubectl devicetaint help guards",
            ),
            (
                "the objects: kubectl get devicetaintrules -o json",
                "the objects: kubectl get --context prod devicetaintrules -o json",
            ),
            (
                "`kubectl auth whoami` says it",
                "`kubectl auth whoami --context prod` says it",
            ),
            ("not as kubectl gets it", "not as kubectl gets it"),
            ("devicetaint.dev/batch=1", "devicetaint.dev/batch=1"),
            ("kubectl devicetaint ", "kubectl devicetaint "),
        ] {
            assert_eq!(repeated.in_commands_of(text), complete);
            assert_eq!(Repeated::default().in_commands_of(text), text);
        }
    }
}
