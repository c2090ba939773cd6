//! The files that package managers read, and whether they are current.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::project::Project;
use super::release::Release;
use super::{homebrew, krew, nix};

/// Every file with its text, from the root of the repository.
fn files(project: &Project, release: &Option<Release>) -> Vec<(&'static str, String)> {
    let manifest = krew::manifest(project, release);
    vec![
        // For review and for krew's index, whose own name for it is the next.
        ("krew-manifest.yaml", manifest.clone()),
        // Path that `kubectl krew index add` looks for in a repository.
        ("plugins/devicetaint.yaml", manifest),
        // Path that `brew tap` looks for in a repository.
        (
            "Formula/kubectl-devicetaint.rb",
            homebrew::formula(project, release),
        ),
        ("flake.nix", nix::flake(project, release)),
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
