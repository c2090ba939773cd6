//! Every check has something that it refuses.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::super::support::{sha256, succeeded};
use super::{Plugin, committed, install};

/// What is said of the committed manifest with one change, as a file of that name.
fn refusal(name: &str, from: &str, to: &str) -> String {
    let text = committed();
    assert!(text.contains(from), "{from:?} is not in the manifest");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, text.replacen(from, to, 1)).unwrap();
    match Plugin::read(&file) {
        Ok(_) => panic!("{from:?} as {to:?} was taken"),
        Err(refusal) => refusal,
    }
}

const SHORT: &str = "shortDescription: Preview and apply DRA device taints safely";
const ZEROS: &str = "sha256: \"0000000000000000000000000000000000000000000000000000000000000000\"";
const FIRST: &str = "  - selector:\n      matchLabels:\n        os: linux\n        arch: amd64\n";
const BIN: &str = "    bin: kubectl-devicetaint\n";

#[test]
fn what_is_wrong_at_the_top_or_said_wrongly_is_refused() {
    for (from, to, expected) in [
        ("v1alpha2", "v1alpha3", "is not supported"),
        ("kind: Plugin", "kind: Plugins", "kind \"Plugins\""),
        (
            "name: devicetaint",
            "name: device-taint",
            "it should be named",
        ),
        ("homepage:", "homePage:", "homePage"),
        (SHORT, "shortDescription: \"\"", "no short description"),
        (
            SHORT,
            "shortDescription: \"Preview\\ntaints\"",
            "line breaks",
        ),
        (
            SHORT,
            "shortDescription: Preview DRA device taints and apply them most safely",
            "longer than 50",
        ),
        (
            SHORT,
            "shortDescription: Preview Kubernetes device taints",
            "\"kubernetes\" goes without saying",
        ),
        (
            SHORT,
            "shortDescription: The plugin for device taints",
            "\"plugin\" goes without saying",
        ),
        (
            SHORT,
            "shortDescription: Preview device taints.",
            "full stop",
        ),
        (
            "    For clusters",
            "    Usage: preview DEVICE\n    For clusters",
            "lists usage",
        ),
        (
            "    For clusters",
            "    --wait waits.\n    For clusters",
            "lists usage",
        ),
        (
            "    For clusters",
            "    For clusters with dynamic resource allocation, and for those with none of it at all",
            "description is longer than 80",
        ),
        (
            "    To enable",
            "    To enable completion of commands, flags, devices, rules, pods and nodes by the TAB key",
            "caveats is longer than 80",
        ),
        (
            "    To enable",
            "    1\n    2\n    3\n    To enable",
            "long caveats",
        ),
        ("version: v", "version: ", "not that of a release"),
        ("version: v0", "version: v00", "not that of a release"),
        ("\n  homepage", "-rc1\n  homepage", "not that of a release"),
    ] {
        let found = refusal("devicetaint.yaml", from, to);
        assert!(found.contains(expected), "{from:?} as {to:?}: {found}");
    }
}

#[test]
fn names_of_files_that_krew_cannot_use_are_refused() {
    for (file, name, expected) in [
        ("device taint.yaml", "device taint", "is not allowed"),
        ("nul.yaml", "nul", "is not allowed"),
        ("devicetaint.yml", "devicetaint", "instead of \"yaml\""),
        ("other.yaml", "devicetaint", "it should be named \"other\""),
    ] {
        let found = refusal(file, "name: devicetaint", &format!("name: {name}"));
        assert!(found.contains(expected), "{file}: {found}");
    }
}

