//! Escaping of text that does not come from this program.
//!
//! Characters that act on a terminal, reorder what stands around them, or cannot be seen are shown
//! as escapes: `\n`, `\t`, `\r`, otherwise `\x1b`, `\u202e` or `\u{e0001}` by size. All others stay
//! as they are, the backslash too: escaped text is for eyes. Formats that are read back (JSON, YAML)
//! have escapes of their own, and use [`is_hostile`] to know when.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, GeneralCategoryGroup};
use icu_properties::{CodePointMapData, CodePointSetData};
use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, wrap};

/// Says whether a character may not reach a terminal raw.
///
/// By Unicode's own data, and so with the characters of every script: controls with line breaks and
/// tabs; format characters (bidirectional controls, joiners, tags, shorthand and hieroglyph controls,
/// musical ones, annotations); line and paragraph separators; what is shown as nothing by default
/// (fillers, variation selectors, the grapheme joiner). And what is no character, none yet, or one by
/// private agreement: it may be any of these.
pub fn is_hostile(character: char) -> bool {
    // Most text is ASCII, which needs no look into Unicode's tables.
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    GeneralCategoryGroup::Other.contains(category)
        || matches!(
            category,
            GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator
        )
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
}

/// Says whether a text is ASCII without control characters, except for line breaks: nothing in it is hostile. Looks at
/// the bytes in blocks, since results of megabytes pass through here.
pub fn is_plain(text: &str) -> bool {
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte) || *byte == b'\n';
    let mut blocks = text.as_bytes().chunks(64);
    blocks.all(|block| block.iter().fold(true, |all, byte| all & is_plain(byte)))
}

/// Escapes text that has to stay on one line: line breaks and tabs too.
pub fn line(text: &str) -> Cow<'_, str> {
    replace(text, is_hostile)
}

/// Escapes text that is laid out already: line breaks and tabs stay.
pub fn layout(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    replace(text, |character| {
        is_hostile(character) && !matches!(character, '\n' | '\t')
    })
}

fn replace(text: &str, hostile: impl Fn(char) -> bool) -> Cow<'_, str> {
    // Nearly all text is harmless, and needs no copy.
    if !text.chars().any(&hostile) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if hostile(character) {
            push_escape(&mut escaped, character);
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

fn push_escape(escaped: &mut String, character: char) {
    let written = match (character, u32::from(character)) {
        ('\n', _) => write!(escaped, "\\n"),
        ('\r', _) => write!(escaped, "\\r"),
        ('\t', _) => write!(escaped, "\\t"),
        (_, code @ ..=0xff) => write!(escaped, "\\x{code:02x}"),
        (_, code @ ..=0xffff) => write!(escaped, "\\u{code:04x}"),
        (_, code) => write!(escaped, "\\u{{{code:x}}}"),
    };
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}

/// A command to be pasted begins with this.
const COMMAND: &str = "kubectl ";

/// `line` in as many lines as it needs at this width, broken between words; what follows the first hangs
/// two columns behind its beginning. A command is never broken, so that it can be pasted.
pub fn hanging(line: &str, columns: Option<u16>) -> Vec<String> {
    let Some(columns) = columns else {
        return vec![line.to_owned()];
    };
    let indent = line.chars().take_while(|first| *first == ' ').count();
    let indent = " ".repeat(indent.saturating_add(2));
    let options = Options::new(usize::from(columns))
        .subsequent_indent(&indent)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false);
    wrap(line, options)
        .into_iter()
        .map(|part| part.into_owned())
        .collect()
}

/// The words of a line. A command is one word, with the mark that ends it.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let commands = commands(line);
    let indent = line.len().saturating_sub(line.trim_start().len());
    let is_whole = |place: usize| commands.iter().any(|command| command.contains(&place));
    // The indent belongs to the first word, which would leave an empty line behind where it is too long.
    let mut is_after_space = false;
    let mut starts = vec![0];
    for (place, letter) in line.trim_start().char_indices() {
        let place = place.saturating_add(indent);
        if is_after_space && letter != ' ' && !is_whole(place) {
            starts.push(place);
        }
        is_after_space = letter == ' ';
    }
    let ends = starts.iter().skip(1).copied().chain([line.len()]);
    let words: Vec<Word<'_>> = starts
        .iter()
        .zip(ends)
        .filter_map(|(start, end)| line.get(*start..end).map(Word::from))
        .collect();
    Box::new(words.into_iter())
}

