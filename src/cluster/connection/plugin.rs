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
use tokio::process::Command;

use super::Environment;
use crate::cluster::{ClusterError, Event, Observer};

/// After this long the user is told what the plugin is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

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

#[derive(Deserialize)]
struct Answer {
    status: Option<Credentials>,
}

/// A plugin and whom it is asked for.
#[derive(Debug)]
pub(in crate::cluster) struct Plugin<'a> {
    pub(in crate::cluster) exec: &'a ExecConfig,
    pub(in crate::cluster) cluster: &'a Cluster,
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
        let mut output = std::pin::pin!(child.wait_with_output());
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
        let finished = finished.map_err(|source| self.start_error(source))?;
        if !finished.status.success() {
            return Err(self.failed(format!("ended with {}", finished.status)));
        }
        self.parse(&finished.stdout)
    }

    fn command(&self) -> &str {
        self.exec.command.as_deref().unwrap_or_default()
    }

    fn prepare(&self, environment: &Environment) -> Result<Command, ClusterError> {
        let asks = match self.exec.interactive_mode {
            Some(ExecInteractiveMode::Never) => false,
            Some(ExecInteractiveMode::Always) if !environment.stdin_is_terminal => {
                return Err(self.failed("needs a terminal on stdin to ask questions".to_owned()));
            }
            Some(ExecInteractiveMode::Always | ExecInteractiveMode::IfAvailable) | None => {
                environment.stdin_is_terminal
            }
        };
        let mut command = Command::new(self.command());
        command
            .args(self.exec.args.iter().flatten())
            .env("KUBERNETES_EXEC_INFO", self.request(asks)?)
            .stdin(if asks {
                Stdio::inherit()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true);
        for variable in self.exec.env.iter().flatten() {
            if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
                command.env(name, value);
            }
        }
        Ok(command)
    }

    /// The `ExecCredential` that tells the plugin what is wanted.
    fn request(&self, interactive: bool) -> Result<String, ClusterError> {
        let mut spec = serde_json::json!({ "interactive": interactive });
        if self.exec.provide_cluster_info {
            let cluster = ExecAuthCluster::try_from(self.cluster).ok();
            let cluster = cluster.and_then(|cluster| serde_json::to_value(cluster).ok());
            spec["cluster"] = cluster.ok_or_else(|| {
                self.failed("needs the cluster's details, which are not valid".to_owned())
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
        let answer: Option<Answer> = serde_json::from_slice(output).ok().or_else(|| {
            let text = std::str::from_utf8(output).ok()?;
            serde_yaml::from_str(text).ok()
        });
        let answer = answer.ok_or_else(|| {
            self.failed("answered with something that is not an ExecCredential".to_owned())
        })?;
        let credentials = answer.status.unwrap_or_default();
        let has_certificate =
            credentials.client_certificate_data.is_some() && credentials.client_key_data.is_some();
        if credentials.token.is_none() && !has_certificate {
            return Err(self.failed("answered without token and without certificate".to_owned()));
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
