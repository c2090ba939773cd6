//! Guards, as they are typed.

use crate::assess::Guard;
use crate::error::Failure;

/// Reads the values of `--abort-if`.
pub(crate) fn parse(texts: &[String]) -> Result<Vec<Guard>, Failure> {
    let parse = |text: &String| {
        text.parse::<Guard>().map_err(|error| {
            let hint = error.hint.clone();
            Failure::usage(error).hint(hint)
        })
    };
    texts.iter().map(parse).collect()
}
