//! An object with everything that the server says about it.

use serde_json::Value;

/// An object as the server has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored<T> {
    /// The object as it was served, with fields that this plugin does not know.
    pub object: Value,
    /// What this plugin knows of it.
    pub fact: T,
}

/// Which state of an object a change was decided on; the server refuses the change of any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectVersion {
    /// Tells the object from a later one of its name.
    pub uid: String,
    /// Which state of it; opaque.
    pub resource_version: String,
}
