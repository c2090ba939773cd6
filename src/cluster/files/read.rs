//! Reads saved state: `--from FILE|DIR|-`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use jiff::Timestamp;
use serde_json::Value;

use super::bytes;
use super::gather::{Gathering, Written, gaps};
use super::observed::{notes, version_of};
use super::{FileSource, InputError};
use crate::model::{Kind, Minor, Need, Reading, Source, Warning};
use crate::wire::{Decoded, Documents, ListHeader, TypeMeta};

/// How much is read before it is called too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of one file, unpacked.
    pub bytes: u64,
    /// Most bytes that one byte of gzip may stand for; dumps of clusters reach about 50.
    pub gzip_ratio: u64,
    /// Most bytes that any gzip may stand for, however small it is.
    pub gzip_always: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 4 << 30,
            gzip_ratio: 200,
            gzip_always: 64 << 20,
        }
    }
}

/// Reads all of `sources` as one cluster. `stdin` is read where `-` was given.
///
/// # Errors
///
/// If a file cannot be read, any object in it that is needed cannot be read, or none is needed.
pub fn read(
    sources: &[FileSource],
    stdin: &mut dyn Read,
    limits: &Limits,
) -> Result<Reading, InputError> {
    let mut input = Input::default();
    for source in sources {
        for file in source.files()? {
            input.add(&file.name(), decode_file(&file, stdin, limits)?)?;
        }
    }
    input.reading(&named(sources))
}

/// Reads files as [`read`] does, and the rules as they stand in them, by name: with all fields, also those that this
/// plugin does not know.
///
/// # Errors
///
/// As [`read`].
pub fn read_with_rules(
    sources: &[FileSource],
    stdin: &mut dyn Read,
    limits: &Limits,
) -> Result<(Reading, BTreeMap<String, Value>), InputError> {
    let mut input = Input::default();
    let mut rules = Written::default();
    for source in sources {
        for file in source.files()? {
            let text = bytes::text(&file, stdin, limits)?;
            let name = file.name();
            input.add(&name, decode(&name, &text, Documents::new())?)?;
            // Once more, so that mistakes are found and told as for everybody else.
            let kept = Documents::keeping(Kind::DeviceTaintRule);
            rules.add(decode(&name, &text, kept)?.written);
        }
    }
    Ok((input.reading(&named(sources))?, rules.by_name()))
}

fn named(sources: &[FileSource]) -> String {
    let names: Vec<_> = sources.iter().map(FileSource::name).collect();
    names.join(", ")
}

/// The objects of one file.
pub(in crate::cluster) fn decode_file(
    file: &FileSource,
    stdin: &mut dyn Read,
    limits: &Limits,
) -> Result<Decoded, InputError> {
    let text = bytes::text(file, stdin, limits)?;
    decode(&file.name(), &text, Documents::new())
}

pub(super) fn decode(
    file: &str,
    text: &str,
    mut documents: Documents,
) -> Result<Decoded, InputError> {
    // kubectl looks at the first character too.
    let decoded = if text.trim_start().starts_with('{') {
        documents.decode_json(text)
    } else {
        documents.decode_yaml(text)
    };
    decoded.map_err(|source| InputError::Decode {
        file: file.to_owned(),
        source,
    })?;
    Ok(documents.finish())
}

/// Everything that was read so far.
#[derive(Default)]
struct Input {
    gathering: Gathering,
    found: BTreeMap<TypeMeta, usize>,
    present: BTreeSet<Kind>,
    resource_versions: BTreeMap<String, String>,
    /// As the annotations say.
    observed_at: Option<Timestamp>,
    version: Option<Minor>,
    /// The newest time of any object.
    newest: Option<Timestamp>,
    warnings: Vec<Warning>,
}

impl Input {
    fn add(&mut self, file: &str, decoded: Decoded) -> Result<(), InputError> {
        for list in &decoded.lists {
            self.add_list(file, list)?;
        }
        for (type_meta, count) in decoded.found {
            self.present
                .extend(needed_kind(&type_meta.kind, &type_meta));
            *self.found.entry(type_meta).or_default() += count;
        }
        for item in decoded.items {
            self.gathering.add(item);
        }
        self.warnings.extend(decoded.warnings);
        self.newest = self.newest.max(decoded.newest);
        Ok(())
    }

    fn add_list(&mut self, file: &str, list: &ListHeader) -> Result<(), InputError> {
        let notes = notes(file, &list.metadata)?;
        self.observed_at = self.observed_at.max(notes.observed_at);
        self.version = self.version.or(notes.version);
        self.present.extend(notes.kinds);
        let kind = list.type_meta.kind.strip_suffix("List");
        let kind = kind.and_then(|kind| needed_kind(kind, &list.type_meta));
        if let Some(kind) = kind {
            self.present.insert(kind);
            let version = list.metadata.resource_version.clone();
            if !version.is_empty() {
                self.resource_versions
                    .insert(kind.plural().to_owned(), version);
            }
        }
        Ok(())
    }

    fn reading(mut self, files: &str) -> Result<Reading, InputError> {
        if self
            .present
            .iter()
            .all(|kind| kind.need() == Need::Optional)
        {
            return Err(InputError::NothingNeeded {
                files: files.to_owned(),
                found: in_words(&self.found),
            });
        }
        self.warnings.append(&mut self.gathering.warnings);
        let snapshot = self.gathering.snapshot();
        Ok(Reading {
            gaps: gaps(&self.present, &snapshot),
            snapshot,
            source: Source::Files,
            observed_at: self.observed_at.or(self.newest),
            version: self.version.or_else(|| version_of(&self.found)),
            known: self.present,
            resource_versions: self.resource_versions,
            warnings: self.warnings,
        })
    }
}

/// The needed kind called `kind` in the API group of `type_meta`.
fn needed_kind(kind: &str, type_meta: &TypeMeta) -> Option<Kind> {
    let group = |api_version: &str| {
        api_version
            .rsplit_once('/')
            .map(|(group, _)| group.to_owned())
    };
    crate::wire::VERSIONS
        .iter()
        .find(|version| {
            version.kind.as_str() == kind
                && group(version.api_version) == group(&type_meta.api_version)
        })
        .map(|version| version.kind)
}

/// What there is, such as "only 2 × Node, 1 × Secret".
fn in_words(found: &BTreeMap<TypeMeta, usize>) -> String {
    if found.is_empty() {
        return "no objects at all".to_owned();
    }
    let kinds: Vec<_> = found
        .iter()
        .map(|(type_meta, count)| format!("{count} × {}", type_meta.kind.escape_debug()))
        .collect();
    format!("only {}", kinds.join(", "))
}
