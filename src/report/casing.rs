//! Codes in the two ways in which they are written: `last-replica` in text, `LastReplica` in JSON.
//!
//! Text is typed and read by people, in words; JSON follows the conventions of the Kubernetes API for
//! enumerations.

/// The code as reports write it: `last-replica` becomes `LastReplica`.
pub fn pascal_case(words: &str) -> String {
    let capitalized = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    words.split('-').map(capitalized).collect()
}

/// The code in words, as text has it: `LastReplica` becomes `last-replica`.
pub fn words(code: &str) -> String {
    let mut words = String::new();
    for letter in code.chars() {
        // The first letter is upper case as well, and a code does not begin with a hyphen.
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push('-');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Hazard;

    #[test]
    fn a_code_is_the_same_in_both_ways() {
        for (text, code) in [("in-use", "InUse"), ("gang", "Gang"), ("", "")] {
            assert_eq!(
                (pascal_case(text), words(code)),
                (code.to_owned(), text.to_owned())
            );
        }
        for hazard in Hazard::ALL {
            assert_eq!(words(&pascal_case(hazard.code())), hazard.code());
        }
    }
}
