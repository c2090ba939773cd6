//! Resolution of `--from` and `-f` arguments to files.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::wire::DecodeError;

/// Source of saved state: the value of `--from`.
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

/// A file that is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputFile {
    pub(crate) source: FileSource,
    pub(crate) way: InputOrigin,
}

/// Origin of a file in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputOrigin {
    /// Named by the user: it has to hold objects.
    Named,
    /// Found in a named directory: it may be something else.
    Listed,
}

/// File extensions that are read from a directory; as for kubectl, and gzip.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];
/// Extensions before `.gz` of compressed files in a directory that are no manifests.
const OTHERS: [&str; 4] = ["csv", "log", "tar", "txt"];
/// Maximum depth of nested directories.
const DEEPEST: usize = 64;

impl FileSource {
    /// The source as the user wrote it.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "stdin".to_owned(),
        }
    }

    /// Lists the files by name: of a directory all that are called like manifests, in the directories below it too.
    ///
    /// # Errors
    ///
    /// If a directory cannot be listed, has none, or has more than `limits` say. A link to nothing that
    /// is called like a manifest is listed: leaving it out would be a shorter answer.
    pub(crate) fn files(&self, limits: &Limits) -> Result<Vec<InputFile>, InputError> {
        let named = || InputFile {
            source: self.clone(),
            way: InputOrigin::Named,
        };
        match self {
            Self::Path(path) if path.is_dir() => {
                let mut listing = Listing {
                    most: limits.files,
                    root: path.clone(),
                    ..Listing::default()
                };
                listing.add(path, 0)?;
                listing.finish()
            }
            Self::Path(_) | Self::Stdin => Ok(vec![named()]),
        }
    }
}

/// The files of a directory, as far as they were found.
#[derive(Default)]
struct Listing {
    root: PathBuf,
    most: usize,
    files: Vec<PathBuf>,
}

impl Listing {
    fn add(&mut self, directory: &Path, depth: usize) -> Result<(), InputError> {
        let failed = |path: &Path, source| InputError::Read {
            file: path.display().to_string(),
            source,
        };
        if depth > DEEPEST {
            return Err(self.too_much(&format!("directories are nested deeper than {DEEPEST}")));
        }
        let mut entries: Vec<PathBuf> = fs::read_dir(directory)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
            .map_err(|source| failed(directory, source))?;
        // File systems return entries in different orders, and the report must not depend on that.
        entries.sort();
        for path in entries {
            match fs::metadata(&path) {
                Ok(found) if found.is_dir() => self.add(&path, depth.saturating_add(1))?,
                Ok(_) | Err(_) if !is_manifest(&path) => {}
                Ok(found) if !found.is_file() => {
                    // Reading a pipe could block for ever, and a device may never end.
                    let source = io::Error::other("it is neither a file nor a directory");
                    return Err(failed(&path, source));
                }
                // Of a link to nothing, reading says why.
                Ok(_) | Err(_) => self.push(path)?,
            }
        }
        Ok(())
    }

    fn push(&mut self, path: PathBuf) -> Result<(), InputError> {
        if self.files.len() == self.most {
            return Err(self.too_much(&format!("it contains more than {} files", self.most)));
        }
        self.files.push(path);
        Ok(())
    }

    fn too_much(&self, problem: &str) -> InputError {
        InputError::unusable(format!("{} is too large: {problem}", self.root.display()))
    }

    fn finish(self) -> Result<Vec<InputFile>, InputError> {
        if self.files.is_empty() {
            return Err(InputError::EmptyDirectory(self.root.display().to_string()));
        }
        let listed = |path| InputFile {
            source: FileSource::Path(path),
            way: InputOrigin::Listed,
        };
        Ok(self.files.into_iter().map(listed).collect())
    }
}

/// True if the file's extension is one of manifests, in upper or lower case.
fn is_manifest(path: &Path) -> bool {
    let Some(name) = path.file_name() else {
        return false;
    };
    let name = name.to_string_lossy().to_lowercase();
    match name.rsplit_once('.') {
        Some((rest, "gz")) => {
            let inner = rest.rsplit_once('.').map_or("", |(_, inner)| inner);
            !OTHERS.contains(&inner)
        }
        Some((_, extension)) => EXTENSIONS.contains(&extension),
        None => false,
    }
}

