//! Decisions are made on types: where does code compare what will be printed?

use syn::visit::{self, Visit};

/// What is decided on, as the last name before it is compared as text.
const DECIDED: [&str; 5] = ["effect", "outcome", "hazard", "hazards", "severity"];

/// The ways in which something typed becomes text.
const AS_TEXT: [&str; 4] = ["as_str", "code", "name", "to_string"];

/// Where texts are compared that name an effect, an outcome, a hazard, a severity or a count.
pub fn compared_texts(file: &syn::File, words: &[&str]) -> Vec<String> {
    let mut found = Compared {
        words,
        found: Vec::new(),
    };
    found.visit_file(file);
    found.found
}

struct Compared<'w> {
    words: &'w [&'w str],
    found: Vec<String>,
}

impl Compared<'_> {
    fn is_word(&self, literal: &syn::LitStr) -> bool {
        self.words.contains(&literal.value().as_str())
    }

    /// Whether it is such a word, or an effect and its like as text.
    fn is_text(&self, expression: &syn::Expr) -> bool {
        match peeled(expression) {
            syn::Expr::Lit(literal) => match &literal.lit {
                syn::Lit::Str(text) => self.is_word(text),
                _ => false,
            },
            syn::Expr::MethodCall(call) => {
                let is_text = AS_TEXT.iter().any(|name| call.method == name);
                is_text && is_decided(&call.receiver)
            }
            _ => false,
        }
    }
}

/// Without what stands around it.
fn peeled(expression: &syn::Expr) -> &syn::Expr {
    match expression {
        syn::Expr::Reference(inner) => peeled(&inner.expr),
        syn::Expr::Paren(inner) => peeled(&inner.expr),
        syn::Expr::Unary(inner) => peeled(&inner.expr),
        other => other,
    }
}

/// Whether the expression ends in the name of something that is decided on.
fn is_decided(expression: &syn::Expr) -> bool {
    let name = match peeled(expression) {
        syn::Expr::Field(field) => match &field.member {
            syn::Member::Named(name) => Some(name),
            syn::Member::Unnamed(_) => None,
        },
        syn::Expr::Path(path) => path.path.segments.last().map(|last| &last.ident),
        _ => None,
    };
    name.is_some_and(|name| DECIDED.iter().any(|decided| name == decided))
}

/// The words of a comparison, to find it by.
fn spelled(binary: &syn::ExprBinary) -> String {
    struct Literals(Vec<String>);
    impl<'ast> Visit<'ast> for Literals {
        fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
            self.0.push(literal.value());
        }

        fn visit_ident(&mut self, ident: &'ast syn::Ident) {
            self.0.push(ident.to_string());
        }
    }
    let mut literals = Literals(Vec::new());
    literals.visit_expr_binary(binary);
    literals.0.join(" ")
}

fn is_literal(expression: &syn::Expr) -> bool {
    match peeled(expression) {
        syn::Expr::Lit(literal) => matches!(literal.lit, syn::Lit::Str(_)),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Compared<'_> {
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let compares = matches!(binary.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_));
        let sides = [(&binary.left, &binary.right), (&binary.right, &binary.left)];
        let is_one = |(one, other): (&syn::Expr, &syn::Expr)| {
            self.is_text(one) || is_decided(one) && is_literal(other)
        };
        if compares && sides.into_iter().any(|(one, other)| is_one((one, other))) {
            self.found
                .push(format!("a comparison with {}", spelled(binary)));
        }
        visit::visit_expr_binary(self, binary);
    }

    /// `codes.contains("critical")`, and a count that is asked for by the name of its field.
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let looks_up = ["contains", "starts_with", "eq", "get"];
        let is_lookup = looks_up.iter().any(|name| call.method == name);
        if is_lookup && call.args.iter().any(|argument| self.is_text(argument)) {
            self.found.push(format!("{}(…)", call.method));
        }
        visit::visit_expr_method_call(self, call);
    }

    /// `match code { "critical" => … }`.
    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let mut words = Words {
            words: self.words,
            is_one: false,
        };
        words.visit_pat(&arm.pat);
        if words.is_one {
            self.found.push("a match".to_owned());
        }
        visit::visit_arm(self, arm);
    }
}

/// Whether one of the words stands in a pattern.
struct Words<'w> {
    words: &'w [&'w str],
    is_one: bool,
}

impl<'ast> Visit<'ast> for Words<'_> {
    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.is_one |= self.words.contains(&literal.value().as_str());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_of_what_will_be_printed_are_found() {
        let words = ["NoExecute", "critical", "evictedNowPodCount"];
        for (code, expected) in [
            ("effect == \"NoExecute\"", true),
            ("taint.effect != \"Anything\"", true),
            ("\"NoExecute\" != *effect", true),
            ("effects.contains(\"NoExecute\")", true),
            ("effects.contains(&\"NoExecute\")", true),
            ("taint.effect == Effect::NoExecute.as_str()", false),
            ("taint.effect.as_str() == other", true),
            ("pod.hazards.iter().any(|code| code == hazard.code())", true),
            ("bounds.get(\"evictedNowPodCount\")", true),
            ("match code { \"critical\" => 1, _ => 2 }", true),
            (
                "match code { Some(\"critical\" | \"x\") => 1, _ => 2 }",
                true,
            ),
            ("taint.effect == Effect::NoExecute", false),
            ("name == \"evictedLaterPodCount\"", false),
            ("(\"evictedNowPodCount\", totals.now)", false),
            ("rule.name.as_str() == other", false),
        ] {
            let file = syn::parse_str(&format!("fn f() {{ let _ = {code}; }}")).expect("code");
            let found = compared_texts(&file, &words);
            assert_eq!(!found.is_empty(), expected, "{code}: {found:?}");
        }
    }
}
