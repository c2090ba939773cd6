//! Options that requested rules share: effect, value, expiry, and what happens to existing rules.

use jiff::Timestamp;

use crate::engine::Semantics;

/// Treatment of effect, value and expiry of an existing rule.
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
    /// Treatment of existing rules.
    pub existing: Existing,
    /// Behaviour of the server.
    pub semantics: &'a Semantics,
    /// The server's clock.
    pub now: Timestamp,
}
