//! Objects and lists as text: what `kubectl get -o json` and `-o yaml` print.
//!
//! A text may hold several documents; each is a single object, a typed list (`PodList`) or a `List`
//! of any kinds. Objects become facts one after another, so that the text, the facts and one object are
//! all that is ever held.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use jiff::Timestamp;
use serde::de::Error;
use serde_json::de::{IoRead, StrRead};

use super::error::DecodeError;
use super::meta::ListMeta;
use super::object::{Converter, Item};
use super::walk::ObjectSeed;
use super::yaml;
use crate::model::{Kind, Warning};

/// Everything that was decoded from text so far.
#[derive(Debug, Default)]
pub struct Documents {
    pub(super) found: ParseContext,
    documents: usize,
}

/// Content of a text, once all of it is decoded.
#[derive(Debug, Default)]
pub struct Decoded {
    /// The facts, in the order of the text.
    pub items: Vec<Item>,
    /// The lists that were met.
    pub lists: Vec<ListHeader>,
    /// Number of objects by kind, including those that are of no interest.
    pub found: BTreeMap<TypeMeta, usize>,
    /// Warnings; their order does not depend on that of the objects.
    pub warnings: Vec<Warning>,
    /// The newest deletion of the objects; other times are found in their text.
    pub newest: Option<Timestamp>,
}

impl Decoded {
    /// Content of a text in JSON: one object or list, or several in a row.
    ///
    /// # Errors
    ///
    /// As [`Documents::decode_json`].
    pub fn of_json(text: &str) -> Result<Self, DecodeError> {
        let mut documents = Documents::new();
        documents.decode_json(text)?;
        Ok(documents.finish())
    }
}

impl Documents {
    /// Nothing decoded yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing decoded yet. Objects of these kinds will be kept as they are written too, with the fields
    /// that this plugin does not know.
    pub fn keeping(kinds: impl IntoIterator<Item = Kind>) -> Self {
        Self {
            found: ParseContext {
                kept: kinds.into_iter().collect(),
                ..ParseContext::default()
            },
            documents: 0,
        }
    }

    /// As [`Documents::keeping`], without reading objects of other kinds, which may be manifests.
    pub fn only(kind: Kind) -> Self {
        let mut documents = Self::keeping([kind]);
        documents.found.reads_only_kept = true;
        documents
    }

    /// Decodes JSON: one object or list, or several in a row.
    ///
    /// # Errors
    ///
    /// If the text is not JSON, or any needed object in it cannot be read.
    pub fn decode_json(&mut self, text: &str) -> Result<(), DecodeError> {
        // The direct pass replaces everything found so far, so it can only be tried on the first text.
        if self.documents == 0 {
            let mut direct = Self::keeping(self.found.kept.iter().copied());
            direct.found.reads_only_kept = self.found.reads_only_kept;
            // Errors and their positions are left to the second pass.
            if direct.decode_json_directly(text).is_ok() {
                *self = direct;
                return Ok(());
            }
        }
        self.decode_json_by(StrRead::new(text))
    }

    /// True if objects of some kinds are kept as they are written.
    pub fn is_keeping(&self) -> bool {
        !self.found.kept.is_empty()
    }

    pub(super) fn decode_json_directly(&mut self, text: &str) -> Result<(), DecodeError> {
        self.found.pass = ParsePass::Direct;
        self.decode_json_by(StrRead::new(text))
    }

    fn decode_json_by<'de>(
        &mut self,
        from: impl serde_json::de::Read<'de>,
    ) -> Result<(), DecodeError> {
        let mut deserializer = serde_json::Deserializer::new(from);
        // `end` fails while anything but white space is left, which then is the next document.
        while deserializer.end().is_err() {
            self.begin_document();
            let seed = ObjectSeed::new(&mut self.found);
            if let Err(error) = seed.document(&mut deserializer) {
                return Err(self.explain(&Parsed::json(&error)));
            }
        }
        Ok(())
    }

    /// Decodes JSON while it is read, so that none of it has to be held: one object or list, or several
    /// in a row. An error names an object by its place alone.
    ///
    /// # Errors
    ///
    /// If reading fails, the text is not JSON, or any needed object in it cannot be read.
    pub fn decode_json_from(&mut self, reader: impl Read) -> Result<(), DecodeError> {
        self.decode_json_by(IoRead::new(reader))
    }

    /// Decodes YAML of any number of documents.
    ///
    /// # Errors
    ///
    /// If the text is not YAML, asks for too much (nesting, aliases), or any needed object in it
    /// cannot be read.
    pub fn decode_yaml(&mut self, text: &str) -> Result<(), DecodeError> {
        for document in yaml::documents(text) {
            self.begin_document();
            let decoded = yaml::with_deserializer(document.text, |deserializer| {
                ObjectSeed::new(&mut self.found).document(deserializer)
            });
            if let Err(error) = decoded {
                let parsed = Parsed {
                    format: "YAML",
                    is_syntax: yaml::is_syntax(&error),
                    problem: yaml::describe(&error, document.first_line),
                };
                return Err(self.explain(&parsed));
            }
        }
        Ok(())
    }

    /// Everything that was decoded.
    pub fn finish(self) -> Decoded {
        let found = self.found;
        Decoded {
            warnings: found.converter.warnings(),
            newest: found.converter.newest(),
            items: found.items,
            lists: found.lists,
            found: found.objects,
        }
    }

    fn begin_document(&mut self) {
        self.found.position.clear();
        self.found.position.push(self.documents);
        self.documents = self.documents.saturating_add(1);
    }

    /// Says which object of which name the parser's words are about.
    fn explain(&mut self, parsed: &Parsed) -> DecodeError {
        let found = &mut self.found;
        let at = place(&found.position);
        // The noted failure takes precedence: after serde has wrapped it, only its text is left.
        if let Some(failure) = found.failure.take() {
            return failure;
        }
        let problem = shortened(&parsed.problem);
        match found.within {
            _ if parsed.is_syntax => DecodeError::syntax(parsed.format, problem),
            Some(kind) => DecodeError::Unusable(format!("{kind} at {at}: {problem}")),
            None if found.position == [0] => DecodeError::Foreign(format!("{at}: {problem}")),
            None => DecodeError::Unusable(format!("{at}: {problem}")),
        }
    }
}

