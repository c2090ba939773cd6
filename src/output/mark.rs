//! Words of a result that are highlighted on a terminal.

/// A word that is coloured wherever it stands alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The word, as it is printed.
    pub word: &'static str,
    /// Colour.
    pub color: MarkColor,
}

/// Colour of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkColor {
    /// For what hurts.
    Red,
    /// For what is worth a second look.
    Yellow,
    /// For what is well.
    Green,
}

impl MarkColor {
    fn sequence(self) -> &'static str {
        match self {
            Self::Red => "\u{1b}[31m",
            Self::Yellow => "\u{1b}[33m",
            Self::Green => "\u{1b}[32m",
        }
    }
}

/// The text with its marked words in colour. Columns stay where they are: nothing that can be seen is
/// added.
pub(super) fn marked(text: &str, marks: &[Mark]) -> String {
    let mut colored = String::with_capacity(text.len());
    let mut rest = text;
    // Marks follow each other in any order, so the first of all of them is searched each time.
    let next = |rest: &str| {
        let found = marks
            .iter()
            .filter_map(|mark| Some((rest.find(mark.word)?, *mark)));
        found.min_by_key(|(at, _)| *at)
    };
    while let Some((at, mark)) = next(rest) {
        let (before, found) = rest.split_at(at);
        let (word, after) = found.split_at(mark.word.len());
        colored.push_str(before);
        // `danger` in the name of a pod is no severity.
        let alone = !colored.ends_with(is_inner) && !after.starts_with(is_inner);
        if alone {
            colored.push_str(mark.color.sequence());
            colored.push_str(word);
            colored.push_str("\u{1b}[0m");
        } else {
            colored.push_str(word);
        }
        rest = after;
    }
    colored.push_str(rest);
    colored
}

/// True if a character next to a word makes it a part of another one.
fn is_inner(character: char) -> bool {
    character.is_alphanumeric() || ['-', '.', '/', '_'].contains(&character)
}
