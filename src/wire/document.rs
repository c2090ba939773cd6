//! Objects and lists as text: what `kubectl get -o json` and `-o yaml` print.
//!
//! A text may hold several documents; each is a single object, a typed list (`PodList`) or a `List`
//! of any kinds. Objects become facts one after another, so that the text, the facts and one object are
//! all that is ever held.

use std::collections::BTreeMap;
use std::io::Read;

use jiff::Timestamp;

use super::error::DecodeError;
use super::object::Item;
use super::parse_context::{ListHeader, ParseContext, ParseFailure, ParsePass, TypeMeta, place};
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

    /// Decodes JSON: one object or list, or several in a row.
    ///
    /// # Errors
    ///
    /// If the text is not JSON, or any needed object in it cannot be read.
    pub fn decode_json(&mut self, text: &str) -> Result<(), DecodeError> {
        // The direct pass replaces everything found so far, so it can only be tried on the first text.
        if self.documents == 0 {
            let mut direct = Self::keeping(self.found.kept.iter().copied());
            // Errors and their positions are left to the second pass.
            if direct.decode_json_directly(text).is_ok() {
                *self = direct;
                return Ok(());
            }
        }
        self.decode_json_by(text)
    }

    pub(super) fn decode_json_directly(&mut self, text: &str) -> Result<(), DecodeError> {
        self.found.pass = ParsePass::Direct;
        self.decode_json_by(text)
    }

    /// True if objects of some kinds are kept as they are written.
    pub fn is_keeping(&self) -> bool {
        !self.found.kept.is_empty()
    }

    fn decode_json_by(&mut self, text: &str) -> Result<(), DecodeError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        // `end` fails while anything but white space is left, which then is the next document.
        while deserializer.end().is_err() {
            self.begin_document();
            let seed = ObjectSeed::new(&mut self.found);
            if let Err(error) = seed.document(&mut deserializer) {
                return Err(self.explain(Parsed::json(&error)));
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
        let mut deserializer = serde_json::Deserializer::from_reader(reader);
        while deserializer.end().is_err() {
            self.begin_document();
            let seed = ObjectSeed::new(&mut self.found);
            if let Err(error) = seed.document(&mut deserializer) {
                return Err(self.explain(Parsed::json(&error)));
            }
        }
        Ok(())
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
                return Err(self.explain(parsed));
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
    fn explain(&mut self, parsed: Parsed) -> DecodeError {
        let Parsed {
            format,
            is_syntax,
            problem,
        } = parsed;
        let position = &self.found.position;
        let problem = shortened(&problem);
        // The noted failure takes precedence: after serde has wrapped it, only its text is left.
        match self.found.failure.take() {
            Some(ParseFailure::Decode(error)) => error,
            Some(ParseFailure::Misfit(misfit)) => DecodeError::Field {
                object: misfit.object(position),
                problem: shortened(&misfit.problem),
                field: misfit.field,
            },
            _ if is_syntax => DecodeError::Syntax { format, problem },
            Some(ParseFailure::Unreadable { kind }) => DecodeError::NotAnObject {
                object: format!("{kind} at {}", place(position)),
                problem,
            },
            None if position.len() == 1 => DecodeError::Foreign {
                document: place(position),
                problem,
            },
            None => DecodeError::NotAnObject {
                object: place(position),
                problem,
            },
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
fn shortened(problem: &str) -> String {
    const KEPT: usize = 100;
    let length = problem.chars().count();
    if length <= 2 * KEPT {
        return problem.to_owned();
    }
    let head: String = problem.chars().take(KEPT).collect();
    let tail: String = problem.chars().skip(length.saturating_sub(KEPT)).collect();
    format!("{head}…{tail}")
}
