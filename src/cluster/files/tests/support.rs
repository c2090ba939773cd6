//! Files for tests.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cluster::{FileSource, InputError, Limits, read};
use crate::model::Reading;

/// A path below `tests/data`.
pub(super) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Reading of all files together.
pub(super) fn read_files(paths: &[PathBuf]) -> Result<Reading, InputError> {
    let sources: Vec<_> = paths.iter().cloned().map(FileSource::Path).collect();
    read(&sources, &mut std::io::empty(), &Limits::default())
}

/// Reading of a file of this name and content.
pub(super) fn read_content(name: &str, content: impl AsRef<[u8]>) -> Result<Reading, InputError> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(name);
    fs::write(&path, content).expect("a file");
    read_files(&[path])
}

/// The error and all its causes in one line, without the directory of the file.
pub(super) fn in_one_line(error: &InputError) -> String {
    let mut line = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        line.push_str(": ");
        line.push_str(&error.to_string());
        cause = error.source();
    }
    match line.find("/tmp").zip(line.find("/input.")) {
        Some((start, end)) => format!("{}{}", &line[..start], &line[end + 1..]),
        None => line,
    }
}
