//! Programs of others, installed where they are missing.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package of PyPI.
const PACKAGE: &str = "ansible-core~=2.18.0";

/// A program of [`PACKAGE`], in an environment of its own below `target`.
pub fn python_program(name: &str) -> PathBuf {
    let folder = target();
    std::fs::create_dir_all(&folder).expect("target can be written to");
    let lock = File::create(folder.join("python.lock")).expect("target can be written to");
    lock.lock().expect("a lock");
    let environment = folder.join(format!("python-{}", PACKAGE.replace("~=", "-")));
    let program = environment.join("bin").join(name);
    if !program.is_file() {
        // Remains of an interrupted installation.
        let _ = std::fs::remove_dir_all(&environment);
        make(&environment);
        let pip = environment.join("bin/pip");
        let mut install = Command::new(pip);
        install.args(["install", "-q", "--disable-pip-version-check"]);
        run(install.arg(PACKAGE))
            .unwrap_or_else(|why| panic!("these tests need {PACKAGE} from PyPI: {why}"));
    }
    program
}

/// Creates an empty environment. Debian has its requirements in a package of its own.
fn make(environment: &Path) {
    let mut make = Command::new("python3");
    make.args(["-m", "venv"]).arg(environment);
    if run(&mut make).is_ok() {
        return;
    }
    for arguments in [
        &["update", "-q"][..],
        &["install", "-y", "-q", "python3-venv"],
    ] {
        let mut apt = Command::new("apt-get");
        let _ = apt
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .output();
    }
    run(&mut make).unwrap_or_else(|why| {
        panic!("these tests need Python with venv (Debian: apt-get install python3-venv): {why}")
    });
}

/// Standard output of the program, or in one line why it did not work.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output();
    let output = output.map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let both = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&both).into_owned();
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    Err(last.unwrap_or("it failed without a word").to_owned())
}

fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/engines")
}
