//! Errors of expressions, with their positions.

use std::fmt;

use thiserror::Error;

/// Position in a text: line and character, both counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Character of the line.
    pub column: usize,
}

impl Position {
    /// Position of the byte at `offset` of `text`.
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

/// Error of an expression, which then says neither "selected" nor "not selected".
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
        /// Position of the error.
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

    /// True if the device causes the error, and not the expression: evaluation fails, or needs what is not known.
    /// Upstream takes the device as not selected.
    pub fn is_of_the_device(&self) -> bool {
        matches!(self, Self::Runtime { .. } | Self::Unpublished)
    }

    /// Position of the error in the text; absent where it has none.
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

    /// The error with its position in `text`.
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

/// Reason for which a part of an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It fails in Kubernetes just as here; `||`, `&&`, `exists` and `all` can do without the part.
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

    /// Fault of a function or operator that does not take values of these types.
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
