//! Words that messages, help and the book do not use.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use serde_json::Value;
use syn::visit::{self, Visit};

use super::source::{root, sources};

/// Words and phrases that a reader stumbles over, metaphors for machinery, and verbs of speech: a program reports,
/// prints or requests.
const BANNED: [&str; 25] = [
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "whoever",
    "whom",
    "what of it",
    "so many",
    "as far as",
    "office",
    "court",
    "suitor",
    "stranger",
    "brake",
    "braked",
    "eyes",
    "sight",
    "shelf",
    "company",
    "says",
    "said",
    "tells",
    "told",
    "asks",
    "asked",
];

/// Phrases for prompting the user.
const ALLOWED: [&str; 2] = ["asks for confirmation", "asks for a confirmation"];

/// The banned words of a text, compared word by word and regardless of case.
fn banned(text: &str) -> Vec<&'static str> {
    let words: String = text
        .chars()
        .map(|letter| {
            if letter.is_alphanumeric() || letter == '-' {
                letter.to_ascii_lowercase()
            } else {
                ' '
            }
        })
        .collect();
    let words: Vec<&str> = words.split_whitespace().collect();
    let words = ALLOWED
        .iter()
        .fold(format!(" {} ", words.join(" ")), |words, allowed| {
            words.replace(allowed, " ")
        });
    let found = BANNED.into_iter();
    found
        .filter(|banned| words.contains(&format!(" {banned} ")))
        .collect()
}

/// A message without the names of values in it: `{name}`.
fn without_placeholders(text: &str) -> String {
    let parts = text.split('{').enumerate();
    let kept = parts.map(|(place, part)| match part.split_once('}') {
        Some((_, rest)) if place > 0 => rest,
        _ => part,
    });
    kept.collect::<Vec<_>>().join(" ")
}

/// A text without quotations on one line, which others have written.
fn without_quotations(text: &str) -> String {
    let quoted = text.split('"').enumerate();
    let kept = quoted.filter(|(place, _)| place % 2 == 0);
    kept.map(|(_, part)| part).collect::<Vec<_>>().join(" ")
}

/// Text of a page outside code and quotations.
fn prose(page: &str) -> Vec<String> {
    let mut left_out = 0_usize;
    let mut blocks = vec![String::new()];
    for event in Parser::new_ext(page, pulldown_cmark::Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::BlockQuote(_)) => left_out += 1,
            Event::End(TagEnd::CodeBlock | TagEnd::BlockQuote(_)) => left_out -= 1,
            Event::Text(text) if left_out == 0 => {
                let last = blocks.last_mut().expect("it begins with one");
                last.push_str(&text);
            }
            Event::SoftBreak | Event::HardBreak => blocks.last_mut().expect("one").push(' '),
            Event::End(_) => blocks.push(String::new()),
            _ => {}
        }
    }
    let blocks = blocks.iter().map(|block| without_quotations(block));
    blocks.filter(|block| !block.trim().is_empty()).collect()
}

/// The string literals of code, also of those among the tokens of macros and attributes.
#[derive(Default)]
struct Literals(Vec<String>);

/// True if these are the tokens of a comment, `[doc = "…"]`.
fn is_comment(group: &Group) -> bool {
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket && first.is_some_and(|token| token.to_string() == "doc")
}

impl Literals {
    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                // Comments are no messages in macros, either.
                TokenTree::Group(group) if is_comment(&group) => {}
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                        self.0.push(text.value());
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'a> Visit<'a> for Literals {
    fn visit_lit_str(&mut self, text: &'a syn::LitStr) {
        self.0.push(text.value());
    }

    fn visit_macro(&mut self, item: &'a syn::Macro) {
        self.tokens(item.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'a syn::Attribute) {
        // Comments are no messages; those that become help or schemas are read as man pages and schemas.
        if attribute.path().is_ident("doc") {
            return;
        }
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
        }
        visit::visit_attribute(self, attribute);
    }
}

/// Files of these endings below a folder.
fn below(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            found.extend(below(&path, endings));
        } else if path
            .extension()
            .is_some_and(|ending| endings.iter().any(|known| ending == *known))
        {
            found.push(path);
        }
    }
    found.sort_unstable();
    found
}

/// Every message, with where it is from.
fn messages() -> Vec<(String, String)> {
    let mut messages = Vec::new();
    for source in sources() {
        let mut literals = Literals::default();
        literals.visit_file(&source.syntax());
        let place = source.path.display().to_string();
        // A word alone is a name, or an argument.
        let sentences = literals.0.into_iter().filter(|text| text.contains(' '));
        messages.extend(sentences.map(|text| (place.clone(), without_placeholders(&text))));
    }
    messages
}

/// Every paragraph of the documentation, of manual pages, examples and schemas, with where it is from.
fn documents() -> Vec<(String, String)> {
    // Figures are a page of the book.
    let pages = [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "README.md",
        "SECURITY.md",
        "benches/README.md",
        "packaging/README.md",
    ];
    let mut files = below(&root().join("docs/src"), &["md"]);
    files.extend(pages.map(|name| root().join(name)));
    let mut documents = Vec::new();
    for file in files {
        let place = file.strip_prefix(root()).expect("below the root");
        let text = fs::read_to_string(&file).expect("a page");
        let blocks = prose(&text).into_iter();
        documents.extend(blocks.map(|block| (place.display().to_string(), block)));
    }
    let texts = [
        ("man", &["1"][..]),
        ("examples", &["yaml", "yml", "sh"]),
        ("manifests", &["yaml"]),
        (".github", &["yml", "md"]),
    ];
    for (folder, endings) in texts {
        for file in below(&root().join(folder), endings) {
            let place = file.strip_prefix(root()).expect("below the root");
            let text = fs::read_to_string(&file).expect("a text");
            // A sentence of a manual page continues in the next line.
            documents.push((place.display().to_string(), text));
        }
    }
    documents.extend(descriptions());
    documents
}

/// Descriptions of fields and values in the schemas.
fn descriptions() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for file in below(&root().join("schemas"), &["json"]) {
        let place = file.strip_prefix(root()).expect("below the root");
        let text = fs::read_to_string(&file).expect("a schema");
        let mut open: Vec<Value> = vec![serde_json::from_str(&text).expect("JSON")];
        while let Some(value) = open.pop() {
            if let Some(text) = value["description"].as_str() {
                found.push((place.display().to_string(), text.to_owned()));
            }
            match value {
                Value::Object(fields) => open.extend(fields.into_iter().map(|(_, value)| value)),
                Value::Array(items) => open.extend(items),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
    }
    found
}

#[test]
fn messages_help_and_the_book_have_none_of_the_banned_words() {
    let (messages, documents) = (messages(), documents());
    assert!(messages.len() > 500, "{} messages", messages.len());
    assert!(documents.len() > 200, "{} paragraphs", documents.len());
    let found: Vec<String> = messages
        .iter()
        .chain(&documents)
        .filter(|(_, text)| !banned(text).is_empty())
        .map(|(place, text)| format!("{place}: {:?}: {text}", banned(text)))
        .collect();
    assert!(
        found.is_empty(),
        "{} found:\n{}",
        found.len(),
        found.join("\n")
    );
}