/// Limits on input. Counted while it is read, so that oversized input is never taken
/// in as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of one file, unpacked.
    pub bytes: u64,
    /// Most bytes of text that are held at once, unless a plain file that is no JSON is as large as that on the disk.
    /// JSON that goes on is decoded as it is read; anything else that goes on is refused.
    pub held: u64,
    /// Most bytes that one byte of gzip may stand for; dumps of clusters reach about 50.
    pub gzip_ratio: u64,
    /// Most bytes that any gzip may stand for, however small it is.
    pub gzip_always: u64,
    /// Most files that one directory may hold, with those below it.
    pub files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 4 << 30,
            held: 48 << 20,
            gzip_ratio: 200,
            gzip_always: 64 << 20,
            files: 100_000,
        }
    }
}

/// Error of a saved file. Names the file; the source names the problem.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// A file or directory cannot be read at all.
    #[error("cannot read {file}")]
    Read {
        /// As given, or as found in a directory.
        file: String,
        /// The system's words.
        #[source]
        source: io::Error,
    },
    /// A file is text, but not objects that can be read.
    #[error("cannot read {file}")]
    Decode {
        /// As given, or as found in a directory.
        file: String,
        /// Object, field and problem.
        #[source]
        source: DecodeError,
    },
    /// A file is not text.
    #[error("cannot read {file}: {problem}")]
    NotText {
        /// As given, or as found in a directory.
        file: String,
        /// Actual content.
        problem: String,
    },
    /// A directory has nothing to read.
    #[error("directory {0} contains no *.json, *.yaml, *.yml or *.gz file")]
    EmptyDirectory(String),
    /// The content cannot be used.
    #[error("{message}")]
    Unusable {
        /// Names the file.
        message: String,
        /// Remedy, if there is one.
        hint: Option<&'static str>,
    },
}

impl InputError {
    /// The content cannot be used, for the reason in `message`, which names the file.
    pub(crate) fn unusable(message: String) -> Self {
        let hint = None;
        Self::Unusable { message, hint }
    }

    /// The content is no dump, for the reason in `message`.
    pub(crate) fn no_dump(message: String) -> Self {
        let hint = Some(MAKE_DUMP);
        Self::Unusable { message, hint }
    }

    /// True if the file is complete and holds something else than Kubernetes objects: a text or data
    /// for another purpose, as the folders of programs have them. A truncated or damaged file may have
    /// held objects.
    pub(crate) fn is_no_manifest(&self) -> bool {
        match self {
            Self::Decode { source, .. } => matches!(source, DecodeError::Foreign(_)),
            Self::NotText { file, .. } => {
                let name = file.to_lowercase();
                let packed = name.strip_suffix(".gz").unwrap_or_default();
                let is_manifest = |end: &&str| packed.ends_with(&format!(".{end}"));
                !packed.is_empty() && !EXTENSIONS.iter().any(is_manifest)
            }
            Self::Read { .. } | Self::EmptyDirectory(_) | Self::Unusable { .. } => false,
        }
    }

    /// Remedy, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unusable { hint, .. } => *hint,
            Self::EmptyDirectory(_) => Some(MAKE_DUMP),
            Self::Read { .. } | Self::Decode { .. } | Self::NotText { .. } => None,
        }
    }
}

/// The command that makes a proper dump.
const MAKE_DUMP: &str = "make a dump with: kubectl devicetaint snapshot -o cluster.json.gz";

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(directory: &Path, limits: &Limits) -> Result<Vec<String>, String> {
        let files = FileSource::Path(directory.to_owned()).files(limits);
        let files = files.map_err(|error| match std::error::Error::source(&error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        })?;
        let names = files.iter().map(|meant| meant.source.name());
        let within = directory.display().to_string();
        Ok(names
            .map(|name| name[within.len() + 1..].to_owned())
            .collect())
    }

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "").expect("a file");
        }
        folder
    }

    #[test]
    fn manifests_are_found_however_deep_and_however_spelled() {
        let folder = folder(&[
            "pods2.JSON",
            "slices.YAML.GZ",
            "namespaces/ml/core/pods.yaml",
            "cluster-scoped-resources/resource.k8s.io/resourceslices/a.yml",
            "notes.txt",
            "audit.log.gz",
            "version",
            "all.gz",
        ]);
        assert_eq!(
            listed(folder.path(), &Limits::default()).expect("files"),
            [
                "all.gz",
                "cluster-scoped-resources/resource.k8s.io/resourceslices/a.yml",
                "namespaces/ml/core/pods.yaml",
                "pods2.JSON",
                "slices.YAML.GZ",
            ]
        );
    }

    #[test]
    fn directory_is_bounded() {
        let folder = folder(&["a.json", "b/c.json"]);
        let limits = Limits {
            files: 1,
            ..Limits::default()
        };
        let error = listed(folder.path(), &limits).expect_err("too many");
        assert!(error.ends_with("it contains more than 1 files"), "{error}");
    }
}
