//! A release as the workflow makes it, from archives to the files of package managers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::krew::{Plugin, install};
use super::support::{ADDRESS, addressed, pack, platforms, root, sha256, succeeded};

/// Archives of all platforms with a program of a few bytes, in a folder of the repository.
pub fn packed(repository: &Path) -> PathBuf {
    let release = repository.join("release");
    let program = repository.join("program");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    for (_, target) in platforms() {
        let (program, release) = (program.to_str().unwrap(), release.to_str().unwrap());
        succeeded(&pack(repository, &["archive", &target, program, release]));
    }
    release
}

#[test]
fn a_release_can_be_installed_by_krew_on_every_platform() {
    let copy = addressed();
    let release = packed(copy.path());
    succeeded(&pack(copy.path(), &["release", release.to_str().unwrap()]));
    succeeded(&pack(copy.path(), &["generate", "--check"]));

    for manifest in [
        copy.path().join("plugins/devicetaint.yaml"),
        release.join("devicetaint.yaml"),
    ] {
        let text = fs::read_to_string(&manifest).unwrap();
        assert!(!text.contains("Nothing was released"), "{text}");
        let plugin = Plugin::read(&manifest);
        assert_eq!(plugin.platforms().len(), 6);
        for platform in plugin.platforms() {
            let (folder, archive) = platform.uri.rsplit_once('/').unwrap();
            assert_eq!(
                folder,
                format!("{ADDRESS}/releases/download/{}", plugin.version())
            );
            let krew = tempfile::tempdir().unwrap();
            install(&plugin, &platform, &release.join(archive), krew.path());
        }
    }
}

#[test]
fn a_release_names_its_archives_for_homebrew_and_in_checksums() {
    let copy = addressed();
    let release = packed(copy.path());
    succeeded(&pack(copy.path(), &["release", release.to_str().unwrap()]));
    let formula = fs::read_to_string(copy.path().join("Formula/kubectl-devicetaint.rb")).unwrap();
    let mut sha256sum = Command::new("sha256sum");
    sha256sum
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(&release);
    let checked = succeeded(&sha256sum.output().unwrap());
    // The six, and krew's manifest.
    assert_eq!(checked.lines().count(), 7, "{checked}");
    for (platform, target) in platforms() {
        let mut archives = fs::read_dir(&release)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let archive = archives
            .find(|path| path.to_string_lossy().contains(&target))
            .unwrap();
        let name = archive.file_name().unwrap().to_string_lossy();
        assert!(checked.contains(&format!("{name}: OK")), "{checked}");
        if !platform.starts_with("windows") {
            let wanted = format!("/{name}\"\n      sha256 \"{}\"\n", sha256(&archive));
            assert!(formula.contains(&wanted), "{platform}: {formula}");
        }
    }
}

#[test]
fn nothing_is_released_without_an_address_or_without_one_of_the_archives() {
    let release = tempfile::tempdir().unwrap();
    let folder = release.path().to_str().unwrap();
    let refused = |output: Output| {
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let placeless = addressed();
    fs::copy(
        root().join("Cargo.toml"),
        placeless.path().join("Cargo.toml"),
    )
    .unwrap();
    let message = refused(pack(placeless.path(), &["release", folder]));
    let has_address = !fs::read_to_string(root().join("Cargo.toml"))
        .unwrap()
        .contains(".example/");
    assert!(
        has_address || message.contains("set `repository` in Cargo.toml first"),
        "{message}"
    );

    let copy = addressed();
    let release = packed(copy.path());
    let missing = fs::read_dir(&release)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::remove_file(&missing).unwrap();
    let message = refused(pack(copy.path(), &["release", release.to_str().unwrap()]));
    assert!(
        message.contains(&*missing.file_name().unwrap().to_string_lossy()),
        "{message}"
    );
    let data = fs::read_to_string(copy.path().join("packaging/release.json")).unwrap();
    assert_eq!(
        data,
        fs::read_to_string(root().join("packaging/release.json")).unwrap()
    );
}

/// Runs a script of packaging/ in a copy of the repository.
fn script(repository: &Path, name: &str, arguments: &[&str]) -> Output {
    let script = repository.join("packaging").join(name);
    Command::new(script).args(arguments).output().unwrap()
}

#[test]
fn tag_version_changelog_and_address_have_to_agree() {
    let copy = addressed();
    let changelog = copy.path().join("CHANGELOG.md");
    let text = "# Changelog\n\n## 0.1.0 - 2026-12-01\n\n- First.\n\n## 0.0.1\n\n- Older.\n";
    fs::write(&changelog, text).unwrap();
    let agree = |arguments: &[&str]| {
        let output = script(copy.path(), "agree", arguments);
        (
            output.status.success(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    assert_eq!(agree(&[ADDRESS, "v0.1.0", "true"]), (true, String::new()));
    assert_eq!(agree(&[ADDRESS, "main", "false"]), (true, String::new()));
    let (fine, message) = agree(&["https://elsewhere.example.org/x", "v0.2.0", "true"]);
    assert!(
        !fine && message.contains("elsewhere") && message.contains("v0.2.0"),
        "{message}"
    );

    let notes = script(copy.path(), "notes", &["0.1.0"]);
    assert_eq!(succeeded(&notes).trim(), "- First.");
    assert!(!script(copy.path(), "notes", &["0.3.0"]).status.success());

    fs::write(&changelog, "# Changelog\n").unwrap();
    let (fine, message) = agree(&[ADDRESS, "v0.1.0", "true"]);
    assert!(
        !fine && message.contains("CHANGELOG.md has no section"),
        "{message}"
    );
}

#[test]
fn an_image_has_the_program_of_its_processor() {
    let copy = addressed();
    let release = packed(copy.path());
    let context = copy.path().join("context");
    let arguments = [release.to_str().unwrap(), context.to_str().unwrap()];
    succeeded(&script(copy.path(), "image", &arguments));
    let containerfile = fs::read_to_string(root().join("Containerfile")).unwrap();
    for processor in ["amd64", "arm64"] {
        // Every file that the Containerfile copies is there.
        let copied = containerfile
            .lines()
            .filter_map(|line| line.strip_prefix("COPY "));
        for line in copied {
            let source = line
                .split(' ')
                .next()
                .unwrap()
                .replace("${TARGETARCH}", processor);
            assert!(context.join(&source).is_file(), "{source}");
        }
    }
    fs::remove_dir_all(&release).unwrap();
    assert!(!script(copy.path(), "image", &arguments).status.success());
}
