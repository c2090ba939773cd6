//! Errors of files.

use std::io;

use crate::wire::DecodeError;

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
    /// A directory has nothing to read.
    #[error("directory {directory} contains no *.json, *.yaml, *.yml or *.gz file")]
    EmptyDirectory {
        /// As given.
        directory: String,
    },
    /// A file is not text.
    #[error("cannot read {file}: {problem}")]
    NotText {
        /// As given, or as found in a directory.
        file: String,
        /// Actual content.
        problem: String,
    },
    /// A file is an archive of files.
    #[error("cannot read {file}: it is a tar archive")]
    Archive {
        /// As given, or as found in a directory.
        file: String,
    },
    /// A file holds more than is sensible.
    #[error("{file} is too large: {problem}")]
    TooLarge {
        /// As given, or as found in a directory.
        file: String,
        /// Actual and allowed amount.
        problem: String,
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
    /// A file holds objects that were never stored.
    #[error("{file} is a manifest, not a dump: {object} has no uid or no namespace")]
    Manifest {
        /// As given, or as found in a directory.
        file: String,
        /// The first such object.
        object: String,
    },
    /// None of the files holds anything that a preview is made from.
    #[error("{files} contains nothing that this command uses: {found}")]
    NothingNeeded {
        /// The files, as given.
        files: String,
        /// Actual content.
        found: String,
    },
    /// No manifest holds a rule.
    #[error("no DeviceTaintRule in {files}")]
    NoRule {
        /// The files, as given.
        files: String,
    },
    /// A rule of a manifest that no server would accept.
    #[error("{file}: DeviceTaintRule {rule}: {field}: {problem}")]
    Rule {
        /// As given, or as found in a directory.
        file: String,
        /// Name of the rule.
        rule: String,
        /// Path of the field, with dots.
        field: String,
        /// Problem.
        problem: String,
    },
    /// A saved list carries a note that is not what it should be.
    #[error("cannot read {file}: annotation {annotation}: `{value}` is not {expected}")]
    Annotation {
        /// As given, or as found in a directory.
        file: String,
        /// Name of the annotation.
        annotation: &'static str,
        /// Value in the file.
        value: String,
        /// Expected value.
        expected: &'static str,
    },
}

impl InputError {
    /// True if the file is complete and holds something else than Kubernetes objects: a text or data
    /// for another purpose, as the folders of programs have them. A truncated or damaged file may have
    /// held objects.
    pub(in crate::cluster) fn is_no_manifest(&self) -> bool {
        match self {
            Self::Decode { source, .. } => source.is_foreign(),
            Self::NotText { file, .. } => {
                let name = file.to_lowercase();
                let packed = name.strip_suffix(".gz").unwrap_or_default();
                !packed.is_empty()
                    && ![".json", ".yaml", ".yml"]
                        .iter()
                        .any(|end| packed.ends_with(end))
            }
            Self::Read { .. }
            | Self::Archive { .. }
            | Self::EmptyDirectory { .. }
            | Self::TooLarge { .. }
            | Self::NothingNeeded { .. }
            | Self::NoRule { .. }
            | Self::Rule { .. }
            | Self::Manifest { .. }
            | Self::Annotation { .. } => false,
        }
    }

    /// Remedy, if there is one: the command that makes a proper dump.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NothingNeeded { .. } | Self::EmptyDirectory { .. } | Self::Manifest { .. } => {
                Some("make a dump with: kubectl devicetaint snapshot -o cluster.json.gz")
            }
            Self::Archive { .. } => {
                Some("unpack it into a directory, and set --from to that directory")
            }
            Self::Read { .. }
            | Self::NotText { .. }
            | Self::TooLarge { .. }
            | Self::Decode { .. }
            | Self::NoRule { .. }
            | Self::Rule { .. }
            | Self::Annotation { .. } => None,
        }
    }
}
