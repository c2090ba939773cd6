//! Device selectors in CEL: evaluation of an expression for a device.
//!
//! Takes the text of a CEL expression, as a DeviceClass or a request carries it, and gives
//! for a device true, false, or an error. Evaluates what selectors use, and refuses the rest of CEL by name as
//! [`ExpressionError::Unsupported`]: never with "no".
//!
//! ```text
//! text ──▶ tokens ──▶ tree ──▶ evaluated for one device
//!          lexer     parser     evaluate
//! ```
//!
//! Types are not checked before evaluation: an API server stores no expression whose types are wrong. An expression of
//! other origin (`--where`) fails where it comes to values of wrong types, which `||` may hide.
//!
//! Upstream: `k8s.io/dynamic-resource-allocation/cel` and `k8s.io/apiserver/pkg/cel/environment`, for
//! stored expressions. `tests/data/cel/expressions.jsonl` holds their verdicts, and `tests/oracle`
//! compares many more.

mod error;
mod evaluate;
mod functions;
mod parser;
mod published;
mod syntax;
mod value;

pub use error::{ExpressionError, Position};
pub use published::{Amount, AttributeCondition, DeviceExpression};
pub(super) use value::Version;

#[cfg(test)]
mod tests;
