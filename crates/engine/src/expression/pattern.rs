//! Regular expressions, limited to those that mean the same here as upstream.
//!
//! Upstream uses RE2 as Go has it, this plugin the crate `regex`. What both have in common is
//! translated where it differs: `\d`, `\w`, `\s` and `\b` are of ASCII in RE2.

use regex::{Regex, RegexBuilder};

/// The longest pattern that is compiled, in bytes.
const MAXIMUM_LENGTH: usize = 512;

/// A regular expression.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern of which both dialects understand the same; no other.
    pub(super) fn compile(pattern: &str) -> Option<Self> {
        if pattern.len() > MAXIMUM_LENGTH {
            return None;
        }
        let regex = RegexBuilder::new(&translated(pattern)?)
            .size_limit(2 << 20)
            .dfa_size_limit(2 << 20)
            .build();
        // A refusal may come from a limit of the crate, and says nothing about RE2.
        regex.map(Self).ok()
    }

    /// Steps of a search, as cel-go counts the lengths of both, or more.
    pub(super) fn steps(&self, text: &str) -> usize {
        let of_pattern = (self.0.as_str().len() / 40).saturating_add(1);
        text.len().saturating_mul(of_pattern)
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The first match, or nothing.
    pub(super) fn find<'a>(&self, text: &'a str) -> &'a str {
        self.0.find(text).map_or("", |found| found.as_str())
    }
}

/// The pattern as the crate understands it, or nothing if it uses what may differ.
fn translated(pattern: &str) -> Option<String> {
    let mut result = String::new();
    let mut rest = pattern;
    let mut in_class = false;
    let mut operators = 0_usize;
    while let Some(character) = rest.chars().next() {
        rest = rest.get(character.len_utf8()..)?;
        // RE2 refuses one operator of repetition after another, but for a `?` that makes the first lazy.
        let is_operator = !in_class && "*+?{".contains(character);
        operators = if is_operator {
            operators.saturating_add(1)
        } else {
            0
        };
        if operators > 2 || (operators == 2 && character != '?') {
            return None;
        }
        let taken = match character {
            '\\' => {
                let next = rest.chars().next()?;
                result.push_str(&escape(next, in_class)?);
                rest = rest.get(next.len_utf8()..)?;
                continue;
            }
            // Classes within classes, and the operators below, are the crate's alone; to RE2 they are plain
            // characters.
            '[' if in_class => return None,
            '[' => {
                in_class = true;
                let negated = usize::from(rest.starts_with('^'));
                (!rest.get(negated..)?.starts_with(']')).then_some(negated)?
            }
            ']' if in_class => {
                in_class = false;
                0
            }
            '&' | '~' | '-' if in_class && rest.starts_with(character) => return None,
            '(' if !in_class && rest.starts_with('?') => ["?:", "?i)", "?s)", "?i:"]
                .into_iter()
                .find(|flag| rest.starts_with(flag))?
                .len(),
            '{' if !in_class => repetition(rest)?,
            '}' | ']' if !in_class => return None,
            _ => 0,
        };
        result.push(character);
        result.push_str(rest.get(..taken)?);
        rest = rest.get(taken..)?;
    }
    (!in_class).then_some(result)
}

/// Meaning of an escape to the crate, or `None` if it is not a common one.
fn escape(next: char, in_class: bool) -> Option<String> {
    let (inner, negated) = match next {
        'd' => ("0-9", false),
        'D' => ("0-9", true),
        'w' => ("0-9A-Za-z_", false),
        'W' => ("0-9A-Za-z_", true),
        's' => ("\\t\\n\\f\\r ", false),
        'S' => ("\\t\\n\\f\\r ", true),
        'b' if !in_class => return Some("(?-u:\\b)".to_owned()),
        'n' | 't' | 'r' => return Some(format!("\\{next}")),
        _ => {
            // `\<` and `\>` are edges of words to the crate, and plain characters to RE2.
            let plain = next.is_ascii_punctuation() && !"<>".contains(next);
            return plain.then(|| format!("\\{next}"));
        }
    };
    match (in_class, negated) {
        (true, false) => Some(inner.to_owned()),
        (true, true) => Some(format!("[^{inner}]")),
        (false, false) => Some(format!("[{inner}]")),
        (false, true) => Some(format!("[^{inner}]")),
    }
}

/// Returns how much of `rest` belongs to a count such as `2}` or `2,3}`.
fn repetition(rest: &str) -> Option<usize> {
    let end = rest.find('}')?;
    let (least, most) = rest[..end].split_once(',').unwrap_or((&rest[..end], "1"));
    let is_count = |text: &str| {
        // RE2 takes up to 1,000 repetitions; three digits are below that.
        !text.is_empty() && text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    (is_count(least) && (most.is_empty() || is_count(most))).then_some(end.saturating_add(1))
}
