//! Which functions can be called, and what do they do?

#![allow(
    clippy::needless_pass_by_value,
    reason = "the crate hands arguments over by value"
)]

use std::sync::{Arc, LazyLock};

use cel_interpreter::extractors::This;
use cel_interpreter::{Context, ExecutionError, Value};
use kube_cel::KubeCelExt;

/// The functions of both crates, with replacements for those that differ from upstream.
///
/// Which of them are called, the rewriter decides.
pub(super) static FUNCTIONS: LazyLock<Context<'static>> = LazyLock::new(|| {
    let mut context = Context::default().with_all();
    context.add_function("contains", contains);
    context.add_function("size", size);
    context.add_function(SAME, same);
    context.add_function(MEMBER, member);
    context
});

/// The function that stands for `==`; no expression can call it by that name.
pub(super) const SAME: &str = "@same";

/// The function that stands for `in` with a list of constants.
pub(super) const MEMBER: &str = "@member";

/// Fails for a version or a quantity with anything else on the right, as upstream, where `!=` does
/// not; the crate says `false`.
///
/// Upstream: `Semver.Equal`, `Quantity.Equal`.
fn same(This(left): This<Value>, right: Value) -> Result<Value, ExecutionError> {
    match opaque_name(&left) {
        Some(name) if opaque_name(&right) != Some(name) => Err(ExecutionError::NoSuchOverload),
        Some(_) | None => Ok(Value::Bool(left == right)),
    }
}

/// Fails for a version, as upstream, which looks it up by a hash that versions do not have.
fn member(This(element): This<Value>, list: Arc<Vec<Value>>) -> Result<Value, ExecutionError> {
    if opaque_name(&element) == Some("kubernetes.Semver") && !list.is_empty() {
        return Err(ExecutionError::NoSuchOverload);
    }
    Ok(Value::Bool(list.contains(&element)))
}

fn opaque_name(value: &Value) -> Option<&str> {
    if let Value::Opaque(value) = value {
        Some(value.runtime_type_name())
    } else {
        None
    }
}

/// Only for texts, as upstream; the crate says `false` of anything else.
fn contains(This(text): This<Arc<String>>, part: Arc<String>) -> bool {
    text.contains(part.as_str())
}

/// Counts characters, as upstream; the crate counts bytes.
fn size(This(value): This<Value>) -> Result<Value, ExecutionError> {
    let size = if let Value::String(text) = &value {
        text.chars().count()
    } else if let Value::List(elements) = &value {
        elements.len()
    } else {
        return Err(ExecutionError::NoSuchOverload);
    };
    i64::try_from(size)
        .map(Value::Int)
        .map_err(|_| ExecutionError::NoSuchOverload)
}
