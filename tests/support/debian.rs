//! Programs that tests drive, from the package of the same name where one is missing.

#![allow(dead_code, reason = "every test binary uses its own part of this")]

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

/// Path of the program, from the package of its name.
pub fn program(name: &str) -> PathBuf {
    packaged(name, name)
}

/// Path of the program. A missing one is installed from its package where that needs no password.
pub fn packaged(name: &str, package: &str) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(found) = in_path(name) {
        return found;
    }
    eprintln!("tests: installing {package} …");
    for arguments in [
        &["update", "-q"][..],
        &["install", "-y", "-q", "--no-install-recommends", package],
    ] {
        let _ = Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .output();
    }
    in_path(name).unwrap_or_else(|| {
        panic!("these tests drive {name}, which is not here: install it (Debian: apt-get install {package})")
    })
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let found = env::split_paths(&path).map(|folder| folder.join(name));
    found.into_iter().find(|file| file.is_file())
}
