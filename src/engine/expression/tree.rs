//! How are syntax trees made and taken apart?

use cel_interpreter::IdedExpr;
use cel_interpreter::common::ast::{CallExpr, Expr, LiteralValue, SelectExpr};

use super::ExpressionError;

/// Returns a node of a syntax tree; nothing here looks at positions.
pub(super) fn node(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

/// Returns a call without a target.
pub(super) fn call(function: &str, arguments: Vec<IdedExpr>) -> IdedExpr {
    node(Expr::Call(CallExpr {
        func_name: function.into(),
        target: None,
        args: arguments,
    }))
}

/// Returns a text as it is written in an expression.
pub(super) fn text(text: &str) -> IdedExpr {
    node(Expr::Literal(LiteralValue::String(text.into())))
}

/// Joins terms with `&&` or `||`, as flat as it goes; upstream's order of evaluation cannot be seen.
pub(super) fn balanced(operator: &str, terms: &[IdedExpr]) -> IdedExpr {
    match terms {
        [] => IdedExpr::default(),
        [term] => term.clone(),
        terms => {
            let (left, right) = terms.split_at(terms.len() / 2);
            call(
                operator,
                vec![balanced(operator, left), balanced(operator, right)],
            )
        }
    }
}

/// Returns the selection of a field, or with `test` whether there is one.
pub(super) fn field_of(domain: IdedExpr, field: &str, test: bool) -> IdedExpr {
    node(Expr::Select(SelectExpr {
        operand: Box::new(domain),
        field: field.into(),
        test,
    }))
}

/// Returns a call with a target.
pub(super) fn method(function: &str, target: IdedExpr, arguments: Vec<IdedExpr>) -> IdedExpr {
    node(Expr::Call(CallExpr {
        func_name: function.into(),
        target: Some(Box::new(target)),
        args: arguments,
    }))
}

/// Returns a constant of a type that compares as upstream.
pub(super) fn constant(literal: &LiteralValue) -> Result<IdedExpr, ExpressionError> {
    match literal {
        LiteralValue::Boolean(_) | LiteralValue::Int(_) | LiteralValue::String(_) => {
            Ok(node(Expr::Literal(literal.clone())))
        }
        LiteralValue::Double(_) | LiteralValue::UInt(_) => Err(ExpressionError::unsupported(
            "a number that is unsigned or has a fraction",
        )),
        LiteralValue::Bytes(_) | LiteralValue::Null => {
            Err(ExpressionError::unsupported("`null` or bytes"))
        }
    }
}

/// Returns how many nodes the longest path through a rewritten tree has.
pub(super) fn depth(expr: &IdedExpr) -> usize {
    let deepest = |exprs: &[IdedExpr]| exprs.iter().map(depth).max().unwrap_or_default();
    let below = match &expr.expr {
        Expr::Call(call) => {
            let target = call.target.as_deref().map_or(0, depth);
            target.max(deepest(&call.args))
        }
        Expr::Select(select) => depth(&select.operand),
        Expr::List(list) => deepest(&list.elements),
        Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Struct(_)
        | Expr::Unspecified => 0,
    };
    below.saturating_add(1)
}

/// Returns the text that `expr` writes out.
pub(super) fn literal(expr: &IdedExpr) -> Option<&str> {
    if let Expr::Literal(LiteralValue::String(text)) = &expr.expr {
        Some(text.inner())
    } else {
        None
    }
}