/// Positions of the commands in a line, each without its first letter, at which the line may be broken.
///
/// In backquotes a command ends with them, elsewhere with the line or a semicolon. Other mentions of kubectl are
/// words of a sentence.
fn commands(line: &str) -> Vec<Range<usize>> {
    let found = line.match_indices(COMMAND);
    let commands = found.filter_map(|(place, _)| {
        let (before, rest) = line.split_at_checked(place)?;
        let length = if before.ends_with('`') {
            rest.find('`')
        } else if [": ", "run "].iter().any(|end| before.ends_with(end)) || before.trim().is_empty()
        {
            rest.find("; ")
        } else {
            return None;
        };
        let end = place.saturating_add(length.unwrap_or(rest.len()));
        Some(place.saturating_add(1)..end)
    });
    commands.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hostile_characters_are_shown_as_escapes() {
        for (name, raw, shown) in [
            (
                "harmless",
                "gpu.example.com/node-7/gpu-0",
                "gpu.example.com/node-7/gpu-0",
            ),
            ("other scripts", "größe 大きさ 🚀", "größe 大きさ 🚀"),
            ("escape sequence", "\u{1b}[2J", r"\x1b[2J"),
            ("carriage return", "ok\rbad", r"ok\rbad"),
            ("bell and backspace", "\u{7}\u{8}", r"\x07\x08"),
            ("nul and delete", "\0\u{7f}", r"\x00\x7f"),
            ("C1 control sequence introducer", "\u{9b}31m", r"\x9b31m"),
            ("right-to-left override", "a\u{202e}b", r"a\u202eb"),
            ("isolate", "\u{2066}x\u{2069}", r"\u2066x\u2069"),
            ("zero-width space", "ku\u{200b}be", r"ku\u200bbe"),
            ("byte order mark", "\u{feff}kind", r"\ufeffkind"),
            ("line separator", "a\u{2028}b", r"a\u2028b"),
            ("soft hyphen", "a\u{ad}b", r"a\xadb"),
            ("tag", "\u{e0041}", r"\u{e0041}"),
            ("shorthand control", "\u{1bca0}", r"\u{1bca0}"),
            ("hieroglyph control", "\u{13430}", r"\u{13430}"),
            ("musical control", "\u{1d173}", r"\u{1d173}"),
            ("Arabic sign around digits", "\u{600}", r"\u0600"),
            ("variation", "x\u{fe0f}\u{e0100}", r"x\ufe0f\u{e0100}"),
            ("filler", "\u{3164}\u{ffa0}\u{115f}", r"\u3164\uffa0\u115f"),
            ("grapheme joiner", "a\u{34f}b", r"a\u034fb"),
            (
                "no character",
                "\u{ffff}\u{fdd0}\u{1fffe}",
                r"\uffff\ufdd0\u{1fffe}",
            ),
            ("private", "\u{e000}", r"\ue000"),
            ("not yet assigned", "\u{2065}\u{e0fff}", r"\u2065\u{e0fff}"),
            ("line break", "a\nb\tc", r"a\nb\tc"),
        ] {
            assert_eq!(line(raw), shown, "{name}");
        }
    }

    #[test]
    fn layout_keeps_line_breaks_and_tabs_and_nothing_else() {
        assert_eq!(layout("a\n\tb\r\u{1b}"), "a\n\tb\\r\\x1b");
    }

    #[test]
    fn escaping_twice_changes_nothing() {
        let once = line("\u{1b}\n\u{202e}").into_owned();
        assert_eq!(line(&once), once);
    }

    proptest! {
        #[test]
        fn a_plain_text_has_nothing_hostile(text in "(?s:[ -~\n]{0,200}.{0,2})") {
            let has_hostile = text.chars().any(|it| is_hostile(it) && it != '\n');
            prop_assert_eq!(is_plain(&text), text.is_ascii() && !has_hostile);
        }

        #[test]
        fn nothing_hostile_is_left_in_a_line(text in "(?s:.)*") {
            prop_assert!(!line(&text).chars().any(is_hostile));
        }
    }

    #[test]
    fn a_line_is_broken_between_words_and_a_command_is_not() {
        for (columns, lines) in [
            (20, &["  warning   b/three:", "    no controller"][..]),
            (20, &["  to see all:", "    kubectl devicetaint preview"]),
            (24, &["see its own; kubectl", "  runs it in the way"]),
            (10, &["a", "  name-that-is-longer"]),
            (10, &["kubectl get pods"]),
            (10, &["    kubectl get pods"]),
            (10, &[""]),
        ] {
            let (first, rest) = lines.split_first().expect("a line");
            let rest = rest.iter().map(|line| line.trim_start());
            let line: Vec<&str> = std::iter::once(*first).chain(rest).collect();
            let line = line.join(" ");
            assert_eq!(hanging(&line, None).concat(), line);
            assert_eq!(hanging(&line, Some(columns)), lines);
        }
    }
}
