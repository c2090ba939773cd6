//! Credentials from a program, as `exec` in a kubeconfig asks for.
//!
//! Run once per connection, with the terminal when there is one. Neither arguments, environment nor output of the plugin
//! ever reach a message.
//!
//! Upstream: `client-go/plugin/pkg/client/auth/exec`.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use kube::config::{Cluster, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::kubeconfig::read_bounded;
use super::load::{ConnectionOptions, Environment};
use crate::cluster::error::ClusterError;
use crate::cluster::observer::{Event, Observer};

/// Time after which the user is told that a credential plugin is still running.
const PATIENCE: Duration = Duration::from_secs(3);
/// More than this of its output is not read: certificates and tokens take some thousand bytes.
const LONGEST_ANSWER: u64 = 1 << 20;
/// The versions of the interface that kubectl has.
const VERSIONS: [&str; 2] = [
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
];

/// Credentials from a plugin; certificate and key are PEM, not base64.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Credentials {
    pub(super) token: Option<String>,
    pub(super) client_certificate_data: Option<String>,
    pub(super) client_key_data: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Answer {
    api_version: String,
    kind: String,
    status: Credentials,
}

/// A plugin, and the user and cluster that it is for.
#[derive(Debug)]
pub(super) struct Plugin<'a> {
    pub(super) exec: &'a ExecConfig,
    pub(super) cluster: &'a Cluster,
    pub(super) policy: &'a Policy,
    pub(super) user: &'a str,
}

impl Plugin<'_> {
    /// Runs the plugin until it ends, however long a person takes to answer it.
    pub(super) async fn run(
        &self,
        environment: &Environment,
        observer: &dyn Observer,
    ) -> Result<Credentials, ClusterError> {
        let mut command = self.prepare(environment)?;
        let mut output = std::pin::pin!(self.output(&mut command));
        let output = match tokio::time::timeout(PATIENCE, &mut output).await {
            Ok(output) => output,
            Err(_) => {
                let (command, user) = (self.command(), self.user);
                observer.event(&Event::Notice(&format!(
                    "waiting for the credential plugin {command:?} of user {user:?}"
                )));
                output.await
            }
        };
        self.parse(&output?)
    }

    /// Output of the plugin, once it ends with success.
    async fn output(&self, command: &mut Command) -> Result<Vec<u8>, ClusterError> {
        let failed = |error: io::Error| self.start_error(&error);
        let mut child = command.spawn().map_err(failed)?;
        let mut output = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            // Read before waiting: a plugin that fills the pipe does not exit until it is read.
            let mut start = stdout.take(LONGEST_ANSWER);
            start.read_to_end(&mut output).await.map_err(failed)?;
        }
        if u64::try_from(output.len()).is_ok_and(|length| length == LONGEST_ANSWER) {
            return Err(self.failed("printed 1 MiB or more"));
        }
        match child.wait().await.map_err(failed)? {
            status if status.success() => Ok(output),
            status => Err(self.failed(format!("failed ({status})"))),
        }
    }

    fn command(&self) -> &str {
        self.exec.command.as_deref().unwrap_or_default()
    }

    fn prepare(&self, environment: &Environment) -> Result<Command, ClusterError> {
        let version = self.exec.api_version.as_deref().unwrap_or_default();
        let asks = environment.stdin_is_terminal;
        let asks = match self.exec.interactive_mode {
            Some(ExecInteractiveMode::Never) => false,
            Some(ExecInteractiveMode::Always) if !asks => {
                return Err(self.failed("needs a terminal on stdin to ask questions"));
            }
            Some(ExecInteractiveMode::Always | ExecInteractiveMode::IfAvailable) => asks,
            // Only the version before has a default.
            None if version == VERSIONS[0] => {
                return Err(self.failed("has no interactiveMode in the kubeconfig"));
            }
            None => asks,
        };
        if !VERSIONS.contains(&version) {
            return Err(self.failed(format!(
                "has the apiVersion {version:?} in the kubeconfig; supported: {}",
                VERSIONS.join(" or ")
            )));
        }
        let find = |name: &str| program(name, environment.path.as_deref());
        if !self.policy.allows(self.command(), find) {
            return Err(ClusterError::Configuration {
                message: self.text("is not run: the preferences in kuberc do not allow it"),
                hint: Some("show the preferences with `kubectl kuberc view`".to_owned()),
            });
        }
        let missing = || self.start_error(&io::Error::from(ErrorKind::NotFound));
        let mut command = Command::new(find(self.command()).ok_or_else(missing)?);
        for variable in self.exec.env.iter().flatten() {
            if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
                command.env(name, value);
            }
        }
        let stdin = if asks { Stdio::inherit } else { Stdio::null };
        let stderr = if environment.is_silent {
            Stdio::null
        } else {
            Stdio::inherit
        };
        command
            .args(self.exec.args.iter().flatten())
            .env("KUBERNETES_EXEC_INFO", self.request(asks)?)
            .stdin(stdin())
            .stdout(Stdio::piped())
            .stderr(stderr())
            // A plugin must not outlive the command, which may be interrupted while it waits.
            .kill_on_drop(true);
        Ok(command)
    }

    /// The `ExecCredential` that tells the plugin what is wanted.
    fn request(&self, interactive: bool) -> Result<String, ClusterError> {
        let mut spec = serde_json::json!({ "interactive": interactive });
        if self.exec.provide_cluster_info {
            let cluster = ExecAuthCluster::try_from(self.cluster).ok();
            let cluster = cluster.and_then(|cluster| serde_json::to_value(cluster).ok());
            spec["cluster"] = cluster
                .ok_or_else(|| self.failed("needs data about the cluster, which is invalid"))?;
        }
        let request = serde_json::json!({
            "apiVersion": self.exec.api_version, "kind": "ExecCredential", "spec": spec,
        });
        Ok(request.to_string())
    }

    fn parse(&self, output: &[u8]) -> Result<Credentials, ClusterError> {
        // client-go decodes YAML here too.
        let json: Option<Answer> = serde_json::from_slice(output).ok();
        let answer = json.or_else(|| serde_yaml::from_slice(output).ok());
        let answer = answer.unwrap_or_default();
        let version = self.exec.api_version.as_deref().unwrap_or_default();
        if answer.kind != "ExecCredential" || answer.api_version != version {
            return Err(self.failed(format!("did not print an ExecCredential of {version}")));
        }
        // As kubectl: what is empty is not there.
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let found = Credentials {
            token: given(answer.status.token),
            client_certificate_data: given(answer.status.client_certificate_data),
            client_key_data: given(answer.status.client_key_data),
        };
        let has_certificate = found.client_certificate_data.is_some();
        if has_certificate != found.client_key_data.is_some()
            || (found.token.is_none() && !has_certificate)
        {
            return Err(self.failed("printed neither a token nor a certificate with its key"));
        }
        Ok(found)
    }

    fn text(&self, problem: &str) -> String {
        let (command, user) = (self.command(), self.user);
        format!("the credential plugin {command:?} of user {user:?} {problem}")
    }

    fn start_error(&self, error: &io::Error) -> ClusterError {
        let hint = self.exec.install_hint.clone();
        ClusterError::Configuration {
            message: self.text(&format!("cannot be run: {error}")),
            hint: hint.filter(|_| error.kind() == ErrorKind::NotFound),
        }
    }

    fn failed(&self, problem: impl AsRef<str>) -> ClusterError {
        ClusterError::Configuration {
            message: self.text(problem.as_ref()),
            hint: Some("test it with `kubectl auth whoami`".to_owned()),
        }
    }
}

