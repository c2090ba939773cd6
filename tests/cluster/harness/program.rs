//! Where does the program come from that runs the control plane?
//!
//! From `KUBEBUILDER_ASSETS` as far as it has the components, else it is built with Go, once for
//! every state of its sources, into the target folder.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

use super::Variant;

const VERSION: &str = "1.37.0";

const NEEDS_GO: &str =
    "the cluster tests need Go 1.26 or newer (https://go.dev/dl) to build a control plane";

/// How often a build says that it is still going on.
const PROGRESS: Duration = Duration::from_secs(60);

/// Where everything is kept that belongs to control planes, below the target folder.
pub(super) fn folder() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap_or(temporary).join("controlplane")
}

/// The command that runs a control plane with the components of `variant`; it is built first if need
/// be. The error is one line if something has to be installed.
pub(super) fn up(variant: &Variant) -> Result<Command, String> {
    let assets = env::var_os("KUBEBUILDER_ASSETS").unwrap_or_default();
    let has = |component: &&str| Path::new(&assets).join(component).is_file();
    let complete = !assets.is_empty() && variant.components().iter().all(has);

    let mut command = if complete {
        // Without Kubernetes in it, the program builds in seconds.
        Command::new(built("./cmd/up", "up")?)
    } else {
        let mut command = Command::new(build_program()?);
        command.arg("up");
        command
    };
    command
        .arg("--assets")
        .arg(assets)
        .arg("--parent")
        .arg(folder().join("runs"));
    Ok(command)
}

/// The program with all components, built if need be; the error is one line if something has to be
/// installed.
pub fn build_program() -> Result<PathBuf, String> {
    built(".", "controlplane")
}

fn built(package: &str, name: &str) -> Result<PathBuf, String> {
    let sources = sources();
    let file = folder().join(format!("{name}-{}", hash(&sources)));
    if file.is_file() {
        return Ok(file);
    }
    fs::create_dir_all(folder())
        .map_err(|error| format!("cannot make {}: {error}", folder().display()))?;
    let lock = fs::File::create(folder().join("build.lock"))
        .map_err(|error| format!("cannot lock the build: {error}"))?;
    lock.lock()
        .map_err(|error| format!("cannot lock the build: {error}"))?;
    // Another test binary may have built it while this one waited.
    if !file.is_file() {
        build(package, &file)?;
        remove_older(name, &file);
    }
    Ok(file)
}

/// The Go sources with their content, by path.
fn sources() -> BTreeMap<PathBuf, Vec<u8>> {
    let mut folders = vec![module()];
    let mut result = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the Go module is part of the repository") {
            let path = entry.expect("the Go module can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| {
                ["go", "mod", "sum"].iter().any(|known| extension == *known)
            }) {
                let content = fs::read(&path).expect("the Go module can be read");
                result.insert(path, content);
            }
        }
    }
    result
}

fn module() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/controlplane")
}

fn hash(sources: &BTreeMap<PathBuf, Vec<u8>>) -> String {
    let mut hash = Sha256::new();
    for content in sources.values() {
        hash.update(content);
    }
    hash.finalize()
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn build(package: &str, file: &Path) -> Result<(), String> {
    let started = Instant::now();
    // Built under another name: an interrupted build leaves nothing that looks complete.
    let unfinished = file.with_extension("unfinished");
    let go = Command::new("go")
        .args([
            "build",
            "-buildvcs=false",
            "-trimpath",
            "-ldflags",
            &linker_flags(),
            "-o",
        ])
        .args([unfinished.as_os_str(), package.as_ref()])
        .current_dir(module())
        .env("CGO_ENABLED", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => NEEDS_GO.to_owned(),
            _ => format!("cannot run go: {error}"),
        })?;
    let what = if package == "." {
        format!(
            "the Kubernetes {VERSION} control plane for the tests (needs Go; about ten minutes on two cores, once)"
        )
    } else {
        "what starts the control plane for the tests (needs Go; seconds, once)".to_owned()
    };
    let progress = Progress::say(format!("building {what} …"));
    let output = go
        .wait_with_output()
        .map_err(|error| format!("cannot wait for go: {error}"))?;
    drop(progress);
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = log
            .lines()
            .filter(|line| !line.starts_with("go: downloading"))
            .collect();
        return Err(format!(
            "{NEEDS_GO}, and this one cannot build it: {}",
            lines.join("\n")
        ));
    }
    fs::rename(&unfinished, file)
        .map_err(|error| format!("cannot keep {}: {error}", file.display()))?;
    say(&format!(
        "… built in {} s: {}",
        started.elapsed().as_secs(),
        file.display()
    ));
    Ok(())
}

/// Says from time to time that something is still going on, until it is dropped.
struct Progress {
    _end: Sender<()>,
}

impl Progress {
    fn say(line: String) -> Self {
        let (sender, receiver) = mpsc::channel::<()>();
        say(&line);
        thread::spawn(move || {
            let started = Instant::now();
            while receiver.recv_timeout(PROGRESS) == Err(RecvTimeoutError::Timeout) {
                say(&format!(
                    "… after {} s still {line}",
                    started.elapsed().as_secs()
                ));
            }
        });
        Self { _end: sender }
    }
}

/// Clients see the version in the server's answers.
fn linker_flags() -> String {
    let (major_minor, _) = VERSION
        .rsplit_once('.')
        .expect("the version has three parts");
    let (major, minor) = major_minor
        .split_once('.')
        .expect("the version has three parts");
    let package = "k8s.io/component-base/version";
    format!(
        "-s -w -X {package}.gitVersion=v{VERSION} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
    )
}

/// Removes what was built from older sources: a program is some 190 MB.
fn remove_older(name: &str, newest: &Path) {
    for entry in fs::read_dir(folder()).into_iter().flatten().flatten() {
        let older = entry
            .file_name()
            .to_string_lossy()
            .starts_with(&format!("{name}-"));
        if older && entry.path() != newest {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Says something although the test runner keeps back what tests print.
pub(super) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
