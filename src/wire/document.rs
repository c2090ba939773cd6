//! Objects and lists as text: what `kubectl get -o json` and `-o yaml` print.
//!
//! A text may hold several documents; each is a single object, a typed list (`PodList`) or a `List`
//! of any kinds. Objects are decoded straight into the struct of their kind, in one pass, and
//! become facts at once, so that the text and the facts are all that is ever held.

use std::collections::BTreeMap;
use std::io::Read;

use jiff::Timestamp;

use super::error::DecodeError;
use super::found::{Failure, Found, ListHeader, TypeMeta, place};
use super::named;
use super::object::Item;
use super::walk::ObjectSeed;
use super::yaml;
use crate::model::{Kind, Warning};

/// Everything that was decoded from text so far.
#[derive(Debug, Default)]
pub struct Documents {
    found: Found,
    documents: usize,
}

/// What text held, once all of it is decoded.
#[derive(Debug, Default)]
pub struct Decoded {
    /// The facts, in the order of the text.
    pub items: Vec<Item>,
    /// The lists that were met.
    pub lists: Vec<ListHeader>,
    /// How many objects of each kind there were, including those that are of no interest.
    pub found: BTreeMap<TypeMeta, usize>,
    /// Oddities; their order does not depend on that of the objects.
    pub warnings: Vec<Warning>,
    /// The newest time that had passed when the objects were read.
    pub newest: Option<Timestamp>,
}

impl Documents {
    /// Nothing decoded yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing decoded yet. Objects of these kinds will be kept as they are written too, with the fields
    /// that this plugin does not know.
    #[must_use]
    pub fn keeping(kinds: impl IntoIterator<Item = Kind>) -> Self {
        Self {
            found: Found {
                kept: kinds.into_iter().collect(),
                ..Found::default()
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
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let first = self.documents;
        while deserializer.end().is_err() {
            self.begin_document();
            let seed = ObjectSeed::new(&mut self.found);
            if let Err(error) = seed.document(&mut deserializer) {
                let name = |path: &[usize]| named::in_json(text, first, path);
                let syntax = !error.is_data();
                return Err(self.explain("JSON", syntax, &error.to_string(), name));
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
                let syntax = !error.is_data();
                return Err(self.explain("JSON", syntax, &error.to_string(), |_| None));
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
                let name = |path: &[usize]| named::in_yaml(document.text, path);
                let syntax = yaml::is_syntax(&error);
                let problem = yaml::describe(&error, document.first_line);
                return Err(self.explain("YAML", syntax, &problem, name));
            }
        }
        Ok(())
    }

    /// Everything that was decoded.
    #[must_use]
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

    /// Says which object of which name the parser's `problem` is about.
    fn explain(
        &mut self,
        format: &'static str,
        syntax: bool,
        problem: &str,
        name: impl Fn(&[usize]) -> Option<String>,
    ) -> DecodeError {
        match self.found.failure.take() {
            Some(Failure::Decode(error)) => error,
            Some(Failure::Field { kind, field }) if !syntax => DecodeError::Field {
                object: name(&self.found.position).map_or_else(
                    || format!("{kind} at {}", place(&self.found.position)),
                    |name| format!("{kind} {name}"),
                ),
                field,
                problem: shortened(problem),
            },
            _ if syntax => DecodeError::Syntax {
                format,
                problem: shortened(problem),
            },
            _ if self.found.position.len() == 1 => DecodeError::Foreign {
                document: place(&self.found.position),
                problem: shortened(problem),
            },
            _ => DecodeError::NotAnObject {
                object: place(&self.found.position),
                problem: shortened(problem),
            },
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
