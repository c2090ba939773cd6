//! Decisions are made on types: where does code compare what will be printed?

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser};
use syn::visit::{self, Visit};

/// What is decided on, as the last name before it is compared as text.
const DECIDED: [&str; 9] = [
    "count",
    "effect",
    "effects",
    "hazard",
    "hazards",
    "outcome",
    "outcomes",
    "severities",
    "severity",
];

/// The ways in which something typed becomes text.
const AS_TEXT: [&str; 4] = ["as_str", "code", "name", "to_string"];

/// The ways in which a text is compared with another, or something is looked up by it.
const LOOKUPS: [&str; 10] = [
    "contains",
    "contains_key",
    "ends_with",
    "eq",
    "eq_ignore_ascii_case",
    "get",
    "ne",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
];

/// Where texts are compared that name an effect, an outcome, a hazard, a severity or a count.
pub fn compared_texts(file: &syn::File, words: &[&str]) -> Vec<String> {
    let mut constants = Constants {
        words,
        names: BTreeSet::new(),
    };
    constants.visit_file(file);
    let mut found = Compared {
        words,
        constants: constants.names,
        found: Vec::new(),
    };
    found.visit_file(file);
    found.found
}

/// The constants of a file that are such words.
struct Constants<'w> {
    words: &'w [&'w str],
    names: BTreeSet<String>,
}

impl Constants<'_> {
    fn add(&mut self, name: &syn::Ident, value: &syn::Expr) {
        if text_of(value).is_some_and(|text| self.words.contains(&text.as_str())) {
            self.names.insert(name.to_string());
        }
    }
}

impl<'ast> Visit<'ast> for Constants<'_> {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.add(&item.ident, &item.expr);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.add(&item.ident, &item.expr);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.add(&item.ident, &item.expr);
    }
}

struct Compared<'w> {
    words: &'w [&'w str],
    constants: BTreeSet<String>,
    found: Vec<String>,
}

impl Compared<'_> {
    /// Whether it is such a word, an effect and its like as text, or some of these.
    fn is_text(&self, expression: &syn::Expr) -> bool {
        match peeled(expression) {
            syn::Expr::Lit(_) => {
                text_of(expression).is_some_and(|text| self.words.contains(&text.as_str()))
            }
            syn::Expr::Path(path) => {
                let last = path.path.segments.last();
                last.is_some_and(|last| self.constants.contains(&last.ident.to_string()))
            }
            syn::Expr::MethodCall(call) => {
                let is_text = AS_TEXT.iter().any(|name| call.method == name);
                is_text && is_decided(&call.receiver)
            }
            syn::Expr::Array(array) => array.elems.iter().any(|element| self.is_text(element)),
            syn::Expr::Call(call) if is_wrapper(&call.func) => {
                call.args.iter().any(|argument| self.is_text(argument))
            }
            _ => false,
        }
    }

    /// Whether one of the words stands in a pattern.
    fn is_word_in(&self, pattern: &syn::Pat) -> bool {
        let mut words = Words {
            words: self.words,
            constants: &self.constants,
            is_one: false,
        };
        words.visit_pat(pattern);
        words.is_one
    }
}

/// Whether it is `Some`, `Ok` or `Err`.
fn is_wrapper(function: &syn::Expr) -> bool {
    match function {
        syn::Expr::Path(path) => ["Some", "Ok", "Err"]
            .iter()
            .any(|name| path.path.is_ident(name)),
        _ => false,
    }
}

/// The text of a literal.
fn text_of(expression: &syn::Expr) -> Option<String> {
    match peeled(expression) {
        syn::Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
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

impl<'ast> Visit<'ast> for Compared<'_> {
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let compares = matches!(binary.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_));
        let sides = [(&binary.left, &binary.right), (&binary.right, &binary.left)];
        let is_one = |(one, other): (&syn::Expr, &syn::Expr)| {
            self.is_text(one) || is_decided(one) && text_of(other).is_some()
        };
        if compares && sides.into_iter().any(|(one, other)| is_one((one, other))) {
            self.found
                .push(format!("a comparison with {}", spelled(binary)));
        }
        visit::visit_expr_binary(self, binary);
    }

    /// `codes.contains("critical")`, `["critical"].contains(code)`, and a count that is asked for by the name of its
    /// field.
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let is_lookup = LOOKUPS.iter().any(|name| call.method == name);
        let of_text = is_lookup && call.args.iter().any(|argument| self.is_text(argument));
        let among_texts = is_lookup && self.is_text(&call.receiver);
        if of_text || among_texts {
            self.found.push(format!("{}(…)", call.method));
        }
        visit::visit_expr_method_call(self, call);
    }

    /// `report["evictedPodCount"]`.
    fn visit_expr_index(&mut self, index: &'ast syn::ExprIndex) {
        if self.is_text(&index.index) {
            self.found.push("[…]".to_owned());
        }
        visit::visit_expr_index(self, index);
    }

    /// `match code { "critical" => … }`.
    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if self.is_word_in(&arm.pat) {
            self.found.push("a match".to_owned());
        }
        visit::visit_arm(self, arm);
    }

    /// `if let Some("critical") = code`.
    fn visit_expr_let(&mut self, item: &'ast syn::ExprLet) {
        if self.is_word_in(&item.pat) {
            self.found.push("a pattern".to_owned());
        }
        visit::visit_expr_let(self, item);
    }

    /// `matches!(code, "critical")`.
    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        if item.path.is_ident("matches") {
            let parser = |input: ParseStream<'_>| {
                let _: syn::Expr = input.parse()?;
                let _: syn::Token![,] = input.parse()?;
                let pattern = syn::Pat::parse_multi_with_leading_vert(input)?;
                let _: TokenStream = input.parse()?;
                Ok(pattern)
            };
            let pattern = parser.parse2(item.tokens.clone());
            if pattern.is_ok_and(|pattern| self.is_word_in(&pattern)) {
                self.found.push("matches!(…)".to_owned());
            }
        }
        visit::visit_macro(self, item);
    }
}

/// Whether one of the words stands in a pattern.
struct Words<'w> {
    words: &'w [&'w str],
    constants: &'w BTreeSet<String>,
    is_one: bool,
}

impl<'ast> Visit<'ast> for Words<'_> {
    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.is_one |= self.words.contains(&literal.value().as_str());
    }

    fn visit_ident(&mut self, ident: &'ast syn::Ident) {
        self.is_one |= self.constants.contains(&ident.to_string());
    }
}
