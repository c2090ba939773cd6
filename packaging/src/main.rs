//! Packs kubectl-devicetaint, and writes what package managers read.
//!
//! ```text
//! pack archive TARGET PROGRAM FOLDER   the archive of one platform, into FOLDER
//! pack release FOLDER                  from FOLDER's six archives: release.json, SHA256SUMS, and every file
//!                                      that package managers read
//! pack generate [--check]              those files again, from release.json as it is
//! pack platforms                       what is released: OS, architecture and target, a line each
//! ```
//!
//! It reads the repository that it is in, or the one that PACKAGING_REPOSITORY names, and nothing else;
//! the same input gives the same bytes.

#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: the environment is its to read"
)]

mod archive;
mod generated;
mod project;
mod release;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use project::{PLATFORMS, Platform, Project};
use release::Release;

const USAGE: &str = "usage: pack archive TARGET PROGRAM FOLDER
       pack release FOLDER
       pack generate [--check]
       pack platforms";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    let root = repository();
    let project = Project::read(&root)?;
    match arguments {
        ["archive", target, program, folder] => {
            let platform = Platform::of_target(target)?;
            let file = archive::pack(&project, platform, Path::new(program), Path::new(folder))?;
            println!("{}", file.display());
        }
        ["release", folder] => release(&project, Path::new(folder))?,
        ["generate"] => generated::write(&project, &Release::read(&root)?)?,
        ["generate", "--check"] => generated::check(&project, &Release::read(&root)?)?,
        ["platforms"] => {
            for platform in PLATFORMS {
                println!("{} {} {}", platform.os, platform.arch, platform.target);
            }
        }
        _ => bail!("{USAGE}"),
    }
    Ok(())
}

/// The folder above this package, unless another one is given.
fn repository() -> PathBuf {
    if let Some(named) = std::env::var_os("PACKAGING_REPOSITORY") {
        return PathBuf::from(named);
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Writes down what was released. From here on the files that package managers read name real
/// archives, by their real checksums.
fn release(project: &Project, folder: &Path) -> Result<()> {
    project.check_address()?;
    let release = Release::of_archives(project, folder)?;
    release.write(&project.root)?;
    generated::write(project, &Some(release.clone()))?;
    let manifest = folder.join("devicetaint.yaml");
    std::fs::write(&manifest, generated::krew_manifest(project, &Some(release)))
        .with_context(|| format!("cannot write {}", manifest.display()))?;
    release::write_sums(folder)
}
