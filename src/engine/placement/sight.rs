//! What is known, and how much of it?

use std::fmt;
use std::iter::Sum;

/// What was read completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
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
}

impl Sight {
    /// Everything.
    pub const COMPLETE: Self = Self {
        slices: true,
        claims: true,
        rules: true,
        classes: true,
        nodes: true,
    };
}

/// Why something is not known, in words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unknown {
    why: String,
    is_unread: bool,
}

impl Unknown {
    /// Since something was not read, which whoever has tried to read it can tell better.
    pub(super) fn unread(why: &str) -> Self {
        Self {
            why: why.to_owned(),
            is_unread: true,
        }
    }

    /// Whether that is because something was not read, and not because of what was.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        self.is_unread
    }
}

impl From<String> for Unknown {
    fn from(why: String) -> Self {
        Self {
            why,
            is_unread: false,
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.why)
    }
}

/// What a number may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The lowest.
    pub least: usize,
    /// The highest.
    pub most: usize,
}

impl Range {
    /// Known.
    #[must_use]
    pub const fn exactly(number: usize) -> Self {
        Self {
            least: number,
            most: number,
        }
    }

    /// Anything up to there.
    #[must_use]
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
