//! Programs of this project's tests that are written in Go: built once for every state of their
//! sources, into the target folder.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use sha2::{Digest, Sha256};

/// Interval of progress lines of a build.
const PROGRESS: Duration = Duration::from_secs(60);

/// A program and how it is built.
pub struct GoProgram<'a> {
    /// Name of the finished file, before the hash of its sources.
    pub name: &'a str,
    /// The folder of its module, from the root of the repository.
    pub module: &'a str,
    /// The package within the module, as `go` takes it: `.` for the module's own.
    pub package: &'a str,
    /// Arguments of `go`, without the output file.
    pub arguments: Vec<String>,
    /// Purpose of the build, shown while it runs.
    pub purpose: &'a str,
}

impl GoProgram<'_> {
    /// The finished program; it is built first if need be.
    ///
    /// # Errors
    ///
    /// One line with the advice to install Go if it is missing, or the compiler's output.
    pub fn built(&self) -> Result<PathBuf, String> {
        let folder = target().join(self.name);
        let sources = self
            .sources()
            .map_err(|error| format!("cannot read {}: {error}", self.module))?;
        let file = folder.join(format!("{}-{}", self.name, self.hash(&sources)));
        if file.is_file() {
            return Ok(file);
        }
        self.build_locked(&folder, &file)
            .map_err(|error| format!("cannot build {}: {error}", self.purpose))
    }

    fn build_locked(&self, folder: &Path, file: &Path) -> Result<PathBuf, String> {
        let text = |error: io::Error| error.to_string();
        fs::create_dir_all(folder).map_err(text)?;
        let lock = fs::File::create(folder.join("build.lock")).map_err(text)?;
        lock.lock().map_err(text)?;
        // Another test binary may have built it while this one waited.
        if !file.is_file() {
            self.build(file)?;
            remove_older(folder, self.name, file);
        }
        Ok(file.to_owned())
    }

    /// The Go sources with their content, by path.
    fn sources(&self) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
        let mut folders = vec![self.folder()];
        let mut sources = BTreeMap::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| {
                    ["go", "mod", "sum"].iter().any(|known| extension == *known)
                }) {
                    let content = fs::read(&path)?;
                    sources.insert(path, content);
                }
            }
        }
        Ok(sources)
    }

    fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(self.module)
    }

    fn hash(&self, sources: &BTreeMap<PathBuf, Vec<u8>>) -> String {
        let mut hash = Sha256::new();
        for argument in &self.arguments {
            hash.update(argument);
        }
        for content in sources.values() {
            hash.update(content);
        }
        hash.finalize()
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    fn build(&self, file: &Path) -> Result<(), String> {
        let started = Instant::now();
        // Built under another name: an interrupted build leaves nothing that looks complete.
        let unfinished = file.with_extension("unfinished");
        let log = file.with_extension("log");
        let status = self.run_go(&unfinished, &log)?;
        if !status.success() {
            let log = fs::read_to_string(&log).unwrap_or_default();
            let lines: Vec<&str> = log
                .lines()
                .filter(|line| !line.starts_with("go: downloading"))
                .collect();
            return Err(format!("{}\n{}", missing_go(), lines.join("\n")));
        }
        fs::rename(&unfinished, file).map_err(|error| error.to_string())?;
        let _ = fs::remove_file(log);
        say(&format!(
            "… built in {} s: {}",
            started.elapsed().as_secs(),
            file.display()
        ));
        Ok(())
    }

    fn run_go(&self, output: &Path, log: &Path) -> Result<ExitStatus, String> {
        let text = |error: io::Error| error.to_string();
        let log = fs::File::create(log).map_err(text)?;
        let mut go = Command::new("go")
            .args(&self.arguments)
            .arg("-o")
            .args([output.as_os_str(), self.package.as_ref()])
            .current_dir(self.folder())
            .env("CGO_ENABLED", "0")
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(text)?)
            .stderr(log)
            .spawn()
            .map_err(|error| match error.kind() {
                ErrorKind::NotFound => missing_go(),
                _ => format!("cannot run go: {error}"),
            })?;
        say(&format!("building {} …", self.purpose));
        let started = Instant::now();
        let mut said = started;
        loop {
            if let Some(status) = go.try_wait().map_err(text)? {
                return Ok(status);
            }
            if said.elapsed() > PROGRESS {
                said = Instant::now();
                say(&format!(
                    "… still building after {} s",
                    started.elapsed().as_secs()
                ));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// The folder that the build tool keeps everything below.
pub fn target() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap_or(temporary).to_owned()
}

fn missing_go() -> String {
    "these tests need Go 1.26 or newer (https://go.dev/dl)".to_owned()
}

/// Removes builds of older sources: some of them are large.
fn remove_older(folder: &Path, name: &str, newest: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let older = entry
            .file_name()
            .to_string_lossy()
            .starts_with(&format!("{name}-"));
        if older && entry.path() != newest {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Prints a line although the test runner keeps back the output of tests.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
