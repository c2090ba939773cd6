//! Completion request: command line, word and shell.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The command through which kubectl asks.
const COMMAND: &str = "__complete";
/// Name under which kubectl calls a program that completes for this plugin.
const KUBECTL_NAME: &str = "kubectl_complete-devicetaint";
/// The shell that takes words apart by itself.
const BASH: &str = "bash";

/// A question of a shell.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    pub(super) asker: Asker,
    /// The command line, beginning with the program.
    pub(super) words: Vec<OsString>,
    /// Index of the word that is completed.
    pub(super) index: usize,
}

/// Caller, which decides the form of the output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asker {
    Kubectl,
    Bash,
    Shell(String),
}

/// Data from a shell's script beside the command line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'a> {
    /// Shell; absent where none asks.
    pub shell: Option<&'a OsStr>,
    /// Index of the word that is completed, in the shells that give it.
    pub word: Option<&'a OsStr>,
}

impl Request {
    /// The question that `arguments` are, if they are one; they begin with the program's name.
    pub fn new(arguments: &[OsString], said: Said<'_>) -> Option<Self> {
        let (program, rest) = arguments.split_first()?;
        let is_kubectls = Path::new(program)
            .file_stem()
            .is_some_and(|stem| stem == KUBECTL_NAME);
        let typed = match rest {
            rest if is_kubectls => Some(rest),
            [first, typed @ ..] if first == COMMAND => Some(typed),
            _ => None,
        };
        if let Some(typed) = typed {
            let mut words = vec![program.clone()];
            words.extend_from_slice(typed);
            if words.len() == 1 {
                words.push(OsString::new());
            }
            return Some(Self {
                asker: Asker::Kubectl,
                index: words.len().saturating_sub(1),
                words,
            });
        }
        let shell = said.shell?.to_str()?;
        let position = rest.iter().position(|word| word == "--")?;
        let mut words = rest.get(position.saturating_add(1)..)?.to_vec();
        let last = words.len().saturating_sub(1);
        let index = said
            .word
            .and_then(|index| index.to_str()?.parse().ok())
            .unwrap_or(last);
        // Shells may leave out the word under the cursor while it is empty.
        if index == words.len() {
            words.push(OsString::new());
        }
        // Word 0 is the program itself, which the shell completes.
        let is_inside = index > 0 && index < words.len();
        is_inside.then(|| match shell {
            BASH => {
                let (words, index) = joined(&words, index);
                let asker = Asker::Bash;
                Self {
                    asker,
                    words,
                    index,
                }
            }
            shell => Self {
                asker: Asker::Shell(shell.to_owned()),
                words,
                index,
            },
        })
    }

    /// Words before the one that is completed, beginning with the program.
    pub fn before(&self) -> &[OsString] {
        self.words.get(..self.index).unwrap_or_default()
    }

    /// The word that is completed, as far as it is typed.
    pub(super) fn typed(&self) -> &OsStr {
        self.words
            .get(self.index)
            .map_or(OsStr::new(""), |word| word)
    }
}

/// The words as they were typed, and which of them is completed: bash takes them apart at each `:` and
/// `=`, which are words of their own then.
fn joined(words: &[OsString], index: usize) -> (Vec<OsString>, usize) {
    let is_divider = |word: &OsString| word == ":" || word == "=";
    let mut whole: Vec<OsString> = Vec::new();
    let mut at = 0;
    let mut goes_on = false;
    for (number, word) in words.iter().enumerate() {
        match whole.last_mut() {
            Some(last) if number > 1 && (goes_on || is_divider(word)) => last.push(word),
            Some(_) | None => whole.push(word.clone()),
        }
        goes_on = is_divider(word);
        if number == index {
            at = whole.len().saturating_sub(1);
        }
    }
    (whole, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_bash_takes_apart_are_put_together_again() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        for (taken_apart, index, whole, at) in [
            (
                &["k", "add", "a", ":", "No"][..],
                4,
                &["k", "add", "a:No"][..],
                2,
            ),
            (&["k", "add", "a", ":"], 3, &["k", "add", "a:"], 2),
            (
                &["k", "add", "a", "=", "x", ":", "No", "b"],
                6,
                &["k", "add", "a=x:No", "b"],
                2,
            ),
            (&["k", "--driver", "=", "g"], 3, &["k", "--driver=g"], 1),
            (&["k", "add", ""], 2, &["k", "add", ""], 2),
        ] {
            let found = joined(&words(taken_apart), index);
            assert_eq!(found, (words(whole), at), "{taken_apart:?}");
        }
    }
}
