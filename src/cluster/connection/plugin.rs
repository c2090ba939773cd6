//! Credentials from a program, as `exec` in a kubeconfig asks for.
//!
//! Run once per connection, with the terminal when there is one, so that a plugin that asks
//! questions asks them once. (kube would run it anew for every place that needs the credentials.)
//! Neither arguments, environment nor output of the plugin ever reach a message.
//!
//! Upstream: `client-go/plugin/pkg/client/auth/exec`.

use std::io::ErrorKind;
use std::process::Stdio;
use std::time::Duration;

use kube::config::{Cluster, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

use super::lookup;
use super::options::Environment;
use super::policy::Policy;
use crate::cluster::error::ClusterError;
use crate::cluster::observer::{Event, Observer};

/// After this long the user is told what the plugin is waited for.
const PATIENCE: Duration = Duration::from_secs(3);
/// More than this of its output is not read: certificates and tokens take some thousand bytes.
const LONGEST_ANSWER: u64 = 1 << 20;
/// The versions of the interface that kubectl has.
///
/// Upstream: `apiVersions` in `client-go/plugin/pkg/client/auth/exec`.
const VERSIONS: [&str; 2] = [
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
];

/// What a plugin may answer with.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cluster) struct Credentials {
    pub(in crate::cluster) token: Option<String>,
    /// PEM, not base64.
    pub(in crate::cluster) client_certificate_data: Option<String>,
    /// PEM, not base64.
    pub(in crate::cluster) client_key_data: Option<String>,
}

impl Credentials {
    /// As kubectl: what is empty is not there.
    fn given(self) -> Self {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        Self {
            token: given(self.token),
            client_certificate_data: given(self.client_certificate_data),
            client_key_data: given(self.client_key_data),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    status: Option<Credentials>,
}

/// A plugin and whom it is asked for.
#[derive(Debug)]
pub(in crate::cluster) struct Plugin<'a> {
    pub(in crate::cluster) exec: &'a ExecConfig,
    pub(in crate::cluster) cluster: &'a Cluster,
    pub(in crate::cluster) policy: &'a Policy,
    pub(in crate::cluster) user: &'a str,
}

impl Plugin<'_> {
    /// Runs the plugin until it ends, however long a person takes to answer it.
    pub(in crate::cluster) async fn run(
        &self,
        environment: &Environment,
        observer: &dyn Observer,
    ) -> Result<Credentials, ClusterError> {
        let mut command = self.prepare(environment)?;
        let child = command.spawn().map_err(|source| self.start_error(source))?;
        let mut output = std::pin::pin!(self.finish(child));
        let finished = match tokio::time::timeout(PATIENCE, &mut output).await {
            Ok(finished) => finished,
            Err(_) => {
                observer.event(&Event::Notice(&format!(
                    "waiting for the credential plugin {:?} of user {:?}",
                    self.command(),
                    self.user
                )));
                output.await
            }
        };
        self.parse(&finished?)
    }

