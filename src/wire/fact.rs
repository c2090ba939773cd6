//! Facts of one kind.

use super::Object;
use crate::model::{DeviceTaintRule, Kind};

/// A fact of one kind, which a list of that kind is made of.
pub trait Fact: Sized {
    /// The kind.
    const KIND: Kind;

    /// The fact, if `object` is one of this kind.
    fn of(object: Object) -> Option<Self>;
}

impl Fact for DeviceTaintRule {
    const KIND: Kind = Kind::DeviceTaintRule;

    fn of(object: Object) -> Option<Self> {
        if let Object::DeviceTaintRule(rule) = object {
            Some(rule)
        } else {
            None
        }
    }
}
