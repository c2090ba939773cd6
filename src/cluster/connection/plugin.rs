//! Credentials from a program, as `exec` in a kubeconfig asks for.
//!
//! Run once per connection, with the terminal when there is one. Neither arguments, environment nor output of the plugin
//! ever reach a message.
//!
//! Upstream: `client-go/plugin/pkg/client/auth/exec`.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use kube::config::{Cluster, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::options::Environment;
use super::preferences::Policy;
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
