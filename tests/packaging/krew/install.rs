//! What krew does with an archive: checks it, unpacks it, and links the program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::super::support::{entries, sha256, unpack};
use super::manifest::{Platform, Plugin};

/// What the index wants to find among the installed files, in whatever case, with or without ending.
const LICENCES: [&str; 3] = ["license", "licenses", "copying"];

/// Installs one platform below krew's folder from an archive that was downloaded, and says where the
/// link to the program is.
pub fn install(
    plugin: &Plugin,
    platform: &Platform,
    archive: &Path,
    krew: &Path,
) -> Result<PathBuf, String> {
    let found = sha256(archive);
    if found != platform.sha256 {
        return Err(format!("checksum {found} instead of {}", platform.sha256));
    }
    check_entries(archive)?;
    let store = krew
        .join("store")
        .join(plugin.name())
        .join(plugin.version());
    fs::create_dir_all(&store).map_err(|error| error.to_string())?;
    unpack(archive, &store);
    // Without `files` all that is in the archive is moved, and where to is where it is.
    if platform.files.is_some() {
        return Err("nothing here moves files".into());
    }
    check_licence(&store)?;
    link(plugin, platform, &store, krew)
}

/// What krew refuses to unpack, or cannot.
fn check_entries(archive: &Path) -> Result<(), String> {
    let mut folders = vec![String::new()];
    for entry in entries(archive) {
        let name = entry.name;
        if name.contains("..") || name.starts_with(['/', '\\']) {
            return Err(format!("suspicious entry {name:?}"));
        }
        if let Some(folder) = name.strip_suffix('/') {
            folders.push(folder.to_owned());
        } else if archive
            .extension()
            .is_some_and(|extension| extension == "zip")
        {
            // From a zip krew makes no folder that is not an entry.
            let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
            if !folders.iter().any(|known| known == folder) {
                return Err(format!("{name:?} comes before its folder"));
            }
        }
    }
    Ok(())
}

fn check_licence(store: &Path) -> Result<(), String> {
    let entries = fs::read_dir(store).map_err(|error| error.to_string())?;
    let mut names =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().to_lowercase());
    let is_licence = |name: String| {
        let stem = name.strip_suffix(".txt").or(name.strip_suffix(".md"));
        LICENCES.contains(&stem.unwrap_or(&name))
    };
    if names.any(is_licence) {
        Ok(())
    } else {
        Err("no licence".into())
    }
}

fn link(
    plugin: &Plugin,
    platform: &Platform,
    store: &Path,
    krew: &Path,
) -> Result<PathBuf, String> {
    let leaves = Path::new(&platform.bin)
        .components()
        .any(|part| !matches!(part, Component::Normal(_)));
    if leaves {
        return Err(format!("{} is not in the archive's folder", platform.bin));
    }
    let program = store.join(&platform.bin);
    let found =
        fs::metadata(&program).map_err(|_| format!("no {} in the archive", platform.bin))?;
    if found.permissions().mode() & 0o111 == 0 && !platform.bin.ends_with(".exe") {
        return Err(format!("{} cannot be run", platform.bin));
    }
    let bin = krew.join("bin");
    fs::create_dir_all(&bin).map_err(|error| error.to_string())?;
    let name = format!("kubectl-{}", plugin.name().replace('-', "_"));
    let suffix = if platform.bin.ends_with(".exe") {
        ".exe"
    } else {
        ""
    };
    let link = bin.join(name + suffix);
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(&program, &link).map_err(|error| error.to_string())?;
    Ok(link)
}
