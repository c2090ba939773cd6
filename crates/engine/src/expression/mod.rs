//! Device selectors in CEL: evaluation of an expression for a device.
//!
//! Takes the text of a CEL expression, as a DeviceClass or a request carries it, and gives
//! for a device true, false, or an error. Evaluates what selectors use, and refuses the rest of CEL by name as
//! [`ExpressionError::Unsupported`]: never with "no".
//!
//! ```text
//! text ──▶ tokens ──▶ tree ──▶ types checked ──▶ evaluated for one device
//!          lexer     parser      checker           evaluate
//! ```
//!
//! Types are checked before evaluation, since an expression that an API server refuses has no verdict, and
//! `||` would hide that. Undecided types are refused, where upstream infers them from later uses.
//!
//! Upstream: `k8s.io/dynamic-resource-allocation/cel` and `k8s.io/apiserver/pkg/cel/environment`, for
//! stored expressions. `tests/data/cel/expressions.jsonl` holds their verdicts, and `tests/oracle`
//! compares many more.

mod checker;
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
