//! Why an expression gives no answer.

use std::fmt;

use thiserror::Error;

/// A place in a text, as people count: from one, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Character of the line.
    pub column: usize,
}

impl Position {
    /// Where the byte at `offset` of `text` is.
    pub(super) fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: before.matches('\n').count().saturating_add(1),
            column: line.chars().count().saturating_add(1),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 1 {
            write!(formatter, "line {}, ", self.line)?;
        }
        write!(formatter, "column {}", self.column)
    }
}

/// Why an expression says neither "selected" nor "not selected".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExpressionError {
    /// It is longer than the API allows.
    #[error(
        "expression of {bytes} bytes is longer than {} bytes",
        ExpressionError::MAXIMUM_LENGTH
    )]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It cannot be read; an API server refuses it.
    #[error("compilation failed at {at}: {detail}")]
    Compile {
        /// Reason.
        detail: String,
        /// Where.
        at: Position,
    },
    /// It asks for something that this crate cannot evaluate, but Kubernetes may.
    #[error("cannot evaluate {construct}")]
    Unsupported {
        /// Construct that it uses.
        construct: String,
    },
    /// It depends on attributes of a device that no driver publishes.
    #[error("the attributes of the device are unknown: no driver publishes it")]
    Unpublished,
    /// It fails for this device, in Kubernetes just as here.
    #[error("{detail}")]
    Runtime {
        /// Reason, in upstream's words.
        detail: String,
    },
}

impl ExpressionError {
    /// The longest expression that the API accepts, in bytes.
    ///
    /// Upstream: `CELSelectorExpressionMaxLength`.
    pub const MAXIMUM_LENGTH: usize = 10 * 1024;

    /// Returns whether the error is the device's, and not the expression's: it fails there or asks for
    /// what is not known. Upstream takes the device as not selected.
    pub fn is_of_the_device(&self) -> bool {
        matches!(self, Self::Runtime { .. } | Self::Unpublished)
    }

    /// Where in the text it is, where that can be said.
    pub fn position(&self) -> Option<Position> {
        if let Self::Compile { at, .. } = self {
            return Some(*at);
        }
        None
    }
}

/// Error in a text, with its byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// An API server refuses it, too.
    Text { detail: String, at: usize },
    /// Only this crate refuses it.
    Unsupported(String),
}

impl Wrong {
    pub(super) fn at(at: usize, detail: impl Into<String>) -> Self {
        Self::Text {
            detail: detail.into(),
            at,
        }
    }

    pub(super) fn unsupported(construct: impl Into<String>) -> Self {
        Self::Unsupported(construct.into())
    }

    /// The error as people are told it about `text`.
    pub(super) fn describe(self, text: &str) -> ExpressionError {
        match self {
            Self::Text { detail, at } => ExpressionError::Compile {
                detail,
                at: Position::of(text, at),
            },
            Self::Unsupported(construct) => ExpressionError::Unsupported { construct },
        }
    }
}

/// Why a part of an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// In Kubernetes just as here; `||`, `&&`, `exists` and `all` can do without the part.
    Runtime(String),
    /// Kubernetes' evaluator panics, which ends the whole expression: nothing can do without the part.
    ///
    /// Upstream: `prog.Eval` of cel-go recovers, and gives an internal error.
    Panic(String),
    /// It depends on what is not known of the device; `||`, `&&`, `exists` and `all` can do without
    /// the part, too.
    Unpublished,
    /// The answer of Kubernetes is not known here; nothing can do without it.
    Unsupported(String),
}

impl Fault {
    pub(super) fn runtime(detail: impl Into<String>) -> Self {
        Self::Runtime(detail.into())
    }

    pub(super) fn unsupported(construct: impl Into<String>) -> Self {
        Self::Unsupported(construct.into())
    }

    /// A function or operator does not take values of these types.
    pub(super) fn overload() -> Self {
        Self::runtime("no such overload")
    }
}

impl From<Fault> for ExpressionError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Runtime(detail) | Fault::Panic(detail) => Self::Runtime { detail },
            Fault::Unpublished => Self::Unpublished,
            Fault::Unsupported(construct) => Self::Unsupported { construct },
        }
    }
}
