//! An object with everything that the server says about it.

use serde_json::Value;

use crate::wire::{Fact, Object};

/// An object as the server has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored<T> {
    /// The object as it was served, with fields that this plugin does not know.
    pub object: Value,
    /// Decoded object.
    pub fact: T,
}

/// Facts that are decoded from a stored object beside its JSON.
pub trait Known: Sized {
    /// Facts of a decoded object, unless it is of another kind.
    fn known(object: Object) -> Option<Self>;
}

impl<T: Fact> Known for T {
    fn known(object: Object) -> Option<Self> {
        T::of(object)
    }
}

/// Nothing: the JSON of the object is all that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Untyped;

impl Known for Untyped {
    fn known(_: Object) -> Option<Self> {
        Some(Self)
    }
}

/// Version of an object that a change was decided on; the server refuses the change of any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectVersion {
    /// Distinguishes the object from a later one of its name.
    pub uid: String,
    /// Version; opaque.
    pub resource_version: String,
}
