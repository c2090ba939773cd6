//! Functions of expressions.
//!
//! `table` says which types each takes; here they take values of any type, and what fits no function
//! fails as upstream does.
//!
//! Upstream: the standard library of cel-go and the libraries of `k8s.io/apiserver/pkg/cel/library`.

mod conversions;
mod kubernetes;
mod lists;
mod numbers;
mod optionals;
mod printed;
mod table;
mod texts;
mod times;

pub(super) use conversions::FOLDED;
pub(super) use optionals::{field, has_field, is_qualifier, optional_field};
pub(super) use printed::check_format;
pub(super) use table::{Function, Overload, WithTarget, overloads};
