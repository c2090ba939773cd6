//! Functions of expressions.
//!
//! Each takes values of any type; those that fit no overload fail as upstream does.
//!
//! Upstream: the standard library of cel-go and the libraries of `k8s.io/apiserver/pkg/cel/library`.

mod conversions;
mod keys;
mod lists;
mod numbers;
mod quantities;
mod table;
mod texts;

pub(super) use keys::{at_key, optional_at_key};
pub(super) use table::{Overloads, overloads};
