//! The packing program, and repositories for it to pack.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where everything is kept that these tests build.
pub fn target() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap_or(temporary).to_owned()
}

/// Where tools of the tests are installed, and of the gate.
pub fn tools() -> PathBuf {
    target().join("tools")
}

/// Output of a program, as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Output of a command; panics with all of it if the command failed.
pub fn succeeded(output: &Output) -> String {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    stdout
}

/// The packing program, built once, at work on the repository in `folder`.
pub fn pack(folder: &Path, arguments: &[&str]) -> Output {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = target().join("packaging/program");
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "--locked"])
            .args(["--manifest-path", "packaging/Cargo.toml", "--target-dir"])
            .arg(&folder)
            .current_dir(root());
        succeeded(&cargo.output().unwrap());
        folder.join("debug/pack")
    });
    Command::new(PROGRAM.as_path())
        .args(arguments)
        .env("PACKAGING_REPOSITORY", folder)
        .output()
        .unwrap()
}

/// A file's checksum, as manifests have it.
pub fn sha256(path: &Path) -> String {
    let digest = Sha256::digest(fs::read(path).unwrap());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The files that are developed here, from the root of the repository: also those that are not
/// committed yet.
pub fn files() -> Vec<String> {
    let mut git = Command::new("git");
    git.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ])
    .current_dir(root());
    let listed = succeeded(&git.output().unwrap());
    let names = listed.split('\0').filter(|name| !name.is_empty());
    let files = names.filter(|name| root().join(name).is_file());
    files.map(str::to_owned).collect()
}

/// Where the copy below can be downloaded.
pub const ADDRESS: &str = "https://git.test.example.org/kubectl-devicetaint";

/// The repository as it will be when it has an address, with its packed files and not much more.
pub fn addressed() -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    let wanted = ["completions/", "examples/", "man/", "packaging/"];
    for name in files() {
        let is_wanted = wanted.iter().any(|folder| name.starts_with(folder))
            || !name.contains('/')
            || ["src/main.rs", "src/lib.rs"].contains(&name.as_str())
            || ["crates/engine/Cargo.toml", "crates/engine/src/lib.rs"].contains(&name.as_str())
            || name.starts_with("benches/");
        if is_wanted {
            let file = copy.path().join(&name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::copy(root().join(&name), file).unwrap();
        }
    }
    let manifest = copy.path().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let lines = text.lines().map(|line| match line {
        line if line.starts_with("repository = ") => format!("repository = \"{ADDRESS}\""),
        line => line.to_owned(),
    });
    fs::write(manifest, lines.collect::<Vec<_>>().join("\n")).unwrap();
    copy
}

/// Released platforms: as krew calls them, with Rust's names.
pub fn platforms() -> Vec<(String, String)> {
    let listed = succeeded(&pack(root(), &["platforms"]));
    let platforms = listed.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        (format!("{}-{}", words[0], words[1]), words[2].to_owned())
    });
    platforms.collect()
}

/// The platform of this machine.
pub fn own_target() -> String {
    let arch = std::env::consts::ARCH;
    format!("{arch}-unknown-linux-musl")
}

/// An entry of an archive.
pub struct Entry {
    /// With `/` at the end for a folder.
    pub name: String,
    pub mode: u32,
}

/// Entries of an archive, tar or zip, in its order. Python reads both, so that no archive is judged by the
/// program that writes it.
pub fn entries(archive: &Path) -> Vec<Entry> {
    const READ: &str = r#"
import sys, tarfile, zipfile
if sys.argv[1].endswith(".zip"):
    for entry in zipfile.ZipFile(sys.argv[1]).infolist():
        print(oct(entry.external_attr >> 16 & 0o777), entry.filename)
else:
    for entry in tarfile.open(sys.argv[1], "r:gz"):
        assert entry.isreg() or entry.isdir(), entry.name
        print(oct(entry.mode), entry.name + ("/" if entry.isdir() else ""))
"#;
    let listed = python(READ, &[archive]);
    let entries = listed.lines().map(|line| {
        let (mode, name) = line.split_once(' ').unwrap();
        Entry {
            name: name.to_owned(),
            mode: u32::from_str_radix(mode.trim_start_matches("0o"), 8).unwrap(),
        }
    });
    entries.collect()
}

/// Unpacks an archive, tar or zip, into a folder.
pub fn unpack(archive: &Path, folder: &Path) {
    const UNPACK: &str = "import shutil, sys; shutil.unpack_archive(sys.argv[1], sys.argv[2])";
    python(UNPACK, &[archive, folder]);
}

fn python(program: &str, arguments: &[&Path]) -> String {
    let mut python = Command::new("python3");
    python.args(["-c", program]).args(arguments);
    let output = python
        .output()
        .expect("these tests need python3 (Debian: apt-get install python3)");
    succeeded(&output)
}
