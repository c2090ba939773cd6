# typed: false
# frozen_string_literal: true

# Written by packaging/ from packaging/release.json; see packaging/README.md.
# Nothing was released yet: the checksums are zeros, which no archive has.
class KubectlDevicetaint < Formula
  desc "Preview which pods a DRA device taint evicts, when, and at what risk: a kubectl plugin"
  homepage "https://git.example/kubectl-devicetaint"
  version "0.1.0"
  license "Apache-2.0"

  on_macos do
    on_intel do
      url "https://git.example/kubectl-devicetaint/releases/download/v0.1.0/kubectl-devicetaint-0.1.0-x86_64-apple-darwin.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
    on_arm do
      url "https://git.example/kubectl-devicetaint/releases/download/v0.1.0/kubectl-devicetaint-0.1.0-aarch64-apple-darwin.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
  end
  on_linux do
    on_intel do
      url "https://git.example/kubectl-devicetaint/releases/download/v0.1.0/kubectl-devicetaint-0.1.0-x86_64-unknown-linux-musl.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
    on_arm do
      url "https://git.example/kubectl-devicetaint/releases/download/v0.1.0/kubectl-devicetaint-0.1.0-aarch64-unknown-linux-musl.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
  end

  def install
    bin.install "kubectl-devicetaint", "completions/kubectl_complete-devicetaint"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/kubectl-devicetaint.bash" => "kubectl-devicetaint"
    zsh_completion.install "completions/_kubectl-devicetaint"
    fish_completion.install "completions/kubectl-devicetaint.fish"
    pkgshare.install "examples"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kubectl-devicetaint --version")
    cluster = pkgshare/"examples/cluster.yaml"
    preview = "#{bin}/kubectl-devicetaint preview gpu.example.com/node-7/gpu-0 --from #{cluster}"
    assert_match "3 pods in 2 namespaces would be evicted", shell_output(preview)
  end
end
