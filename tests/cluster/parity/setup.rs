//! Environment of both programs when they start, and the witness's view of them.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::witness::{Authority, NAME, Tunnel, Witness};
use crate::harness::{ControlPlane, PLUGIN, random_suffix};

/// The servers and certificates of all cases.
pub struct Stage {
    pub plane: &'static ControlPlane,
    pub witness: Witness,
    pub tunnel: Tunnel,
    pub authority: Authority,
    pub folder: PathBuf,
}

/// Environment of both programs.
pub struct Setup {
    pub folder: PathBuf,
    pub cluster: Value,
    pub user: Value,
    pub context: Value,
    pub flags: Vec<String>,
    pub variables: Vec<(&'static str, String)>,
    /// Files of a service account, where the programs run in a pod.
    pub account: Option<String>,
    /// The value of `KUBECONFIG`, where it is not the file of the values above.
    pub kubeconfig: Option<String>,
}

impl Stage {
    pub fn new() -> Self {
        let plane = ControlPlane::shared();
        let authority = Authority::new();
        let witness = Witness::start(plane, &authority);
        let stage = Self {
            tunnel: Tunnel::start(witness.address),
            folder: plane.folder().join(format!("parity-{}", random_suffix())),
            plane,
            witness,
            authority,
        };
        fs::create_dir_all(&stage.folder).expect("a folder");
        fs::write(stage.folder.join("ca.pem"), stage.authority.pem()).expect("a file");
        stage
    }

    /// The file of the certificate to trust.
    pub fn authority_file(&self) -> String {
        self.folder.join("ca.pem").display().to_string()
    }

    pub fn url(&self) -> String {
        format!("https://{}", self.witness.address)
    }

    /// The witness under a name that only the tunnel resolves.
    pub fn name(&self) -> String {
        format!("https://{NAME}:{}", self.witness.address.port())
    }

    /// Runs kubectl or the plugin; the log of the witness and the tunnel, or nothing if the program failed.
    pub fn run(&self, setup: &Setup, is_kubectl: bool) -> (Option<String>, String) {
        let (program, words) = if is_kubectl {
            (self.plane.kubectl_path(), ["get", "--raw", "/version"])
        } else {
            (PathBuf::from(PLUGIN), ["devices", "-o", "name"])
        };
        self.seen();
        let output = setup.command(self, program, words).output();
        let output = output.expect("a program (util-linux has unshare)");
        let seen = output.status.success().then(|| self.seen());
        (seen, format!("{output:?}"))
    }

    fn seen(&self) -> String {
        let seen = [self.witness.take(), self.tunnel.take()].concat();
        let port = self.witness.address.port().to_string();
        seen.join(" | ").replace(&port, "PORT")
    }
}

impl Setup {
    /// A token for the witness, in a folder of this name.
    pub fn new(stage: &Stage, name: &str) -> Self {
        let folder = stage.folder.join(name);
        fs::create_dir_all(&folder).expect("a folder");
        Self {
            folder,
            cluster: json!({"server": stage.url(), "certificate-authority": stage.authority_file()}),
            user: json!({"token": "t"}),
            context: json!({"cluster": "c", "user": "u"}),
            flags: Vec::new(),
            variables: Vec::new(),
            account: None,
            kubeconfig: None,
        }
    }

    pub fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, content).expect("a file");
        path.display().to_string()
    }

    /// A user whose credential plugin is a script in this file.
    pub fn exec(&mut self, name: &str, script: &str) {
        let path = self.file(name, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file");
        self.user = json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": path, "interactiveMode": "Never",
        }});
    }

    pub fn flag(&mut self, flag: impl Into<String>) {
        self.flags.push(flag.into());
    }

    pub fn variable(&mut self, name: &'static str, value: impl Into<String>) {
        self.variables.push((name, value.into()));
    }

    pub fn text(&self) -> String {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "c", "cluster": self.cluster}],
            "users": [{"name": "u", "user": self.user}],
            "contexts": [{"name": "x", "context": self.context}],
        })
        .to_string()
    }

    pub fn command(&self, stage: &Stage, program: PathBuf, words: [&str; 3]) -> Command {
        let mut command = match &self.account {
            None => stage.plane.command(program),
            Some(files) => {
                let mut command = stage.plane.command("unshare");
                command.args(["-r", "-m", "sh", "-c", IN_A_POD, "sh", files]);
                command.arg(program);
                command
            }
        };
        let own = || self.file("config", &self.text());
        for name in [
            "HTTPS_PROXY",
            "https_proxy",
            "NO_PROXY",
            "no_proxy",
            "KUBERC",
        ] {
            command.env_remove(name);
        }
        command
            .args(words)
            .args(&self.flags)
            .env("HOME", &self.folder)
            .env("KUBECONFIG", self.kubeconfig.clone().unwrap_or_else(own))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::null());
        command
    }
}

/// Puts the files of a service account where pods have them, for this process alone.
const IN_A_POD: &str = "mount -t tmpfs pod /var/run && mkdir -p /var/run/secrets/kubernetes.io && \
                        cp -r \"$1\" /var/run/secrets/kubernetes.io/serviceaccount && shift && exec \"$@\"";
