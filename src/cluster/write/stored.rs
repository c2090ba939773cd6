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
