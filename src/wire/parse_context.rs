//! Objects that were found in text so far, and their positions.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::Error;
use serde_json::Value;

use super::error::DecodeError;
use super::error_path::FieldsError;
use super::meta::ListMeta;
use super::object::{Converter, Item};
use crate::model::Kind;

/// Everything that was found so far, and the place that is being looked at.
#[derive(Debug, Default)]
pub(super) struct ParseContext {
    pub(super) converter: Converter,
    pub(super) items: Vec<Item>,
    pub(super) lists: Vec<ListHeader>,
    pub(super) objects: BTreeMap<TypeMeta, usize>,
    /// The kinds whose objects are kept as they are written, beside the facts that they state.
    pub(super) kept: BTreeSet<Kind>,
    pub(super) pass: ParsePass,
    /// Error of the current object; serde's own errors hold nothing but text.
    pub(super) failure: Option<ParseFailure>,
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

/// Error of an object that could not be decoded.
#[derive(Debug)]
pub(super) enum ParseFailure {
    /// Complete, with the object's name.
    Decode(DecodeError),
    /// A value of a field is not what belongs there.
    Misfit(UndecodableObject),
    /// The parser stopped within an object of this kind.
    Unreadable { kind: Kind },
}

/// A value that is not what belongs there.
#[derive(Debug)]
pub(super) struct UndecodableObject {
    kind: Kind,
    name: Option<String>,
    /// Path of the field, such as `spec.pool.name`.
    pub(super) field: String,
    /// Problem.
    pub(super) problem: String,
}

impl UndecodableObject {
    /// Error with the object's name, from `error` about the fields of an object.
    pub(super) fn new(kind: Kind, fields: &Value, error: FieldsError) -> Self {
        let text = |key| {
            let value = fields.get("metadata")?.get(key)?;
            value.as_str().filter(|text| !text.is_empty())
        };
        let name = text("name").map(|name| match text("namespace") {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        });
        Self {
            kind,
            name,
            field: error.path,
            problem: error.problem,
        }
    }

    /// Kind and name of the object, or where it is.
    pub(super) fn object(&self, position: &[usize]) -> String {
        let kind = self.kind;
        match &self.name {
            Some(name) => format!("{kind} {name}"),
            None => format!("{kind} at {}", place(position)),
        }
    }
}

impl ParseContext {
    /// The error for an object without `apiVersion` or `kind`.
    pub(super) fn untyped<E: Error>(&mut self, problem: &str) -> E {
        self.fail(DecodeError::NotAnObject {
            object: place(&self.position),
            problem: problem.to_owned(),
        })
    }

    /// Keeps `error` aside and gives serde something to carry upwards.
    pub(super) fn fail<E: Error>(&mut self, error: DecodeError) -> E {
        let text = error.to_string();
        self.failure = Some(ParseFailure::Decode(error));
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
