//! The rules of a live cluster: read as they are served, and changed.

use super::write::{Objects, Stored};
use crate::model::DeviceTaintRule;

/// The rules of one cluster.
pub type Rules = Objects<DeviceTaintRule>;

/// A rule as the server has it.
pub type StoredRule = Stored<DeviceTaintRule>;
