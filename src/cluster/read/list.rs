//! A list that was read.

use crate::model::Warning;
use crate::wire::{Fact, ListMeta, Object};

/// A complete list, or one page of it.
#[derive(Debug)]
pub(in crate::cluster) struct List<T> {
    /// The name of its first object, kept or not.
    pub(in crate::cluster) first: Option<String>,
    pub(in crate::cluster) items: Vec<T>,
    pub(in crate::cluster) metadata: ListMeta,
    pub(in crate::cluster) warnings: Vec<Warning>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self {
            first: None,
            items: Vec::new(),
            metadata: ListMeta::default(),
            warnings: Vec::new(),
        }
    }
}

impl List<Object> {
    /// The facts of one kind, and what the list says about itself.
    pub(in crate::cluster) fn of_kind<T: Fact>(self) -> List<T> {
        List {
            first: self.first,
            items: self.items.into_iter().filter_map(T::of).collect(),
            metadata: self.metadata,
            warnings: self.warnings,
        }
    }
}
