//! Where does the program come from that runs the control plane?
//!
//! From `KUBEBUILDER_ASSETS` where that has the components, else it is built with Go, once for every state of
//! its sources, into the target folder.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use super::Variant;
use super::go_program::{GoProgram, target};

/// The release whose components are built.
pub const VERSION: &str = "1.37.2";
const CONTROL_PLANE: &str = "tests/cluster/controlplane";
const NODE: &str = "tests/cluster/node";

/// Where everything is kept that belongs to control planes, below the target folder.
pub(super) fn folder() -> PathBuf {
    target().join("controlplane")
}

/// The command that runs a control plane with the components of `variant`; it is built first if need
/// be. The error is one line if something has to be installed.
pub(super) fn up(variant: &Variant) -> Result<Command, String> {
    let assets = env::var_os("KUBEBUILDER_ASSETS").unwrap_or_default();
    let has = |component: &&str| Path::new(&assets).join(component).is_file();
    let complete = !assets.is_empty() && variant.components().iter().all(has);

    let mut command = if complete {
        // Without Kubernetes in it, the program builds in seconds.
        let purpose = "what starts the control plane for the tests (needs Go; seconds, once)";
        Command::new(built("up", (CONTROL_PLANE, "./cmd/up"), purpose)?)
    } else {
        let mut command = Command::new(build_program()?);
        command.arg("up");
        command
    };
    command
        .arg("--assets")
        .arg(assets)
        .arg("--parent")
        .arg(folder().join("runs"));
    Ok(command)
}

/// The program with all components, built if need be; the error is one line if something has to be
/// installed.
pub fn build_program() -> Result<PathBuf, String> {
    let purpose = format!(
        "the Kubernetes {VERSION} control plane for the tests (needs Go; about ten minutes on two cores, once)"
    );
    built("controlplane", (CONTROL_PLANE, "."), &purpose)
}

/// The program with a node, built if need be; the error is one line if something has to be installed.
pub fn build_node() -> Result<PathBuf, String> {
    let purpose = format!(
        "the Kubernetes {VERSION} node for the tests (needs Go; a minute after the control plane, once)"
    );
    built("node", (NODE, "."), &purpose)
}

/// The program called `name` from a package of a module.
fn built(name: &str, (module, package): (&str, &str), purpose: &str) -> Result<PathBuf, String> {
    let linker_flags = linker_flags();
    let arguments = [
        "build",
        "-buildvcs=false",
        "-trimpath",
        "-ldflags",
        &linker_flags,
    ];
    GoProgram {
        name,
        module,
        package,
        arguments: arguments.map(str::to_owned).to_vec(),
        purpose,
    }
    .built()
}

/// Clients see the version in the server's answers.
fn linker_flags() -> String {
    let (major_minor, _) = VERSION
        .rsplit_once('.')
        .expect("the version has three parts");
    let (major, minor) = major_minor
        .split_once('.')
        .expect("the version has three parts");
    let package = "k8s.io/component-base/version";
    format!(
        "-s -w -X {package}.gitVersion=v{VERSION} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
    )
}
