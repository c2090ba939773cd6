//! Lines that are wider than the terminal.

use std::ops::Range;

use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, wrap};

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

    #[test]
    fn a_line_is_broken_between_words_and_a_command_is_not() {
        for (line, columns, expected) in [
            (
                "  warning   b/three: stuck Terminating; no controller creates it again",
                Some(40),
                &[
                    "  warning   b/three: stuck Terminating;",
                    "    no controller creates it again",
                ][..],
            ),
            ("longer than that", None, &["longer than that"]),
            (
                "  to see all: kubectl devicetaint preview gpu.example.com/node-7/gpu-0",
                Some(40),
                &[
                    "  to see all:",
                    "    kubectl devicetaint preview gpu.example.com/node-7/gpu-0",
                ],
            ),
            (
                "see its own messages; kubectl runs it in the same way",
                Some(30),
                &["see its own messages; kubectl", "  runs it in the same way"],
            ),
            (
                "a name-that-is-longer",
                Some(10),
                &["a", "  name-that-is-longer"],
            ),
            ("kubectl get pods", Some(10), &["kubectl get pods"]),
            ("    kubectl get pods", Some(10), &["    kubectl get pods"]),
            ("", Some(10), &[""]),
        ] {
            assert_eq!(hanging(line, columns), expected, "{line}");
        }
    }
}
