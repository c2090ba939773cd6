//! The formula for Homebrew.

use super::platform::{self, Platform};
use super::project::Project;
use super::release::{self, Release};

/// The formula: the archives of the release, for macOS and for Linux.
pub fn formula(project: &Project, release: &Option<Release>) -> String {
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
    for platform in platform::ALL.iter().filter(|platform| platform.os == os) {
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
