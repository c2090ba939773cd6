//! The manifest for krew.

use super::platform;
use super::project::Project;
use super::release::{self, Release};

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

/// The manifest, as krew reads it.
pub fn manifest(project: &Project, release: &Option<Release>) -> String {
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
    for platform in platform::ALL {
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
