//! Content of an archive.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::support::{addressed, entries, own_target, pack, platforms, root, succeeded};

/// The archive of a platform of the repository, with a program of a few bytes.
fn packed(repository: &Path, target: &str, folder: &Path) -> String {
    let program = folder.join("program");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    let (program, folder) = (program.to_str().unwrap(), folder.to_str().unwrap());
    let printed = succeeded(&pack(repository, &["archive", target, program, folder]));
    printed.trim().to_owned()
}

#[test]
fn two_archives_of_the_same_files_are_the_same_bytes() {
    // Of other files, that is: their folder, times and permissions are not those of the repository.
    let copy = addressed();
    let private = PermissionsExt::from_mode(0o600);
    fs::set_permissions(copy.path().join("LICENSE"), private).unwrap();
    for (platform, target) in platforms() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = fs::read(packed(root(), &target, one.path())).unwrap();
        let second = fs::read(packed(copy.path(), &target, other.path())).unwrap();
        assert!(first == second, "{platform}");
    }
}

#[test]
fn entries_are_sorted_and_say_nothing_of_who_packed_them() {
    let folder = tempfile::tempdir().unwrap();
    let archive = packed(root(), &own_target(), folder.path());
    let mut tar = Command::new("tar");
    tar.args([
        "-tvz",
        "--numeric-owner",
        "--utc",
        "--full-time",
        "-f",
        &archive,
    ]);
    let listed = succeeded(&tar.output().unwrap());
    let mut modes = BTreeMap::new();
    let mut names = Vec::new();
    for line in listed.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[1], "0/0", "{line}");
        assert_eq!(words[3..5], ["1980-01-01", "00:00:00"], "{line}");
        modes.insert(words[5], words[0]);
        names.push(words[5]);
    }
    assert!(names.is_sorted(), "{names:?}");
    for (name, mode) in [
        ("kubectl-devicetaint", "-rwxr-xr-x"),
        ("completions/kubectl_complete-devicetaint", "-rwxr-xr-x"),
        ("LICENSE", "-rw-r--r--"),
        ("README.md", "-rw-r--r--"),
        ("CHANGELOG.md", "-rw-r--r--"),
        ("examples/cluster.yaml", "-rw-r--r--"),
        ("completions/_kubectl-devicetaint", "-rw-r--r--"),
        ("man/kubectl-devicetaint-preview.1", "-rw-r--r--"),
    ] {
        assert_eq!(modes.get(name), Some(&mode), "{name}");
    }
    for folder in ["completions", "man"] {
        let committed = fs::read_dir(root().join(folder)).unwrap().count();
        let prefix = format!("{folder}/");
        let packed = names.iter().filter(|name| name.starts_with(&prefix));
        assert_eq!(packed.count(), committed, "{folder}");
    }
}

#[test]
fn windows_gets_a_zip_with_a_program_that_it_can_run() {
    let folder = tempfile::tempdir().unwrap();
    let archive = packed(root(), "x86_64-pc-windows-msvc", folder.path());
    assert!(
        archive.ends_with("-x86_64-pc-windows-msvc.zip"),
        "{archive}"
    );
    let entries = entries(Path::new(&archive));
    let program = entries
        .iter()
        .find(|entry| entry.name == "kubectl-devicetaint.exe");
    assert_eq!(program.map(|entry| entry.mode), Some(0o755));
    assert!(entries.iter().any(|entry| entry.name == "LICENSE"));
}
