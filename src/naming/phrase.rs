//! Words around numbers and lists, as every message and report has them.

use std::collections::BTreeSet;
use std::fmt::Display;

/// The items without repetitions, in their order.
pub fn each_once(items: impl Iterator<Item = String>) -> Vec<String> {
    items.fold(Vec::new(), |mut seen, item| {
        if !seen.contains(&item) {
            seen.push(item);
        }
        seen
    })
}

/// A number with its noun: `1 pod`, `2 pods`, `0 pods`.
pub fn counted(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// The first five items, and how many more there are.
pub fn few(items: impl IntoIterator<Item: Display>) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..SHOWN].join(", ")),
    }
}

/// The first name, and how many more there are; empty without names.
pub fn first_and_more(names: &[impl Display]) -> String {
    match names {
        [] => String::new(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// The taints of a node, by their keys.
pub fn node_taints(keys: &BTreeSet<String>) -> String {
    let noun = if keys.len() == 1 { "taint" } else { "taints" };
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    format!("node {noun} {}", keys.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_cut() {
        let names: Vec<String> = (0..7).map(|number| format!("gpu-{number}")).collect();
        assert_eq!(few(&names), "gpu-0, gpu-1, gpu-2, gpu-3, gpu-4 and 2 more");
        assert_eq!(few(&names[..2]), "gpu-0, gpu-1");
    }
}
