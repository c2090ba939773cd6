//! A line of the table: what is set up, and what comes of it.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    stage::{Program, Stage},
    witness::Visitor,
};

/// Longer than a program takes that does not wait for anybody.
const PATIENCE: Duration = Duration::from_secs(40);
/// So long somebody waits who waits for good.
const WAITING: Duration = Duration::from_millis(2500);

/// What both programs are given, and what they do.
pub struct Case {
    /// As the page has it.
    pub what: &'static str,
    pub make: fn(&Stage, &mut Setup),
    pub expected: Expected,
}

/// What is expected of the two.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// Both reach the server, as the same user and over the same way.
    Works,
    /// Both end with an error, and nobody is told any secret.
    Refused,
    /// Both wait for something that does not come.
    Waits,
    /// The difference is meant.
    Differs {
        kubectl: Outcome,
        plugin: Outcome,
        why: &'static str,
    },
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Works,
    Refused,
    Waits,
}

/// What the two find when they are run.
pub struct Setup {
    pub folder: PathBuf,
    pub cluster: Value,
    pub user: Value,
    pub context: Value,
    pub flags: Vec<String>,
    pub variables: Vec<(&'static str, String)>,
    /// Where they are run.
    pub current: PathBuf,
    /// Files of a service account, if they run in a pod.
    pub pod: Option<PathBuf>,
    /// Both are stopped after a while.
    pub waits: bool,
    /// The file of the kubeconfig; written from the values above unless it is there already.
    pub kubeconfig: PathBuf,
}

/// What one of them did.
pub struct Done {
    pub outcome: Outcome,
    /// Each visitor once.
    pub visitors: Vec<Visitor>,
    /// What proxies were asked for.
    pub ways: Vec<String>,
    pub said: String,
}

impl Done {
    fn shown(&self) -> String {
        let Self {
            outcome,
            visitors,
            ways,
            said,
        } = self;
        format!("{outcome:?} {visitors:?} {ways:?}\n{said}")
    }
}

impl Setup {
    fn new(stage: &Stage) -> Self {
        let folder = stage.folder();
        Self {
            cluster: json!({
                "server": stage.url(),
                "certificate-authority": stage.authority_file,
            }),
            user: json!({"token": "token-of-alice"}),
            context: json!({"cluster": "c", "user": "u"}),
            flags: Vec::new(),
            variables: Vec::new(),
            current: folder.clone(),
            pod: None,
            waits: false,
            kubeconfig: folder.join("config"),
            folder,
        }
    }

    /// Writes a file for the case.
    pub fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, content).expect("a file");
        path.display().to_string()
    }

    /// Writes a program for the case.
    pub fn program(&self, name: &str, script: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = self.file(name, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file");
        path
    }

    pub fn flag(&mut self, flag: impl Into<String>) {
        self.flags.push(flag.into());
    }

    pub fn variable(&mut self, name: &'static str, value: impl Into<String>) {
        self.variables.push((name, value.into()));
    }

    /// The kubeconfig as text, with these clusters and users.
    pub fn text(&self) -> String {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "c", "cluster": self.cluster}],
            "users": [{"name": "u", "user": self.user}],
            "contexts": [{"name": "x", "context": self.context}],
        })
        .to_string()
    }

    fn command(&self, stage: &Stage, program: Program) -> Command {
        let found = stage.path_of(program);
        let mut command = match &self.pod {
            None => stage.plane.command(&found),
            Some(files) => {
                let mut command = stage.plane.command("unshare");
                command.args(["-r", "-m", "sh", "-c", IN_A_POD, "sh"]);
                command.arg(files).arg(&found);
                command
            }
        };
        command
            .args(stage.words_of(program))
            .args(&self.flags)
            .env("HOME", &self.folder)
            .env(
                "KUBECACHEDIR",
                self.folder.join(format!("cache-{program:?}")),
            )
            .env("KUBECONFIG", &self.kubeconfig)
            .env_remove("KUBERC")
            .current_dir(&self.current)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for name in [
            "HTTPS_PROXY",
            "https_proxy",
            "HTTP_PROXY",
            "http_proxy",
            "NO_PROXY",
            "no_proxy",
        ] {
            command.env_remove(name);
        }
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        command
    }
}

/// Puts the files of a service account where pods have them, for this process alone.
const IN_A_POD: &str = "mount -t tmpfs pod /var/run && mkdir -p /var/run/secrets/kubernetes.io && \
                        cp -r \"$1\" /var/run/secrets/kubernetes.io/serviceaccount && shift && exec \"$@\"";

/// Runs all cases, and says of all of them that break what is wrong.
pub fn check(cases: &[Case]) {
    let stage = Stage::new();
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| Some(format!("{}: {}", case.what, broken(case, &stage)?)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn broken(case: &Case, stage: &Stage) -> Option<String> {
    let mut setup = Setup::new(stage);
    (case.make)(stage, &mut setup);
    if !setup.kubeconfig.as_os_str().is_empty() && setup.kubeconfig == setup.folder.join("config") {
        fs::write(&setup.kubeconfig, setup.text()).expect("a file");
    }
    let kubectl = run(&setup, stage, Program::Kubectl);
    let plugin = run(&setup, stage, Program::Plugin);
    let found = (kubectl.outcome, plugin.outcome);
    let expected = match case.expected {
        Expected::Works => (Outcome::Works, Outcome::Works),
        Expected::Refused => (Outcome::Refused, Outcome::Refused),
        Expected::Waits => (Outcome::Waits, Outcome::Waits),
        Expected::Differs {
            kubectl, plugin, ..
        } => (kubectl, plugin),
    };
    let alike = matches!(case.expected, Expected::Differs { .. })
        || (kubectl.visitors == plugin.visitors && kubectl.ways == plugin.ways);
    let seen =
        matches!(plugin.outcome, Outcome::Refused | Outcome::Waits) || !plugin.visitors.is_empty();
    let is_right = found == expected && alike && seen;
    (!is_right).then(|| format!("kubectl: {}\nplugin: {}", kubectl.shown(), plugin.shown()))
}

fn run(setup: &Setup, stage: &Stage, program: Program) -> Done {
    stage.forget();
    let mut child = setup
        .command(stage, program)
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {program:?} (util-linux has unshare): {error}"));
    let started = Instant::now();
    let limit = if setup.waits { WAITING } else { PATIENCE };
    let mut ended = None;
    while ended.is_none() && started.elapsed() < limit {
        ended = child.try_wait().expect("a child");
        thread::sleep(Duration::from_millis(5));
    }
    if ended.is_none() {
        child.kill().expect("a child");
    }
    let output = child.wait_with_output().expect("it has ended");
    let (visitors, ways) = stage.seen();
    Done {
        outcome: match ended {
            None => Outcome::Waits,
            Some(status) if status.success() => Outcome::Works,
            Some(_) => Outcome::Refused,
        },
        visitors,
        ways,
        said: format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout)
                .chars()
                .take(200)
                .collect::<String>(),
            String::from_utf8_lossy(&output.stderr)
                .chars()
                .take(700)
                .collect::<String>()
        ),
    }
}
