//! A word of a few that stand for something.

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Takes one of these words, for what stands beside it; clap names them all to whoever types another.
pub(crate) fn one_of<T>(words: &'static [(&'static str, T)]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let known = words.iter().map(|(word, _)| *word);
    PossibleValuesParser::new(known).try_map(move |typed| {
        let found = words.iter().find(|(word, _)| *word == typed);
        found.map(|(_, value)| *value).ok_or("invalid value")
    })
}
