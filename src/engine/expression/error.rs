//! Why an expression gives no answer.

use cel_interpreter::ExecutionError;
use thiserror::Error;

/// Why an expression says neither "selected" nor "not selected".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExpressionError {
    /// It is longer than the API allows.
    #[error(
        "expression of {bytes} bytes is longer than {} bytes",
        ExpressionError::MAXIMUM_LENGTH
    )]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// It cannot be read; the API server should have refused it.
    #[error("compilation failed: {detail}")]
    Compile {
        /// What is wrong.
        detail: String,
    },
    /// It asks for something that this plugin cannot evaluate, but Kubernetes may.
    #[error("this plugin cannot evaluate {construct}")]
    Unsupported {
        /// What it asks for.
        construct: String,
    },
    /// It fails for this device, in Kubernetes just as here.
    #[error("{detail}")]
    Runtime {
        /// What is wrong, in upstream's words.
        detail: String,
    },
}

impl ExpressionError {
    /// The longest expression that the API accepts, in bytes.
    ///
    /// Upstream: `CELSelectorExpressionMaxLength`.
    pub const MAXIMUM_LENGTH: usize = 10 * 1024;

    /// Returns whether the error is the device's, so that upstream takes it as not selected.
    pub fn is_of_the_device(&self) -> bool {
        match self {
            Self::Runtime { .. } => true,
            Self::TooLong { .. } | Self::Compile { .. } | Self::Unsupported { .. } => false,
        }
    }

    pub(super) fn compile(detail: impl Into<String>) -> Self {
        Self::Compile {
            detail: detail.into(),
        }
    }

    pub(super) fn unsupported(construct: impl Into<String>) -> Self {
        Self::Unsupported {
            construct: construct.into(),
        }
    }

    pub(super) fn runtime(detail: impl Into<String>) -> Self {
        Self::Runtime {
            detail: detail.into(),
        }
    }
}

impl From<ExecutionError> for ExpressionError {
    /// What upstream says in place of the crate; an error that should not occur is no verdict.
    fn from(error: ExecutionError) -> Self {
        use ExecutionError as E;
        if let E::NoSuchKey(key) = &error {
            Self::runtime(format!("no such key: {key}"))
        } else if matches!(error, E::DivisionByZero(_)) {
            Self::runtime("division by zero")
        } else if matches!(error, E::RemainderByZero(_)) {
            Self::runtime("modulus by zero")
        } else if matches!(error, E::Overflow(..)) {
            Self::runtime("integer overflow")
        } else if matches!(
            error,
            E::NoSuchOverload
                | E::UnexpectedType { .. }
                | E::UnsupportedBinaryOperator(..)
                | E::FunctionError { .. }
        ) {
            Self::runtime("no such overload")
        } else {
            Self::unsupported(format!("what fails with: {error}"))
        }
    }
}
