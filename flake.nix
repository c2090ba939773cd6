# Version, address and dependencies are those of Cargo.toml and Cargo.lock; see packaging/README.md.
{
  description = "Preview which pods a DRA device taint evicts, when, and at what risk: a kubectl plugin";

  inputs.nixpkgs.url = "nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      package = pkgs:
        let
          manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).package;
        in
        pkgs.rustPlatform.buildRustPackage {
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
            installShellCompletion --name kubectl-devicetaint completions/kubectl-devicetaint.bash
            installShellCompletion completions/kubectl-devicetaint.fish completions/_kubectl-devicetaint
          '';
          doInstallCheck = true;
          installCheckPhase = ''
            $out/bin/kubectl-devicetaint preview gpu.example.com/node-7/gpu-0 --from examples/cluster.yaml
          '';
          meta = {
            description = manifest.description;
            homepage = manifest.repository;
            license = pkgs.lib.getLicenseFromSpdxId manifest.license;
            mainProgram = "kubectl-devicetaint";
            platforms = systems;
          };
        };
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system: {
        default = package nixpkgs.legacyPackages.${system};
      });
    };
}