#[test]
fn what_is_wrong_with_a_platform_is_refused() {
    let text = committed();
    let uri = text.lines().find(|line| line.contains("uri: ")).unwrap();
    let replaced = |from: &str, to: &str| uri.replace(from, to);
    let without_platforms = text[text.find("platforms:").unwrap()..].to_owned();
    for (from, to, expected) in [
        (without_platforms.as_str(), "platforms: []\n", "no platform"),
        (uri, "    uri: \"\"", "`uri` has to be set"),
        (uri, &replaced("https:", "http:"), "not https"),
        (uri, &replaced(".tar.gz", ".tar.xz"), "neither"),
        (ZEROS, "sha256: \"\"", "`sha256` has to be set"),
        (ZEROS, "sha256: \"00\"", "is none"),
        (ZEROS, &ZEROS.replace('0', "A"), "is none"),
        (BIN, "    bin: \"\"\n", "`bin` has to be set"),
        (
            BIN,
            "    bin: kubectl-devicetaint.exe\n",
            "cannot be run on linux",
        ),
        (BIN, &format!("{BIN}    files: []\n"), "`files` is empty"),
        (
            BIN,
            &format!("{BIN}    files: [{{from: a}}]\n"),
            "`to` has to be set",
        ),
        (
            BIN,
            &format!("{BIN}    files: [{{to: a}}]\n"),
            "`from` has to be set",
        ),
        (FIRST, "  - selector: null\n", "no selector"),
        (FIRST, "  - selector: {}\n", "selector is empty"),
        (
            FIRST,
            "  - selector: {matchLabels: {}}\n",
            "`matchLabels` is empty",
        ),
        (
            FIRST,
            "  - selector: {matchLabels: {os: linux}, matchExpressions: []}\n",
            "`matchExpressions` is empty",
        ),
        (
            FIRST,
            "  - selector: {matchLabels: {os: linux, cpu: amd64}}\n",
            "key \"cpu\" is not supported",
        ),
        (
            FIRST,
            "  - selector: {matchLabels: {os: plan9}}\n",
            "no platform that krew knows",
        ),
        (
            FIRST,
            "  - selector: {matchLabels: {os: linux, arch: arm64}}\n",
            "two for linux/arm64",
        ),
        (
            FIRST,
            "  - selector: {matchExpressions: [{key: os, operator: NotIn, values: [windows, darwin]}]}\n",
            "two for linux/arm64",
        ),
        (
            FIRST,
            "  - selector: {matchLabels: {os: linux, arch: ppc64le}}\n",
            "nothing for linux/amd64",
        ),
    ] {
        let found = refusal("devicetaint.yaml", from, to);
        assert!(found.contains(expected), "{from:?} as {to:?}: {found}");
    }
}

#[test]
fn a_selector_may_be_an_expression() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("devicetaint.yaml");
    let expression = "  - selector: {matchLabels: {arch: amd64}, matchExpressions: [{key: os, operator: In, values: [linux]}]}\n";
    fs::write(&file, committed().replacen(FIRST, expression, 1)).unwrap();
    Plugin::read(&file).unwrap();
}

/// What is said of an archive that a shell command fills, once its checksum is in the manifest.
fn installed(fill: &str, archive: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-euc", fill]).current_dir(folder.path());
    succeeded(&shell.output().unwrap());
    let archive = folder.path().join(archive);
    let file = folder.path().join("devicetaint.yaml");
    let checksum = format!("sha256: {}", sha256(&archive));
    fs::write(&file, committed().replacen(ZEROS, &checksum, 1)).unwrap();
    let plugin = Plugin::read(&file).unwrap();
    install(
        &plugin,
        &plugin.platforms()[0],
        &archive,
        &folder.path().join("krew"),
    )
    .map(drop)
}

#[test]
fn archives_that_krew_cannot_install_are_refused() {
    const FILES: &str = "touch LICENSE kubectl-devicetaint; chmod +x kubectl-devicetaint;";
    let tar = |what: &str| format!("{FILES} tar -czf x.tar.gz {what}");
    installed(&tar("*"), "x.tar.gz").unwrap();
    for (fill, archive, expected) in [
        (
            tar("LICENSE"),
            "x.tar.gz",
            "no kubectl-devicetaint in the archive",
        ),
        (tar("kubectl-devicetaint"), "x.tar.gz", "no licence"),
        (
            format!("{FILES} chmod -x kubectl-devicetaint; tar -czf x.tar.gz *"),
            "x.tar.gz",
            "cannot be run",
        ),
        (
            tar("-P --transform 's,LICENSE,../LICENSE,' *"),
            "x.tar.gz",
            "suspicious entry",
        ),
        (
            format!(
                "{FILES} mkdir man; touch man/page; python3 -c \"import zipfile; zipfile.ZipFile('x.zip', 'w').write('man/page')\""
            ),
            "x.zip",
            "comes before its folder",
        ),
    ] {
        let found = installed(&fill, archive).unwrap_err();
        assert!(found.contains(expected), "{fill}: {found}");
    }
}

#[test]
fn an_archive_other_than_the_one_that_was_released_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("x.tar.gz");
    fs::write(&archive, "").unwrap();
    let file = folder.path().join("devicetaint.yaml");
    fs::write(&file, committed()).unwrap();
    let plugin = Plugin::read(&file).unwrap();
    let found = install(
        &plugin,
        &plugin.platforms()[0],
        &archive,
        Path::new("/nowhere"),
    );
    assert!(found.unwrap_err().starts_with("checksum "));
}
