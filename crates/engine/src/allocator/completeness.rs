//! Completeness of inputs, and reasons for unknown results.

use std::fmt;
use std::iter::Sum;

use crate::semantics::Semantics;

/// Inputs that were read completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completeness {
    /// All slices, with what the allocator looks at.
    pub slices: bool,
    /// All claims, with what they ask for.
    pub claims: bool,
    /// All rules.
    pub rules: bool,
    /// All device classes.
    pub classes: bool,
    /// All nodes.
    pub nodes: bool,
    /// All claim templates, or none of them, where generated claims stand for theirs.
    pub templates: bool,
}

impl Completeness {
    /// Everything.
    pub const COMPLETE: Self = Self {
        slices: true,
        claims: true,
        rules: true,
        classes: true,
        nodes: true,
        templates: true,
    };
}

/// Basis of a search for devices beside the snapshot.
#[derive(Clone, Copy, Debug)]
pub struct SearchBasis<'a> {
    /// Behaviour of that version of Kubernetes.
    pub semantics: &'a Semantics,
    /// Inputs that were read completely.
    pub completeness: Completeness,
}

/// Why something is not known, in words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unknown {
    why: String,
    ground: UnknownCause,
}

/// Cause of an unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum UnknownCause {
    /// It was not read.
    Unread,
    /// An expression fails, in Kubernetes just as here, where the scheduler gives up with an error.
    Failure,
    /// Something else about what was read.
    Other,
}

impl Unknown {
    /// Unknown since something was not read; the failed read tells why.
    pub(super) fn unread(why: &str) -> Self {
        Self {
            why: why.to_owned(),
            ground: UnknownCause::Unread,
        }
    }

    /// Since an expression fails, in Kubernetes just as here.
    pub(super) fn failure(why: String) -> Self {
        Self {
            why,
            ground: UnknownCause::Failure,
        }
    }

    /// The same unknown, told in other words.
    pub(super) fn with_context(&self, words: impl FnOnce(&str) -> String) -> Self {
        Self {
            why: words(&self.why),
            ground: self.ground,
        }
    }

    /// True if the cause is that something was not read, and not what was read.
    pub fn is_unread(&self) -> bool {
        self.ground == UnknownCause::Unread
    }

    /// True if the cause is a failing expression, in Kubernetes just as here: the scheduler gives up the whole attempt
    /// with an error.
    pub fn is_failure(&self) -> bool {
        self.ground == UnknownCause::Failure
    }
}

impl From<String> for Unknown {
    fn from(why: String) -> Self {
        Self {
            why,
            ground: UnknownCause::Other,
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.why)
    }
}

/// Bounds of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The lowest.
    pub least: usize,
    /// The highest.
    pub most: usize,
}

impl Range {
    /// Known.
    pub const fn exactly(number: usize) -> Self {
        Self {
            least: number,
            most: number,
        }
    }

    /// Anything up to there.
    pub const fn up_to(most: usize) -> Self {
        Self { least: 0, most }
    }

    pub(super) fn plus(self, more: Self) -> Self {
        Self {
            least: self.least.saturating_add(more.least),
            most: self.most.saturating_add(more.most),
        }
    }
}

impl Sum for Range {
    fn sum<I: Iterator<Item = Self>>(ranges: I) -> Self {
        ranges.fold(Self::exactly(0), Self::plus)
    }
}
