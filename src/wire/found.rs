//! What has been found in text so far, and where.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::Error;

use super::error::DecodeError;
use super::meta::ListMeta;
use super::object::{Converter, Item};
use crate::model::Kind;

/// Everything that was found so far, and the place that is being looked at.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) converter: Converter,
    pub(super) items: Vec<Item>,
    pub(super) lists: Vec<ListHeader>,
    pub(super) objects: BTreeMap<TypeMeta, usize>,
    /// The kinds whose objects are kept as they are written, beside the facts that they state.
    pub(super) kept: BTreeSet<Kind>,
    /// Why the object at hand could not be decoded; serde's own errors hold nothing but text.
    pub(super) failure: Option<Failure>,
    /// Where the object at hand is: number of the document, then indices into lists.
    pub(super) position: Vec<usize>,
}

/// `apiVersion` and `kind`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeMeta {
    /// Group and version.
    pub api_version: String,
    /// Such as `Pod`.
    pub kind: String,
}

impl TypeMeta {
    /// Whether it is a list, of one kind or of any.
    pub(super) fn is_list(&self) -> bool {
        self.kind.ends_with("List")
    }

    /// What the objects of a typed list are; nothing for a `List` of any kinds.
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

/// What a list says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListHeader {
    /// `List`, or such as `PodList`.
    pub type_meta: TypeMeta,
    /// Its state and annotations.
    pub metadata: ListMeta,
}

/// Why an object could not be decoded.
#[derive(Debug)]
pub(super) enum Failure {
    /// Complete, with the object's name.
    Decode(DecodeError),
    /// Found by the parser, which knows no names.
    Field { kind: Kind, field: String },
}

impl Found {
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
        self.failure = Some(Failure::Decode(error));
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
