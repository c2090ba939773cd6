//! Did you mean …?

/// Minimum similarity of a misspelling.
const CORRECTION: f64 = 0.8;

/// Maximum difference in similarity from the best name.
const TOLERANCE: f64 = 0.25;

/// At most three of `known` that look like `wanted`, the most similar first.
///
/// Similarity is Damerau–Levenshtein distance, normalised by length; what shares less than half is
/// left out, and what is far less similar than the best.
pub fn nearest(wanted: &str, known: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut scored: Vec<(f64, String)> = known
        .into_iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(wanted, &name), name))
        .filter(|(score, _)| *score >= 0.5)
        .collect();
    scored.sort_by(|left, right| {
        right
            .0
            .total_cmp(&left.0)
            .then_with(|| left.1.cmp(&right.1))
    });
    // Equal names are equally similar, so that they stand together by now.
    scored.dedup_by(|left, right| left.1 == right.1);
    let best = scored.first().map_or(0.0, |(score, _)| *score);
    scored.retain(|(score, _)| *score >= best - TOLERANCE);
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// At most three of `known` of which `wanted` is a misspelling by a few letters, without those that differ only in their
/// numbers, such as the name of a rule for another node: such a correction would change something else.
pub fn corrections(wanted: &str, known: impl IntoIterator<Item = String>) -> Vec<String> {
    let is_same_text = |name: &String| without_digits(name) == without_digits(wanted);
    let is_near = |name: &String| {
        strsim::normalized_damerau_levenshtein(wanted, name) >= CORRECTION && !is_same_text(name)
    };
    nearest(wanted, known.into_iter().filter(is_near))
}

/// The name without its decimal digits.
fn without_digits(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Maximum number of existing names that are listed.
const TOLD: usize = 10;

/// Hints where there is no `noun` of the name `wanted`: those of `known` that look like it,
/// and all that there are, of which a near name may hide the right one.
pub fn hints_for(noun: &str, wanted: &str, known: &[String]) -> Vec<String> {
    let near = nearest(wanted, known.to_vec());
    let near = match near.as_slice() {
        [] => None,
        [only] => Some(format!("did you mean {only}?")),
        several => Some(format!("did you mean one of {}?", several.join(", "))),
    };
    near.into_iter()
        .chain([format!("{noun}s: {}", first_few(known))])
        .collect()
}

/// The first of the names, and how many more there are.
fn first_few(known: &[String]) -> String {
    let told: Vec<&str> = known.iter().take(TOLD).map(String::as_str).collect();
    match known.len().saturating_sub(told.len()) {
        0 => told.join(", "),
        more => format!("{} and {more} more", told.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_only_in_its_number_is_something_else() {
        let known = ["node-6-firmware", "node-6-firmwar"].map(str::to_owned);
        assert_eq!(corrections("node-3-firmware", known), ["node-6-firmwar"]);
    }
}
