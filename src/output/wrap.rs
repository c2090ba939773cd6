//! Lines that are wider than the terminal.

use textwrap::{Options, WordSplitter, wrap};

/// A line that is a command to be pasted has this in it, and stays whole.
const COMMAND: &str = "kubectl ";

/// `line` in as many lines as it needs at this width, broken between words; what follows the first hangs
/// two columns behind its beginning. Commands stay whole, so that they can be pasted.
#[must_use]
pub fn hanging(line: &str, columns: Option<u16>) -> Vec<String> {
    let Some(columns) = columns.filter(|_| !line.contains(COMMAND)) else {
        return vec![line.to_owned()];
    };
    let indent = line.chars().take_while(|first| *first == ' ').count();
    let indent = " ".repeat(indent.saturating_add(2));
    let options = Options::new(usize::from(columns))
        .subsequent_indent(&indent)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false);
    wrap(line, options)
        .into_iter()
        .map(|part| part.into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_between_words_and_a_command_is_not() {
        let line = "  warning   b/three: stuck Terminating; no controller creates it again";
        assert_eq!(
            hanging(line, Some(40)),
            [
                "  warning   b/three: stuck Terminating;",
                "    no controller creates it again"
            ]
        );
        assert_eq!(hanging(line, None), [line]);
        let command = "  to see all: kubectl devicetaint preview gpu.example.com/node-7/gpu-0";
        assert_eq!(hanging(command, Some(40)), [command]);
        assert_eq!(
            hanging("a name-that-is-longer", Some(10)),
            ["a", "  name-that-is-longer"]
        );
    }
}
