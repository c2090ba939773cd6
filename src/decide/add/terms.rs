//! Options that requested rules share: effect, value, expiry, and what happens to existing rules.

use jiff::Timestamp;

use crate::engine::Semantics;

/// What becomes of effect, value and expiry of a rule that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// They stay.
    Kept,
    /// They become what is asked for.
    Overwritten,
}

/// On which terms rules are made.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// What becomes of those that are there.
    pub existing: Existing,
    /// How the server behaves.
    pub semantics: &'a Semantics,
    /// The server's clock.
    pub now: Timestamp,
}
