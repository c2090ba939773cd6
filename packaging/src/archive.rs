//! An archive: the program, its licence, manual pages, completions and an example to start with.
//!
//! Two archives of the same files are the same bytes: entries are sorted, and no user's name, number or
//! clock is in them. Nothing stands in a folder of its own, so that krew needs to move nothing.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use zip::write::SimpleFileOptions;

use super::project::{Platform, Project};

/// Files beside the program, from the root of the repository.
const FILES: [&str; 5] = [
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "examples/cluster.yaml",
    "examples/rule.yaml",
];

/// Folders of which all files go in.
const FOLDERS: [&str; 2] = ["completions", "man"];

/// First instant of all file systems: zip knows no earlier, and no time zone.
const MOMENT: u64 = 315_532_800;

const PROGRAM_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

/// A file to be packed.
struct Entry {
    content: Vec<u8>,
    mode: u32,
}

/// Packs the program for the platform into `folder`, and says where.
pub fn pack(
    project: &Project,
    platform: &Platform,
    program: &Path,
    folder: &Path,
) -> Result<PathBuf> {
    let entries = entries(project, platform, program)?;
    let file = folder.join(platform.archive(&project.name, &project.version));
    let bytes = match platform.os {
        "windows" => zipped(&entries)?,
        _ => tarred(&entries)?,
    };
    std::fs::create_dir_all(folder)
        .and_then(|()| File::create(&file))
        .and_then(|mut file| file.write_all(&bytes))
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// Entries, by their names in the archive.
fn entries(
    project: &Project,
    platform: &Platform,
    program: &Path,
) -> Result<BTreeMap<String, Entry>> {
    let mut names: Vec<String> = FILES.map(str::to_owned).to_vec();
    for folder in FOLDERS {
        let path = project.root.join(folder);
        for entry in std::fs::read_dir(&path).with_context(|| path.display().to_string())? {
            names.push(format!("{folder}/{}", entry?.file_name().to_string_lossy()));
        }
    }
    let mut entries = BTreeMap::new();
    for name in names {
        // The one among them that is run: what kubectl calls to complete words.
        let is_program = name.ends_with("/kubectl_complete-devicetaint");
        let mode = if is_program { PROGRAM_MODE } else { FILE_MODE };
        entries.insert(name.clone(), Entry::read(&project.root.join(name), mode)?);
    }
    let program = Entry::read(program, PROGRAM_MODE)?;
    entries.insert(platform.program(&project.name), program);
    Ok(entries)
}

impl Entry {
    fn read(path: &Path, mode: u32) -> Result<Self> {
        let content =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self { content, mode })
    }
}

fn tarred(entries: &BTreeMap<String, Entry>) -> Result<Vec<u8>> {
    // Without a name, and with a time of zero and an unknown system: what gzip would say of the
    // packing machine.
    let gzip = GzBuilder::new()
        .mtime(0)
        .operating_system(255)
        .write(Vec::new(), Compression::best());
    let mut archive = tar::Builder::new(gzip);
    for (name, entry) in entries {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(entry.content.len() as u64);
        header.set_mode(entry.mode);
        header.set_mtime(MOMENT);
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, name, entry.content.as_slice())?;
    }
    Ok(archive.into_inner()?.finish()?)
}

fn zipped(entries: &BTreeMap<String, Entry>) -> Result<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .compression_level(Some(9))
        .last_modified_time(zip::DateTime::default());
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let mut folder = "";
    for (name, entry) in entries {
        // krew makes the folders that an archive names, and no others.
        if let Some((parent, _)) = name.split_once('/')
            && parent != folder
        {
            archive.add_directory(parent, options.unix_permissions(PROGRAM_MODE))?;
            folder = parent;
        }
        archive.start_file(name.as_str(), options.unix_permissions(entry.mode))?;
        archive.write_all(&entry.content)?;
    }
    Ok(archive.finish()?.into_inner())
}
