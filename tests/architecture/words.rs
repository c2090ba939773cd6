//! Words that messages, help and the book do not use.

use regex::Regex;
use serde_json::Value;

use super::source::{root, sources};
use super::weight::{read, under};

/// Words and phrases that a reader stumbles over, metaphors for machinery, and verbs of speech: a program reports,
/// prints or requests.
const BANNED: &str = "nobody|somebody|anybody|everybody|whoever|whom|what of it|so many|as far as|office|court|suitor|\
    stranger|braked?|eyes|sight|shelf|company|says|said|tells|told|asks|asked";

/// Phrases for prompting the user.
const ALLOWED: &str = "(?i)asks for (a )?confirmation";

/// Places whose texts are read as they are.
const TEXTS: [(&str, &[&str]); 4] = [
    ("man", &["1"]),
    ("examples", &["yaml", "yml", "sh"]),
    ("manifests", &["yaml"]),
    (".github", &["yml", "md"]),
];

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// The sentences among the string literals of code; a word alone is a name, or an argument.
fn messages(literal: &Regex, code: &str) -> Vec<String> {
    let code = code
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    // Comments that become help or schemas are read as man pages and schemas.
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let code: Vec<&str> = code.lines().filter(is_code).collect();
    let code = code.join("\n").replace("'\"'", "' '");
    let literals = literal
        .captures_iter(&code)
        .map(|found| found[1].to_owned());
    literals.filter(|text| text.contains(' ')).collect()
}

/// Every text that a user reads, with the file that it is from.
fn texts() -> Vec<(String, String)> {
    let literal = pattern(r#"(?s)"((?:[^"\\]|\\.)*)""#);
    let placeholder = pattern(r"\{[^}]*\}");
    let unread = pattern(r#"(?ms)^ *```.*?^ *```|`[^`]*`|^>.*?$|\]\([^)]*\)|"[^"\n]*""#);
    let mut texts = Vec::new();
    for source in sources() {
        let path = source.path.display().to_string();
        let messages = messages(&literal, &read(root(), &path));
        let messages = messages
            .iter()
            .map(|text| placeholder.replace_all(text, " "));
        texts.extend(messages.map(|text| (path.clone(), text.into_owned())));
    }
    let pages = [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "README.md",
        "SECURITY.md",
        "benches/README.md",
        "packaging/README.md",
    ];
    let pages = pages.map(str::to_owned).into_iter();
    for path in pages.chain(under(root(), "docs/src", &["md"])) {
        let text = read(root(), &path);
        texts.push((path, unread.replace_all(&text, " ").into_owned()));
    }
    for (folder, endings) in TEXTS {
        let files = under(root(), folder, endings).into_iter();
        texts.extend(files.map(|path| (path.clone(), read(root(), &path))));
    }
    for path in under(root(), "schemas", &["json"]) {
        let schema: Value = serde_json::from_str(&read(root(), &path)).expect("JSON");
        let text = schema.to_string();
        let description = pattern(r#""description":("(?:[^"\\]|\\.)*")"#);
        let found = description.captures_iter(&text);
        texts.extend(found.map(|found| (path.clone(), found[1].to_owned())));
    }
    texts
}

#[test]
fn messages_help_and_the_book_have_none_of_the_banned_words() {
    let banned = pattern(&format!(
        r"(?i).{{0,60}}(?:^|[^\w-])(?:{BANNED})(?:$|[^\w-]).{{0,60}}"
    ));
    let (allowed, space) = (pattern(ALLOWED), pattern(r"\s+"));
    let texts = texts();
    assert!(texts.len() > 600, "{} texts", texts.len());
    let found = texts.iter().filter_map(|(path, text)| {
        let text = space.replace_all(text, " ");
        let text = allowed.replace_all(&text, " ");
        Some(format!("{path}: {}", banned.find(&text)?.as_str()))
    });
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "{found:#?}");
}
