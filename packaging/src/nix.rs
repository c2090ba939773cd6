//! The flake for Nix, which builds from source.

use super::platform;
use super::project::Project;
use super::release::{self, Release};

/// The flake. Version and dependencies come from Cargo.toml and Cargo.lock beside it, so that it needs
/// no checksum.
pub fn flake(project: &Project, release: &Option<Release>) -> String {
    let systems: Vec<String> = platform::ALL
        .iter()
        .filter(|platform| platform.os != "windows")
        .map(|platform| format!("\"{}-{}\"", processor(platform.arch), platform.os))
        .collect();
    format!(
        r#"{header}{{
  description = "{description}";

  inputs.nixpkgs.url = "nixpkgs/nixos-unstable";

  outputs = {{ self, nixpkgs }}:
    let
      systems = [ {systems} ];
      package = pkgs:
        let
          manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).package;
        in
        pkgs.rustPlatform.buildRustPackage {{
          pname = manifest.name;
          version = manifest.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          buildType = "dist";
          nativeBuildInputs = [ pkgs.installShellFiles ];
          # They start a control plane, which has to be downloaded and built; see CONTRIBUTING.md.
          doCheck = false;
          postInstall = ''
            install -m 755 completions/kubectl_complete-devicetaint $out/bin/
            installManPage man/*.1
            installShellCompletion --name {name} completions/{name}.bash
            installShellCompletion completions/{name}.fish completions/_{name}
          '';
          doInstallCheck = true;
          installCheckPhase = ''
            $out/bin/{name} preview gpu.example.com/node-7/gpu-0 --from examples/cluster.yaml
          '';
          meta = {{
            description = manifest.description;
            homepage = "{homepage}";
            license = pkgs.lib.getLicenseFromSpdxId manifest.license;
            mainProgram = "{name}";
            platforms = systems;
          }};
        }};
    in
    {{
      packages = nixpkgs.lib.genAttrs systems (system: {{
        default = package nixpkgs.legacyPackages.${{system}};
      }});
    }};
}}
"#,
        header = release::header(release)
            .lines()
            // It has no checksums, so that no word about them is due.
            .take(1)
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
        description = project.description,
        homepage = project.repository,
        name = project.name,
        systems = systems.join(" "),
    )
}

/// As Nix calls a processor.
fn processor(arch: &str) -> &str {
    match arch {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    }
}
