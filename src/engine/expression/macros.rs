//! Macros: calls that bind variables, such as `all`, `exists` and `cel.bind`.

use super::error::Wrong;
use super::syntax::{Access, Bind, Binding, Call, Expr, ExprKind, Field, Fold, Macro};

/// A call without a target; `has` is a macro.
pub(super) fn function(at: usize, name: &str, mut arguments: Vec<Expr>) -> Result<Expr, Wrong> {
    if name == "has" && arguments.len() == 1 {
        let argument = arguments.pop();
        if let Some(Expr {
            at,
            kind: ExprKind::Field(field),
        }) = argument
            && field.access == Access::Value
        {
            let field = Field {
                access: Access::Presence,
                ..*field
            };
            return Ok(Expr {
                at,
                kind: ExprKind::Field(Box::new(field)),
            });
        }
        return Err(Wrong::at(at, "invalid argument to has() macro"));
    }
    Ok(call(at, name, None, arguments))
}

/// A call with a target.
pub(super) fn method(
    at: usize,
    name: &str,
    target: Expr,
    arguments: Vec<Expr>,
) -> Result<Expr, Wrong> {
    let library = if let ExprKind::Name(name) = &target.kind {
        name.as_str()
    } else {
        ""
    };
    let binding = match (library, name, arguments.len()) {
        ("cel", "bind", 3) => Some(Binding::Value),
        (_, "optMap", 2) => Some(Binding::Mapped),
        (_, "optFlatMap", 2) => Some(Binding::FlatMapped),
        _ => None,
    };
    if let Some(binding) = binding {
        return bind(at, binding, target, arguments);
    }
    let fold = match (name, arguments.len()) {
        ("exists", 2 | 3) => Fold::Exists,
        ("all", 2 | 3) => Fold::All,
        ("exists_one", 2 | 3) | ("existsOne", 3) => Fold::ExistsOne,
        ("map", 2 | 3) | ("filter", 2) | ("transformList", 3 | 4) => Fold::List,
        ("transformMap", 3 | 4) => Fold::Map,
        ("transformMapEntry", 3 | 4) => Fold::Entries,
        ("sortBy", 2) => return sort_by(at, target, arguments),
        _ => return Ok(call(at, name, Some(target), arguments)),
    };
    fold_of(at, fold, name, target, arguments)
}

/// The macro `name`, of which `fold` is known.
fn fold_of(
    at: usize,
    fold: Fold,
    name: &str,
    range: Expr,
    arguments: Vec<Expr>,
) -> Result<Expr, Wrong> {
    let count = arguments.len();
    // With three arguments `map` has a filter, and the others have a second name.
    let two_names = name.starts_with("transform") || (count == 3 && name != "map");
    let mut arguments = arguments.into_iter();
    let first = simple_name(at, arguments.next())?;
    let second = if two_names {
        let second = simple_name(at, arguments.next())?;
        if second == first {
            return Err(Wrong::at(at, format!("duplicate variable name: {first}")));
        }
        Some(second)
    } else {
        None
    };
    let mut rest: Vec<Expr> = arguments.collect();
    let Some(last) = rest.pop() else {
        return Err(Wrong::at(at, "an argument is missing"));
    };
    let (filter, body) = if name == "filter" {
        let element = ExprKind::Name(first.clone());
        (Some(last), Expr { at, kind: element })
    } else {
        (rest.pop(), last)
    };
    Ok(Expr {
        at,
        kind: ExprKind::Macro(Box::new(Macro {
            fold,
            range,
            first,
            second,
            filter,
            body,
        })),
    })
}

fn bind(at: usize, binding: Binding, target: Expr, arguments: Vec<Expr>) -> Result<Expr, Wrong> {
    let mut arguments = arguments.into_iter();
    let name = simple_name(at, arguments.next())?;
    let value = match binding {
        Binding::Value => arguments.next(),
        Binding::Mapped | Binding::FlatMapped => Some(target),
    };
    let (Some(value), Some(body)) = (value, arguments.next()) else {
        return Err(Wrong::at(at, "an argument is missing"));
    };
    Ok(Expr {
        at,
        kind: ExprKind::Bind(Box::new(Bind {
            binding,
            name,
            value,
            body,
        })),
    })
}

/// `list.sortBy(name, key)`: the list in the order of the keys, which are computed for all first.
fn sort_by(at: usize, target: Expr, arguments: Vec<Expr>) -> Result<Expr, Wrong> {
    // No expression can use this name.
    let name = "@sorted".to_owned();
    let list = || Expr {
        at,
        kind: ExprKind::Name(name.clone()),
    };
    // The list is bound, so that keys and elements come from one evaluation of it.
    let keys = fold_of(at, Fold::List, "map", list(), arguments)?;
    let body = call(at, "@sortByAssociatedKeys", Some(list()), vec![keys]);
    Ok(Expr {
        at,
        kind: ExprKind::Bind(Box::new(Bind {
            binding: Binding::Value,
            name: name.clone(),
            value: target,
            body,
        })),
    })
}

fn simple_name(at: usize, argument: Option<Expr>) -> Result<String, Wrong> {
    match argument.map(|argument| argument.kind) {
        Some(ExprKind::Name(name)) => Ok(name),
        _ => Err(Wrong::at(at, "argument must be a simple name")),
    }
}

fn call(at: usize, name: &str, target: Option<Expr>, arguments: Vec<Expr>) -> Expr {
    Expr {
        at,
        kind: ExprKind::Call(Box::new(Call {
            name: name.to_owned(),
            target,
            arguments,
        })),
    }
}