/// Message of a parser.
struct Parsed {
    /// `JSON` or `YAML`.
    format: &'static str,
    /// The text is not even that.
    is_syntax: bool,
    problem: String,
}

impl Parsed {
    fn json(error: &serde_json::Error) -> Self {
        Self {
            format: "JSON",
            // serde_json calls data what a visitor rejects; everything else means that the text is not JSON.
            is_syntax: !error.is_data(),
            problem: error.to_string(),
        }
    }
}

/// A parser's words without the middle where they quote half a file: one line is for reading.
pub(super) fn shortened(problem: &str) -> String {
    const KEPT: usize = 100;
    let length = problem.chars().count();
    if length <= 2 * KEPT {
        return problem.to_owned();
    }
    let head: String = problem.chars().take(KEPT).collect();
    let tail: String = problem.chars().skip(length.saturating_sub(KEPT)).collect();
    format!("{head}…{tail}")
}

/// Everything that was found so far, and the place that is being looked at.
#[derive(Debug, Default)]
pub(super) struct ParseContext {
    pub(super) converter: Converter,
    pub(super) items: Vec<Item>,
    pub(super) lists: Vec<ListHeader>,
    pub(super) objects: BTreeMap<TypeMeta, usize>,
    /// The kinds whose objects are kept as they are written, beside the facts that they state.
    pub(super) kept: BTreeSet<Kind>,
    /// True if objects of other kinds are counted only.
    pub(super) reads_only_kept: bool,
    pub(super) pass: ParsePass,
    /// Error of the current object; serde's own errors hold nothing but text.
    pub(super) failure: Option<DecodeError>,
    /// The kind of the object within which the parser stopped, where that is of interest.
    pub(super) within: Option<Kind>,
    /// Position of the current object: number of the document, then indices into lists.
    pub(super) position: Vec<usize>,
}

/// Way in which objects are decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ParsePass {
    /// While they are read, where what they are is known by then. What is wrong is not found out.
    Direct,
    /// From their fields, which are read first: warnings are collected.
    #[default]
    Fields,
}

/// `apiVersion` and `kind`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeMeta {
    /// Group and version.
    pub api_version: String,
    /// Kind, such as `Pod`.
    pub kind: String,
}

impl TypeMeta {
    /// True if it is a list, of one kind or of any.
    pub(super) fn is_list(&self) -> bool {
        is_list(&self.kind)
    }

    /// Type of the objects of a typed list; nothing for a `List` of any kinds.
    pub(super) fn of_items(&self) -> Option<Self> {
        let kind = self
            .kind
            .strip_suffix("List")
            .filter(|kind| !kind.is_empty())?;
        Some(Self {
            api_version: self.api_version.clone(),
            kind: kind.to_owned(),
        })
    }
}

/// True if objects of that kind are lists.
pub(super) fn is_list(kind: &str) -> bool {
    kind.ends_with("List")
}

/// Metadata of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListHeader {
    /// `List`, or such as `PodList`.
    pub type_meta: TypeMeta,
    /// Its state and annotations.
    pub metadata: ListMeta,
}

impl ParseContext {
    /// The error for an object without `apiVersion` or `kind`.
    pub(super) fn untyped<E: Error>(&mut self, problem: &str) -> E {
        let at = place(&self.position);
        self.fail(DecodeError::Unusable(format!("{at}: {problem}")))
    }

    /// Keeps `error` aside and gives serde something to carry upwards.
    pub(super) fn fail<E: Error>(&mut self, error: DecodeError) -> E {
        let text = error.to_string();
        self.failure = Some(error);
        E::custom(text)
    }
}

/// A position in words, such as `items[3]`.
pub(super) fn place(position: &[usize]) -> String {
    let (document, indices) = position.split_first().unwrap_or((&0, &[]));
    let number = document.saturating_add(1);
    let mut place = match (document, indices) {
        (_, []) => return format!("document {number}"),
        (0, _) => String::new(),
        (_, _) => format!("document {number}, "),
    };
    for (depth, index) in indices.iter().enumerate() {
        let dot = if depth == 0 { "" } else { "." };
        place.push_str(&format!("{dot}items[{index}]"));
    }
    place
}
