//! Which files are meant by what was given?

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::InputError;

/// Where saved state is: what `--from` takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSource {
    /// A file, or a directory of files.
    Path(PathBuf),
    /// `-`
    Stdin,
}

impl From<&Path> for FileSource {
    fn from(path: &Path) -> Self {
        if path == Path::new("-") {
            Self::Stdin
        } else {
            Self::Path(path.to_owned())
        }
    }
}

/// What the files of a directory are called; as for kubectl, and gzip.
const EXTENSIONS: [&str; 4] = ["json", "yaml", "yml", "gz"];

impl FileSource {
    /// The source as the user wrote it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "stdin".to_owned(),
        }
    }

    /// The files that are meant: those of a directory by name, not those of directories in it.
    ///
    /// # Errors
    ///
    /// If a directory cannot be listed, or has none.
    pub(in crate::cluster) fn files(&self) -> Result<Vec<Self>, InputError> {
        match self {
            Self::Path(path) if path.is_dir() => files_of(path),
            Self::Path(_) | Self::Stdin => Ok(vec![self.clone()]),
        }
    }
}

fn files_of(directory: &Path) -> Result<Vec<FileSource>, InputError> {
    let mut files = list(directory).map_err(|source| InputError::Read {
        file: directory.display().to_string(),
        source,
    })?;
    if files.is_empty() {
        return Err(InputError::EmptyDirectory {
            directory: directory.display().to_string(),
        });
    }
    files.sort();
    Ok(files.into_iter().map(FileSource::Path).collect())
}

fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) && path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}
