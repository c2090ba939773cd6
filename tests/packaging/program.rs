//! The program as it is released, for this machine: built by packaging/build, in two folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use super::support::{root, succeeded, target, tools};
use crate::harness::say;

/// Settings that decide if two builds are the same, with equal sources.
const DECISIVE: [&str; 5] = [
    "Cargo.lock",
    "Cargo.toml",
    "build.rs",
    "packaging/build",
    "packaging/toolchain",
];

/// The released program, and another machine's build of the same sources.
pub struct Programs {
    pub one: PathBuf,
    pub other: PathBuf,
}

/// Both, built when something changed that decides whether they are the same: on a fresh machine always.
/// A change of the sources alone builds neither; two releases would take minutes every time.
pub fn programs() -> &'static Programs {
    static PROGRAMS: LazyLock<Programs> = LazyLock::new(|| {
        let programs = Programs {
            one: kept("one"),
            other: kept("of-another-length"),
        };
        let (stamp, current) = (folder("stamp"), stamp());
        let are_there = programs.one.is_file() && programs.other.is_file();
        if !are_there || fs::read_to_string(&stamp).ok().as_ref() != Some(&current) {
            let _ = fs::remove_file(&stamp);
            build_both();
            fs::write(stamp, current).unwrap();
        }
        programs
    });
    &PROGRAMS
}

/// The hash of the settings.
fn stamp() -> String {
    let mut rustc = Command::new("rustc");
    let mut hash = Sha256::new_with_prefix(succeeded(&rustc.arg("-vV").output().unwrap()));
    for name in DECISIVE {
        hash.update(fs::read(root().join(name)).unwrap_or_default());
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn build_both() {
    let home = folder("of-another-length").join("cargo");
    // One installs the tool that both need.
    let one = std::thread::spawn(|| built("one", None));
    let other = built("of-another-length", Some(&home));
    let one = one.join().unwrap();
    for (program, name) in [(one, "one"), (other, "of-another-length")] {
        fs::copy(program, kept(name)).unwrap();
    }
}

/// Where the finished program is kept.
fn kept(name: &str) -> PathBuf {
    folder(name).join("kubectl-devicetaint")
}

fn folder(name: &str) -> PathBuf {
    target().join("packaging/builds").join(name)
}

/// Builds the latest commit, with a home of Cargo of its own if it is to be another.
fn built(name: &str, home: Option<&Path>) -> PathBuf {
    let source = folder(name).join("source");
    check_out(&source);
    let mut build = Command::new("nice");
    build.arg(source.join("packaging/build"));
    build.env("PACKAGING_TOOLS", tools());
    for inherited in ["RUSTFLAGS", "CARGO_TARGET_DIR", "SOURCE_DATE_EPOCH"] {
        build.env_remove(inherited);
    }
    if let Some(home) = home {
        link_registry(home);
        build.env("CARGO_HOME", home);
    }
    say(&format!(
        "building the program as it is released, in {} …",
        source.display()
    ));
    let printed = succeeded(&build.output().unwrap());
    PathBuf::from(printed.trim())
}

/// Checks out the latest commit of the repository; build results of unchanged files stay.
fn check_out(folder: &Path) {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).args(arguments);
        succeeded(&git.output().unwrap())
    };
    fs::create_dir_all(folder).unwrap();
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["fetch", "--quiet", root().to_str().unwrap(), "HEAD"]);
    git(&["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"]);
}

/// Another home of Cargo: its paths are others, and its downloads are the same.
fn link_registry(home: &Path) {
    let registry = home.join("registry");
    fs::create_dir_all(home).unwrap();
    if fs::symlink_metadata(&registry).is_ok() {
        return;
    }
    let own = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let own = own.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let own = own.expect("Cargo has a home").join("registry");
    std::os::unix::fs::symlink(own, registry).unwrap();
}