/// The program to start for `command`, which is never one of the current directory: after a change into a foreign
/// directory, a file there with the name of a plugin must not run.
///
/// Upstream: `LookPath` in Go's `os/exec`.
fn program(command: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    if cfg!(not(unix)) || command.contains('/') {
        // With a path it means what it says; Windows has rules of its own, without this directory.
        return Some(PathBuf::from(command));
    }
    std::env::split_paths(path?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(command))
        .find(|file| is_executable(file))
}

#[cfg(unix)]
fn is_executable(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &std::path::Path) -> bool {
    path.is_file()
}

/// Policy for credential plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Policy {
    /// Whatever the kubeconfig names.
    #[default]
    AllowAll,
    /// None at all.
    DenyAll,
    /// Those with these names or at these paths.
    Allowlist(Vec<String>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Preferences {
    credential_plugin_policy: Option<String>,
    credential_plugin_allowlist: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Entry {
    name: String,
    command: String,
}

impl Policy {
    /// True if `command` may be run; `find` gives the program that a name or a path leads to.
    pub(super) fn allows(&self, command: &str, find: impl Fn(&str) -> Option<PathBuf>) -> bool {
        let list = match self {
            Self::AllowAll => return true,
            Self::DenyAll => return false,
            Self::Allowlist(list) => list,
        };
        let program = find(command).map(|program| shortest(&program));
        let mut list = list.iter();
        list.any(|entry| {
            let is_same = shortest(Path::new(entry)) == shortest(Path::new(command));
            let found = find(entry).map(|entry| shortest(&entry));
            is_same || (program.is_some() && found == program)
        })
    }
}

/// The path without `.` and double slashes.
fn shortest(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Policy of the preferences for credential plugins.
///
/// # Errors
///
/// When the file cannot be used: what it forbids is not known then.
pub(super) fn policy(
    options: &ConnectionOptions,
    environment: &Environment,
) -> Result<Policy, ClusterError> {
    let variable = environment.kuberc.as_ref().map(PathBuf::from);
    let Some(named) = options.kuberc.clone().or(variable) else {
        let usual = environment.home.as_ref();
        let usual = usual.map(|home| home.join(".kube").join("kuberc"));
        return match usual.filter(|_| !environment.is_without_preferences) {
            Some(path) if path.exists() => read(&path),
            Some(_) | None => Ok(Policy::AllowAll),
        };
    };
    if environment.is_without_preferences || named.as_os_str() == "off" {
        return Ok(Policy::AllowAll);
    }
    read(&named)
}

fn read(path: &Path) -> Result<Policy, ClusterError> {
    let read = read_bounded(path).map_err(|error| error.to_string());
    let policy = read.and_then(|bytes| policy_in(&String::from_utf8_lossy(&bytes)));
    policy.map_err(|reason| ClusterError::Configuration {
        message: format!("cannot use the preferences {}: {reason}", path.display()),
        hint: Some("fix the file, or turn preferences off with KUBERC=off".to_owned()),
    })
}

/// Policy of the first preferences in the file, which may hold them in several versions.
fn policy_in(text: &str) -> Result<Policy, String> {
    let documents: Vec<Value> =
        serde_yaml::from_multiple(text).map_err(|_| "it is not YAML".to_owned())?;
    let mut documents = documents.into_iter().filter(|document| !document.is_null());
    let mut is_empty = true;
    let known = documents.find_map(|document| {
        is_empty = false;
        let version = document["apiVersion"].as_str()?;
        let version = version.strip_prefix("kubectl.config.k8s.io/")?.to_owned();
        let is_known = ["v1beta1", "v1alpha1"].contains(&version.as_str());
        (is_known && document["kind"] == "Preference").then_some((version, document))
    });
    match known {
        // This version has nothing about plugins yet.
        Some((version, _)) if version == "v1alpha1" => Ok(Policy::AllowAll),
        Some((_, document)) => serde_json::from_value(document)
            .ok()
            .and_then(policy_of)
            .ok_or_else(|| {
                "credentialPluginPolicy and credentialPluginAllowlist are not valid together"
                    .to_owned()
            }),
        None if is_empty => Ok(Policy::AllowAll),
        None => Err("it has no Preference of kubectl.config.k8s.io/v1beta1".to_owned()),
    }
}

fn policy_of(found: Preferences) -> Option<Policy> {
    let list = found.credential_plugin_allowlist;
    match (found.credential_plugin_policy.as_deref(), list) {
        (None | Some("" | "AllowAll"), None) => Some(Policy::AllowAll),
        (Some("DenyAll"), None) => Some(Policy::DenyAll),
        (Some("Allowlist"), Some(list)) if !list.is_empty() => {
            let names = list
                .into_iter()
                .map(|entry| match (entry.name, entry.command) {
                    (name, command) if name.is_empty() || name == command => Some(command),
                    (name, command) if command.is_empty() => Some(name),
                    _ => None,
                });
            let names: Option<Vec<String>> =
                names.map(|name| name.filter(|it| !it.is_empty())).collect();
            names.map(Policy::Allowlist)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_preferences_of_the_file_count() {
        let begin = "apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\n";
        let list = |list: &str| {
            format!("{begin}credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: {list}\n")
        };
        use Policy::{AllowAll, DenyAll};
        let of = |fields: &str| format!("{begin}{fields}\n");
        let policy = |policy: &str| of(&format!("credentialPluginPolicy: {policy}"));
        let second = format!("kind: Other\n---\n{}---\n{begin}", policy("DenyAll"));
        let old = policy("DenyAll").replace("v1beta1", "v1alpha1");
        let allowed = Policy::Allowlist(vec!["a".to_owned(), "/b".to_owned()]);
        for (text, expected) in [
            (String::new(), Some(AllowAll)),
            ("\n---\n".to_owned(), Some(AllowAll)),
            ("kind: Config\n".to_owned(), None),
            (begin.to_owned(), Some(AllowAll)),
            (of("aliases: [{name: get2}]\ndefaults: 7"), Some(AllowAll)),
            (policy("DenyAll"), Some(DenyAll)),
            (policy("denyall"), None),
            (policy("7"), None),
            (second, Some(DenyAll)),
            (list("[{name: a}, {command: /b}]"), Some(allowed)),
            (list("[{name: a, command: b}]"), None),
            (list("[{}]"), None),
            (list("[]"), None),
            (policy("Allowlist"), None),
            (of("credentialPluginAllowlist: [{name: a}]"), None),
            (old, Some(AllowAll)),
            (begin.replace("v1beta1", "v9"), None),
        ] {
            assert_eq!(policy_in(&text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn listed_plugin_is_the_one_that_would_be_run() {
        let find = |name: &str| match name {
            "login" => Some(PathBuf::from("/usr/bin/login")),
            name => name.contains('/').then(|| PathBuf::from(name)),
        };
        for (entry, command, allowed) in [
            ("login", "login", true),
            ("/usr/bin/login", "login", true),
            ("login", "/usr/bin/login", true),
            ("login", "/usr//bin/./login", true),
            ("login", "/tmp/login", false),
            ("/tmp/login", "login", false),
            ("other", "login", false),
            ("gone", "missing", false),
        ] {
            let policy = Policy::Allowlist(vec!["x".to_owned(), entry.to_owned()]);
            assert_eq!(policy.allows(command, find), allowed, "{entry} {command}");
        }
        assert!(!Policy::DenyAll.allows("login", find));
        assert!(Policy::AllowAll.allows("missing", find));
    }
}
