//! Flags of this run that printed commands repeat.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};

use crate::naming::address::without_login;
use crate::naming::shell::word;
use crate::output::{Owner, Repeated, RepeatedFlag};

/// Flags that select cluster and user, or files and their interpretation. The others change neither.
const REPEATED: [&str; 18] = [
    "--kubeconfig",
    "--context",
    "--cluster",
    "--user",
    "--server",
    "--tls-server-name",
    "--insecure-skip-tls-verify",
    "--certificate-authority",
    "--client-certificate",
    "--client-key",
    "--token",
    "--as",
    "--as-group",
    "--as-uid",
    "--as-user-extra",
    "--from",
    "--now",
    "--kubernetes",
];

/// The typed flags, as far as other commands of the `program`, which is built, need them too.
pub(crate) fn repeated(program: &clap::Command, matches: &ArgMatches) -> Repeated {
    let Some((name, matches)) = matches.subcommand() else {
        return Repeated::default();
    };
    let Some(command) = program.find_subcommand(name) else {
        return Repeated::default();
    };
    let repeat = |flag: &'static str| {
        let words = typed(argument(command, flag)?, flag, matches)?;
        let taking = program
            .get_subcommands()
            .filter(|other| repeats(other, flag));
        Some(RepeatedFlag {
            flag,
            words,
            commands: taking.map(|other| other.get_name().to_owned()).collect(),
            of: match argument(program, flag) {
                // Flags of every command are those of the connection, which are kubectl's.
                Some(_) => Owner::Kubectl,
                None => Owner::Program,
            },
        })
    };
    Repeated(REPEATED.into_iter().filter_map(repeat).collect())
}

/// True if a printed `command` repeats the flag. A snapshot or a change that is advised is one of the
/// cluster, also where saved objects were read.
fn repeats(command: &clap::Command, flag: &str) -> bool {
    let only_reads = argument(command, "--kubernetes").is_some();
    argument(command, flag).is_some() && (flag != "--from" || only_reads)
}

/// The flag as a command takes it, if it does.
fn argument<'a>(command: &'a clap::Command, flag: &str) -> Option<&'a Arg> {
    let mut arguments = command.get_arguments();
    arguments.find(|argument| argument.get_long() == flag.strip_prefix("--"))
}

/// The flag as it was typed, in words that can be pasted; absent if it was not.
fn typed(argument: &Arg, flag: &str, matches: &ArgMatches) -> Option<String> {
    let id = argument.get_id().as_str();
    if matches.value_source(id) != Some(ValueSource::CommandLine) {
        return None;
    }
    let between = if argument.is_require_equals_set() {
        '='
    } else {
        ' '
    };
    let values = matches.try_get_raw(id).ok()??;
    let words = values.map(|value| {
        let value = shown(flag, &value.to_string_lossy());
        format!("{flag}{between}{}", word(&value))
    });
    Some(words.collect::<Vec<_>>().join(" "))
}

/// The value as it may be printed: without secrets.
fn shown(flag: &str, value: &str) -> String {
    match flag {
        "--token" => "TOKEN".to_owned(),
        "--server" => without_login(value),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::cli::repeated_by;

    #[test]
    fn what_was_typed_is_repeated_where_it_is_taken() {
        for (typed, text, printed) in [
            (
                "list",
                "kubectl devicetaint devices",
                "kubectl devicetaint devices",
            ),
            (
                "list --context prod --as-group=a --as-group b",
                "kubectl devicetaint remove x, kubectl get pods",
                "kubectl devicetaint remove --context prod --as-group a --as-group b x, \
                 kubectl get --context prod --as-group a --as-group b pods",
            ),
            (
                "--kubeconfig /a/b list --request-timeout 5s",
                "kubectl devicetaint list",
                "kubectl devicetaint list --kubeconfig /a/b",
            ),
            (
                "list --from a.json --now 2026-11-21T01:00:00Z --kubernetes 1.36",
                "kubectl devicetaint devices, kubectl devicetaint wait x, kubectl devicetaint snapshot",
                "kubectl devicetaint devices --from a.json --now 2026-11-21T01:00:00Z --kubernetes 1.36, \
                 kubectl devicetaint wait x, kubectl devicetaint snapshot",
            ),
            (
                "list --insecure-skip-tls-verify",
                "kubectl devicetaint list",
                "kubectl devicetaint list --insecure-skip-tls-verify=true",
            ),
            (
                "list --token secret --server https://me:secret@host:1",
                "kubectl devicetaint list",
                "kubectl devicetaint list --server https://host:1 --token TOKEN",
            ),
        ] {
            let words: Vec<&str> = typed.split(' ').collect();
            assert_eq!(repeated_by(&words).in_commands_of(text), printed, "{typed}");
        }
    }
}
