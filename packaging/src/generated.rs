//! The files that package managers read, and whether they are current.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::project::{PLATFORMS, Platform, Project};
use super::release::{self, Release};

/// Every file with its text, from the root of the repository.
fn files(project: &Project, release: &Option<Release>) -> Vec<(&'static str, String)> {
    let manifest = krew_manifest(project, release);
    vec![
        // For review and for krew's index, whose own name for it is the next.
        ("krew-manifest.yaml", manifest.clone()),
        // Path that `kubectl krew index add` looks for in a repository.
        ("plugins/devicetaint.yaml", manifest),
        // Path that `brew tap` looks for in a repository.
        ("Formula/kubectl-devicetaint.rb", formula(project, release)),
    ]
}

/// Writes them.
pub fn write(project: &Project, release: &Option<Release>) -> Result<()> {
    for (path, text) in files(project, release) {
        let file = project.root.join(path);
        let folder = file.parent().unwrap_or_else(|| Path::new("."));
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&file, text))
            .with_context(|| format!("cannot write {path}"))?;
    }
    Ok(())
}

/// Fails when one of them is not what would be written.
pub fn check(project: &Project, release: &Option<Release>) -> Result<()> {
    let outdated: Vec<&str> = files(project, release)
        .into_iter()
        .filter(|(path, text)| {
            let committed = std::fs::read_to_string(project.root.join(path)).unwrap_or_default();
            committed != *text
        })
        .map(|(path, _)| path)
        .collect();
    if outdated.is_empty() {
        return Ok(());
    }
    bail!(
        "out of date: {}; write anew: UPDATE_GENERATED=1 cargo test --test all packaging::generated",
        outdated.join(", ")
    )
}

/// At most 50 characters, and neither "Kubernetes" nor "plugin": in a list of kubectl's plugins both
/// go without saying.
const SHORT: &str = "Preview and apply DRA device taints safely";

const DESCRIPTION: &str = "\
Shows which pods a taint on DRA devices (GPUs, network cards and other
accelerators) would evict, when, and at what risk, before anything changes: from
the live cluster or from a saved dump, with the logic of the
device-taint-eviction controller. Then it creates, escalates and removes
DeviceTaintRules, and waits until the pods are gone.

For clusters with dynamic resource allocation, 1.35 to 1.38.
";

const CAVEATS: &str = "\
To enable TAB completion in shells with kubectl completion:
  ln -s kubectl-devicetaint ~/.krew/bin/kubectl_complete-devicetaint
";

/// The manifest for krew.
pub fn krew_manifest(project: &Project, release: &Option<Release>) -> String {
    let version = release::version(project, release);
    let mut text = format!(
        "{header}apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: devicetaint
spec:
  version: v{version}
  homepage: {homepage}
  shortDescription: {SHORT}
  description: |
{description}  caveats: |
{caveats}  platforms:
",
        header = release::header(release),
        homepage = project.repository,
        description = indented(DESCRIPTION),
        caveats = indented(CAVEATS),
    );
    for platform in PLATFORMS {
        let archive = platform.archive(&project.name, version);
        text += &format!(
            "  - selector:
      matchLabels:
        os: {os}
        arch: {arch}
    uri: {uri}
    sha256: {sha256}
    bin: {program}
",
            os = platform.os,
            arch = platform.arch,
            uri = project.download(version, &archive),
            sha256 = release::quoted(release::checksum(release, platform)),
            program = platform.program(&project.name),
        );
    }
    text
}

/// As a block below a key of `spec`.
fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| match line {
        "" => "\n".to_owned(),
        line => format!("    {line}\n"),
    });
    lines.collect()
}

/// The formula for Homebrew: the archives of the release, for macOS and for Linux.
fn formula(project: &Project, release: &Option<Release>) -> String {
    let version = release::version(project, release);
    format!(
        r##"# typed: false
# frozen_string_literal: true

{header}class KubectlDevicetaint < Formula
  desc "{description}"
  homepage "{homepage}"
  version "{version}"
  license "{license}"

{systems}
  def install
    bin.install "{name}", "completions/kubectl_complete-devicetaint"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/{name}.bash" => "{name}"
    zsh_completion.install "completions/_{name}"
    fish_completion.install "completions/{name}.fish"
    pkgshare.install "examples"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/{name} --version")
    cluster = pkgshare/"examples/cluster.yaml"
    preview = "#{{bin}}/{name} preview gpu.example.com/node-7/gpu-0 --from #{{cluster}}"
    assert_match "3 pods in 2 namespaces would be evicted", shell_output(preview)
  end
end
"##,
        header = release::header(release),
        description = project.description,
        homepage = project.repository,
        license = project.license,
        name = project.name,
        systems = [("macos", "darwin"), ("linux", "linux")]
            .map(|(block, os)| system(project, release, block, os))
            .concat(),
    )
}

/// Downloads for one system, for each processor.
fn system(project: &Project, release: &Option<Release>, block: &str, os: &str) -> String {
    let mut text = format!("  on_{block} do\n");
    for platform in PLATFORMS.iter().filter(|platform| platform.os == os) {
        text += &archive(project, release, platform);
    }
    text + "  end\n"
}

fn archive(project: &Project, release: &Option<Release>, platform: &Platform) -> String {
    let version = release::version(project, release);
    let file = platform.archive(&project.name, version);
    format!(
        "    on_{processor} do
      url \"{url}\"
      sha256 \"{sha256}\"
    end
",
        processor = match platform.arch {
            "arm64" => "arm",
            _ => "intel",
        },
        url = project.download(version, &file),
        sha256 = release::checksum(release, platform),
    )
}
