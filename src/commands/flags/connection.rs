//! kubectl's connection flags, and those of this run that printed commands repeat.

use std::path::PathBuf;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};

use crate::cluster::{ConnectionOptions, DEFAULT_REQUEST_TIMEOUT};
use crate::completion::Values;
use crate::naming::duration::parse_request_timeout;
use crate::naming::shell::word;
use crate::output::{Owner, Repeated, RepeatedFlag};

/// Flags of kubectl that select cluster and user.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ConnectionArgs {
    /// Path of the kubeconfig file
    #[arg(long, global = true, value_name = "FILENAME")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Kubeconfig context
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// Kubeconfig cluster
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) cluster: Option<String>,

    /// Kubeconfig user
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) user: Option<String>,

    /// Namespace of claims or pods; only for `devices`, `explain`, `make-room` and `podresources list`
    #[arg(short, long, global = true, value_name = "NAME", add = Values::Namespaces)]
    pub(crate) namespace: Option<String>,

    /// All namespaces (the default; accepted for compatibility with kubectl)
    #[arg(short = 'A', long, global = true)]
    pub(crate) all_namespaces: bool,

    /// Address and port of the API server
    #[arg(short, long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,

    /// Server name to verify in the API server's certificate; default: the host in the server's address
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) tls_server_name: Option<String>,

    /// Do not check the API server's certificate
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) insecure_skip_tls_verify: Option<bool>,

    /// File with the certificate of the certificate authority
    #[arg(long, global = true, value_name = "FILENAME")]
    pub(crate) certificate_authority: Option<PathBuf>,

    /// File with the client's certificate
    #[arg(long, global = true, value_name = "FILENAME")]
    pub(crate) client_certificate: Option<PathBuf>,

    /// File with the client's key
    #[arg(long, global = true, value_name = "FILENAME")]
    pub(crate) client_key: Option<PathBuf>,

    /// Bearer token
    #[arg(long, global = true, value_name = "TOKEN")]
    pub(crate) token: Option<String>,

    /// Name for basic authentication
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) username: Option<String>,

    /// Password for basic authentication
    #[arg(long, global = true, value_name = "PASSWORD")]
    pub(crate) password: Option<String>,

    /// User to impersonate
    #[arg(long = "as", global = true, value_name = "NAME")]
    pub(crate) as_user: Option<String>,

    /// Group to impersonate; repeatable
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) as_group: Vec<String>,

    /// UID to impersonate
    #[arg(long, global = true, value_name = "UID")]
    pub(crate) as_uid: Option<String>,

    /// Extra field of the user to impersonate; repeatable
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub(crate) as_user_extra: Vec<String>,

    /// How long to wait for more data from the server, such as 30s or 1m; 0 means no limit [default: 30s]
    #[arg(long, global = true, value_name = "DURATION", value_parser = parse_request_timeout)]
    pub(crate) request_timeout: Option<Timeout>,

    /// Do not request compressed responses
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) disable_compression: Option<bool>,

    /// Proxy for the API server; default: proxy-url of the kubeconfig, else HTTPS_PROXY
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) proxy_url: Option<String>,

    /// File with kubectl's preferences; only credentialPluginPolicy and credentialPluginAllowlist
    /// are used [default: $KUBERC, else ~/.kube/kuberc]
    #[arg(long, global = true, value_name = "FILENAME")]
    pub(crate) kuberc: Option<PathBuf>,

    /// Show each request with its bytes and time; all values of LEVEL above 0 have this effect
    #[arg(short, long, alias = "v", global = true, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "1", default_value = "0", hide_default_value = true)]
    pub(crate) verbosity: u8,
}

impl ConnectionArgs {
    /// The namespace that narrows the command.
    pub(crate) fn narrowing_namespace(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|_| !self.all_namespaces)
    }
}

impl From<ConnectionArgs> for ConnectionOptions {
    fn from(args: ConnectionArgs) -> Self {
        Self {
            kubeconfig: args.kubeconfig,
            context: args.context,
            cluster: args.cluster,
            user: args.user,
            namespace: args.namespace,
            server: args.server,
            tls_server_name: args.tls_server_name,
            insecure_skip_tls_verify: args.insecure_skip_tls_verify,
            certificate_authority: args.certificate_authority,
            client_certificate: args.client_certificate,
            client_key: args.client_key,
            token: args.token,
            username: args.username,
            password: args.password,
            proxy_url: args.proxy_url,
            kuberc: args.kuberc,
            as_user: args.as_user,
            as_group: args.as_group,
            as_uid: args.as_uid,
            as_user_extra: args.as_user_extra,
            // `--request-timeout 0` means no limit, which is something else than no flag.
            request_timeout: args
                .request_timeout
                .unwrap_or(Some(DEFAULT_REQUEST_TIMEOUT)),
            disable_compression: args.disable_compression == Some(true),
            purpose: None,
        }
    }
}

/// Value of `--request-timeout`; `None` is no limit.
pub(crate) type Timeout = Option<Duration>;

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

/// The address of a server without the name and password that it may hold.
fn without_login(address: &str) -> String {
    let start = address.find("://").map_or(0, |at| at.saturating_add(3));
    let (scheme, rest) = address.split_at(start);
    // The path behind these may hold an `@` that ends no login.
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // The last one: a password may hold it, and a host cannot.
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    format!("{scheme}{host}{path}")
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
