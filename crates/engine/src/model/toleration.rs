//! Tolerations, as the allocator copied them into an allocation result.

use std::fmt;

use super::taint::{Effect, Taint};

/// Comparison of values by a toleration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// Same value; also what an absent operator means.
    Equal,
    /// Any value.
    Exists,
    /// From a newer API: tolerates nothing, as upstream.
    Unknown(String),
}

impl Operator {
    /// The operator as it is spelled in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Equal => "Equal",
            Self::Exists => "Exists",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for Operator {
    fn from(text: &str) -> Self {
        match text {
            "" | "Equal" => Self::Equal,
            "Exists" => Self::Exists,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

/// Toleration of a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Toleration {
    /// Key it covers; empty covers every key.
    pub key: String,
    /// Comparison of values.
    pub operator: Operator,
    /// Value it covers, for [`Operator::Equal`].
    pub value: String,
    /// Effect it covers; absent covers every effect for the scheduler, and **none** for eviction.
    pub effect: Option<Effect>,
    /// For how many seconds a `NoExecute` taint is tolerated; absent means forever, zero or less
    /// means not at all.
    pub seconds: Option<i64>,
}

impl Toleration {
    /// The narrowest that covers `taint` for its own effect, forever.
    pub fn covering(taint: &Taint) -> Self {
        Self {
            key: taint.key.clone(),
            operator: if taint.value.is_empty() {
                Operator::Exists
            } else {
                Operator::Equal
            },
            value: taint.value.clone(),
            effect: Some(taint.effect.clone()),
            seconds: None,
        }
    }
}

impl fmt::Display for Toleration {
    /// `KEY[=VALUE]:EFFECT[ for Ns]`, with `*` for "any".
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.key.is_empty() { "*" } else { &self.key })?;
        match &self.operator {
            Operator::Equal => write!(formatter, "={}", self.value)?,
            Operator::Exists => {}
            Operator::Unknown(operator) => write!(formatter, " {operator} {}", self.value)?,
        }
        let effect = self.effect.as_ref().map_or("*", Effect::as_str);
        write!(formatter, ":{effect}")?;
        match self.seconds {
            Some(seconds) => write!(formatter, " for {seconds}s"),
            None => Ok(()),
        }
    }
}
