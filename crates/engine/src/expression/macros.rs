//! Calls, and the macros among them that bind names: `all`, `exists`, `cel.bind` and their like.

use std::sync::Arc;

use super::error::Wrong;
use super::functions::overloads;
use super::pattern::Pattern;
use super::tree::{Access, Attribute, Expr, ExprKind, Fold, FoldKind};
use super::value::Value;

/// A call without a target; `has` is a macro.
pub(super) fn function(at: usize, name: &str, mut arguments: Vec<Expr>) -> Result<Expr, Wrong> {
    if name == "has"
        && arguments.len() == 1
        && let Some(argument) = arguments.pop()
    {
        return presence(at, argument);
    }
    call(at, name, arguments)
}

fn presence(at: usize, argument: Expr) -> Result<Expr, Wrong> {
    let access = Access::Presence;
    if let ExprKind::Driver
    | ExprKind::AllowMultipleAllocations
    | ExprKind::Catalogue(_)
    | ExprKind::Domain(..) = argument.kind
    {
        return Err(Wrong::unsupported("has() of what every device has"));
    }
    let kind = if let ExprKind::Field(operand, name, Access::Value) = argument.kind {
        ExprKind::Field(operand, name, access)
    } else if let ExprKind::Attribute(found) = argument.kind
        && found.by_field
        && found.access == Access::Value
    {
        ExprKind::Attribute(Box::new(Attribute { access, ..*found }))
    } else {
        return Err(Wrong::at(at, "invalid argument to has() macro"));
    };
    Ok(Expr {
        at: argument.at,
        kind,
    })
}

/// A call with a target.
pub(super) fn method(
    at: usize,
    name: &str,
    target: Expr,
    mut arguments: Vec<Expr>,
) -> Result<Expr, Wrong> {
    if let ExprKind::Name(library) = &target.kind {
        if (&**library, name, arguments.len()) == ("cel", "bind", 3) {
            return bind(at, arguments);
        }
        let full = format!("{library}.{name}");
        if overloads(&full).is_some() {
            return call(at, &full, arguments);
        }
    }
    let kind = match (name, arguments.len()) {
        ("exists", 2 | 3) => FoldKind::Exists,
        ("all", 2 | 3) => FoldKind::All,
        ("map", 2 | 3) | ("filter", 2) => FoldKind::List,
        _ => {
            arguments.insert(0, target);
            return call(at, &format!(".{name}"), arguments);
        }
    };
    let with_values = kind != FoldKind::List && arguments.len() == 3;
    let last = arguments.pop();
    let mut arguments = arguments.into_iter();
    let first = simple_name(at, arguments.next())?;
    let second = with_values.then(|| simple_name(at, arguments.next()));
    let second = second.transpose()?;
    if second.as_ref() == Some(&first) {
        return Err(Wrong::at(at, format!("duplicate variable name: {first}")));
    }
    let element = ExprKind::Name(first.clone());
    let (filter, body) = match last {
        Some(filter) if name == "filter" => (Some(filter), Expr { at, kind: element }),
        Some(body) => (arguments.next(), body),
        None => return Err(Wrong::at(at, "an argument is missing")),
    };
    let fold = Fold {
        kind,
        range: target,
        first,
        second,
        filter,
        body,
    };
    let kind = ExprKind::Fold(Box::new(fold));
    Ok(Expr { at, kind })
}

fn bind(at: usize, arguments: Vec<Expr>) -> Result<Expr, Wrong> {
    let mut arguments = arguments.into_iter();
    let name = simple_name(at, arguments.next())?;
    let (Some(value), Some(body)) = (arguments.next(), arguments.next()) else {
        return Err(Wrong::at(at, "an argument is missing"));
    };
    let kind = ExprKind::Bind(name, Box::new([value, body]));
    Ok(Expr { at, kind })
}

fn simple_name(at: usize, argument: Option<Expr>) -> Result<Arc<str>, Wrong> {
    match argument.map(|argument| argument.kind) {
        // The parser resolves fields of the device before it sees the macro around them.
        Some(ExprKind::Name(name)) if &*name == "device" => {
            Err(Wrong::unsupported("a macro that binds `device`"))
        }
        Some(ExprKind::Name(name)) => Ok(name),
        _ => Err(Wrong::at(at, "argument must be a simple name")),
    }
}

/// A call of a function of the table, whose constant pattern, quantity or version is read once.
fn call(at: usize, name: &str, mut arguments: Vec<Expr>) -> Result<Expr, Wrong> {
    let known = overloads(name);
    let function =
        known.ok_or_else(|| Wrong::unsupported(format!("{}()", name.trim_start_matches('.'))))?;
    let constant = arguments.last().and_then(|last| constant_text(&last.kind));
    let constant = constant.cloned();
    let kind = match (name, constant, arguments.len()) {
        // An invalid one stays a call, whose error is one of the run time.
        ("quantity" | "semver", Some(text), 1) => match (function.function)(&[Value::Text(text)]) {
            Ok(value) => ExprKind::Constant(value),
            Err(_) => ExprKind::Call(function, arguments),
        },
        (".matches" | ".find", Some(text), 2) => {
            // Upstream compiles it with the expression, so that no `||` absorbs that it is invalid.
            let pattern = Pattern::compile(&text)
                .ok_or_else(|| Wrong::unsupported(format!("the pattern {text}")))?;
            ExprKind::Matching(function, Box::new(arguments.swap_remove(0)), pattern)
        }
        _ => ExprKind::Call(function, arguments),
    };
    Ok(Expr { at, kind })
}

/// The text of a constant.
pub(super) fn constant_text(kind: &ExprKind) -> Option<&Arc<str>> {
    let ExprKind::Constant(Value::Text(text)) = kind else {
        return None;
    };
    Some(text)
}
