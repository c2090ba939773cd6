//! SHA-256, of a file and of a folder.

use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// The list of checksums, as `sha256sum --check` reads it.
const SUMS: &str = "SHA256SUMS";

/// Of a file, as people compare it.
pub fn of_file(path: &Path) -> Result<String> {
    let content = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let digest = Sha256::digest(content);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes the checksums of all files in the folder, by name.
pub fn write_sums(folder: &Path) -> Result<()> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && !name.starts_with(SUMS) {
            names.push(name);
        }
    }
    names.sort();
    let mut text = String::new();
    for name in names {
        text += &format!("{}  {name}\n", of_file(&folder.join(&name))?);
    }
    let path = folder.join(SUMS);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}
