//! Lookup of programs on PATH.
//!
//! Upstream: `LookPath` in Go's `os/exec`, which never finds a program in the current directory: who
//! changes into a foreign directory must not run what lies there under the name of a plugin.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// The program to start for `command`.
///
/// # Errors
///
/// When there is none ([`io::ErrorKind::NotFound`]), or only the current directory has it.
pub(in crate::cluster) fn program(command: &str, path: Option<&OsStr>) -> io::Result<OsString> {
    if cfg!(not(unix)) || Path::new(command).components().count() != 1 || command.contains('/') {
        // With a path it means what it says; Windows has rules of its own, without this directory.
        return Ok(command.into());
    }
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    for folder in folders {
        let candidate = if folder.as_os_str().is_empty() {
            PathBuf::from(".").join(command)
        } else {
            folder.join(command)
        };
        if !is_executable(&candidate) {
            continue;
        }
        // Upstream: `exec.ErrDot`; that a later folder has the program as well does not help.
        return if folder.is_absolute() {
            Ok(candidate.into_os_string())
        } else {
            Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "its directory in PATH is a relative path, and programs from relative paths are not \
                 run; write the full path of the program in the kubeconfig",
            ))
        };
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        "no such program in PATH",
    ))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn program_is_found_in_absolute_folders_only() {
        let system = OsStr::new("/no-such-folder:/usr/bin:/bin");
        let found = program("sh", Some(system)).expect("a shell");
        assert!(Path::new(&found).is_absolute(), "{found:?}");
        assert_eq!(program("./sh", None).expect("as it is"), "./sh");
        assert_eq!(program("/x/sh", None).expect("as it is"), "/x/sh");
        for path in [
            None,
            Some(OsStr::new("")),
            Some(OsStr::new("/no-such-folder")),
        ] {
            let error = program("no-such-program", path).expect_err("nothing");
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
        }
    }

    #[test]
    fn program_of_the_current_directory_is_not_run() {
        // Tests run in the folder of the package, which has this program.
        let folder = OsStr::new("tests/cluster:/usr/bin");
        let error = program("up", Some(folder)).expect_err("a relative folder");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
    }
}
