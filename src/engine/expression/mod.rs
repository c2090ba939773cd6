//! Device selectors in CEL: whether an expression selects a device.
//!
//! Takes the text of a CEL expression, as a DeviceClass, a request or `--where` carries it, and says
//! of any device whether it is selected. What is not known to come out as in Kubernetes is refused as [`ExpressionError::Unsupported`], never answered with "no".
//!
//! ```text
//! text ──▶ words ──▶ what is written ──▶ checked ──▶ evaluated for one device
//!         lexer     parser, macros      checker     evaluate
//! ```
//!
//! Types are checked as upstream does, since an expression that an API server refuses has no verdict.
//! Upstream: `k8s.io/dynamic-resource-allocation/cel` and `k8s.io/apiserver/pkg/cel/environment`, for
//! stored expressions. `tests/data/cel/expressions.jsonl` holds their verdicts, and `tests/oracle`
//! compares many more.

mod calls;
mod checker;
mod condition;
mod device;
mod error;
mod evaluate;
mod functions;
mod held;
mod lexer;
mod macros;
mod named;
mod nesting;
mod network;
mod parser;
mod pattern;
mod quantity;
mod syntax;
mod tree;
mod types;
mod value;
mod version;

pub use condition::AttributeCondition;
pub use device::DeviceExpression;
pub use error::{ExpressionError, Position};
pub(super) use version::Version;

#[cfg(test)]
mod grammar_tests;
#[cfg(test)]
mod tests;
