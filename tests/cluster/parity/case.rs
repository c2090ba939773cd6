//! A line of the table: what is set up, and what comes of it.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    record::{Deed, Record},
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// What the case finds.
    fn of(case: &Case, stage: &Stage) -> Self {
        let mut setup = Self::new(stage);
        (case.make)(stage, &mut setup);
        let own = setup.folder.join("config");
        if !setup.kubeconfig.as_os_str().is_empty() && setup.kubeconfig == own {
            fs::write(&setup.kubeconfig, setup.text()).expect("a file");
        }
        setup
    }

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

/// Runs all cases of a subject, and says of all of them that break what is wrong. The second tier runs kubectl too,
/// and compares what is recorded of it; the first takes the record.
pub fn check(subject: &str, cases: &[Case]) {
    let stage = Stage::new();
    let record = Record::of(subject);
    let mut wrong = Vec::new();
    let mut found = BTreeMap::new();
    for case in cases {
        let setup = Setup::of(case, &stage);
        let kubectl = if crate::IS_FULL {
            let done = run(&setup, &stage, Program::Kubectl);
            let deed = Deed::of(&done, &stage);
            found.insert(case.what.to_owned(), deed.clone());
            deed
        } else {
            let recorded = record.deeds.get(case.what).cloned();
            recorded.unwrap_or_else(|| panic!("{}: {NOT_RECORDED}", case.what))
        };
        let plugin = run(&setup, &stage, Program::Plugin);
        if !is_right(case.expected, &kubectl, &Deed::of(&plugin, &stage)) {
            wrong.push(format!(
                "{}: kubectl: {kubectl:?}\nplugin: {}",
                case.what,
                plugin.shown()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    if crate::IS_FULL {
        record.check(&found);
    }
}

const NOT_RECORDED: &str =
    "it is not recorded what kubectl does: UPDATE_GENERATED=1 cargo test --test full parity";

fn is_right(expected: Expected, kubectl: &Deed, plugin: &Deed) -> bool {
    let found = (kubectl.outcome, plugin.outcome);
    let wanted = match expected {
        Expected::Works => (Outcome::Works, Outcome::Works),
        Expected::Refused => (Outcome::Refused, Outcome::Refused),
        Expected::Waits => (Outcome::Waits, Outcome::Waits),
        Expected::Differs {
            kubectl, plugin, ..
        } => (kubectl, plugin),
    };
    let alike = matches!(expected, Expected::Differs { .. })
        || (kubectl.visitors == plugin.visitors && kubectl.ways == plugin.ways);
    let seen =
        matches!(plugin.outcome, Outcome::Refused | Outcome::Waits) || !plugin.visitors.is_empty();
    found == wanted && alike && seen
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