    /// What the plugin prints until it ends well.
    async fn finish(&self, mut child: Child) -> Result<Vec<u8>, ClusterError> {
        let mut output = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            // Read before waiting: a plugin that fills the pipe does not exit until it is read.
            let mut start = stdout.take(LONGEST_ANSWER.saturating_add(1));
            let read = start.read_to_end(&mut output).await;
            read.map_err(|source| self.start_error(source))?;
        }
        if u64::try_from(output.len()).map_or(true, |length| length > LONGEST_ANSWER) {
            return Err(self.failed("printed more than 1 MiB".to_owned()));
        }
        let status = child
            .wait()
            .await
            .map_err(|source| self.start_error(source))?;
        if !status.success() {
            return Err(self.failed(format!("failed ({status})")));
        }
        Ok(output)
    }

    fn command(&self) -> &str {
        self.exec.command.as_deref().unwrap_or_default()
    }

    fn api_version(&self) -> &str {
        self.exec.api_version.as_deref().unwrap_or_default()
    }

    fn prepare(&self, environment: &Environment) -> Result<Command, ClusterError> {
        let asks = match self.exec.interactive_mode {
            Some(ExecInteractiveMode::Never) => false,
            Some(ExecInteractiveMode::Always) if !environment.stdin_is_terminal => {
                return Err(self.failed("needs a terminal on stdin to ask questions".to_owned()));
            }
            // IfAvailable is the default of v1beta1; v1 has none, and `validity` refuses it without a mode.
            Some(ExecInteractiveMode::Always | ExecInteractiveMode::IfAvailable) | None => {
                environment.stdin_is_terminal
            }
        };
        if !VERSIONS.contains(&self.api_version()) {
            return Err(self.failed(format!(
                "has the apiVersion {:?} in the kubeconfig; supported: {}",
                self.api_version(),
                VERSIONS.join(" or ")
            )));
        }
        let find = |name: &str| lookup::program(name, environment.path.as_deref());
        let found = |name: &str| find(name).ok()?.into_string().ok();
        if let Some(refusal) = self.policy.refusal(self.command(), found) {
            return Err(ClusterError::PluginRefused {
                command: self.command().to_owned(),
                user: self.user.to_owned(),
                refusal,
            });
        }
        let program = find(self.command()).map_err(|source| self.start_error(source))?;
        let mut command = Command::new(program);
        for variable in self.exec.env.iter().flatten() {
            if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
                command.env(name, value);
            }
        }
        command
            .args(self.exec.args.iter().flatten())
            .env("KUBERNETES_EXEC_INFO", self.request(asks)?)
            .stdin(if asks {
                Stdio::inherit()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(if environment.is_silent {
                Stdio::null()
            } else {
                Stdio::inherit()
            })
            // A plugin must not outlive the command, which may be interrupted while it waits.
            .kill_on_drop(true);
        Ok(command)
    }

    /// The `ExecCredential` that tells the plugin what is wanted.
    fn request(&self, interactive: bool) -> Result<String, ClusterError> {
        let mut spec = serde_json::json!({ "interactive": interactive });
        if self.exec.provide_cluster_info {
            let cluster = ExecAuthCluster::try_from(self.cluster)
                .ok()
                .and_then(|cluster| serde_json::to_value(cluster).ok());
            spec["cluster"] = cluster.ok_or_else(|| {
                self.failed(
                    "has provideClusterInfo set, but the cluster entry of this context in the kubeconfig is invalid"
                        .to_owned(),
                )
            })?;
        }
        let request = serde_json::json!({
            "apiVersion": self.exec.api_version,
            "kind": "ExecCredential",
            "spec": spec,
        });
        Ok(request.to_string())
    }

    fn parse(&self, output: &[u8]) -> Result<Credentials, ClusterError> {
        // client-go decodes YAML here too.
        let answer: Option<Answer> = serde_json::from_slice(output).ok().or_else(|| {
            let text = std::str::from_utf8(output).ok()?;
            serde_yaml::from_str(text).ok()
        });
        let answer =
            answer.ok_or_else(|| self.failed("did not print an ExecCredential".to_owned()))?;
        if answer.kind != "ExecCredential" {
            return Err(self.failed("did not print an ExecCredential".to_owned()));
        }
        if answer.api_version != self.api_version() {
            return Err(self.failed(format!(
                "printed another apiVersion than the kubeconfig sets ({})",
                self.api_version()
            )));
        }
        let credentials = answer.status.unwrap_or_default().given();
        let has_certificate = credentials.client_certificate_data.is_some();
        if has_certificate != credentials.client_key_data.is_some() {
            return Err(self.failed("printed only one of client certificate and key".to_owned()));
        }
        if credentials.token.is_none() && !has_certificate {
            return Err(self.failed("printed neither a token nor a certificate".to_owned()));
        }
        Ok(credentials)
    }

    fn start_error(&self, source: std::io::Error) -> ClusterError {
        let install_hint = self.exec.install_hint.as_deref();
        ClusterError::PluginStart {
            command: self.command().to_owned(),
            user: self.user.to_owned(),
            install_hint: install_hint
                .filter(|_| source.kind() == ErrorKind::NotFound)
                .map(|hint| hint.trim().to_owned()),
            source,
        }
    }

    fn failed(&self, problem: String) -> ClusterError {
        ClusterError::PluginFailed {
            command: self.command().to_owned(),
            user: self.user.to_owned(),
            problem,
        }
    }
}
